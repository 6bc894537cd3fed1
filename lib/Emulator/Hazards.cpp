//===- Hazards.cpp - Missing wait states between dependent instructions ---===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dependencies that the hardware does not resolve: software must put wait
// states between the two instructions (CDNA4 ISA document, section "Manually
// Inserted Wait States (NOPs)"; LLVM's GCNHazardRecognizer inserts the same
// ones for gfx940 and gfx950). An instruction is one wait state, s_nop N is
// N + 1.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

using namespace kimi::emulator;

static bool isVector(const Instruction &inst) {
  return inst.format >= Format::VOP1 && inst.format <= Format::VOP3P;
}

/// The destination is a part of the register.
static bool writesPart(const Instruction &inst) {
  if (inst.sdwa)
    return inst.sdwa->dstSel != 6;
  return (inst.format == Format::VOP3) && (inst.opSel & 8);
}

namespace {

class Checker {
public:
  Checker(Wave &wave) : wave(wave), now(wave.hazards.now) {}

  /// Fails unless `needed` wait states lie behind the write at `time`.
  bool require(uint64_t time, unsigned needed, const std::string &what) {
    if (!time)
      return true;
    uint64_t between = now - time - 1;
    if (between >= needed)
      return true;
    wave.fail("hazard: " + what + " needs " + std::to_string(needed) +
              " wait states in between and has " + std::to_string(between));
    return false;
  }

private:
  Wave &wave;
  uint64_t now;
};

} // namespace

bool kimi::emulator::checkHazards(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  Wave::HazardState &hazards = wave.hazards;
  Checker check(wave);
  if (isVector(inst)) {
    bool swap = op.has(SwapsSources) &&
                llvm::StringRef(op.name).starts_with("v_permlane");
    bool laneAccess = op.cls == InstructionClass::VectorCrossLane && !swap &&
                      !op.has(SwapsSources);
    for (unsigned i = 0; i < inst.numReads; ++i) {
      const RegisterRange &range = inst.reads[i];
      for (unsigned k = 0; k < range.count; ++k) {
        unsigned reg = range.first + k;
        if (!range.vector) {
          bool isSelect = laneAccess && !op.has(SwapsSources) &&
                          op.sources == 2 && reg == inst.src[1];
          if (isSelect &&
              !check.require(hazards.valuWroteScalar[reg], 4,
                             "a lane select in " + scalarName(reg) +
                                 " written by a vector instruction"))
            return false;
          if (!check.require(
                  hazards.valuWroteScalar[reg], op.has(ReadsVcc) ? 4 : 2,
                  scalarName(reg) + " written by a vector instruction and read "
                                    "by this one"))
            return false;
          continue;
        }
        unsigned row = wave.row(reg);
        if (inst.dpp && !check.require(hazards.valuWrote[row], 2,
                                       "DPP on " + vectorName(reg) +
                                           " written by a vector instruction"))
          return false;
        if (swap && !check.require(hazards.valuWrote[row], 2,
                                   "a permlane swap of " + vectorName(reg) +
                                       " written by a vector instruction"))
          return false;
        if (laneAccess &&
            !check.require(hazards.valuWrote[row], 1,
                           "reading a lane of " + vectorName(reg) +
                               " written by a vector "
                               "instruction"))
          return false;
        if (!op.has(IsTranscendental) &&
            !check.require(hazards.transWrote[row], 1,
                           vectorName(reg) +
                               " written by a transcendental instruction and "
                               "read by another vector instruction"))
          return false;
        if (!check.require(hazards.partWrote[row], 1,
                           vectorName(reg) +
                               " written in part and read by a vector "
                               "instruction"))
          return false;
      }
    }
    if (swap)
      for (unsigned reg : {unsigned(inst.dst)})
        if (!check.require(hazards.valuWrote[wave.row(reg)], 2,
                           "a permlane swap of " + vectorName(reg) +
                               " written by a vector instruction"))
          return false;
    if (inst.dpp && !check.require(hazards.valuWroteExec, 5,
                                   "DPP after a vector instruction that "
                                   "writes EXEC"))
      return false;
    if ((laneAccess || swap) &&
        !check.require(hazards.valuWroteExec, 4,
                       "a lane access after a vector instruction that writes "
                       "EXEC"))
      return false;
    for (unsigned i = 0; i < inst.numWrites; ++i) {
      const RegisterRange &range = inst.writes[i];
      for (unsigned k = 0; range.vector && k < range.count; ++k)
        if (!check.require(hazards.storeRead[wave.row(range.first + k)], 2,
                           "overwriting " + vectorName(range.first + k) +
                               ", data of a store of more than 8 bytes,"))
          return false;
    }
  } else if (inst.format == Format::FLAT) {
    for (unsigned i = 0; i < inst.numReads; ++i) {
      const RegisterRange &range = inst.reads[i];
      for (unsigned k = 0; !range.vector && k < range.count; ++k)
        if (!check.require(hazards.valuWroteScalar[range.first + k], 5,
                           scalarName(range.first + k) +
                               " written by a vector instruction and read by "
                               "a memory instruction"))
          return false;
    }
  }
  return true;
}

void kimi::emulator::recordHazards(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  Wave::HazardState &hazards = wave.hazards;
  bool vector = isVector(inst);
  bool part = vector && writesPart(inst);
  for (unsigned i = 0; i < inst.numWrites; ++i) {
    const RegisterRange &range = inst.writes[i];
    for (unsigned k = 0; k < range.count; ++k) {
      unsigned reg = range.first + k;
      if (range.vector) {
        unsigned row = wave.row(reg);
        hazards.valuWrote[row] = vector ? hazards.now : 0;
        hazards.transWrote[row] = op.has(IsTranscendental) ? hazards.now : 0;
        hazards.partWrote[row] = part ? hazards.now : 0;
      } else {
        hazards.valuWroteScalar[reg] = vector ? hazards.now : 0;
      }
    }
  }
  if (vector && op.has(WritesExec))
    hazards.valuWroteExec = hazards.now;
  if (inst.format == Format::FLAT && op.has(StoresMemory) && op.bytes > 8)
    for (unsigned d = 0; d < op.bytes / 4u; ++d)
      hazards.storeRead[wave.row(inst.src[1] - FirstVector + d)] = hazards.now;
  // s_nop N is N + 1 wait states.
  bool isNop = inst.format == Format::SOPP && op.cls == InstructionClass::Nop &&
               llvm::StringRef(op.name) == "s_nop";
  hazards.now += isNop ? (inst.immediate & 15) + 1 : 1;
}
