// IR that only resembles a gate from afar: no remark, no change.

// RUN: kimi-opt %s -o %t.before
// RUN: kimi-opt --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s -o %t.after 2>&1 | count 0
// RUN: cmp %t.before %t.after

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#hidden = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// A sigmoid of something that no contraction computed.
func.func @elementwise_sigmoid(%x: tensor<1x1536xbf16>, %y: tensor<1x1536xbf16>) -> tensor<1x1536xbf16> {
  %one = arith.constant 1.0 : bf16
  %destination = tensor.empty() : tensor<1x1536xbf16>
  %out = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%destination : tensor<1x1536xbf16>) {
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

// Softmax of scores, applied to values: a quotient with an exponential of a
// contraction in its numerator only.
func.func @softmax(%q: tensor<16x64xf32>, %k: tensor<128x64xf32>, %v: tensor<16x128xf32>, %max: tensor<16xf32>, %sum: tensor<16xf32>) -> tensor<16x128xf32> {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x128xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty : tensor<16x128xf32>) -> tensor<16x128xf32>
  %scores = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%q, %k : tensor<16x64xf32>, tensor<128x64xf32>) outs(%zeros : tensor<16x128xf32>) -> tensor<16x128xf32>
  %out = linalg.generic {indexing_maps = [#id, #row, #row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%scores, %max, %sum, %v : tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x128xf32>) outs(%empty : tensor<16x128xf32>) {
  ^bb0(%s: f32, %m: f32, %l: f32, %x: f32, %o: f32):
    %t = arith.subf %s, %m : f32
    %e = math.exp %t : f32
    %p = arith.divf %e, %l : f32
    %r = arith.mulf %p, %x : f32
    linalg.yield %r : f32
  } -> tensor<16x128xf32>
  return %out : tensor<16x128xf32>
}

// A contraction scaled by a constant, and a product of two contractions.
func.func @products(%x: tensor<16x64xf32>, %y: tensor<128x64xf32>) -> tensor<16x128xf32> {
  %c0 = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<16x128xf32>
  %zeros = linalg.fill ins(%c0 : f32) outs(%empty : tensor<16x128xf32>) -> tensor<16x128xf32>
  %scores = linalg.matmul indexing_maps = [#hidden, #weight, #out] ins(%x, %y : tensor<16x64xf32>, tensor<128x64xf32>) outs(%zeros : tensor<16x128xf32>) -> tensor<16x128xf32>
  %out = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%scores : tensor<16x128xf32>) outs(%empty : tensor<16x128xf32>) {
  ^bb0(%s: f32, %o: f32):
    %t = arith.mulf %s, %scale : f32
    %r = arith.mulf %t, %s : f32
    linalg.yield %r : f32
  } -> tensor<16x128xf32>
  %twice = arith.mulf %out, %scores : tensor<16x128xf32>
  return %twice : tensor<16x128xf32>
}

// A multiply of scalars, outside of any tensor op.
func.func @scalars(%x: f32, %y: f32) -> f32 {
  %r = arith.mulf %x, %y : f32
  return %r : f32
}
