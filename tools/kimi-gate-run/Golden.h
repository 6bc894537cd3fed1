//===- Golden.h - Golden cases ----------------------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GATERUN_GOLDEN_H
#define KIMIMLAGATE_TOOLS_GATERUN_GOLDEN_H

#include "Options.h"

#include "KimiMlaGate/Reference/GateReference.h"
#include "KimiMlaGate/Reference/Inputs.h"
#include "KimiMlaGate/Support/Status.h"

#include <vector>

namespace kimi::gaterun {

/// A case of test/Integration/Inputs/golden/README.md's format.
struct GoldenCase {
  reference::InputSpec inputs;
  /// [M,N] each, in the order of reference::GateTensor.
  std::vector<uint16_t> tensors[3];
};

/// Reads a case and the CASE.bf16 beside its file. Its shape must be `shape`.
Result<GoldenCase> readGolden(const GoldenName &name,
                              const reference::GateShape &shape);

} // namespace kimi::gaterun

#endif // KIMIMLAGATE_TOOLS_GATERUN_GOLDEN_H
