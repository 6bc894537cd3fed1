//===- Device.cpp - What all devices share --------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Runtime/Device.h"

namespace kimi::runtime {

Device::~Device() = default;

static std::string text(const Dim3 &dim) {
  return std::to_string(dim.x) + "x" + std::to_string(dim.y) + "x" +
         std::to_string(dim.z);
}

Status checkLaunch(const KernelInfo &kernel, const LaunchConfig &config,
                   size_t argumentCount, const DeviceLimits &limits) {
  auto error = [&](const std::string &what) {
    return Status::error("kernel '" + kernel.name + "': " + what);
  };
  if (kernel.arguments && kernel.arguments->size() != argumentCount)
    return error("launched with " + std::to_string(argumentCount) +
                 " arguments, takes " +
                 std::to_string(kernel.arguments->size()));

  const Dim3 &grid = config.workgroups, &block = config.workgroupSize;
  if (!grid.x || !grid.y || !grid.z)
    return error("a grid of " + text(grid) + " workgroups is empty");
  if (!block.x || !block.y || !block.z)
    return error("a workgroup of " + text(block) + " work-items is empty");
  // A dispatch packet counts the work-items of each dimension in 32 bits.
  for (auto [groups, items] :
       {std::pair(grid.x, block.x), std::pair(grid.y, block.y),
        std::pair(grid.z, block.z)})
    if (uint64_t(groups) * items > UINT32_MAX)
      return error("a grid of " + text(grid) + " workgroups of " + text(block) +
                   " work-items exceeds 2^32 - 1 work-items in one dimension");

  const Dim3 &required = kernel.requiredWorkgroupSize;
  if (required.x &&
      (block.x != required.x || block.y != required.y || block.z != required.z))
    return error("launched with a workgroup of " + text(block) +
                 " work-items, requires " + text(required));
  uint64_t maxItems = kernel.maxWorkgroupSize ? kernel.maxWorkgroupSize
                                              : limits.maxWorkgroupSize;
  // Three 32-bit factors can exceed 64 bits; each alone is checked first.
  if (block.x > maxItems || block.y > maxItems || block.z > maxItems ||
      uint64_t(block.x) * block.y * block.z > maxItems)
    return error("a workgroup of " + text(block) +
                 " work-items exceeds the limit of " +
                 std::to_string(maxItems));
  if (uint64_t(kernel.staticLds) + config.dynamicLds > limits.maxLds)
    return error("a workgroup needs " + std::to_string(kernel.staticLds) +
                 " + " + std::to_string(config.dynamicLds) +
                 " bytes of local data share, the device has " +
                 std::to_string(limits.maxLds));
  return Status::success();
}

} // namespace kimi::runtime
