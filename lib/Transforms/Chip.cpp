//===- Chip.cpp - What the compiler knows of a chip -----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/Chip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kimi;

static const ChipInfo chips[] = {
    // MI355X. The features keep the backend from forming v_pk_fma_f32, which
    // gfx950 is reported to compute wrongly at times with op_sel:[0,1,0]
    // (ROCm/rocMLIR pull request 2459).
    {"gfx950", mlir::amdgpu::Chipset(9, 5, 0), /*subgroupSize=*/64,
     /*computeUnits=*/256, /*maxWorkgroupSize=*/1024, "-packed-fp32-ops"},
};

const ChipInfo *kimi::lookupChip(llvm::StringRef name) {
  const ChipInfo *chip =
      llvm::find_if(chips, [&](const ChipInfo &c) { return c.name == name; });
  return chip == std::end(chips) ? nullptr : chip;
}

std::string kimi::listKnownChips() {
  return llvm::join(
      llvm::map_range(chips, [](const ChipInfo &c) { return c.name; }), ", ");
}
