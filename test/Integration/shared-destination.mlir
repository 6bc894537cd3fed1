// Two gates that become one function's by inlining, and whose destinations CSE
// makes one: each result has a buffer of its own.
//
// REQUIRES: gfx950-emulator
// UNSUPPORTED: sanitizers
//
// RUN: cat %S/Inputs/gates.mlir %s > %t.in.mlir
// RUN: kimi-opt %t.in.mlir --pass-pipeline='builtin.module(inline,cse,kimi-mla-gate-pipeline{fuse=false})' -o %t.host.mlir
// RUN: kimi-opt %t.in.mlir --pass-pipeline='builtin.module(inline,cse,kimi-mla-gate-fuse,cse,kimi-mla-gate-pipeline{fuse=false})' -o %t.fused.mlir
// RUN: %mlir_run %t.host.mlir -e exact > %t.host
// RUN: %mlir_run %t.fused.mlir -e exact > %t.fused && %python %S/Inputs/compare.py %t.host %t.fused

func.func @two(%a: tensor<1x1536xbf16>, %b: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %hidden2: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>) attributes {no_inline} {
  %f32 = call @gate_f32(%a, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  %bf16 = call @gate_f32(%b, %hidden2, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  return %f32, %bf16 : tensor<1x1536xbf16>, tensor<1x1536xbf16>
}
func.func @exact() {
  %seed = arith.constant 1 : i32
  %seed2 = arith.constant 2 : i32
  %hidden_range = arith.constant 17 : i32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  %weight_range = arith.constant 17 : i32
  %weight_scale = arith.constant 0.0009765625 : f32
  %weight_offset = arith.constant -0.0078125 : f32
  %a = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %b = call @random_attention(%seed2) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %hidden_range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = call @random_weight(%seed, %weight_range, %weight_scale, %weight_offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
  %hidden2 = call @random_hidden(%seed2, %hidden_range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %r:2 = call @two(%a, %b, %hidden, %hidden2, %weight) : (tensor<1x1536xbf16>, tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>)
  call @print_bf16(%r#0) : (tensor<1x1536xbf16>) -> ()
  call @print_bf16(%r#1) : (tensor<1x1536xbf16>) -> ()
  return
}
