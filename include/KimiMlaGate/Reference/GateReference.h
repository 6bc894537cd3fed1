//===- GateReference.h - What a gate kernel must return --------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   projection[m,n] = bf16(sum over k of hidden[m,k] * weight[n,k])
//   sigmoid[m,n]    = the logistic function of the projection, as bf16
//   output[m,n]     = bf16(sigmoid[m,n] * attention[m,n])
//
// All tensors are row-major bfloat16 patterns: hidden [M,K], weight [N,K],
// attention and the results [M,N].
//
// The reference
//
// The sum is taken in double. A product of two bfloat16 values has 16
// significant bits, so it is exact; the error of the sum is below
// K * 2^-53 * sum |h*w|, 2^29 times less than that of a float sum of the same
// length, and is part of the bound below. The sum is rounded once. The epilogue
// is evaluated with correctly rounded functions (from double; see
// SigmoidTable).
//
// The bound
//
// An element is right when some float summation could have produced it:
//
//  1. Exact sums: every product of a row is a multiple of some 2^q (q >= -149)
//     and sum |h*w| <= 2^(24+q). Then each partial sum, in whatever order, is a
//     float, no addition rounds, and only the reference's own bits are right.
//     This holds for ternary inputs whose scales are powers of two.
//  2. Otherwise the float sum differs from the exact one by at most
//     E = gamma_d * sum |h*w| + K * 2^-149, gamma_d = d*u / (1 - d*u),
//     u = 2^-24, where d is the largest number of roundings between a product
//     and the sum (N. Higham, Accuracy and Stability of Numerical Algorithms,
//     2nd edition, section 4.2, for summation in any tree); the second term
//     stands for roundings below the smallest normal float. Rounding is
//     monotone, so the projection lies between bf16(sum - E) and bf16(sum + E).
//     In nearly all elements these are one value; where the sum lies next to a
//     rounding boundary they are neighbours; only where the terms cancel almost
//     wholly are they further apart.
//
// A projection is right when it lies in that interval; a sigmoid or an output
// is right when it equals the epilogue of a projection in that interval. So the
// epilogue itself has no tolerance, and there is no tolerance that is shared
// between elements.
//
// d = K would hold for one serial chain and would make E several bfloat16 steps
// wide, which hides real faults (a truncating conversion, a lost product).
// summationDepth() instead assumes what every kernel for a GPU does: at least
// the 64 lanes of a wave share a row.
//
// PyTorch's outputs ("goldens") are right by definition. Where they differ from
// the correctly rounded sigmoid, both are accepted: for logits 0xc2b2 to 0xc2b9
// PyTorch's exp(-x) overflows and it returns 0 instead of a subnormal.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_REFERENCE_GATEREFERENCE_H
#define KIMIMLAGATE_REFERENCE_GATEREFERENCE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kimi::reference {

enum class SigmoidForm {
  /// Evaluated in float (or better) and rounded once.
  F32,
  /// 1 / (1 + exp(-x)) in float operations, not rounded before the product.
  F32Unrounded,
  /// Negation, exp, 1 + e and the reciprocal as bfloat16 operations, each
  /// rounded; exp is taken in float and then rounded.
  BF16Operations
};

struct GateShape {
  size_t m = 0, n = 0, k = 0;
  size_t outputs() const { return m * n; }
};

struct GateInputs {
  std::vector<uint16_t> hidden, weight, attention;
};

/// The sigmoid of every bfloat16 pattern.
class SigmoidTable {
public:
  /// `allowOverflow` also accepts what PyTorch returns where its exp overflows.
  explicit SigmoidTable(SigmoidForm form, bool allowOverflow = false);

  /// The correctly rounded value. A double carries 53 bits, and no logit's
  /// sigmoid is as near to a rounding boundary of bfloat16 as its error.
  uint16_t value(uint16_t logit) const;
  /// The product of attention and the sigmoid of a projection.
  uint16_t output(uint16_t logit, uint16_t attention) const;
  /// Whether other values are right as well. There mostly are none.
  /// BF16Operations: a float exp with an error of up to 2^-22 (relative) may
  /// round to the other neighbour. F32Unrounded: so may a product with a
  /// sigmoid of that error (a unit in the last place of exp, half a unit each
  /// of the sum and the quotient).
  bool isValue(uint16_t logit, uint16_t sigmoid) const;
  bool isOutput(uint16_t logit, uint16_t attention, uint16_t output) const;

private:
  /// Of every logit, the values that are right; the first is the expected one.
  /// Those that are rounded to bfloat16 are bfloat16 values.
  struct Values {
    double right[3];
  };
  std::vector<Values> table;
};

/// The last step of the gate: one rounding.
uint16_t gateProduct(uint16_t sigmoid, uint16_t attention);

/// The number of roundings on the longest path from a product to the sum that
/// any kernel here stays below: one wave's lanes split K, so a lane adds
/// ceil(K/64) products; 64 more cover the joins of lanes (6 levels) and waves
/// (at most 16).
size_t summationDepth(size_t k);

/// The three tensors that the gate computes, in the order of a golden file.
enum class GateTensor { Projection, Sigmoid, Output };

struct GateReference {
  GateShape shape;
  /// [M,N] each.
  std::vector<uint16_t> projection, sigmoid, output;
  /// The projections that a float summation may round to.
  std::vector<uint16_t> lowestProjection, highestProjection;
  /// No float summation order rounds anywhere (case 1 above).
  bool exactSums = false;
  /// sum |h*w| stays within float's range, so that no order overflows.
  bool inRange = false;

  const std::vector<uint16_t> &tensor(GateTensor which) const;
};

/// `depth` is d of the bound. The sizes of `inputs` must fit `shape`.
GateReference computeReference(const GateShape &shape, const GateInputs &inputs,
                               const SigmoidTable &table, size_t depth);

struct Comparison {
  size_t count = 0;
  /// Equal to the expected value bit for bit.
  size_t equal = 0;
  /// Not equal, but right by the bound.
  size_t withinBound = 0;
  /// The indices of those that are neither, ascending.
  std::vector<size_t> wrong;
  /// In bfloat16 steps (bf16Order); a NaN that was not expected counts 65536.
  int32_t largestDistance = 0;
  /// sqrt(sum (actual - expected)^2 / sum expected^2).
  double relativeRMSE = 0;
};

/// Compares [M,N] values with `expected` (the reference's own tensor, or a
/// golden one).
Comparison compare(const GateReference &reference, const SigmoidTable &table,
                   const std::vector<uint16_t> &attention, GateTensor which,
                   const std::vector<uint16_t> &expected,
                   const std::vector<uint16_t> &actual);

} // namespace kimi::reference

#endif // KIMIMLAGATE_REFERENCE_GATEREFERENCE_H
