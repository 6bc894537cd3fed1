// Every wrong input gets one error that names it, and leaves no file behind.

// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: not kimi-opt %t/empty.mlir --kimi-mla-gate-to-rocdl=format=elf -o none.mlir 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: kimi-mla-gate-compile-kernels: format is 'elf'; it must be 'binary', 'isa' or 'llvm'
// FORMAT-NOT: error:

// RUN: not kimi-opt %t/empty.mlir --kimi-mla-gate-pipeline=chip=gfx1200 -o none.mlir 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: kimi-mla-gate-fuse: unknown chip 'gfx1200'; known chips: gfx950
// CHIP-NOT: error:
// RUN: not kimi-opt %t/empty.mlir --kimi-mla-gate-pipeline=function-boundary-layout=column -o none.mlir 2>&1 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: 'column'
// RUN: not kimi-opt %t/empty.mlir --kimi-mla-gate-pipeline=colour=red -o none.mlir 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option colour
// RUN: not ls none.mlir

// RUN: not kimi-opt offset.mlir --kimi-mla-gate-compile-kernels 2>&1 | FileCheck %s --check-prefix=OFFSET
// OFFSET: offset.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.func' op has an argument of type 'memref<8xbf16, strided<[1], offset: ?>>'; run kimi-mla-gate-fold-offsets first
// RUN: not kimi-opt target.mlir --kimi-mla-gate-to-rocdl 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: target.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.module' op has no #rocdl.target to be compiled for
// RUN: not kimi-opt description.mlir --kimi-mla-gate-to-rocdl 2>&1 | FileCheck %s --check-prefix=DESCRIPTION
// DESCRIPTION: description.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.module' op 'kimi_mla_gate.kernel' does not describe one kernel
// RUN: not kimi-opt arguments.mlir --kimi-mla-gate-to-rocdl 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// ARGUMENTS: arguments.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.module' op 'kimi_mla_gate.kernel' names 2 arguments, the kernel has 1
// RUN: not kimi-opt chip.mlir --kimi-mla-gate-to-rocdl=dump-dir=chip 2>&1 | FileCheck %s --check-prefix=NOSUCHCHIP
// NOSUCHCHIP: chip.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'gpu.module' op is for an unknown chip 'gfx9999'; known chips: gfx950
// RUN: not ls chip

// The dump folder is a file, or a file of the dump is a folder.
// RUN: not kimi-opt good.mlir --kimi-mla-gate-to-rocdl=dump-dir=good.mlir 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot make the folder 'good.mlir': Not a directory
// RUN: mkdir -p dump/gate.json
// RUN: not kimi-opt good.mlir --kimi-mla-gate-to-rocdl=dump-dir=dump -o none.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: cannot write 'dump/gate.json': Is a directory
// RUN: not ls none.mlir
// RUN: ls dump | FileCheck %s --check-prefix=NOTHING
// NOTHING: {{^}}gate.json{{$}}
// NOTHING-NOT: {{.}}
// RUN: kimi-opt good.mlir --kimi-mla-gate-to-rocdl=dump-dir=good -o /dev/null && ls good/gate.hsaco

//--- empty.mlir
module {}

//--- offset.mlir
gpu.module @gate [#rocdl.target<chip = "gfx950">] attributes {kimi_mla_gate.kernel = {arguments = ["out"], m = 1, n = 8, k = 8, rounding = "ir", sigmoid = "f32", product = "bf16"}} {
  gpu.func @gate(%out: memref<8xbf16, strided<[1], offset: ?>>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
//--- target.mlir
gpu.module @gate attributes {kimi_mla_gate.kernel = {arguments = ["out"], m = 1, n = 8, k = 8, rounding = "ir", sigmoid = "f32", product = "bf16"}} {
  gpu.func @gate(%out: memref<8xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
//--- description.mlir
gpu.module @gate [#rocdl.target<chip = "gfx950">] attributes {kimi_mla_gate.kernel = {arguments = ["out"], m = 1, n = 8}} {
  gpu.func @gate(%out: memref<8xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
//--- arguments.mlir
gpu.module @gate [#rocdl.target<chip = "gfx950">] attributes {kimi_mla_gate.kernel = {arguments = ["out", "in"], m = 1, n = 8, k = 8, rounding = "ir", sigmoid = "f32", product = "bf16"}} {
  gpu.func @gate(%out: memref<8xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
//--- chip.mlir
gpu.module @gate [#rocdl.target<chip = "gfx9999">] attributes {kimi_mla_gate.kernel = {arguments = ["out"], m = 1, n = 8, k = 8, rounding = "ir", sigmoid = "f32", product = "bf16"}} {
  gpu.func @gate(%out: memref<8xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
//--- good.mlir
gpu.module @gate [#rocdl.target<chip = "gfx950">] attributes {kimi_mla_gate.kernel = {arguments = ["out"], m = 1, n = 8, k = 8, rounding = "ir", sigmoid = "f32", product = "bf16"}} {
  gpu.func @gate(%out: memref<8xbf16>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}
