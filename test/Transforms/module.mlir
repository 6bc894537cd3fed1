// Situations of a whole module: names that are taken, several modules, a gate
// whose operand is another gate's result, a second run of the pass.

// RUN: kimi-opt --split-input-file --kimi-mla-gate-fuse %s | FileCheck %s
// RUN: kimi-opt --kimi-mla-gate-fuse %S/Cases/m02_two_matches_one_module.mlir -o %t.once
// RUN: kimi-opt --kimi-mla-gate-fuse %t.once -o %t.twice
// RUN: cmp %t.once %t.twice

// A symbol of the kernel's name that is something else stays; ours steps aside.
// CHECK-LABEL: func.func private @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16
// CHECK-LABEL: func.func @clash
// CHECK: gpu.launch_func @[[OURS:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16_[0-9]+]]::@kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16
// CHECK: gpu.module @[[OURS]]
// CHECK-NOT: gpu.module
func.func private @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16()

func.func @clash(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// -----

// The second gate reads the first one's result.
// CHECK-LABEL: func.func @chained
// CHECK: gpu.launch_func @[[KERNEL:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16]]::@[[KERNEL]]
// CHECK: %[[FIRST:.+]] = bufferization.to_tensor
// CHECK: bufferization.to_buffer %[[FIRST]] :
// CHECK: gpu.launch_func @[[KERNEL]]::@[[KERNEL]]
// CHECK: %[[WRITTEN:.+]] = bufferization.to_tensor
// CHECK: %[[SECOND:.+]] = linalg.copy ins(%[[WRITTEN]] : {{.+}}) outs(%[[FIRST]] :
// CHECK: return %[[SECOND]]
// CHECK: gpu.module @[[KERNEL]]
// CHECK-NOT: gpu.module
func.func @chained(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %p0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %first = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%attention, %p0 : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  %p1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %second = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%first, %p1 : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%first : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %second : tensor<1x1536xbf16>
}

// -----

// Nested modules have kernels of their own: a launch names symbols of the
// module that it is in.
// CHECK-LABEL: module @outer
// CHECK: module @inner attributes {gpu.container_module}
// CHECK: gpu.launch_func @[[KERNEL:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16]]::
// CHECK: gpu.module @[[KERNEL]]
module @outer {
  module @inner {
    func.func @gate(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
      %c0 = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : bf16
      %accumulators = tensor.empty() : tensor<1x1536xf32>
      %destination = tensor.empty() : tensor<1x1536xbf16>
      %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
      %projection = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
      %out = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
      ^bb0(%a: bf16, %s: f32, %o: bf16):
        %p = arith.truncf %s : f32 to bf16
        %n = arith.negf %p : bf16
        %e = math.exp %n : bf16
        %d = arith.addf %e, %one : bf16
        %q = arith.divf %one, %d : bf16
        %r = arith.mulf %a, %q : bf16
        linalg.yield %r : bf16
      } -> tensor<1x1536xbf16>
      return %out : tensor<1x1536xbf16>
    }
  }
}
