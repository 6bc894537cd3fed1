//===- DeviceRegistry.cpp - The devices of this build ---------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Runtime/DeviceRegistry.h"

#include "EmulatorDevice.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kimi::runtime {
namespace {

struct Entry {
  const char *name;
  /// Null where this build lacks the device.
  Result<std::unique_ptr<Device>> (*create)(int ordinal);
  /// Whether to choose it when nobody asks for one.
  bool (*preferred)();
};

/// In order of preference.
const Entry entries[] = {
    {"hip", nullptr, [] { return gfx950IsPresent(); }},
    {"emulator", createEmulatorDevice, [] { return true; }},
    {"cuda", nullptr, [] { return false; }},
};

std::string knownNames() {
  std::string names;
  for (const std::string &name : knownDevices())
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

} // namespace

std::vector<std::string> knownDevices() {
  std::vector<std::string> names;
  for (const Entry &entry : entries)
    names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<Device>> createDevice(const std::string &name,
                                             int ordinal) {
  std::string wanted = name, source;
  if (const char *variable = std::getenv("KIMI_GPU_DEVICE");
      variable && wanted.empty()) {
    wanted = variable;
    source = " (from KIMI_GPU_DEVICE)";
    if (wanted.empty())
      return Status::error("KIMI_GPU_DEVICE is set but empty; known devices: " +
                           knownNames());
  }
  for (const Entry &entry : entries) {
    if (wanted.empty() ? !entry.create || !entry.preferred()
                       : wanted != entry.name)
      continue;
    if (!entry.create)
      return Status::error("device '" + wanted + "'" + source +
                           " is not part of this build");
    return entry.create(ordinal);
  }
  return Status::error("unknown device '" + wanted + "'" + source +
                       "; known devices: " + knownNames());
}

bool gfx950IsPresent(const std::string &topology) {
  std::error_code ignored; // no driver, no folder
  for (const auto &node :
       std::filesystem::directory_iterator(topology, ignored)) {
    std::ifstream properties(node.path() / "properties");
    std::string key;
    uint64_t value;
    while (properties >> key >> value)
      if (key == "gfx_target_version" && value == 90500)
        return true;
  }
  return false;
}

} // namespace kimi::runtime
