// The output gate of one of Kimi-K3's MLA layers, decode step, batch one,
// tensor parallel 8, with the roundings that PyTorch has: projection to bf16,
// sigmoid in f32 rounded once, product to bf16.

#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

func.func @mla_gate(%attention: tensor<1x1536xbf16>, %hidden: tensor<1x7168xbf16>,
                    %weight: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  // F.linear(hidden, weight): f32 accumulation, then bf16.
  %zero = arith.constant 0.0 : f32
  %accumulators = tensor.empty() : tensor<1x1536xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%accumulators : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %sums = linalg.matmul indexing_maps = [#hidden, #weight, #out]
      ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
      outs(%zeros : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %empty = tensor.empty() : tensor<1x1536xbf16>
  %projection = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<1x1536xf32>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%sum: f32, %unused: bf16):
    %rounded = arith.truncf %sum : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>

  // torch.sigmoid(projection)
  %one = arith.constant 1.0 : f32
  %gate = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%projection : tensor<1x1536xbf16>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %unused: bf16):
    %wide = arith.extf %x : bf16 to f32
    %negated = arith.negf %wide : f32
    %exponential = math.exp %negated : f32
    %denominator = arith.addf %exponential, %one : f32
    %sigmoid = arith.divf %one, %denominator : f32
    %rounded = arith.truncf %sigmoid : f32 to bf16
    linalg.yield %rounded : bf16
  } -> tensor<1x1536xbf16>

  // attention * gate
  %result = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%attention, %gate : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%empty : tensor<1x1536xbf16>) {
  ^bb0(%a: bf16, %g: bf16, %unused: bf16):
    %product = arith.mulf %a, %g : bf16
    linalg.yield %product : bf16
  } -> tensor<1x1536xbf16>
  return %result : tensor<1x1536xbf16>
}
