//===- Executor.cpp - Runs waves and workgroups ---------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Executor.h"

#include "Operands.h"

#include "llvm/Support/FormatVariadic.h"

using namespace kimi::emulator;

llvm::Expected<Transcendental>
kimi::emulator::parseTranscendental(llvm::StringRef text) {
  if (text == "nearest")
    return Transcendental::Nearest;
  if (text == "up")
    return Transcendental::Up;
  if (text == "down")
    return Transcendental::Down;
  return llvm::createStringError("'" + text +
                                 "' is none of nearest, up and down");
}

static void printTrace(const Wave &wave, const Instruction &inst,
                       uint64_t exec) {
  const Workgroup &workgroup = *wave.workgroup;
  const ExecutionContext &context = workgroup.context;
  llvm::raw_ostream &os = *context.options.trace;
  os << llvm::formatv("[{0},{1},{2} wave {3}] +{4:x4} exec={5:x16} {6}",
                      workgroup.id[0], workgroup.id[1], workgroup.id[2],
                      wave.index, inst.offset - context.kernelOffset, exec,
                      context.program.getText(context.program.indexOf(inst)));
  // What it wrote: scalars, and vectors in the first enabled lane.
  unsigned lane = exec ? llvm::countr_zero(exec) : 0;
  for (unsigned i = 0; i < inst.numWrites; ++i) {
    const RegisterRange &range = inst.writes[i];
    for (unsigned k = 0; k < range.count; ++k) {
      unsigned reg = range.first + k;
      if (range.vector)
        os << llvm::formatv(" {0}[{1}]={2:x8}", vectorName(reg), lane,
                            wave.lanes(reg)[lane]);
      else if (reg != ExecLo && reg != ExecHi)
        os << llvm::formatv(" {0}={1:x8}", scalarName(reg), wave.scalar[reg]);
    }
  }
  os << '\n';
}

/// A register that a load in flight will still write.
static bool checkInFlight(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  bool vectorLoad =
      inst.format == Format::FLAT && op.has(LoadsMemory) && inst.segment != 0;
  bool ldsLoad = inst.format == Format::DS;
  auto report = [&](const RegisterRange &range, const InFlight &entry,
                    const char *verb) {
    // The first register of the overlap.
    unsigned reg = std::max(range.first, entry.dst.first);
    const ExecutionContext &context = wave.workgroup->context;
    const char *counter = entry.flat ? "vmcnt and lgkmcnt"
                          : entry.kind == InFlight::Scalar || entry.lds
                              ? "lgkmcnt"
                              : "vmcnt";
    wave.fail(llvm::formatv(
        "{0} {1} while '{2}' at +{3:x}, which writes it, has not been waited "
        "for (s_waitcnt {4})",
        verb, range.vector ? vectorName(reg) : scalarName(reg),
        context.program.getText(entry.instruction),
        context.program[entry.instruction].offset - context.kernelOffset,
        counter));
    return false;
  };
  for (unsigned i = 0; i < inst.numReads; ++i)
    if (const InFlight *entry = wave.findInFlight(inst.reads[i], false, false))
      return report(inst.reads[i], *entry, "reads");
  for (unsigned i = 0; i < inst.numWrites; ++i)
    if (const InFlight *entry =
            wave.findInFlight(inst.writes[i], vectorLoad, ldsLoad))
      return report(inst.writes[i], *entry, "overwrites");
  return true;
}

static bool checkAllocation(Wave &wave, const Instruction &inst) {
  auto report = [&](const char *kind, unsigned needed, unsigned owned) {
    wave.fail(llvm::formatv("uses {0}{1}, but the kernel descriptor allocates "
                            "{2} such registers",
                            kind, needed - 1, owned));
    return false;
  };
  if (inst.needVgprs > wave.numVgprs())
    return report("v", inst.needVgprs, wave.numVgprs());
  if (inst.needAccVgprs > wave.numAccVgprs())
    return report("a", inst.needAccVgprs, wave.numAccVgprs());
  if (inst.needSgprs > wave.numSgprs())
    return report("s", inst.needSgprs, wave.numSgprs());
  return true;
}

void Workgroup::step(Wave &wave) {
  const Instruction &inst = context.program[wave.pc];
  llvm::StringRef defect = context.program.getDefect(wave.pc);
  if (!defect.empty())
    return wave.fail(defect);
  if (wave.executed++ >= context.options.instructionBudget)
    return wave.fail(llvm::formatv("no s_endpgm within {0} instructions",
                                   context.options.instructionBudget));
  const Operation &op = *inst.operation;
  if (!checkAllocation(wave, inst))
    return;
  if (wave.anyInFlight() && !checkInFlight(wave, inst))
    return;
  if (context.options.detectHazards && !checkHazards(wave, inst))
    return;
  Profile &profile = context.profile;
  ++profile.instructions;
  ++profile.byClass[static_cast<unsigned>(op.cls)];
  profile.dppInstructions += inst.dpp != nullptr;
  profile.sdwaInstructions += inst.sdwa != nullptr;
  uint64_t exec = wave.exec;
  wave.next = wave.pc + 1;
  op.execute(wave, inst);
  if (wave.state == Wave::State::Failed)
    return;
  if (context.options.detectHazards)
    recordHazards(wave, inst);
  if (context.options.trace)
    printTrace(wave, inst, exec);
  if (wave.next == wave.pc + 1 && context.program[wave.next].startsFunction &&
      wave.state == Wave::State::Running)
    return wave.fail("execution runs past the end of the function");
  wave.pc = wave.next;
}

/// LDS accesses that a wave takes across a barrier unfinished are not ordered
/// by it: they count as made after it as well.
static void carryOverBarrier(Wave &wave, LocalMemory &lds) {
  for (const InFlight &entry : wave.lgkmQueue)
    for (auto [address, bytes] : entry.ldsBytes)
      for (uint32_t i = 0; i < bytes; ++i) {
        LocalMemory::Byte &byte = lds[address + i];
        if (entry.kind == InFlight::Store) {
          byte.writer = wave.index + 1;
          byte.writeEpoch = wave.barriers;
          byte.writeInstruction = entry.instruction;
        } else {
          bool others = byte.readEpoch == wave.barriers && byte.reader &&
                        byte.reader != wave.index + 1;
          byte.reader = others ? 0xffff : wave.index + 1;
          byte.readEpoch = wave.barriers;
          byte.readInstruction = entry.instruction;
        }
      }
}

llvm::Error Workgroup::run() {
  while (true) {
    bool waiting = false;
    for (std::unique_ptr<Wave> &wave : waves) {
      while (wave->state == Wave::State::Running)
        step(*wave);
      if (wave->state == Wave::State::Failed)
        return llvm::createStringError(wave->error);
      waiting |= wave->state == Wave::State::AtBarrier;
    }
    if (!waiting)
      return llvm::Error::success();
    // Waves that have ended do not count (ISA document, s_barrier).
    for (std::unique_ptr<Wave> &wave : waves)
      if (wave->state == Wave::State::AtBarrier) {
        ++wave->barriers;
        carryOverBarrier(*wave, lds);
        wave->state = Wave::State::Running;
      }
  }
}
