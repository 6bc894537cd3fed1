// Nothing of this is a gate that the kernel could replace; all of it stays as it
// was, and the pass ends.

// RUN: kimi-opt --split-input-file %s -o %t.plain
// RUN: kimi-opt --split-input-file --kimi-mla-gate-fuse %s -o %t.fused
// RUN: cmp %t.plain %t.fused

// The multiply is dead, and attention is yielded.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %x : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// Two dead multiplies in one body.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    %r2 = arith.mulf %x, %q : bf16
    linalg.yield %x : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A store in the body of the product.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>, %m: memref<1x1536xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    memref.store %x, %m[%i, %j] : memref<1x1536xbf16>
    %p = arith.truncf %sum : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A call in the body of the sigmoid.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func private @print(bf16)
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %fv = arith.constant 3.0 : bf16
  %te = tensor.empty() : tensor<1x1536xbf16>
  %tf = linalg.fill ins(%fv : bf16) outs(%te : tensor<1x1536xbf16>) -> tensor<1x1536xbf16>
  %pt = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<1x1536xf32>) outs(%tf : tensor<1x1536xbf16>) {
  ^bb0(%sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    func.call @print(%p) : (bf16) -> ()
    linalg.yield %p : bf16
  } -> tensor<1x1536xbf16>
  %ps = tensor.extract_slice %pt[0, 0] [1, 1536] [1, 1] : tensor<1x1536xbf16> to tensor<1x1536xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %ps : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %p: bf16, %o: bf16):
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A call in the body of the contraction.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func private @print(f32)
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.generic {indexing_maps = [#hid, #wei, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) {
  ^bb0(%hh: bf16, %ww: bf16, %acc: f32):
    %h1 = arith.extf %hh : bf16 to f32
    %w1 = arith.extf %ww : bf16 to f32
    %m1 = arith.mulf %h1, %w1 : f32
    %s1 = arith.addf %acc, %m1 : f32
    func.call @print(%s1) : (f32) -> ()
    linalg.yield %s1 : f32
  } -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// An assertion there.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.generic {indexing_maps = [#hid, #wei, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) {
  ^bb0(%hh: bf16, %ww: bf16, %acc: f32):
    %h1 = arith.extf %hh : bf16 to f32
    %w1 = arith.extf %ww : bf16 to f32
    %m1 = arith.mulf %h1, %w1 : f32
    %s1 = arith.addf %acc, %m1 : f32
    %i = linalg.index 2 : index
    %c7 = arith.constant 7 : index
    %lt = arith.cmpi ult, %i, %c7 : index
    cf.assert %lt, "no"
    linalg.yield %s1 : f32
  } -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// An op that writes one row, of which another is read.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %fv = arith.constant 3.0 : bf16
  %te = tensor.empty() : tensor<2x1536xbf16>
  %tf = linalg.fill ins(%fv : bf16) outs(%te : tensor<2x1536xbf16>) -> tensor<2x1536xbf16>
  %pt = linalg.generic {indexing_maps = [affine_map<(d) -> (0, d)>, affine_map<(d) -> (0, d)>], iterator_types = ["parallel"]} ins(%s : tensor<1x1536xf32>) outs(%tf : tensor<2x1536xbf16>) {
  ^bb0(%sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    linalg.yield %p : bf16
  } -> tensor<2x1536xbf16>
  %ps = tensor.extract_slice %pt[1, 0] [1, 1536] [1, 1] : tensor<2x1536xbf16> to tensor<1x1536xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %ps : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %p: bf16, %o: bf16):
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// An op that writes the diagonal.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %fv = arith.constant 3.0 : bf16
  %te = tensor.empty() : tensor<1536x1536xbf16>
  %tf = linalg.fill ins(%fv : bf16) outs(%te : tensor<1536x1536xbf16>) -> tensor<1536x1536xbf16>
  %pt = linalg.generic {indexing_maps = [affine_map<(d) -> (0, d)>, affine_map<(d) -> (d, d)>], iterator_types = ["parallel"]} ins(%s : tensor<1x1536xf32>) outs(%tf : tensor<1536x1536xbf16>) {
  ^bb0(%sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    linalg.yield %p : bf16
  } -> tensor<1536x1536xbf16>
  %ps = tensor.extract_slice %pt[0, 0] [1, 1536] [1, 1] : tensor<1536x1536xbf16> to tensor<1x1536xbf16>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %ps : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %p: bf16, %o: bf16):
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A sparse weight.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16, #csr>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16, #csr>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// Tensors with an encoding.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16, 1 : i64>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16, 1 : i64>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16, 1 : i64>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16, 1 : i64>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %n = arith.negf %p : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    %y = arith.mulf %x, %q : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A weight that is a slice of columns.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %hb: tensor<1x14336xbf16>, %wb: tensor<1536x14336xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %w = tensor.extract_slice %wb[0, 7168] [1536, 7168] [1, 1] : tensor<1536x14336xbf16> to tensor<1536x7168xbf16>
  %h = tensor.extract_slice %hb[0, 0] [1, 7168] [1, 2] : tensor<1x14336xbf16> to tensor<1x7168xbf16>
  %s = linalg.generic {indexing_maps = [#hid, #wei, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) {
  ^bb0(%hh: bf16, %ww: bf16, %acc: f32):
    %h1 = arith.extf %hh : bf16 to f32
    %w1 = arith.extf %ww : bf16 to f32
    %m1 = arith.mulf %h1, %w1 : f32
    %s1 = arith.addf %acc, %m1 : f32
    linalg.yield %s1 : f32
  } -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A weight of every second row.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %wb: tensor<3072x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %w = tensor.extract_slice %wb[0, 0] [1536, 7168] [2, 1] : tensor<3072x7168xbf16> to tensor<1536x7168xbf16>
  %s = linalg.generic {indexing_maps = [#hid, #wei, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) {
  ^bb0(%hh: bf16, %ww: bf16, %acc: f32):
    %h1 = arith.extf %hh : bf16 to f32
    %w1 = arith.extf %ww : bf16 to f32
    %m1 = arith.mulf %h1, %w1 : f32
    %s1 = arith.addf %acc, %m1 : f32
    linalg.yield %s1 : f32
  } -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// -----

// A cycle in unreachable code.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f() {
  return
^bb1:
  %a = tensor.cast %a : tensor<1x1536xbf16> to tensor<1x1536xbf16>
  %m = arith.mulf %a, %a : tensor<1x1536xbf16>
  cf.br ^bb1
}

// -----

// A cycle in a region without order.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
  %a = tensor.cast %b : tensor<1x1536xbf16> to tensor<1x1536xbf16>
  %b = tensor.cast %a : tensor<1x1536xbf16> to tensor<1x1536xbf16>
  %m = arith.mulf %a, %b : tensor<1x1536xbf16>

// -----

// A cycle of conversions.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f() {
  return
^bb1:
  %a = arith.extf %b : tensor<1x1536xbf16> to tensor<1x1536xf32>
  %b = arith.truncf %a : tensor<1x1536xf32> to tensor<1x1536xbf16>
  %m = arith.mulf %b, %b : tensor<1x1536xbf16>
  cf.br ^bb1
}

// -----

// A gate in a GPU module.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
gpu.module @g {
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}
}

// -----

// A gate whose result nobody reads.
#hid = affine_map<(m, n, k) -> (m, k)>
#wei = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
func.func @f(%a: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %dest = tensor.empty() : tensor<1x1536xbf16>
  %onef = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %ae = tensor.empty() : tensor<1x1536xf32>
  %z = linalg.fill ins(%zero : f32) outs(%ae : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %s = linalg.matmul indexing_maps = [#hid, #wei, #out] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%z : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<1x1536xbf16>, tensor<1x1536xf32>) outs(%dest : tensor<1x1536xbf16>) {
  ^bb0(%x: bf16, %sum: f32, %o: bf16):
    %p = arith.truncf %sum : f32 to bf16
    %pw = arith.extf %p : bf16 to f32
    %nn = arith.negf %pw : f32
    %e = math.exp %nn : f32
    %d = arith.addf %e, %onef : f32
    %q = arith.divf %onef, %d : f32
    %qq = arith.truncf %q : f32 to bf16
    %y = arith.mulf %x, %qq : bf16
    linalg.yield %y : bf16
  } -> tensor<1x1536xbf16>
  return %a : tensor<1x1536xbf16>
}
