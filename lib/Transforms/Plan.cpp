//===- Plan.cpp - How a gate is spread over a chip ------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/Plan.h"

using namespace kimi;

void KernelPlan::print(llvm::raw_ostream &os) const {
  os << "plan m=" << m << " n=" << n << " k=" << k
     << " workgroups=" << workgroups << " rows=" << rowsPerWorkgroup
     << " waves=" << wavesPerWorkgroup << " subgroup=" << subgroupSize
     << " elements-per-load=" << elementsPerLoad
     << " loads-per-row=" << loadsPerRow
     << " batches-per-pass=" << batchesPerPass << " lds=" << ldsBytes()
     << (nonTemporalWeights ? " nontemporal" : "");
}

std::optional<KernelPlan> kimi::planKernel(const ChipInfo &chip, int64_t m,
                                           int64_t n, int64_t k) {
  KernelPlan plan;
  plan.m = m;
  plan.n = n;
  plan.k = k;
  plan.subgroupSize = chip.subgroupSize;
  plan.elementsPerLoad = 8;
  plan.nonTemporalWeights = true;

  // Kimi-K3 at tensor parallel 8 has six rows for each of 256 compute units;
  // larger N keeps the workgroup and has more of them.
  constexpr int64_t rows = 6;
  if (n % rows != 0)
    return std::nullopt;
  plan.rowsPerWorkgroup = rows;
  plan.workgroups = n / rows;

  // As many waves as cover K with one load each: every work-item then has a
  // row's load in flight at few registers, and hidden is read once.
  int64_t elementsPerWave = plan.subgroupSize * plan.elementsPerLoad;
  if (k % elementsPerWave != 0)
    return std::nullopt;
  int64_t waveLoads = k / elementsPerWave;
  int64_t maxWaves = chip.maxWorkgroupSize / chip.subgroupSize;
  plan.loadsPerRow = 0;
  for (int64_t loads = 1; loads <= waveLoads; ++loads) {
    if (waveLoads % loads != 0 || waveLoads / loads > maxWaves)
      continue;
    plan.loadsPerRow = loads;
    break;
  }
  if (plan.loadsPerRow == 0)
    return std::nullopt;
  plan.wavesPerWorkgroup = waveLoads / plan.loadsPerRow;

  // A workgroup of fourteen waves leaves each 128 registers. Eight rows of
  // hidden fit beside the weights; of more, only four at a time.
  plan.batchesPerPass = m <= 8 ? m : 4;

  // One work-item finishes each output.
  if (m * plan.rowsPerWorkgroup > plan.workgroupSize())
    return std::nullopt;
  return plan;
}
