// Gates on buffers: when they are fused, what is left of their buffers, and what
// is checked when the program runs.

// RUN: kimi-opt --split-input-file --kimi-mla-gate-fuse --verify-each %s | FileCheck %s
// RUN: kimi-opt --split-input-file --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: kimi-opt --split-input-file --kimi-mla-gate-fuse --mlir-print-local-scope %s -o %t.fused
// RUN: kimi-opt --split-input-file --mlir-print-local-scope %s -o %t.plain
// RUN: %python %S/Inputs/unfused.py %t.plain %t.fused | FileCheck %s --check-prefix=UNCHANGED
// UNCHANGED: {{[1-9][0-9]*}} functions without a launch, 0 of them changed

// A new result, attention from an argument: nothing but the result is allocated,
// and nothing can overlap.
// CHECK-LABEL: func.func @new_result(
// CHECK-SAME: %[[ATTENTION:.+]]: memref<1x1536xbf16>, %[[HIDDEN:.+]]: memref<1x7168xbf16>, %[[WEIGHT:.+]]: memref<1536x7168xbf16>)
// CHECK-NOT: cf.assert
// CHECK: %[[RESULT:.+]] = memref.alloc() : memref<1x1536xbf16>
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.
// CHECK: gpu.launch_func
// CHECK-NOT: memref.dealloc
// CHECK: return %[[RESULT]]
// REMARK: [Passed] MlaGateFused | {{.*}}Function=new_result |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @new_result(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  %out = memref.alloc() : memref<1x1536xbf16>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%out : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return %out : memref<1x1536xbf16>
}

// -----

// The chain in place, as bufferization makes it; the weight through a transposed
// copy, which goes as well.
// CHECK-LABEL: func.func @in_place_chain(
// CHECK: %[[RESULT:.+]] = memref.alloc() : memref<1x1536xbf16>
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.
// CHECK: gpu.launch_func
// CHECK: return %[[RESULT]]
// REMARK: [Passed] MlaGateFused | {{.*}}Function=in_place_chain |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @in_place_chain(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  %transposed = memref.alloc() : memref<7168x1536xbf16>
  linalg.transpose ins(%weight : memref<1536x7168xbf16>) outs(%transposed : memref<7168x1536xbf16>) permutation = [1, 0]
  linalg.matmul ins(%hidden, %transposed : memref<1x7168xbf16>, memref<7168x1536xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %transposed : memref<7168x1536xbf16>
  return %gate : memref<1x1536xbf16>
}

// -----

// A destination among the arguments may overlap every input: checked at run
// time. Only for attention is the very same buffer fine.
// CHECK-LABEL: func.func @out_argument(
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: the destination overlaps hidden"
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: the destination overlaps weight"
// CHECK: %[[SAME:.+]] = arith.cmpi eq
// CHECK: %[[FINE:.+]] = arith.ori %{{.+}}, %[[SAME]]
// CHECK: cf.assert %[[FINE]], "kimi-mla-gate: the destination overlaps attention"
// CHECK: gpu.launch_func
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] MlaGateFused | {{.*}}Function=out_argument |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @out_argument(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %out: memref<1x1536xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%out : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// The output overwrites the attention.
// CHECK-LABEL: func.func @overwrites_attention(
// CHECK-SAME: %[[ATTENTION:.+]]: memref<1x1536xbf16>, %
// CHECK-NOT: overlaps attention
// CHECK: %[[IN:.+]] = memref.reinterpret_cast
// CHECK: gpu.launch_func
// CHECK-NOT: memref.alloc
// REMARK: [Passed] MlaGateFused | {{.*}}Function=overwrites_attention |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @overwrites_attention(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%attention : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// Strides that are not known are checked when the program runs.
// CHECK-LABEL: func.func @unknown_strides(
// CHECK-NOT: hidden is not contiguous
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: weight is not contiguous"
// CHECK-NOT: attention is not contiguous
// CHECK: gpu.launch_func
// REMARK: [Passed] MlaGateFused | {{.*}}Function=unknown_strides |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @unknown_strides(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16, strided<[?, 1], offset: 3>>, %weight: memref<1536x7168xbf16, strided<[?, 1], offset: ?>>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16, strided<[?, 1], offset: 3>>, memref<1536x7168xbf16, strided<[?, 1], offset: ?>>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// The weight has gaps.
// CHECK-LABEL: func.func @weight_with_gaps(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=weight_with_gaps | Reason="weight-layout:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @weight_with_gaps(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16, strided<[7176, 1]>>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16, strided<[7176, 1]>>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// So has the destination.
// CHECK-LABEL: func.func @destination_with_gaps(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=destination_with_gaps | Reason="destination-layout:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @destination_with_gaps(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %out: memref<1x1536xbf16, strided<[3072, 2]>>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%out : memref<1x1536xbf16, strided<[3072, 2]>>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// So has attention.
// CHECK-LABEL: func.func @attention_with_gaps(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=attention_with_gaps | Reason="attention-layout: attention is not row-major without gaps
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @attention_with_gaps(%attention: memref<1x1536xbf16, strided<[3072, 2]>>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16, strided<[3072, 2]>>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// Hidden changes after the contraction has read it.
// CHECK-LABEL: func.func @hidden_overwritten(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=hidden_overwritten | Reason="input-overwritten: 'linalg.fill' may write to hidden before the kernel reads it, where the product is
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @hidden_overwritten(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %new = arith.constant 2.0 : bf16
  linalg.fill ins(%new : bf16) outs(%hidden : memref<1x7168xbf16>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// The sums are read by somebody else.
// CHECK-LABEL: func.func @sums_read(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=sums_read | Reason="extra-use: a buffer of the gate
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @sums_read(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %other: memref<1x1536xf32>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.copy %sums, %other : memref<1x1536xf32> to memref<1x1536xf32>
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// A call between the contraction and the sigmoid may do anything to the sums.
// CHECK-LABEL: func.func @call_between(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=call_between | Reason="extra-use: 'func.call' may use a buffer of the gate's intermediate values
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @call_between(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  call @use(%sums) : (memref<1x1536xf32>) -> ()
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}
func.func private @use(memref<1x1536xf32>)

// -----

// The gate's buffer is an argument: its caller may read it.
// CHECK-LABEL: func.func @gate_in_argument(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=gate_in_argument | Reason="extra-use:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @gate_in_argument(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %gate: memref<1x1536xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  %out = memref.alloc() : memref<1x1536xbf16>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%out : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %out : memref<1x1536xbf16>
}

// -----

// The sums are added to an argument.
// CHECK-LABEL: func.func @sums_in_argument(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=sums_in_argument | Reason="accumulator-init:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @sums_in_argument(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %sums: memref<1x1536xf32>) -> memref<1x1536xbf16> {
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  return %gate : memref<1x1536xbf16>
}

// -----

// Somebody else writes a part of the sums before the sigmoid reads them.
// CHECK-LABEL: func.func @sums_overwritten(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=sums_overwritten | Reason="extra-use: 'memref.store' may use a buffer of the gate's intermediate values
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @sums_overwritten(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %c0 = arith.constant 0 : index
  memref.store %zero, %sums[%c0, %c0] : memref<1x1536xf32>
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// The destination is a part of hidden.
// CHECK-LABEL: func.func @destination_in_hidden(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=destination_in_hidden | Reason="destination-alias: the destination is in the same buffer as hidden
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @destination_in_hidden(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  %part = memref.subview %hidden[0, 0] [1, 1536] [1, 1] : memref<1x7168xbf16> to memref<1x1536xbf16, strided<[7168, 1]>>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%part : memref<1x1536xbf16, strided<[7168, 1]>>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// Attention and destination are shifted views of one buffer.
// CHECK-LABEL: func.func @destination_shifted(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=destination_shifted | Reason="destination-alias:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @destination_shifted(%both: memref<1x1600xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  %in = memref.subview %both[0, 0] [1, 1536] [1, 1] : memref<1x1600xbf16> to memref<1x1536xbf16, strided<[1600, 1]>>
  %part = memref.subview %both[0, 1] [1, 1536] [1, 1] : memref<1x1600xbf16> to memref<1x1536xbf16, strided<[1600, 1], offset: 1>>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%in, %gate : memref<1x1536xbf16, strided<[1600, 1]>>, memref<1x1536xbf16>) outs(%part : memref<1x1536xbf16, strided<[1600, 1], offset: 1>>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// The attention is the gate itself.
// CHECK-LABEL: func.func @attention_is_gate(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=attention_is_gate | Reason="extra-use:
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @attention_is_gate(%hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  %out = memref.alloc() : memref<1x1536xbf16>
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%out : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return %out : memref<1x1536xbf16>
}

// -----

// What the sums hold in the loop is not known from its block.
// CHECK-LABEL: func.func @contraction_outside(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=contraction_outside | Reason="placement: values of the gate are computed outside of 'scf.for', which the product is in
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @contraction_outside(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %count: index) -> memref<1x1536xbf16> {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %count step %c1 {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// Hidden is freed before the product.
// CHECK-LABEL: func.func @hidden_freed(
// CHECK-NOT: gpu.launch_func
// CHECK: return
// REMARK: [Missed] MlaGateNotFused | {{.*}}Function=hidden_freed | Reason="input-overwritten: 'memref.dealloc' may write to hidden before the kernel reads it
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @hidden_freed(%attention: memref<1x1536xbf16>, %source: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>) -> memref<1x1536xbf16> {
  %hidden = memref.alloc() : memref<1x7168xbf16>
  memref.copy %source, %hidden : memref<1x7168xbf16> to memref<1x7168xbf16>
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  memref.dealloc %hidden : memref<1x7168xbf16>
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  memref.dealloc %sums : memref<1x1536xf32>
  return %gate : memref<1x1536xbf16>
}

// -----

// The result is read in a loop behind the gate.
// CHECK-LABEL: func.func @result_in_loop(
// CHECK: gpu.launch_func
// CHECK: scf.for
// CHECK: memref.copy
// REMARK: [Passed] MlaGateFused | {{.*}}Function=result_in_loop |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @result_in_loop(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %other: memref<1x1536xbf16>, %count: index) {
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %gate = memref.alloc() : memref<1x1536xbf16>
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %count step %c1 {
    memref.copy %gate, %other : memref<1x1536xbf16> to memref<1x1536xbf16>
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}

// -----

// A gate in a loop, over buffers that are allocated outside.
// CHECK-LABEL: func.func @in_loop(
// CHECK: scf.for
// CHECK: gpu.launch_func
// CHECK-NOT: linalg.
// CHECK: return
// REMARK: [Passed] MlaGateFused | {{.*}}Function=in_loop |
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @in_loop(%attention: memref<1x1536xbf16>, %hidden: memref<1x7168xbf16>, %weight: memref<1536x7168xbf16>, %count: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : memref<1x1536xf32>
  %gate = memref.alloc() : memref<1x1536xbf16>
  scf.for %i = %c0 to %count step %c1 {
  linalg.fill ins(%zero : f32) outs(%sums : memref<1x1536xf32>)
  linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : memref<1x7168xbf16>, memref<1536x7168xbf16>) outs(%sums : memref<1x1536xf32>)
  %one = arith.constant 1.0 : bf16
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : memref<1x1536xf32>) outs(%gate : memref<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one : bf16
    %sigmoid = arith.divf %one, %denominator : bf16
    linalg.yield %sigmoid : bf16
  }
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : memref<1x1536xbf16>, memref<1x1536xbf16>) outs(%attention : memref<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  }
  }
  memref.dealloc %sums : memref<1x1536xf32>
  memref.dealloc %gate : memref<1x1536xbf16>
  return
}
