//===- Match.h - Recognising an MLA output gate -----------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First step of the path of data: linalg IR on tensors in, a description of
// one gate out. The matcher is a pure analysis. It changes nothing, knows no
// chip and no limit on shapes, and answers for one multiply at a time:
//
//     out[m,n] = attention[m,n] * sigmoid(bf16(sum_k hidden[m,k] weight[n,k]))
//
// It does not compare the IR with a list of spellings. It follows one element
// of the result backwards, through the bodies and indexing maps of whatever
// structured ops computed it, until it meets the contraction; so named ops,
// generics, fused or unfused bodies, transposes, reshapes and broadcasts all
// look the same to it.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_MATCH_H
#define KIMIMLAGATE_TRANSFORMS_MATCH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <variant>

namespace kimi {

/// How the sigmoid of the bf16 projection is computed. Every form that the
/// matcher accepts is one of these; others are refused. An op on bf16 is the
/// same as the op on operands extended to f32, rounded.
enum class SigmoidArithmetic {
  /// Evaluated in f32, rounded to bf16 once.
  F32,
  /// Evaluated in f32, and multiplied by attention in f32 without being
  /// rounded.
  F32Unrounded,
  /// Exponential, sum and quotient are each rounded to bf16.
  BF16Steps,
};
llvm::StringRef stringifySigmoidArithmetic(SigmoidArithmetic arithmetic);

/// One gate. Values and ops are those of the matched IR, owned by it.
struct MlaGate {
  /// The scalar or tensor multiply of attention and sigmoid, of bf16, or of f32
  /// and then rounded to bf16. The bits are the same: a product of two bf16 is
  /// exact in f32, except where both ways give zero.
  mlir::arith::MulFOp multiply;
  /// The op that computes the gate's output: its only result, a tensor, or the
  /// only buffer that it writes.
  mlir::Operation *root = nullptr;
  mlir::linalg::LinalgOp contraction;

  /// Operands in the element order that the kernel reads: row-major [M,K],
  /// [N,K] and [M,N] of bf16, of any rank; all tensors, or all buffers. A
  /// buffer has the strides of a row-major one, or unknown ones.
  mlir::Value hidden, weight, attention;
  int64_t m = 0, n = 0, k = 0;

  SigmoidArithmetic sigmoid = SigmoidArithmetic::F32;

  /// The ops that the rewrite makes dead, from `root` back to `contraction`.
  llvm::SmallVector<mlir::Operation *> chain;

  /// Ops outside of `chain` that fill buffers for it, such as with zeros: dead
  /// once nobody else reads those buffers. Empty for tensors.
  llvm::SmallVector<mlir::Operation *> feeders;

  /// The destination that `root` writes to, of its result's type; null when
  /// `root` is not in destination-passing style.
  mlir::Value destination;
  /// Operands that the destination may overlap for all that the IR says. Equal
  /// to attention is fine; any other overlap is not.
  bool destinationMayOverlapHidden = false;
  bool destinationMayOverlapWeight = false;
  bool destinationMayOverlapAttention = false;

  bool isOnBuffers() const { return root->getNumResults() == 0; }
  /// The result of a gate on tensors.
  mlir::Value result() const { return root->getResult(0); }
  void print(llvm::raw_ostream &os) const;
};

/// Why a candidate is not fused. The generated documentation of the pass lists
/// them with an example each.
enum class MissedReason {
  AccumulatorInit,
  AccumulatorType,
  AttentionLayout,
  ContractionBody,
  DestinationAlias,
  DestinationLayout,
  DynamicShape,
  ElementType,
  ExtraArithmetic,
  ExtraUse,
  GateIndexing,
  HiddenLayout,
  InputOverwritten,
  Placement,
  ProductPrecision,
  ProjectionRounding,
  ShapeK,
  ShapeM,
  ShapeN,
  SigmoidForm,
  WeightLayout,
};
/// The name as remarks print it, such as `accumulator-init`.
llvm::StringRef stringifyMissedReason(MissedReason reason);

/// A candidate that is not a gate, or not one that can be fused.
struct MissedGate {
  MissedReason reason;
  /// One sentence for a person, with the values found.
  std::string message;
};

/// The multiply is not a candidate: neither of its operands depends on a
/// contraction through something like a sigmoid.
struct NotAGate {};

using MatchResult = std::variant<NotAGate, MissedGate, MlaGate>;

/// Whether `multiply` is the product of an MLA output gate. `multiply` is an
/// op on tensors, or an op in the body of a linalg op on tensors or on buffers.
MatchResult matchMlaGate(mlir::arith::MulFOp multiply);

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_MATCH_H
