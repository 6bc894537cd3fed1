// The fused module after one-shot bufferization with function boundaries of
// static, of unknown and of inferred layout: no operand is copied, and checks
// stay only where a layout is unknown.

// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map},canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,STATIC --implicit-check-not=memref.copy --implicit-check-not=cf.assert
// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=fully-dynamic-layout-map},canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DYNAMIC --implicit-check-not=memref.copy --implicit-check-not=cf.assert
// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,one-shot-bufferize{bufferize-function-boundaries=true},canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DYNAMIC --implicit-check-not=memref.copy --implicit-check-not=cf.assert

// Ownership-based deallocation takes the launch for what it is, and frees what
// the function does not return.
// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,one-shot-bufferize{bufferize-function-boundaries=true},buffer-deallocation-pipeline)' | FileCheck %s --check-prefix=FREED

#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @gate(
// CHECK-SAME: %[[ATTENTION:[a-z0-9]+]]: memref<1x1536xbf16{{.*}}>, %[[HIDDEN:[a-z0-9]+]]: memref<1x7168xbf16{{.*}}>, %[[WEIGHT:[a-z0-9]+]]: memref<1536x7168xbf16
// STATIC-DAG: %[[RESULT:.+]] = memref.alloc()
// STATIC-DAG: %[[H:.+]] = memref.cast %[[HIDDEN]]
// STATIC-DAG: %[[W:.+]] = memref.cast %[[WEIGHT]]
// STATIC-DAG: %[[A:.+]] = memref.cast %[[ATTENTION]]
// DYNAMIC: cf.assert %{{.+}}, "kimi-mla-gate: hidden is not contiguous"
// DYNAMIC: %[[H:.+]] = memref.reinterpret_cast %[[HIDDEN]] to offset: [%{{.+}}], sizes: [1, 7168], strides: [7168, 1]
// DYNAMIC: cf.assert %{{.+}}, "kimi-mla-gate: weight is not contiguous"
// DYNAMIC: %[[W:.+]] = memref.reinterpret_cast %[[WEIGHT]] to offset: [%{{.+}}], sizes: [1536, 7168], strides: [7168, 1]
// DYNAMIC: cf.assert %{{.+}}, "kimi-mla-gate: attention is not contiguous"
// DYNAMIC: %[[A:.+]] = memref.reinterpret_cast %[[ATTENTION]] to offset: [%{{.+}}], sizes: [1, 1536], strides: [1536, 1]
// STATIC-DAG: %[[O:.+]] = memref.cast %[[RESULT]]
// DYNAMIC: %[[RESULT:.+]] = memref.alloc()
// DYNAMIC: %[[O:.+]] = memref.cast %[[RESULT]]
// CHECK-NOT: memref.alloc
// CHECK: gpu.launch_func
// CHECK-SAME: args(%[[H]] : {{.+}}, %[[W]] : {{.+}}, %[[A]] : {{.+}}, %[[O]] : {{.+}})
// CHECK: return
// FREED-LABEL: func.func @gate(
// FREED: memref.alloc
// FREED-NOT: dealloc
// FREED: return
func.func @gate(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %result : tensor<1x1536xbf16>
}

// The first gate's result is an intermediate.
// FREED-LABEL: func.func @two_layers(
// FREED: %[[FIRST:.+]] = call @gate(
// FREED: %[[SECOND:.+]] = call @gate(
// FREED: memref.dealloc
// FREED: return %[[SECOND]]
func.func @two_layers(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %first = call @gate(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  %second = call @gate(%first, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  return %second : tensor<1x1536xbf16>
}
