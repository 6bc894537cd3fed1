//===- KernelDescription.cpp - NAME.json beside a dumped kernel -----------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDescription.h"

#include "Json.h"
#include "Try.h"

#include <filesystem>

namespace kimi::gaterun {
namespace {

struct RoleInfo {
  const char *name;
  Role role;
  bool required;
};

const RoleInfo roles[] = {
    {"hidden", Role::Hidden, true},          {"weight", Role::Weight, true},
    {"attention", Role::Attention, true},    {"out", Role::Out, true},
    {"projection", Role::Projection, false}, {"sigmoid", Role::Sigmoid, false},
};

std::pair<size_t, size_t> shapeOf(Role role,
                                  const reference::GateShape &shape) {
  switch (role) {
  case Role::Hidden:
    return {shape.m, shape.k};
  case Role::Weight:
    return {shape.n, shape.k};
  default:
    return {shape.m, shape.n};
  }
}

Result<Argument> readArgument(const JsonObject &object,
                              const reference::GateShape &shape) {
  KIMI_TRY(object.expectKeys({"name", "type", "shape", "access"}));
  Argument argument;
  KIMI_ASSIGN(argument.name,
              object.oneOf("name", {"hidden", "weight", "attention", "out",
                                    "projection", "sigmoid"}));
  for (const RoleInfo &info : roles)
    if (argument.name == info.name)
      argument.role = info.role;
  KIMI_TRY(object.oneOf("type", {"bf16"}).status());

  auto [rows, columns] = shapeOf(argument.role, shape);
  std::vector<uint64_t> dims;
  KIMI_ASSIGN(dims, object.counts("shape", 2, UINT32_MAX));
  if (dims[0] != rows || dims[1] != columns)
    return object.error("shape", "[" + std::to_string(dims[0]) + "," +
                                     std::to_string(dims[1]) + "] for '" +
                                     argument.name + "', expected [" +
                                     std::to_string(rows) + "," +
                                     std::to_string(columns) + "]");
  argument.elements = rows * columns;

  std::string access;
  KIMI_ASSIGN(access, object.oneOf("access", {"read", "write"}));
  const char *expected = argument.isInput() ? "read" : "write";
  if (access != expected)
    return object.error("access", "'" + access + "' for '" + argument.name +
                                      "', expected '" + expected + "'");
  return argument;
}

runtime::Dim3 dim3(const std::vector<uint64_t> &values) {
  return {uint32_t(values[0]), uint32_t(values[1]), uint32_t(values[2])};
}

} // namespace

Result<KernelDescription> readKernelDescription(const std::string &path) {
  nlohmann::json file;
  KIMI_ASSIGN(file, readJson(path));
  JsonObject object(file, path, "");
  KIMI_TRY(object.expectKeys({"kernel", "chip", "code_object", "m", "n", "k",
                              "grid", "block", "arguments", "rounding",
                              "sigmoid", "product", "summation_depth"}));
  KernelDescription result;
  KIMI_ASSIGN(result.kernel, object.text("kernel"));
  KIMI_ASSIGN(result.chip, object.text("chip"));
  std::string name;
  KIMI_ASSIGN(name, object.text("code_object"));
  result.codeObject =
      (std::filesystem::path(path).parent_path() / name).string();

  // Bounds that keep every product of two of them far from overflow.
  constexpr uint64_t largest = 1 << 24;
  KIMI_ASSIGN(result.shape.m, object.count("m", 1, largest));
  KIMI_ASSIGN(result.shape.n, object.count("n", 1, largest));
  KIMI_ASSIGN(result.shape.k, object.count("k", 1, largest));
  std::vector<uint64_t> dims;
  KIMI_ASSIGN(dims, object.counts("grid", 3, UINT32_MAX));
  result.launch.workgroups = dim3(dims);
  KIMI_ASSIGN(dims, object.counts("block", 3, 1024));
  result.launch.workgroupSize = dim3(dims);

  std::string rounding, sigmoid;
  KIMI_ASSIGN(rounding, object.oneOf("rounding", {"ir", "production"}));
  KIMI_ASSIGN(sigmoid,
              object.oneOf("sigmoid", {"f32", "f32_unrounded", "bf16"}));
  KIMI_TRY(object.oneOf("product", {"bf16"}).status());
  result.productionRounding = rounding == "production";
  if (!result.productionRounding && sigmoid == "bf16")
    result.sigmoid = reference::SigmoidForm::BF16Operations;
  if (!result.productionRounding && sigmoid == "f32_unrounded")
    result.sigmoid = reference::SigmoidForm::F32Unrounded;
  result.summationDepth = reference::summationDepth(result.shape.k);
  if (object.has("summation_depth"))
    KIMI_ASSIGN(result.summationDepth,
                object.count("summation_depth", 1, 1 << 20));

  const nlohmann::json *arguments;
  KIMI_ASSIGN(arguments, object.array("arguments"));
  for (size_t i = 0; i < arguments->size(); ++i) {
    JsonObject item((*arguments)[i], path,
                    "arguments[" + std::to_string(i) + "]");
    Argument argument;
    KIMI_ASSIGN(argument, readArgument(item, result.shape));
    for (const Argument &other : result.arguments)
      if (other.role == argument.role)
        return item.error("name", "a second '" + argument.name + "'");
    result.arguments.push_back(argument);
  }
  for (const RoleInfo &info : roles) {
    bool found = !info.required;
    for (const Argument &argument : result.arguments)
      found |= argument.role == info.role;
    if (!found)
      return object.error("arguments",
                          "'" + std::string(info.name) + "' is missing");
  }
  return result;
}

} // namespace kimi::gaterun
