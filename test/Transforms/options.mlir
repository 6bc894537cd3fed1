// What the options admit, and what they refuse.

// RUN: kimi-opt --kimi-mla-gate-fuse="max-batch=8" %S/Cases/n17_M8.mlir | FileCheck --check-prefix=BATCH %s
// BATCH: gpu.launch_func @kimi_mla_gate_m8_n1536_k7168_sigmoid_bf16::
// BATCH: gpu.module @kimi_mla_gate_m8_n1536_k7168_sigmoid_bf16
// BATCH: memref<14x48xf32, #gpu.address_space<workgroup>>

// RUN: kimi-opt --kimi-mla-gate-fuse="max-batch=7" %S/Cases/n17_M8.mlir | FileCheck --check-prefix=SMALL %s
// SMALL-NOT: gpu.launch_func

// RUN: kimi-opt --kimi-mla-gate-fuse="tensor-parallel=1,4" %s | FileCheck --check-prefix=PARALLEL %s
// PARALLEL-LABEL: func.func @tensor_parallel_4
// PARALLEL: %[[WORKGROUPS:.+]] = arith.constant 512 : index
// PARALLEL: gpu.launch_func @kimi_mla_gate_m1_n3072_k7168_sigmoid_bf16::{{.*}}blocks in (%[[WORKGROUPS]],
// PARALLEL-LABEL: func.func @tensor_parallel_8
// PARALLEL-NOT: gpu.launch_func

// RUN: not kimi-opt --kimi-mla-gate-fuse="chip=gfx942" %s 2>&1 | FileCheck --check-prefix=CHIP %s
// CHIP: error: kimi-mla-gate-fuse: unknown chip 'gfx942'; known chips: gfx950
// RUN: not kimi-opt --kimi-mla-gate-fuse="tensor-parallel=8,3" %s 2>&1 | FileCheck --check-prefix=TP %s
// TP: error: kimi-mla-gate-fuse: tensor-parallel is 3; it must be 1, 2, 4 or 8
// RUN: not kimi-opt --kimi-mla-gate-fuse="max-batch=0" %s 2>&1 | FileCheck --check-prefix=ZERO %s
// ZERO: error: kimi-mla-gate-fuse: max-batch is 0; it must be 1 to 16
// RUN: not kimi-opt --kimi-mla-gate-fuse="max-batch=17" %s 2>&1 | FileCheck --check-prefix=MANY %s
// MANY: error: kimi-mla-gate-fuse: max-batch is 17; it must be 1 to 16
// RUN: not kimi-opt --kimi-mla-gate-fuse="rounding=fast" %s 2>&1 | FileCheck --check-prefix=ROUNDING %s
// ROUNDING: error: kimi-mla-gate-fuse: rounding is 'fast'; it must be 'ir' or 'production'
// RUN: not kimi-opt --kimi-mla-gate-fuse="max-batch=two" %s 2>&1 | FileCheck --check-prefix=NUMBER %s
// NUMBER: 'two' value invalid for {{.*}}argument

#id = affine_map<(d0, d1) -> (d0, d1)>
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

func.func @tensor_parallel_4(%attention: tensor<1x3072xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<3072x7168xbf16>) -> tensor<1x3072xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x3072xf32>
  %destination = tensor.empty() : tensor<1x3072xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x3072xf32>) -> tensor<1x3072xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<3072x7168xbf16>) outs(%zeros : tensor<1x3072xf32>) -> tensor<1x3072xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x3072xbf16>, tensor<1x3072xf32>) outs(%destination : tensor<1x3072xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x3072xbf16>
  return %out : tensor<1x3072xbf16>
}

func.func @tensor_parallel_8(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
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
