// RUN: kimi-opt %s -o %t.before
// RUN: kimi-opt --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s -o %t.after 2>&1 | FileCheck %s
// RUN: cmp %t.before %t.after
// EXPECT: nofuse by default; fuse with max-batch=8
// SRC: M=8

func.func @mla_gate(%attn: tensor<8x1536xbf16>, %h: tensor<8x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<8x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %onef = arith.constant 1.0 : f32
  %ef = tensor.empty() : tensor<8x1536xf32>
  %eb = tensor.empty() : tensor<8x1536xbf16>
  %fill = linalg.fill ins(%c0 : f32) outs(%ef : tensor<8x1536xf32>) -> tensor<8x1536xf32>
  %m = linalg.matmul indexing_maps = [affine_map<(d0,d1,d2)->(d0,d2)>, affine_map<(d0,d1,d2)->(d1,d2)>, affine_map<(d0,d1,d2)->(d0,d1)>] ins(%h, %w : tensor<8x7168xbf16>, tensor<1536x7168xbf16>) outs(%fill : tensor<8x1536xf32>) -> tensor<8x1536xf32>
  %tr = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%m : tensor<8x1536xf32>) outs(%eb : tensor<8x1536xbf16>) {
  ^bb0(%i0: f32, %o: bf16):
    %x = arith.truncf %i0 : f32 to bf16
    linalg.yield %x : bf16
  } -> tensor<8x1536xbf16>
  %s = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%tr : tensor<8x1536xbf16>) outs(%eb : tensor<8x1536xbf16>) {
  ^bb0(%i0: bf16, %o: bf16):
    %n = arith.negf %i0 : bf16
    %e = math.exp %n : bf16
    %a = arith.addf %e, %one : bf16
    %d = arith.divf %one, %a : bf16
    linalg.yield %d : bf16
  } -> tensor<8x1536xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%attn, %s : tensor<8x1536xbf16>, tensor<8x1536xbf16>) outs(%eb : tensor<8x1536xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %o: bf16):
    %x = arith.mulf %i0, %i1 : bf16
    linalg.yield %x : bf16
  } -> tensor<8x1536xbf16>
  return %r : tensor<8x1536xbf16>
}

// CHECK: :[[# @LINE - 6]]:{{.*}}remark: [Missed] MlaGateNotFused{{.*}}Category:kimi-mla-gate-fuse
// CHECK-SAME: Function=mla_gate
// CHECK-SAME: shape-m: M is 8; option max-batch admits up to 1
// CHECK-NOT: remark:
