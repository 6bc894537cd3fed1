//===- Json.cpp - JSON files with errors that name file and key -----------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

using nlohmann::json;

namespace kimi::gaterun {

Result<std::string> readFile(const std::string &path) {
  // Not a stream: a folder opens, and reading it would throw.
  std::string bytes;
  errno = 0;
  if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
    char chunk[1 << 16];
    while (size_t count = std::fread(chunk, 1, sizeof(chunk), file))
      bytes.append(chunk, count);
    bool good = !std::ferror(file);
    std::fclose(file);
    if (good)
      return bytes;
  }
  return Status::error("cannot read '" + path +
                       "': " + std::strerror(errno ? errno : EIO));
}

Result<json> readJson(const std::string &path) {
  Result<std::string> bytes = readFile(path);
  if (!bytes.ok())
    return bytes.status();
  // The parser keeps the last of several equal keys.
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  auto watch = [&](int, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == json::parse_event_t::key &&
             !keys.back().insert(parsed.get<std::string>()).second)
      duplicate = parsed.get<std::string>();
    return true;
  };
  try {
    json result = json::parse(*bytes, watch);
    if (!duplicate.empty())
      return Status::error(path + ": key '" + duplicate + "' appears twice");
    return result;
  } catch (const json::parse_error &error) {
    // The library's text starts with a tag in brackets.
    std::string text = error.what();
    size_t tag = text.find("] ");
    return Status::error(
        path + ": not JSON: " +
        (tag == std::string::npos ? text : text.substr(tag + 2)));
  }
}

Status JsonObject::error(const std::string &key,
                         const std::string &what) const {
  std::string place = where;
  if (!key.empty())
    place += (place.empty() ? "" : ".") + key;
  return Status::error(file + ": " +
                       (place.empty() ? "" : "key '" + place + "': ") + what);
}

Status JsonObject::expectKeys(std::initializer_list<const char *> keys) const {
  if (!value.is_object())
    return error("", "expected an object");
  for (auto &item : value.items())
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
      return error(item.key(), "unknown key");
  return Status::success();
}

Result<const json *> JsonObject::get(const char *key) const {
  auto it = value.find(key);
  if (it == value.end())
    return error(key, "missing");
  return &*it;
}

Result<std::string> JsonObject::text(const char *key) const {
  Result<const json *> item = get(key);
  if (!item.ok())
    return item.status();
  if (!(*item)->is_string() || (*item)->get_ref<const std::string &>().empty())
    return error(key, "expected a string that is not empty");
  return (*item)->get<std::string>();
}

Result<std::string>
JsonObject::oneOf(const char *key,
                  std::initializer_list<const char *> values) const {
  Result<std::string> item = text(key);
  if (!item.ok())
    return item;
  std::string known;
  for (const char *candidate : values) {
    if (*item == candidate)
      return item;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  return error(key, "'" + *item + "' is not one of: " + known);
}

static bool isCount(const json &item, uint64_t minimum, uint64_t maximum) {
  // Integers that are written without a sign.
  return item.is_number_unsigned() && item.get<uint64_t>() >= minimum &&
         item.get<uint64_t>() <= maximum;
}

Result<uint64_t> JsonObject::count(const char *key, uint64_t minimum,
                                   uint64_t maximum) const {
  Result<const json *> item = get(key);
  if (!item.ok())
    return item.status();
  if (!isCount(**item, minimum, maximum))
    return error(key, "expected an integer from " + std::to_string(minimum) +
                          " to " + std::to_string(maximum));
  return (*item)->get<uint64_t>();
}

Result<double> JsonObject::positiveNumber(const char *key) const {
  Result<const json *> item = get(key);
  if (!item.ok())
    return item.status();
  if (!(*item)->is_number() || !((*item)->get<double>() > 0) ||
      !std::isfinite(float((*item)->get<double>())))
    return error(key, "expected a positive number within float's range");
  return (*item)->get<double>();
}

Result<std::vector<uint64_t>> JsonObject::counts(const char *key, size_t size,
                                                 uint64_t maximum) const {
  Result<const json *> item = get(key);
  if (!item.ok())
    return item.status();
  bool good = (*item)->is_array() && (*item)->size() == size;
  std::vector<uint64_t> values;
  for (size_t i = 0; good && i < size; ++i) {
    good = isCount((**item)[i], 1, maximum);
    if (good)
      values.push_back((**item)[i].get<uint64_t>());
  }
  if (!good)
    return error(key, "expected " + std::to_string(size) +
                          " integers from 1 to " + std::to_string(maximum));
  return values;
}

Result<const json *> JsonObject::array(const char *key) const {
  Result<const json *> item = get(key);
  if (!item.ok())
    return item;
  if (!(*item)->is_array() || (*item)->empty())
    return error(key, "expected an array that is not empty");
  return item;
}

} // namespace kimi::gaterun
