// What a gate's destination becomes in bufferization, behind CSE as well: no two
// results in one buffer, and no new buffer where the attention may be overwritten.

// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,cse,one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map},canonicalize,cse)' | FileCheck %s
// RUN: kimi-opt %s --pass-pipeline='builtin.module(kimi-mla-gate-fuse,cse,one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=fully-dynamic-layout-map},canonicalize,cse)' | FileCheck %s --check-prefix=DYNAMIC
// RUN: kimi-opt %s --kimi-mla-gate-pipeline -o /dev/null

#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// Two gates that name one empty destination.
// CHECK: func.func @shared_empty(
// CHECK-DAG: %[[FIRST:.+]] = memref.alloc()
// CHECK-DAG: %[[SECOND:.+]] = memref.alloc()
// CHECK: return %[[FIRST]], %[[SECOND]] :
// DYNAMIC: func.func @shared_empty(
// DYNAMIC-COUNT-2: memref.alloc()
// DYNAMIC-NOT: memref.alloc
// DYNAMIC: return
func.func @shared_empty(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>, %other: tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>) {
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zero0 = arith.constant 0.0 : f32
  %one0 = arith.constant 1.0 : bf16
  %accumulators0 = tensor.empty() : tensor<1x1536xf32>
  %zeros0 = linalg.fill ins(%zero0 : f32) outs(%accumulators0 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums0 = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros0 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums0 : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one0 : bf16
    %sigmoid = arith.divf %one0, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  %zero1 = arith.constant 0.0 : f32
  %one1 = arith.constant 1.0 : bf16
  %accumulators1 = tensor.empty() : tensor<1x1536xf32>
  %zeros1 = linalg.fill ins(%zero1 : f32) outs(%accumulators1 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums1 = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %other : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros1 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums1 : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one1 : bf16
    %sigmoid = arith.divf %one1, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %gated0, %gated1 : tensor<1x1536xbf16>, tensor<1x1536xbf16>
}

// The output over the attention: nothing is allocated, nothing is copied.
// CHECK: func.func @in_place(%[[ATTENTION:[a-z0-9]+]]: memref
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: gpu.launch_func
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: return %[[ATTENTION]] :
// DYNAMIC: func.func @in_place(%[[ATTENTION:[a-z0-9]+]]: memref
// DYNAMIC-NOT: memref.alloc
// DYNAMIC-NOT: copy
// DYNAMIC: gpu.launch_func
// DYNAMIC-NOT: memref.alloc
// DYNAMIC-NOT: copy
// DYNAMIC: return %[[ATTENTION]] :
func.func @in_place(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%attention : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %gated : tensor<1x1536xbf16>
}

// The attention is read again: the result is elsewhere.
// CHECK: func.func @read_again(%[[ATTENTION:[a-z0-9]+]]: memref
// CHECK: gpu.launch_func
// CHECK: return %{{alloc[_0-9]*}}, %[[ATTENTION]] :
func.func @read_again(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%attention : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %gated, %attention : tensor<1x1536xbf16>, tensor<1x1536xbf16>
}

// A destination inside hidden: the kernel writes to another buffer.
// CHECK: func.func @in_hidden(
// CHECK: memref.alloc()
// CHECK: gpu.launch_func
func.func @in_hidden(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %part = tensor.extract_slice %hidden[0, 0] [1, 1536] [1, 1] : tensor<1x7168xbf16> to tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%part : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %gated : tensor<1x1536xbf16>
}

// A destination that a loop carries.
// CHECK: func.func @carried(
// CHECK: scf.for
// CHECK-NOT: memref.alloc
// CHECK: gpu.launch_func
func.func @carried(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>, %count: index) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %count step %c1 iter_args(%current = %attention) -> (tensor<1x1536xbf16>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%current, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%current : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
    scf.yield %gated : tensor<1x1536xbf16>
  }
  return %last : tensor<1x1536xbf16>
}
