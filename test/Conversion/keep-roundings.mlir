// RUN: kimi-opt %s --kimi-mla-gate-keep-roundings --canonicalize | FileCheck %s
// RUN: kimi-opt %s --canonicalize | FileCheck %s --check-prefix=FOLDED

// CHECK-LABEL: func.func @rounded(
// CHECK: %[[NARROW:.+]] = arith.truncf %{{.+}} : f32 to bf16
// CHECK: arith.extf %[[NARROW]] : bf16 to f32
// FOLDED-LABEL: func.func @rounded(
// FOLDED-NOT: arith.truncf
// FOLDED: return
func.func @rounded(%x: f32) -> f32 {
  %narrow = arith.truncf %x fastmath<contract> : f32 to bf16
  %wide = arith.extf %narrow fastmath<contract> : bf16 to f32
  return %wide : f32
}

// CHECK-LABEL: func.func @other_types(
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @other_types(%x: f64) -> f64 {
  %narrow = arith.truncf %x fastmath<contract> : f64 to f32
  %wide = arith.extf %narrow fastmath<contract> : f32 to f64
  return %wide : f64
}
