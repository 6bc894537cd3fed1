//===- DeviceRegistry.h - The devices of this build ------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Known names: "emulator", "hip", "cuda". A device that is known but was not
// built is an error of its own.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_RUNTIME_DEVICEREGISTRY_H
#define KIMIMLAGATE_RUNTIME_DEVICEREGISTRY_H

#include "KimiMlaGate/Runtime/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace kimi::runtime {

/// Opens a device. An empty name asks the environment variable
/// KIMI_GPU_DEVICE; without it, hip where a gfx950 is present and this build
/// has hip, else the emulator. `ordinal` counts the devices of one name.
KIMI_RUNTIME_EXPORT Result<std::unique_ptr<Device>>
createDevice(const std::string &name = "", int ordinal = 0);

/// The names that createDevice knows, built or not.
KIMI_RUNTIME_EXPORT std::vector<std::string> knownDevices();

/// Whether the kernel driver lists a gfx950. `topology` is KFD's folder of
/// nodes, each with a file "properties" whose line gfx_target_version holds
/// 10000 * major + 100 * minor + stepping of the chip: 90500 for gfx950
/// (linux/Documentation and ROCm's libhsakmt).
KIMI_RUNTIME_EXPORT bool gfx950IsPresent(
    const std::string &topology = "/sys/class/kfd/kfd/topology/nodes");

} // namespace kimi::runtime

#endif // KIMIMLAGATE_RUNTIME_DEVICEREGISTRY_H
