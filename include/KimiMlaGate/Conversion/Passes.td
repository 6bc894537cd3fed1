//===- Passes.td - Lowering passes -------------------------*- tablegen -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_CONVERSION_PASSES
#define KIMIMLAGATE_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def KimiMlaGateRegisterHostBuffers
    : Pass<"kimi-mla-gate-register-host-buffers", "::mlir::ModuleOp"> {
  let summary = "Makes the host buffers of fused gates visible to the device.";
  let description = [{
    Puts `gpu.host_register` of every operand in front of each launch of a fused
    gate, and `gpu.host_unregister` behind it. For programs whose buffers are
    plain `memref.alloc`s of the host. A program that allocates on the device
    must not run this pass.

    ```mlir
    gpu.launch_func @gate::@gate ... args(%h : memref<1x7168xbf16>, ...)
    ```

    becomes

    ```mlir
    %any = memref.cast %h : memref<1x7168xbf16> to memref<*xbf16>
    gpu.host_register %any : memref<*xbf16>
    ...
    gpu.launch_func @gate::@gate ... args(%h : memref<1x7168xbf16>, ...)
    gpu.host_unregister %any : memref<*xbf16>
    ...
    ```

    It belongs behind buffer deallocation, which does not know these ops.

    A buffer that is two operands, such as an attention that is overwritten, is
    registered twice; the runtime counts registrations.
  }];
  let statistics = [
    Statistic<"numRegistered", "buffers-registered", "Operands registered">,
  ];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect",
  ];
}

def KimiMlaGateFoldOffsets
    : Pass<"kimi-mla-gate-fold-offsets", "::mlir::ModuleOp"> {
  let summary = "Folds the offsets of the operands of fused gates into pointers.";
  let description = [{
    A fused gate's kernel takes buffers at any offset. This pass gives it
    buffers at offset zero instead, so that each becomes one pointer in the
    kernel's argument segment (the bare pointer convention), and adds the offset
    to the pointer on the host.

    ```mlir
    gpu.launch_func ... args(%h : memref<1x7168xbf16, strided<[7168, 1], offset: ?>>)
    gpu.func @gate(%arg0: memref<1x7168xbf16, strided<[7168, 1], offset: ?>>)
    ```

    becomes

    ```mlir
    %base, %offset, ... = memref.extract_strided_metadata %h
    %pointer = memref.extract_aligned_pointer_as_index %h
    ...                                 // %pointer + 2 * %offset as a memref
    gpu.launch_func ... args(%at : memref<1x7168xbf16>)
    gpu.func @gate(%arg0: memref<1x7168xbf16>)
    ```

    An operand whose offset is zero by its type is passed as it is.

    It belongs behind buffer deallocation: the buffer that a pointer came from
    is not an operand of the launch any more.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
  ];
}

def KimiMlaGateCompileKernels
    : Pass<"kimi-mla-gate-compile-kernels", "::mlir::ModuleOp"> {
  let summary = "Compiles the kernels of fused gates for their chip.";
  let description = [{
    Replaces each `gpu.module` that `kimi-mla-gate-fuse` made by a `gpu.binary`
    for the chip of its `#rocdl.target`: upstream's conversion to ROCDL and
    upstream's translation to assembly, and LLVM's linker within the process.
    Nothing of ROCm is needed. Other GPU modules stay as they are.

    It needs kernels without offsets (`kimi-mla-gate-fold-offsets`).

    `dump-dir` also writes, for each kernel NAME:

    * `NAME.s`, its assembly,
    * `NAME.hsaco`, its code object,
    * `NAME.json`, what a tool needs to launch it: kernel name, chip, M, N, K,
      grid (in workgroups), block (in work-items), the arguments in order, and
      the roundings.

    Each file appears whole or not at all.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"binary\"",
           "What the gpu.binary holds: a code object (`binary`), assembly "
           "(`isa`), or LLVM bitcode (`llvm`).">,
    Option<"dumpDir", "dump-dir", "std::string", /*default=*/"",
           "A folder to write each kernel's assembly, code object and "
           "description to; made if it does not exist.">,
  ];
  let statistics = [
    Statistic<"numCompiled", "kernels-compiled", "Kernels compiled">,
  ];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::ROCDL::ROCDLDialect",
  ];
}

def KimiMlaGateLowerChecks
    : Pass<"kimi-mla-gate-lower-checks", "::mlir::ModuleOp"> {
  let summary = "Lowers the layout checks of fused gates to an error exit.";
  let description = [{
    A check of `kimi-mla-gate-fuse` (a `cf.assert` whose message starts with
    `kimi-mla-gate:`) becomes a branch to a block that writes the message to
    stderr and ends the process with exit code 1. Upstream's lowering of
    `cf.assert` prints to stdout, which `abort` then drops unless it is a
    terminal.

    It belongs behind `convert-scf-to-cf`, since it splits blocks. Other asserts
    stay as they are.
  }];
  let dependentDialects = [
    "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect",
  ];
}

def KimiMlaGateKeepRoundings
    : Pass<"kimi-mla-gate-keep-roundings", "::mlir::ModuleOp"> {
  let summary = "Forbids to fold a rounding to bf16 away.";
  let description = [{
    Clears the fast-math flags of `arith.truncf` to bf16 and `arith.extf` from
    bf16. `arith-emulate-unsupported-floats` and `math-extend-to-supported-types`
    insert such pairs with the flag `contract`, under which the next folder
    erases a pair, and the rounding between two bf16 operations with it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // KIMIMLAGATE_CONVERSION_PASSES
