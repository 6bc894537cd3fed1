// RUN: kimi-opt --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse %s 2>%t.remarks | FileCheck %s
// RUN: FileCheck --check-prefix=REMARK %s <%t.remarks
// EXPECT: fuse
// SRC: IREE PropagateLinalgTranspose / buddy: linalg.matmul indexing_maps transpose-B

func.func @mla_gate(%attn: tensor<1x1536xbf16>, %h: tensor<1x7168xbf16>, %w: tensor<1536x7168xbf16>) -> tensor<1x1536xbf16> {
  %c0 = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %onef = arith.constant 1.0 : f32
  %ef = tensor.empty() : tensor<1x1536xf32>
  %eb = tensor.empty() : tensor<1x1536xbf16>
  %fill = linalg.fill ins(%c0 : f32) outs(%ef : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %m = linalg.matmul indexing_maps = [affine_map<(d0,d1,d2)->(d0,d2)>, affine_map<(d0,d1,d2)->(d1,d2)>, affine_map<(d0,d1,d2)->(d0,d1)>] ins(%h, %w : tensor<1x7168xbf16>, tensor<1536x7168xbf16>) outs(%fill : tensor<1x1536xf32>) -> tensor<1x1536xf32>
  %tr = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%m : tensor<1x1536xf32>) outs(%eb : tensor<1x1536xbf16>) {
  ^bb0(%i0: f32, %o: bf16):
    %x = arith.truncf %i0 : f32 to bf16
    linalg.yield %x : bf16
  } -> tensor<1x1536xbf16>
  %s = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%tr : tensor<1x1536xbf16>) outs(%eb : tensor<1x1536xbf16>) {
  ^bb0(%i0: bf16, %o: bf16):
    %n = arith.negf %i0 : bf16
    %e = math.exp %n : bf16
    %a = arith.addf %e, %one : bf16
    %d = arith.divf %one, %a : bf16
    linalg.yield %d : bf16
  } -> tensor<1x1536xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0,d1)>], iterator_types = ["parallel","parallel"]} ins(%attn, %s : tensor<1x1536xbf16>, tensor<1x1536xbf16>) outs(%eb : tensor<1x1536xbf16>) {
  ^bb0(%i0: bf16, %i1: bf16, %o: bf16):
    %x = arith.mulf %i0, %i1 : bf16
    linalg.yield %x : bf16
  } -> tensor<1x1536xbf16>
  return %r : tensor<1x1536xbf16>
}

// CHECK-LABEL: func.func @mla_gate(
// CHECK-SAME: %[[ATTENTION:.+]]: tensor<1x1536xbf16>, %[[HIDDEN:.+]]: tensor<1x7168xbf16>, %[[WEIGHT:.+]]: tensor<1536x7168xbf16>)
// CHECK-NOT: linalg.
// CHECK: %[[HIDDEN_BUFFER:.+]] = bufferization.to_buffer %[[HIDDEN]] read_only
// CHECK: %[[HIDDEN_BASE:.+]], %[[HIDDEN_OFFSET:.+]], %{{.+}}, %{{.+}} = memref.extract_strided_metadata %[[HIDDEN_BUFFER]]
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: hidden is not contiguous"
// CHECK: %[[HIDDEN_ROWS:.+]] = memref.reinterpret_cast %[[HIDDEN_BASE]] to offset: [%[[HIDDEN_OFFSET]]], sizes: [1, 7168], strides: [7168, 1]
// CHECK: %[[WEIGHT_BUFFER:.+]] = bufferization.to_buffer %[[WEIGHT]] read_only
// CHECK: %[[WEIGHT_BASE:.+]], %[[WEIGHT_OFFSET:.+]], %{{.+}}, %{{.+}} = memref.extract_strided_metadata %[[WEIGHT_BUFFER]]
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: weight is not contiguous"
// CHECK: %[[WEIGHT_ROWS:.+]] = memref.reinterpret_cast %[[WEIGHT_BASE]] to offset: [%[[WEIGHT_OFFSET]]], sizes: [1536, 7168], strides: [7168, 1]
// CHECK: %[[ATTENTION_BUFFER:.+]] = bufferization.to_buffer %[[ATTENTION]] read_only
// CHECK: %[[ATTENTION_BASE:.+]], %[[ATTENTION_OFFSET:.+]], %{{.+}}, %{{.+}} = memref.extract_strided_metadata %[[ATTENTION_BUFFER]]
// CHECK: cf.assert %{{.+}}, "kimi-mla-gate: attention is not contiguous"
// CHECK: %[[ATTENTION_ROWS:.+]] = memref.reinterpret_cast %[[ATTENTION_BASE]] to offset: [%[[ATTENTION_OFFSET]]], sizes: [1, 1536], strides: [1536, 1]
// CHECK: %[[EMPTY:.+]] = bufferization.to_buffer %{{.+}} : tensor<
// CHECK: %[[OUT:.+]] = memref.cast %{{.+}} to memref<1x1536xbf16, strided<[1536, 1], offset: ?>>
// CHECK: gpu.launch_func @[[KERNEL:kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16]]::@[[KERNEL]]
// CHECK-SAME: args(%[[HIDDEN_ROWS]] : {{[^%]+}}, %[[WEIGHT_ROWS]] : {{[^%]+}}, %[[ATTENTION_ROWS]] : {{[^%]+}}, %[[OUT]] :
// CHECK: %[[RESULT:.+]] = bufferization.to_tensor %[[EMPTY]] restrict writable
// CHECK: return %[[RESULT]]

// CHECK: gpu.module @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16 [#rocdl.target<O = 3, chip = "gfx950", features = "-packed-fp32-ops">]
// CHECK-NOT: gpu.module

// REMARK: remark: [Passed] MlaGateFused
// REMARK-SAME: Kernel=kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16
// REMARK-NOT: remark:
