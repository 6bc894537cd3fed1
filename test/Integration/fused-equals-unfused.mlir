// One program, run unfused on the host and fused on the emulator.
//
// REQUIRES: gfx950-emulator
// UNSUPPORTED: sanitizers
//
// RUN: cat %S/Inputs/gates.mlir %s > %t.in.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline=fuse=false -o %t.host.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline -o %t.fused.mlir
// RUN: kimi-opt %t.in.mlir --kimi-mla-gate-pipeline=function-boundary-layout=dynamic -o %t.dynamic.mlir
// RUN: not grep -q gpu.launch_func %t.host.mlir
// RUN: grep -c gpu.launch_func %t.fused.mlir | FileCheck %s --check-prefix=LAUNCHES
// RUN: grep -c gpu.launch_func %t.dynamic.mlir | FileCheck %s --check-prefix=LAUNCHES
// LAUNCHES: {{^}}2{{$}}
//
// Where every partial sum is an integer multiple of one power of two and small
// enough, f32 sums are exact in any order, and every output is the same.
//
// RUN: %mlir_run %t.host.mlir -e exact > %t.host
// RUN: %mlir_run %t.fused.mlir -e exact > %t.fused
// RUN: %mlir_run %t.dynamic.mlir -e exact > %t.dynamic
// RUN: %python %S/Inputs/compare.py %t.host %t.fused | FileCheck %s --check-prefix=EXACT
// RUN: %python %S/Inputs/compare.py %t.host %t.dynamic | FileCheck %s --check-prefix=EXACT
// EXACT: 3072 of 3072 equal
//
// Elsewhere the orders of summation differ. compare.py --bound works out what
// each output may be.
//
// RUN: %mlir_run %t.host.mlir -e inexact > %t.host
// RUN: %mlir_run %t.fused.mlir -e inexact > %t.fused
// RUN: %python %S/Inputs/compare.py --bound %t.host %t.fused | FileCheck %s --check-prefix=BOUND
// BOUND: 0 of 3072 outside the bound

func.func private @run(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) {
  %f32 = call @gate_f32(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%f32) : (tensor<1x1536xbf16>) -> ()
  %bf16 = call @gate_bf16(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%bf16) : (tensor<1x1536xbf16>) -> ()
  return
}

// hidden out of -8, ..., 8; weight out of -1/128, ..., 1/128 in steps of 1/1024:
// sums below 2^9 in steps of 2^-10.
func.func @exact() {
  %seed = arith.constant 1 : i32
  %hidden_range = arith.constant 17 : i32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  %weight_range = arith.constant 17 : i32
  %weight_scale = arith.constant 0.0009765625 : f32
  %weight_offset = arith.constant -0.0078125 : f32
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %hidden_range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = call @random_weight(%seed, %weight_range, %weight_scale, %weight_offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
  call @run(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> ()
  return
}

// Uniform in [-1, 1) and [-0.05, 0.05). Also prints what the bound needs.
func.func @inexact() {
  %seed = arith.constant 2 : i32
  %range = arith.constant 65536 : i32
  %hidden_scale = arith.constant 3.0517578125e-05 : f32
  %hidden_offset = arith.constant -1.0 : f32
  %weight_scale = arith.constant 1.52587890625e-06 : f32
  %weight_offset = arith.constant -0.05 : f32
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = call @random_weight(%seed, %range, %weight_scale, %weight_offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
  call @run(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> ()

  call @print_bf16(%attention) : (tensor<1x1536xbf16>) -> ()
  %projection = call @projection(%hidden, %weight) : (tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xf32>
  call @print_f32(%projection) : (tensor<1x1536xf32>) -> ()
  %hidden_magnitude = linalg.abs ins(%hidden : tensor<1x7168xbf16>) outs(%hidden : tensor<1x7168xbf16>) -> tensor<1x7168xbf16>
  %weight_magnitude = linalg.abs ins(%weight : tensor<1536x7168xbf16>) outs(%weight : tensor<1536x7168xbf16>) -> tensor<1536x7168xbf16>
  %magnitude = call @projection(%hidden_magnitude, %weight_magnitude) : (tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xf32>
  call @print_f32(%magnitude) : (tensor<1x1536xf32>) -> ()
  return
}
