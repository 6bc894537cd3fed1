//===- Passes.td - Rewriting passes ------------------------*- tablegen -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_PASSES
#define KIMIMLAGATE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def KimiMlaGateFuse : Pass<"kimi-mla-gate-fuse", "::mlir::ModuleOp"> {
  let summary = "Replaces each MLA output gate by the launch of one GPU kernel.";
  let description = [{
    Finds, in linalg IR on tensors or on buffers, the gate at the end of a gated
    MLA layer

    ```
    out[m,n] = attention[m,n] * sigmoid(bf16(sum_k hidden[m,k] * weight[n,k]))
    ```

    with bf16 operands and f32 accumulation, and replaces the whole subgraph by
    `gpu.launch_func` of a kernel that is emitted for the chip, the shape and
    the roundings that the IR has. Equal gates of a module share one kernel.

    The match does not depend on spelling: named ops or generics, fused or
    unfused bodies, a transposed weight, reshapes, and elementwise `arith` and
    `math` ops on tensors are all followed to the same arithmetic.

    Before (a result of `linalg-fuse-elementwise-ops`; maps abbreviated):

    ```mlir
    %zero = linalg.fill ins(%c0 : f32) outs(%e : tensor<1x1536xf32>)
    %p = linalg.matmul indexing_maps = [(m,n,k)->(m,k), (m,n,k)->(n,k), (m,n,k)->(m,n)]
           ins(%hidden, %weight : tensor<1x7168xbf16>, tensor<1536x7168xbf16>)
           outs(%zero : tensor<1x1536xf32>)
    %out = linalg.generic ins(%attention, %p) outs(%empty) {
    ^bb0(%a: bf16, %s: f32, %o: bf16):
      %0 = arith.truncf %s : f32 to bf16
      %1 = arith.negf %0 : bf16
      %2 = math.exp %1 : bf16
      %3 = arith.addf %2, %one : bf16
      %4 = arith.divf %one, %3 : bf16
      %5 = arith.mulf %a, %4 : bf16
      linalg.yield %5 : bf16
    }
    ```

    After (the buffers of weight and attention are made like hidden's):

    ```mlir
    %b = bufferization.to_buffer %hidden read_only
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %b
    %contiguous = arith.cmpi eq, %strides#1, %c1 : index
    cf.assert %contiguous, "kimi-mla-gate: hidden is not contiguous"
    %h = memref.reinterpret_cast %base to offset: [%offset], sizes: [1, 7168], strides: [7168, 1]
    ...
    %result = bufferization.alloc_tensor() : tensor<1x1536xbf16>
    %o = bufferization.to_buffer %result
    gpu.launch_func @kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16::@kimi_mla_gate_m1_n1536_k7168_sigmoid_bf16
      blocks in (%c256, %c1, %c1) threads in (%c896, %c1, %c1) args(%h, %w, %a, %o)
    %out = bufferization.to_tensor %o restrict writable
    ```

    One-shot bufferization then erases the casts; where it finds static layouts,
    canonicalization erases the checks. A destination other than `tensor.empty` is
    written in place if bufferization finds that it may be: the launch is followed
    by a `linalg.copy` of the buffer to itself, which canonicalization erases.

    #### Buffers

    On buffers, the forms that one-shot bufferization leaves are followed from
    each read to the op that wrote what is read. The gate becomes the launch
    alone, and buffers that only it used go with it. It is fused only when

    * its intermediate values are in buffers that are allocated here and that
      nobody else reads or writes;
    * nothing may write to hidden or to the weight, or free them, between the
      contraction and the product, since the kernel reads them at the product;
    * the destination is not in the buffer of hidden or of the weight. It may be
      the attention's, at the same place.

    Strides that a type leaves open, and overlaps that the IR cannot rule out,
    such as of two arguments, are checked when the program runs, with
    `cf.assert`.

    #### Roundings

    The kernel keeps every rounding of the IR, and adds none. The f32 sum is
    rounded to bf16, and so is the product. The sigmoid is one of

    | Kernel | Sigmoid |
    |---|---|
    | `sigmoid_f32` | computed in f32, then rounded to bf16 |
    | `sigmoid_f32_unrounded` | computed in f32 and multiplied in f32, so that only the product is rounded |
    | `sigmoid_bf16` | exponential, sum and quotient rounded to bf16 each |

    whether an op that is rounded is written in bf16, or in f32 between
    conversions: the bits are the same. Roundings of some of these steps and not
    of others are refused.

    Two things are not the IR's letter. The order of the f32 sum is the
    kernel's own (`KimiMlaGate/Transforms/Plan.h`). And the sigmoid of
    `sigmoid_f32` is evaluated in a form that cannot overflow, which gives the
    correctly rounded bf16 sigmoid for every bf16 logit.
    `rounding=production` computes any matched sigmoid in that way, as PyTorch
    does.

    `math.exp` becomes IEEE additions, multiplications and fused multiply-adds
    rather than the chip's exponential instruction, whose last bit no document
    defines. With the division, which is correctly rounded, every operation of
    the kernel has one right result.

    #### Remarks

    Category `kimi-mla-gate-fuse`, on the multiply: `Passed` names the kernel;
    `Missed` gives one of these reasons. A multiply gets a remark only if one of
    its operands depends on a contraction through something like a sigmoid.

    | Reason | Refused, for example |
    |---|---|
    | `accumulator-init` | `outs(%bias)`, or a fill with 1.0, in the contraction |
    | `accumulator-type` | a matmul of bf16 into bf16 |
    | `attention-layout` | attention read with a broadcasting or transposing map |
    | `contraction-body` | products rounded to bf16 before they are added |
    | `destination-alias` | a destination that is a part of hidden's buffer |
    | `destination-layout` | a destination whose elements are two apart |
    | `dynamic-shape` | `tensor<?x1536xbf16>` |
    | `element-type` | an f16 attention or weight |
    | `extra-arithmetic` | a scale or a bias between projection, sigmoid and product |
    | `extra-use` | the projection or the sigmoid is also returned, or its buffer passed to a call |
    | `gate-indexing` | the sigmoid read with map `(d0, d1) -> (d0, 0)` |
    | `hidden-layout` | hidden stored [K,M] |
    | `input-overwritten` | a `linalg.fill` of hidden between contraction and product |
    | `placement` | the contraction outside of a loop, the product inside |
    | `product-precision` | a product in f32 that is not rounded to bf16, or toward zero |
    | `projection-rounding` | an f32 projection goes into the sigmoid unrounded |
    | `shape-k`, `shape-m`, `shape-n` | a size that the contract does not list |
    | `sigmoid-form` | `exp(x) / (1 + exp(x))`, a form with `tanh`, or one that rounds the exponential only |
    | `weight-layout` | a weight stored [K,N] |
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"gfx950\"",
           "The chip to emit kernels for.">,
    ListOption<"tensorParallel", "tensor-parallel", "int64_t",
               "The degrees of tensor parallelism, out of 1, 2, 4 and 8, whose "
               "share of Kimi-K3's 12288 gate rows is accepted as N "
               "(default: 8).">,
    Option<"maxBatch", "max-batch", "int64_t", /*default=*/"1",
           "The largest M that is accepted, 1 to 16.">,
    Option<"rounding", "rounding", "std::string", /*default=*/"\"ir\"",
           "Which roundings the kernel has: those of the IR (`ir`), or an f32 "
           "sigmoid rounded once (`production`).">,
  ];
  let statistics = [
    Statistic<"numFused", "gates-fused", "Gates replaced by a launch">,
    Statistic<"numMissed", "gates-missed", "Candidates left as they were">,
    Statistic<"numKernels", "kernels-emitted", "Kernels emitted">,
  ];
  let dependentDialects = [
    "::mlir::amdgpu::AMDGPUDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::ROCDL::ROCDLDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // KIMIMLAGATE_TRANSFORMS_PASSES
