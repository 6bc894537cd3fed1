//===- Plan.h - How a gate is spread over a chip ----------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Third step of the path of data: (chip, M, N, K) to a plain struct of
// numbers. The plan knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_PLAN_H
#define KIMIMLAGATE_TRANSFORMS_PLAN_H

#include "KimiMlaGate/Transforms/Chip.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace kimi {

/// The kernel that a plan describes, and the order in which it sums:
///
/// Workgroup w owns weight rows [w * rowsPerWorkgroup, ...). All work-items
/// read every row of theirs: work-item t reads, for l = 0, 1, ...,
/// loadsPerRow - 1, the `elementsPerLoad` elements of K that start at
/// (l * workgroupSize() + t) * elementsPerLoad.
///
/// 1. A work-item multiplies and adds its elements in ascending k, with one
///    f32 fused multiply-add each, from +0.0.
/// 2. A wave adds its lanes' sums: s[i] + s[i^1], then pairs of those, then
///    each half row of eight with its mirror image, then each row of sixteen
///    with its mirror image, then rows 0+1 and 2+3, then both halves. (The
///    steps of populateGpuLowerSubgroupReduceToDPPPatterns.)
/// 3. The waves' sums are added pairwise: (0+1), (2+3), ...; then pairs of
///    those; an odd last one is carried up unchanged.
struct KernelPlan {
  int64_t m, n, k;
  int64_t workgroups;
  int64_t rowsPerWorkgroup;
  int64_t wavesPerWorkgroup;
  int64_t subgroupSize;
  /// bf16 elements of one vector load: 8 are 16 bytes, the widest there is.
  int64_t elementsPerLoad;
  /// Vector loads of one weight row by one work-item.
  int64_t loadsPerRow;
  /// Rows of hidden that are in registers at a time. The first pass overlaps
  /// the weights' flight; later ones find the weights in registers.
  int64_t batchesPerPass;
  /// Weights bypass the caches that other data could use: each byte of a
  /// weight is read once per decode step.
  bool nonTemporalWeights;

  int64_t workgroupSize() const { return wavesPerWorkgroup * subgroupSize; }
  /// Bytes of LDS for the waves' partial sums.
  int64_t ldsBytes() const {
    return wavesPerWorkgroup * m * rowsPerWorkgroup * 4;
  }
  void print(llvm::raw_ostream &os) const;
};

/// The plan for a shape, or nothing when the kernel cannot cover it exactly.
std::optional<KernelPlan> planKernel(const ChipInfo &chip, int64_t m, int64_t n,
                                     int64_t k);

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_PLAN_H
