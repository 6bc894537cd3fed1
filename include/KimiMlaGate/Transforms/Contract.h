//===- Contract.h - Which gates the kernel may take -------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Second step of the path of data: may this chip's kernel take a matched gate,
// and if not, which one condition failed. Everything that is about numbers
// (shapes, limits) is decided here; everything about structure in the matcher.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_CONTRACT_H
#define KIMIMLAGATE_TRANSFORMS_CONTRACT_H

#include "KimiMlaGate/Transforms/Match.h"
#include <optional>

namespace kimi {

/// What the user allows. The defaults are Kimi-K3's decode step, tensor
/// parallel 8, batch one.
struct GateContract {
  /// Kimi-K3's K: the hidden size.
  static constexpr int64_t hiddenSize = 7168;
  /// Kimi-K3's N without tensor parallelism: 96 heads of 128.
  static constexpr int64_t gateSize = 12288;
  static constexpr int64_t maxBatchLimit = 16;

  /// Each of 1, 2, 4, 8 that is listed admits N = gateSize / value.
  llvm::SmallVector<int64_t> tensorParallel = {8};
  /// Largest M, 1 to maxBatchLimit.
  int64_t maxBatch = 1;
};

/// The condition that `gate` fails, or nothing.
std::optional<MissedGate> checkContract(const MlaGate &gate,
                                        const GateContract &contract);

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_CONTRACT_H
