//===- Options.h - The command line of kimi-gate-run ------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GATERUN_OPTIONS_H
#define KIMIMLAGATE_TOOLS_GATERUN_OPTIONS_H

#include "KimiMlaGate/Reference/Inputs.h"
#include "KimiMlaGate/Support/Status.h"

#include <optional>
#include <string>

namespace kimi::gaterun {

struct GoldenName {
  std::string file, caseName;
};

struct Options {
  bool help = false;
  std::string description;
  /// Empty: the registry's default.
  std::string device;
  std::optional<GoldenName> golden;
  reference::InputSpec inputs;
  bool aliasOutput = false;
  /// 0: a plain launch; else replays of a captured graph.
  uint64_t replays = 0;
  bool bench = false;
};

extern const char usage[];

/// An error is a mistake in the command line.
Result<Options> parseOptions(int argc, char **argv);

} // namespace kimi::gaterun

#endif // KIMIMLAGATE_TOOLS_GATERUN_OPTIONS_H
