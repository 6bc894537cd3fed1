//===- Chip.h - What the compiler knows of a chip ---------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_CHIP_H
#define KIMIMLAGATE_TRANSFORMS_CHIP_H

#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kimi {

/// Constants of one chip that the plan and the emitter use.
struct ChipInfo {
  llvm::StringRef name;
  mlir::amdgpu::Chipset chipset;
  /// Lanes of a wave.
  int64_t subgroupSize;
  int64_t computeUnits;
  /// Most work-items that a workgroup may have.
  int64_t maxWorkgroupSize;
  /// Target features that every kernel for the chip is compiled with.
  llvm::StringRef targetFeatures;
};

/// The description of a chip by its processor name (LLVM AMDGPUUsage,
/// "Processors"), or null when no kernel exists for it.
const ChipInfo *lookupChip(llvm::StringRef name);

/// The names that lookupChip() knows, separated by ", ".
std::string listKnownChips();

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_CHIP_H
