//===- Json.h - JSON files with errors that name file and key ---*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GATERUN_JSON_H
#define KIMIMLAGATE_TOOLS_GATERUN_JSON_H

#include "KimiMlaGate/Support/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace kimi::gaterun {

/// The whole file as bytes.
Result<std::string> readFile(const std::string &path);

/// Duplicate keys are errors too.
Result<nlohmann::json> readJson(const std::string &path);

/// One object of a file. Every getter demands its key.
class JsonObject {
public:
  /// `where` is the object's place in the file, such as "arguments[1]"; empty
  /// for the whole.
  JsonObject(const nlohmann::json &value, std::string file, std::string where)
      : value(value), file(std::move(file)), where(std::move(where)) {}

  /// It is an object and has no keys but these.
  Status expectKeys(std::initializer_list<const char *> keys) const;
  bool has(const char *key) const { return value.contains(key); }

  Result<std::string> text(const char *key) const;
  Result<std::string> oneOf(const char *key,
                            std::initializer_list<const char *> values) const;
  Result<uint64_t> count(const char *key, uint64_t minimum,
                         uint64_t maximum) const;
  Result<double> positiveNumber(const char *key) const;
  Result<std::vector<uint64_t>> counts(const char *key, size_t size,
                                       uint64_t maximum) const;
  Result<const nlohmann::json *> array(const char *key) const;

  Status error(const std::string &key, const std::string &what) const;

private:
  Result<const nlohmann::json *> get(const char *key) const;

  const nlohmann::json &value;
  std::string file, where;
};

} // namespace kimi::gaterun

#endif // KIMIMLAGATE_TOOLS_GATERUN_JSON_H
