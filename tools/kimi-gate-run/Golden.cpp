//===- Golden.cpp - Golden cases ------------------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Golden.h"

#include "Json.h"
#include "Try.h"

#include <cstring>
#include <filesystem>

namespace kimi::gaterun {

static std::string text(const reference::GateShape &shape) {
  return "M=" + std::to_string(shape.m) + " N=" + std::to_string(shape.n) +
         " K=" + std::to_string(shape.k);
}

Result<GoldenCase> readGolden(const GoldenName &name,
                              const reference::GateShape &shape) {
  nlohmann::json file;
  KIMI_ASSIGN(file, readJson(name.file));
  if (!file.is_array())
    return Status::error(name.file + ": expected an array of cases");

  std::string names;
  for (size_t i = 0; i < file.size(); ++i) {
    JsonObject object(file[i], name.file, "[" + std::to_string(i) + "]");
    // What a case says of how it compares with float64 is for readers.
    KIMI_TRY(object.expectKeys({"name", "seed", "M", "N", "K", "kind",
                                "hidden_scale", "weight_scale",
                                "attention_scale", "proj_vs_f64_mismatches",
                                "sigmoid_vs_f64_mismatches", "proj_std"}));
    std::string caseName;
    KIMI_ASSIGN(caseName, object.text("name"));
    names += (names.empty() ? "" : ", ") + caseName;
    if (caseName != name.caseName)
      continue;

    reference::GateShape own;
    KIMI_ASSIGN(own.m, object.count("M", 1, 1 << 24));
    KIMI_ASSIGN(own.n, object.count("N", 1, 1 << 24));
    KIMI_ASSIGN(own.k, object.count("K", 1, 1 << 24));
    if (own.m != shape.m || own.n != shape.n || own.k != shape.k)
      return Status::error(name.file + ": case '" + caseName + "' has " +
                           text(own) + ", the kernel has " + text(shape));
    GoldenCase golden;
    std::string kind;
    KIMI_ASSIGN(kind, object.oneOf("kind", {"uniform", "ternary"}));
    golden.inputs.kind = kind == "uniform" ? reference::InputKind::Uniform
                                           : reference::InputKind::Ternary;
    KIMI_ASSIGN(golden.inputs.seed, object.count("seed", 0, UINT64_MAX));
    KIMI_ASSIGN(golden.inputs.hiddenScale,
                object.positiveNumber("hidden_scale"));
    KIMI_ASSIGN(golden.inputs.weightScale,
                object.positiveNumber("weight_scale"));
    KIMI_ASSIGN(golden.inputs.attentionScale,
                object.positiveNumber("attention_scale"));

    std::string path =
        (std::filesystem::path(name.file).parent_path() / (caseName + ".bf16"))
            .string();
    std::string bytes;
    KIMI_ASSIGN(bytes, readFile(path));
    size_t block = shape.outputs() * sizeof(uint16_t);
    if (bytes.size() != 3 * block)
      return Status::error("'" + path + "' has " +
                           std::to_string(bytes.size()) + " bytes, expected " +
                           std::to_string(3 * block));
    for (size_t t = 0; t < 3; ++t) {
      golden.tensors[t].resize(shape.outputs());
      std::memcpy(golden.tensors[t].data(), bytes.data() + t * block, block);
    }
    return golden;
  }
  return Status::error(name.file + ": no case '" + name.caseName +
                       "'; cases: " + names);
}

} // namespace kimi::gaterun
