// Every reason of the contract that the files in Cases/ do not show, one
// function each: the IR stays as it was, and one remark names the condition.

// RUN: kimi-opt %s -o %t.before
// RUN: kimi-opt --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s -o %t.after 2>%t.remarks
// RUN: cmp %t.before %t.after
// RUN: FileCheck --check-prefix=REMARK %s <%t.remarks
// RUN: grep -c 'remark: \[Missed\]' %t.remarks | FileCheck --check-prefix=COUNT %s
// COUNT: {{^}}24{{$}}

#id = affine_map<(d0, d1) -> (d0, d1)>
#broadcast = affine_map<(d0, d1) -> (d0, 0)>
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Attention is read at column 0 for every column.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=attention_broadcast | Reason="attention-layout: attention is read broadcast
func.func @attention_broadcast(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#broadcast, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
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

// The batch is dynamic.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=dynamic_batch | Reason="dynamic-shape: the result's shape is dynamic: tensor<?x1536xbf16>
func.func @dynamic_batch(%attention: tensor<?x1536xbf16>, %hidden: tensor<?x7168xbf16>, %weight: tensor<1536x7168xbf16>, %m: index) -> tensor<?x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty(%m) : tensor<?x1536xf32>
  %destination = tensor.empty(%m) : tensor<?x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<?x1536xf32>) -> tensor<?x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<?x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<?x1536xf32>) -> tensor<?x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<?x1536xbf16>, tensor<?x1536xf32>) outs(%destination : tensor<?x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<?x1536xbf16>
  return %out : tensor<?x1536xbf16>
}

// f16 instead of bf16.
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=attention_f16 | Reason="element-type: the product is f16
func.func @attention_f16(%attention: tensor<1x1536xf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xf16>
  %oneh = arith.constant 1.0 : f16
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xf16>) {
  ^bb0(%a: f16, %s: f32, %o: f16):
    %p = arith.truncf %s : f32 to f16
    %n = arith.negf %p : f16
    %e = math.exp %n : f16
    %d = arith.addf %e, %oneh : f16
    %q = arith.divf %oneh, %d : f16
    %r = arith.mulf %a, %q : f16
    linalg.yield %r : f16
  } -> tensor<1x1536xf16>
  return %out : tensor<1x1536xf16>
}

// f32 activations.
// REMARK: reasons.mlir:[[# @LINE + 22]]:
// REMARK-SAME: Function=hidden_f32 | Reason="element-type: an operand of the contraction is f32, not bf16
func.func @hidden_f32(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xf32>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.generic {indexing_maps = [#hidden, #weight, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%hidden, %weight : tensor<1x7168xf32>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) {
  ^bb0(%x: f32, %y: bf16, %acc: f32):
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %x, %1 : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1x1536xf32>
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

// isaContractionOpInterface accepts this body.
// REMARK: reasons.mlir:[[# @LINE + 24]]:
// REMARK-SAME: Function=negated_operand | Reason="contraction-body: 'arith.negf' computes an operand of the contraction
func.func @negated_operand(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.generic {indexing_maps = [#hidden, #weight, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %0 = arith.extf %x : bf16 to f32
    %n = arith.negf %0 : f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %n, %1 : f32
    %3 = arith.addf %acc, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<1x1536xf32>
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

// A scale on the projection.
// REMARK: reasons.mlir:[[# @LINE + 18]]:
// REMARK-SAME: Function=scaled_projection | Reason="extra-arithmetic: 'arith.mulf' lies between the contraction and its rounding
func.func @scaled_projection(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %c = arith.constant 0.125 : f32
    %t = arith.mulf %s, %c : f32
    %p = arith.truncf %t : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// sigmoid(2x).
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=temperature | Reason="extra-arithmetic: 'arith.mulf' computes the exponential's argument
func.func @temperature(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %c = arith.constant -2.0 : bf16
    %n = arith.mulf %p, %c : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// attention * (1 + sigmoid).
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=shifted_sigmoid | Reason="extra-arithmetic: 'arith.addf' lies between the sigmoid and the product
func.func @shifted_sigmoid(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
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
    %t = arith.addf %q, %one : bf16
    %r = arith.mulf %a, %t : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// A residual is added in the same body.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=residual | Reason="extra-arithmetic: 'arith.addf' follows the product in the same body
func.func @residual(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
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
    %t = arith.addf %r, %a : bf16
    linalg.yield %t : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The bf16 projection is also returned.
// REMARK: reasons.mlir:[[# @LINE + 20]]:
// REMARK-SAME: Function=projection_returned | Reason="extra-use: the result of 'linalg.generic' is also used by 'func.return'
func.func @projection_returned(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>) {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %rounded = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%projection : tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    linalg.yield %p : bf16
  } -> tensor<1x1536xbf16>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %rounded : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %p: bf16, %o: bf16):
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out, %rounded : tensor<1x1536xbf16>, tensor<1x1536xbf16>
}

// x * sigmoid(x): both operands are the projection.
// REMARK: reasons.mlir:[[# @LINE + 20]]:
// REMARK-SAME: Function=silu | Reason="extra-use: the attention operand is itself computed from the projection
func.func @silu(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %rounded = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%projection : tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    linalg.yield %p : bf16
  } -> tensor<1x1536xbf16>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%rounded, %rounded : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %p: bf16, %o: bf16):
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The sigmoid is a second result of the same op.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=two_results | Reason="extra-use: 'linalg.generic' has 2 results
func.func @two_results(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>) {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination, %destination : tensor<1x1536xbf16>, tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o0: bf16, %o1: bf16):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r, %q : bf16, bf16
  } -> (tensor<1x1536xbf16>, tensor<1x1536xbf16>)
  return %out#0, %out#1 : tensor<1x1536xbf16>, tensor<1x1536xbf16>
}

// The product stays in f32.
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=product_f32 | Reason="product-precision: the product is f32
func.func @product_f32(%attention: tensor<1x1536xf32>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xf32> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xf32>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %p = arith.truncf %s : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %w = arith.extf %q : bf16 to f32
    %r = arith.mulf %a, %w : f32
    linalg.yield %r : f32
  } -> tensor<1x1536xf32>
  return %out : tensor<1x1536xf32>
}

// The f32 projection goes into the sigmoid.
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=unrounded_projection | Reason="projection-rounding: the projection is not rounded to bf16
func.func @unrounded_projection(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %onef = arith.constant 1.0 : f32
    %n = arith.negf %s : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %t = arith.truncf %q : f32 to bf16
    %r = arith.mulf %a, %t : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Another rounding mode behind the sigmoid.
// REMARK: reasons.mlir:[[# @LINE + 19]]:
// REMARK-SAME: Function=unrounded_sigmoid_mode | Reason="sigmoid-form: the sigmoid is rounded with mode upward
func.func @unrounded_sigmoid_mode(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %onef = arith.constant 1.0 : f32
    %p = arith.truncf %s : f32 to bf16
    %x = arith.extf %p : bf16 to f32
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %t = arith.truncf %q upward : f32 to bf16
    %r = arith.mulf %a, %t : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Another hidden size.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=wrong_k | Reason="shape-k: K is 4096; the kernel takes 7168
func.func @wrong_k(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x4096xbf16>, %weight: tensor<1536x4096xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x4096xbf16>, tensor<1536x4096xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
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

// The share of tensor parallel 4.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=wrong_n | Reason="shape-n: N is 3072; option tensor-parallel admits 1536
func.func @wrong_n(%attention: tensor<1x3072xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<3072x7168xbf16>) -> tensor<1x3072xbf16> {
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

// tanh instead of a sigmoid.
// REMARK: reasons.mlir:[[# @LINE + 13]]:
// REMARK-SAME: Function=tanh_gate | Reason="sigmoid-form: the gate is a hyperbolic tangent
func.func @tanh_gate(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %q = math.tanh %p : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// 0.5 + 0.5 tanh(x / 2): the same function, other roundings.
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=tanh_form | Reason="sigmoid-form: the sigmoid is written with 'math.tanh'
func.func @tanh_form(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %half = arith.constant 0.5 : bf16
    %p = arith.truncf %s : f32 to bf16
    %u = arith.mulf %p, %half : bf16
    %t = math.tanh %u : bf16
    %v = arith.mulf %t, %half : bf16
    %q = arith.addf %v, %half : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// 2 / (1 + exp(-x)).
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=numerator_two | Reason="sigmoid-form: the sigmoid's numerator is not 1
func.func @numerator_two(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
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
    %two = arith.constant 2.0 : bf16
    %q = arith.divf %two, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// 1 / (2 + exp(-x)).
// REMARK: reasons.mlir:[[# @LINE + 17]]:
// REMARK-SAME: Function=denominator_two | Reason="sigmoid-form: the sigmoid's denominator is not 1 + exp(-x)
func.func @denominator_two(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
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
    %two = arith.constant 2.0 : bf16
    %d = arith.addf %e, %two : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// 1 / (1 + exp(x)).
// REMARK: reasons.mlir:[[# @LINE + 15]]:
// REMARK-SAME: Function=not_negated | Reason="sigmoid-form: the exponential's argument is not negated
func.func @not_negated(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%attention, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%destination : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %s: f32, %o: bf16):
    %p = arith.truncf %s : f32 to bf16
    %e = math.exp %p : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// exp2 instead of exp.
// REMARK: reasons.mlir:[[# @LINE + 16]]:
// REMARK-SAME: Function=base_two | Reason="sigmoid-form: the sigmoid's exponential is 'math.exp2'
func.func @base_two(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
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
    %e = math.exp2 %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %r = arith.mulf %a, %q : bf16
    linalg.yield %r : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The contraction runs once, the product in every iteration.
// REMARK: reasons.mlir:[[# @LINE + 18]]:
// REMARK-SAME: Function=placement | Reason="placement: 'linalg.matmul' lies in another block than the product
func.func @placement(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>, %count: index) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %projection = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = scf.for %i = %zero to %count step %step iter_args(%value = %attention) -> tensor<1x1536xbf16> {
    %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%value, %projection : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%value : tensor<1x1536xbf16>) {
    ^bb0(%a: bf16, %s: f32, %o: bf16):
      %p = arith.truncf %s : f32 to bf16
      %n = arith.negf %p : bf16
      %e = math.exp %n : bf16
      %d = arith.addf %e, %one : bf16
      %q = arith.divf %one, %d : bf16
      %r = arith.mulf %a, %q : bf16
      linalg.yield %r : bf16
    } -> tensor<1x1536xbf16>
    scf.yield %next : tensor<1x1536xbf16>
  }
  return %out : tensor<1x1536xbf16>
}
