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
  return inst.format == Format::VOP3 && (inst.opSel & 8);
}

/// s_getreg and s_setreg; the only register that they can name here is MODE.
static bool isHardwareRegisterAccess(const Instruction &inst) {
  return inst.format == Format::SOPK &&
         inst.operation->cls == InstructionClass::Other;
}

/// Whether a scalar register is an ordinary source operand.
static bool isOperand(const Instruction &inst, unsigned reg) {
  for (unsigned i = 0; i < inst.operation->sources; ++i)
    if (inst.src[i] <= reg &&
        reg < inst.src[i] + dwordsOf(inst.operation->src[i]))
      return true;
  return false;
}

namespace {

/// The checks of one instruction. Each returns false after an error.
class Checker {
public:
  Checker(Wave &wave, const Instruction &inst)
      : wave(wave), hazards(wave.hazards), inst(inst), op(*inst.operation) {
    permlaneSwap = op.has(SwapsSources) &&
                   llvm::StringRef(op.name).starts_with("v_permlane");
    laneAccess =
        op.cls == InstructionClass::VectorCrossLane && !op.has(SwapsSources);
  }

  bool checkVector();
  bool checkScalarBase();
  bool checkHardwareRegister() {
    return require(hazards.setMode, 2, [] {
      return "an access to a hardware register after s_setreg";
    });
  }

private:
  /// Fails unless `needed` wait states lie behind the event at `time`.
  template <typename Describe>
  bool require(uint64_t time, unsigned needed, Describe describe) {
    if (!time)
      return true;
    uint64_t between = hazards.now - time - 1;
    if (between >= needed)
      return true;
    wave.fail(llvm::Twine("hazard: ") + describe() + " needs " +
              llvm::Twine(needed) + " wait states in between and has " +
              llvm::Twine(between));
    return false;
  }
  bool checkScalarOperand(unsigned reg);
  bool checkVectorOperand(unsigned reg);

  Wave &wave;
  const Wave::HazardState &hazards;
  const Instruction &inst;
  const Operation &op;
  bool permlaneSwap, laneAccess;
};

} // namespace

bool Checker::checkScalarOperand(unsigned reg) {
  bool isExec = reg == ExecLo || reg == ExecHi;
  uint64_t written =
      isExec ? hazards.valuWroteExec : hazards.valuWroteScalar[reg];
  if (laneAccess && op.sources == 2 && reg == inst.src[1])
    return require(written, 4, [&] {
      return "a lane select in " + scalarName(reg) +
             " written by a vector instruction";
    });
  // Masks (carries, selects) are read late enough; operands are not.
  bool isMask = op.has(ReadsMask) && reg >= inst.maskSrc &&
                reg < inst.maskSrc + 2u && !isOperand(inst, reg);
  return require(
      written,
      op.has(ReadsVcc) ? 4
      : isMask         ? 0
                       : 2,
      [&] {
        return scalarName(reg) +
               " written by a vector instruction and read by this one";
      });
}

bool Checker::checkVectorOperand(unsigned reg) {
  unsigned row = wave.row(reg);
  unsigned needed = inst.dpp || permlaneSwap ? 2 : laneAccess ? 1 : 0;
  if (!require(hazards.valuWrote[row], needed, [&] {
        return (inst.dpp       ? "DPP on "
                : permlaneSwap ? "a permlane swap of "
                               : "reading a lane of ") +
               vectorName(reg) + " written by a vector instruction";
      }))
    return false;
  if (!op.has(IsTranscendental) && !require(hazards.transWrote[row], 1, [&] {
        return vectorName(reg) + " written by a transcendental instruction "
                                 "and read by another vector instruction";
      }))
    return false;
  return require(hazards.partWrote[row], 1, [&] {
    return vectorName(reg) +
           " written in part and read by a vector instruction";
  });
}

bool Checker::checkVector() {
  for (unsigned i = 0; i < inst.numReads; ++i) {
    const RegisterRange &range = inst.reads[i];
    for (unsigned k = 0; k < range.count; ++k)
      if (!(range.vector ? checkVectorOperand(range.first + k)
                         : checkScalarOperand(range.first + k)))
        return false;
  }
  for (unsigned i = 0; i < op.sources; ++i) {
    if (inst.src[i] == Vccz && !require(hazards.valuWroteScalar[VccLo], 5, [] {
          return "VCCZ as an operand after a vector instruction that writes "
                 "VCC";
        }))
      return false;
    if (inst.src[i] == Execz && !require(hazards.valuWroteExec, 5, [] {
          return "EXECZ as an operand after a vector instruction that writes "
                 "EXEC";
        }))
      return false;
  }
  // Both registers of a swap are read and written.
  if (permlaneSwap && !checkVectorOperand(inst.dst))
    return false;
  if (inst.dpp && !require(hazards.valuWroteExec, 5, [] {
        return "DPP after a vector instruction that writes EXEC";
      }))
    return false;
  if ((laneAccess || permlaneSwap) && !require(hazards.valuWroteExec, 4, [] {
        return "a lane access after a vector instruction that writes EXEC";
      }))
    return false;
  for (unsigned i = 0; i < inst.numWrites; ++i) {
    const RegisterRange &range = inst.writes[i];
    for (unsigned k = 0; range.vector && k < range.count; ++k)
      if (!require(hazards.storeRead[wave.row(range.first + k)], 2, [&] {
            return "overwriting " + vectorName(range.first + k) +
                   ", data of a store of more than 8 bytes,";
          }))
        return false;
  }
  return true;
}

bool Checker::checkScalarBase() {
  for (unsigned i = 0; i < inst.numReads; ++i) {
    const RegisterRange &range = inst.reads[i];
    for (unsigned k = 0; !range.vector && k < range.count; ++k)
      if (!require(hazards.valuWroteScalar[range.first + k], 5, [&] {
            return scalarName(range.first + k) +
                   " written by a vector instruction and read by a memory "
                   "instruction";
          }))
        return false;
  }
  return true;
}

bool kimi::emulator::checkHazards(Wave &wave, const Instruction &inst) {
  Checker checker(wave, inst);
  if (isVector(inst))
    return checker.checkVector();
  if (inst.format == Format::FLAT)
    return checker.checkScalarBase();
  if (isHardwareRegisterAccess(inst))
    return checker.checkHardwareRegister();
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
  if (isHardwareRegisterAccess(inst) && op.dst == Type::None)
    hazards.setMode = hazards.now;
  if (vector && op.has(WritesExec))
    hazards.valuWroteExec = hazards.now;
  if (inst.format == Format::FLAT && op.has(StoresMemory) && op.bytes > 8)
    for (unsigned d = 0; d < op.bytes / 4u; ++d)
      hazards.storeRead[wave.row(inst.src[1] - FirstVector + d)] = hazards.now;
  // s_nop N is N + 1 wait states.
  hazards.now += op.has(IsNop) ? (inst.immediate & 15) + 1 : 1;
}
