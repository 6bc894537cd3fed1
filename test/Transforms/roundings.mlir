// Roundings in and around the sigmoid and the product: which kernel a spelling
// gets, and which are refused.
//
// RUN: kimi-opt --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s 2>%t.remarks | FileCheck %s --implicit-check-not=gpu.launch_func
// RUN: FileCheck --check-prefix=REMARK %s <%t.remarks
//
// The same on buffers.
// RUN: kimi-opt --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --cse --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s 2>%t.remarks | FileCheck %s --implicit-check-not=gpu.launch_func
// RUN: FileCheck --check-prefix=REMARK %s <%t.remarks

#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// The product of two bf16 values is exact in f32: rounding it is a bf16 product.
// CHECK-LABEL: func.func @product_in_f32(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=product_in_f32 |
func.func @product_in_f32(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gate = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %exponential = math.exp %negated : bf16
    %denominator = arith.addf %exponential, %one_bf16 : bf16
    %sigmoid = arith.divf %one_bf16, %denominator : bf16
    linalg.yield %sigmoid : bf16
  } -> tensor<1x1536xbf16>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %g : bf16 to f32
    %product = arith.mulf %x, %y : f32
    %rounded = arith.truncf %product : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The same with the sigmoid in f32, rounded; each conversion is an op of its own.
// CHECK-LABEL: func.func @product_in_f32_of_rounded_sigmoid(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_f32::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=product_in_f32_of_rounded_sigmoid |
func.func @product_in_f32_of_rounded_sigmoid(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %gate = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate : tensor<1x1536xbf16>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%g: bf16, %unused: f32):
    %x = arith.extf %g : bf16 to f32
    linalg.yield %x : f32
  } -> tensor<1x1536xf32>
  %wide_attention = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention : tensor<1x1536xbf16>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%a: bf16, %unused: f32):
    %x = arith.extf %a : bf16 to f32
    linalg.yield %x : f32
  } -> tensor<1x1536xf32>
  %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%wide, %wide_attention : tensor<1x1536xf32>, tensor<1x1536xf32>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%g: f32, %a: f32, %unused: f32):
    %product = arith.mulf %g, %a : f32
    linalg.yield %product : f32
  } -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%p: f32, %unused: bf16):
    %rounded = arith.truncf %p : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The sigmoid is not rounded before the product: one rounding for both.
// CHECK-LABEL: func.func @one_rounding(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_f32_unrounded::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=one_rounding |
func.func @one_rounding(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %x = arith.extf %a : bf16 to f32
    %product = arith.mulf %sigmoid, %x : f32
    %rounded = arith.truncf %product : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// A bf16 op on hardware without one: extended, computed in f32, rounded.
// CHECK-LABEL: func.func @promoted_steps(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=promoted_steps |
func.func @promoted_steps(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %x0 = arith.extf %projection : bf16 to f32
    %y0 = arith.negf %x0 : f32
    %negated = arith.truncf %y0 : f32 to bf16
    %x1 = arith.extf %negated : bf16 to f32
    %y1 = math.exp %x1 : f32
    %exponential = arith.truncf %y1 : f32 to bf16
    %x2 = arith.extf %exponential : bf16 to f32
    %y2 = arith.addf %x2, %one : f32
    %denominator = arith.truncf %y2 : f32 to bf16
    %x3 = arith.extf %denominator : bf16 to f32
    %y3 = arith.divf %one, %x3 : f32
    %sigmoid = arith.truncf %y3 : f32 to bf16
    %x4 = arith.extf %a : bf16 to f32
    %x5 = arith.extf %sigmoid : bf16 to f32
    %y4 = arith.mulf %x4, %x5 : f32
    %product = arith.truncf %y4 : f32 to bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Only the exponential is.
// CHECK-LABEL: func.func @promoted_exponential(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=promoted_exponential |
func.func @promoted_exponential(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %negated = arith.negf %projection : bf16
    %x1 = arith.extf %negated : bf16 to f32
    %y1 = math.exp %x1 : f32
    %exponential = arith.truncf %y1 : f32 to bf16
    %denominator = arith.addf %exponential, %one_bf16 : bf16
    %sigmoid = arith.divf %one_bf16, %denominator : bf16
    %product = arith.mulf %a, %sigmoid : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Negation is exact in bf16, and commutes with rounding.
// CHECK-LABEL: func.func @bf16_negation(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_f32::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=bf16_negation |
func.func @bf16_negation(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %n = arith.negf %projection : bf16
    %negated = arith.extf %n : bf16 to f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    %product = arith.mulf %a, %rounded : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// CHECK-LABEL: func.func @negation_before_rounding(
// CHECK-NOT: linalg.generic
// CHECK: gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_f32::
// CHECK: return
// REMARK-DAG: [Passed] {{.*}}Function=negation_before_rounding |
func.func @negation_before_rounding(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %n = arith.negf %sum : f32
    %projection = arith.truncf %n : f32 to bf16
    %negated = arith.extf %projection : bf16 to f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    %product = arith.mulf %a, %rounded : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Some steps are rounded, others are not.
// CHECK-LABEL: func.func @mixed_roundings(
// CHECK: return
// REMARK-DAG: [Missed] {{.*}}Function=mixed_roundings | Reason="sigmoid-form: of the sigmoid, the exponential is rounded, the sum not rounded and the quotient rounded
func.func @mixed_roundings(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %narrow = arith.truncf %exponential : f32 to bf16
    %again = arith.extf %narrow : bf16 to f32
    %denominator = arith.addf %again, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    %product = arith.mulf %a, %rounded : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// The f32 product is rounded in another mode, used twice, or scaled.
// CHECK-LABEL: func.func @product_toward_zero(
// CHECK: return
// REMARK-DAG: [Missed] {{.*}}Function=product_toward_zero | Reason="product-precision: the product is rounded with mode toward_zero
func.func @product_toward_zero(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %x = arith.extf %a : bf16 to f32
    %product = arith.mulf %sigmoid, %x : f32
    %rounded = arith.truncf %product toward_zero : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// CHECK-LABEL: func.func @product_used_twice(
// CHECK: return
// REMARK-DAG: [Missed] {{.*}}Function=product_used_twice | Reason="{{product-precision: the product is f32|extra-use: a buffer of the gate}}
func.func @product_used_twice(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xf32> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%a: bf16, %sum: f32, %unused: f32):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %x = arith.extf %a : bf16 to f32
    %product = arith.mulf %sigmoid, %x : f32
    linalg.yield %product : f32
  } -> tensor<1x1536xf32>
  %narrow = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%p: f32, %unused: bf16):
    %rounded = arith.truncf %p : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product, %narrow : tensor<1x1536xf32>, tensor<1x1536xbf16>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%p: f32, %q: bf16, %unused: f32):
    %x = arith.extf %q : bf16 to f32
    %rest = arith.subf %p, %x : f32
    linalg.yield %rest : f32
  } -> tensor<1x1536xf32>
  return %out : tensor<1x1536xf32>
}

// CHECK-LABEL: func.func @product_scaled(
// CHECK: return
// REMARK-DAG: [Missed] {{.*}}Function=product_scaled | Reason="{{product-precision: the product is f32|extra-use: a buffer of the gate}}
func.func @product_scaled(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty_f32 : tensor<1x1536xf32>) {
  ^bb0(%a: bf16, %sum: f32, %unused: f32):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %x = arith.extf %a : bf16 to f32
    %product = arith.mulf %sigmoid, %x : f32
    linalg.yield %product : f32
  } -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%product : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%p: f32, %unused: bf16):
    %scaled = arith.mulf %p, %one : f32
    %rounded = arith.truncf %scaled : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}

// Attention itself is f32.
// CHECK-LABEL: func.func @attention_computed_in_f32(
// CHECK: return
// REMARK-DAG: [Missed] {{.*}}Function=attention_computed_in_f32 | Reason="extra-arithmetic: 'arith.addf' computes attention
func.func @attention_computed_in_f32(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>, %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %one_bf16 = arith.constant 1.0 : bf16
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %empty_f32 = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty_f32 : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %sums : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %sum: f32, %unused: bf16):
    %projection = arith.truncf %sum : f32 to bf16
    %logit = arith.extf %projection : bf16 to f32
    %negated = arith.negf %logit : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %x = arith.extf %a : bf16 to f32
    %twice = arith.addf %x, %x : f32
    %product = arith.mulf %sigmoid, %twice : f32
    %rounded = arith.truncf %product : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>
  return %out : tensor<1x1536xbf16>
}
