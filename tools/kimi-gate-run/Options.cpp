//===- Options.cpp - The command line of kimi-gate-run --------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "KimiMlaGate/Runtime/DeviceRegistry.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace kimi::gaterun {

const char usage[] =
    R"(usage: kimi-gate-run DIR/NAME.json [options]

Runs a dumped gate kernel and checks what it returns. Exit code: 0 when every
element is within the bound, 1 when one is not or something failed, 2 for a
mistake in the command line.

  --device=NAME            emulator, hip or cuda; default: KIMI_GPU_DEVICE, else
                           hip where a gfx950 is present, else emulator
  --golden=CASES.json:CASE inputs and expected values of a golden case
  --seed=N                 inputs, as golden/README.md defines them (default 1)
  --kind=KIND              uniform (default) or ternary
  --hidden-scale=X         default 1
  --weight-scale=X         default 0.05
  --attention-scale=X      default 1
  --alias-output           the output is written over attention
  --replays=N              capture the launch, replay it N times, with inputs of
                           seed, seed + 1, ..., and check each
  --bench                  also time the launch (on the emulator: how long
                           emulating takes, which says nothing of the chip)
  --help
)";

namespace {

Result<uint64_t> parseCount(const std::string &name, const std::string &text,
                            uint64_t minimum) {
  errno = 0;
  char *end;
  uint64_t value = std::strtoull(text.c_str(), &end, 10);
  // strtoull accepts spaces and signs.
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end || errno ||
      value < minimum)
    return Status::error(name + "=" + text + ": expected an integer from " +
                         std::to_string(minimum) + " to 2^64 - 1");
  return value;
}

Result<double> parseScale(const std::string &name, const std::string &text) {
  char *end;
  double value = std::strtod(text.c_str(), &end);
  // The generator scales in float.
  if (text.empty() || *end || !(value > 0) || !std::isfinite(float(value)) ||
      float(value) == 0)
    return Status::error(name + "=" + text +
                         ": expected a positive number within float's range");
  return value;
}

} // namespace

Result<Options> parseOptions(int argc, char **argv) {
  Options options;
  std::string inputOption; // the last one that says what the inputs are
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("-", 0) != 0) {
      if (!options.description.empty())
        return Status::error("one kernel description expected, got '" +
                             options.description + "' and '" + argument + "'");
      options.description = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    bool hasValue = equals != std::string::npos;
    std::string value = hasValue ? argument.substr(equals + 1) : "";

    bool *flag = name == "--help"           ? &options.help
                 : name == "--alias-output" ? &options.aliasOutput
                 : name == "--bench"        ? &options.bench
                                            : nullptr;
    double *scale = name == "--hidden-scale"   ? &options.inputs.hiddenScale
                    : name == "--weight-scale" ? &options.inputs.weightScale
                    : name == "--attention-scale"
                        ? &options.inputs.attentionScale
                        : nullptr;
    uint64_t *count = name == "--seed"      ? &options.inputs.seed
                      : name == "--replays" ? &options.replays
                                            : nullptr;
    if (flag) {
      if (hasValue)
        return Status::error(name + " takes no value");
      *flag = true;
      continue;
    }
    bool known = scale || count || name == "--device" || name == "--golden" ||
                 name == "--kind";
    if (!known)
      return Status::error("unknown option '" + name + "'");
    if (!hasValue)
      return Status::error(name + " needs a value: " + name + "=...");
    if (scale || name == "--seed" || name == "--kind")
      inputOption = name;

    if (scale) {
      Result<double> parsed = parseScale(name, value);
      if (!parsed.ok())
        return parsed.status();
      *scale = *parsed;
    } else if (count) {
      Result<uint64_t> parsed =
          parseCount(name, value, name == "--replays" ? 1 : 0);
      if (!parsed.ok())
        return parsed.status();
      *count = *parsed;
    } else if (name == "--kind") {
      if (value != "uniform" && value != "ternary")
        return Status::error("--kind=" + value +
                             ": expected uniform or ternary");
      options.inputs.kind = value == "uniform" ? reference::InputKind::Uniform
                                               : reference::InputKind::Ternary;
    } else if (name == "--device") {
      std::vector<std::string> names = runtime::knownDevices();
      if (std::find(names.begin(), names.end(), value) == names.end())
        return Status::error("--device=" + value +
                             ": expected emulator, hip or cuda");
      options.device = value;
    } else {
      size_t colon = value.rfind(':');
      if (colon == std::string::npos || colon == 0 || colon + 1 == value.size())
        return Status::error("--golden=" + value +
                             ": expected CASES.json:CASE");
      options.golden = {value.substr(0, colon), value.substr(colon + 1)};
    }
  }
  if (options.help)
    return options;
  if (options.description.empty())
    return Status::error("the kernel description DIR/NAME.json is missing");
  if (options.golden && !inputOption.empty())
    return Status::error("--golden says what the inputs are; it excludes " +
                         inputOption);
  return options;
}

} // namespace kimi::gaterun
