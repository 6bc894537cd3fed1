//===- Contract.cpp - Which gates the kernel may take ---------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/Contract.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kimi;

static MissedGate missed(MissedReason reason, std::string message) {
  return {reason, std::move(message)};
}

std::optional<MissedGate> kimi::checkContract(const MlaGate &gate,
                                              const GateContract &contract) {
  if (gate.k != GateContract::hiddenSize)
    return missed(MissedReason::ShapeK,
                  llvm::formatv("K is {0}; the kernel takes {1}", gate.k,
                                GateContract::hiddenSize));
  auto size = [](int64_t parallel) {
    return GateContract::gateSize / parallel;
  };
  if (llvm::none_of(contract.tensorParallel,
                    [&](int64_t tp) { return gate.n == size(tp); })) {
    std::string accepted = llvm::join(
        llvm::map_range(contract.tensorParallel,
                        [&](int64_t tp) { return std::to_string(size(tp)); }),
        ", ");
    return missed(MissedReason::ShapeN,
                  llvm::formatv("N is {0}; option tensor-parallel admits {1}",
                                gate.n, accepted));
  }
  if (gate.m > contract.maxBatch)
    return missed(MissedReason::ShapeM,
                  llvm::formatv("M is {0}; option max-batch admits up to {1}",
                                gate.m, contract.maxBatch));
  return std::nullopt;
}
