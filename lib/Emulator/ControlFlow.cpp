//===- ControlFlow.cpp - Branches, waits, barriers and modes --------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapters "Program Flow Control" and
// "Instructions", SOPP and SOPK.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/Support/FormatVariadic.h"

using namespace kimi::emulator;

static void branchTo(Wave &wave, const Instruction &inst) {
  if (inst.target < 0)
    return wave.fail("branches outside the code, or into an instruction");
  wave.next = inst.target;
}

namespace {
enum class Condition { Always, Scc, Vcc, Exec };
} // namespace

template <Condition C, bool Expected>
static void executeBranch(Wave &wave, const Instruction &inst) {
  bool value = Expected;
  switch (C) {
  case Condition::Always:
    break;
  case Condition::Scc:
    if (wave.sccUndefined)
      return wave.fail("branches on SCC, which is uninitialised");
    value = wave.scc;
    break;
  case Condition::Vcc:
    if (wave.scalarUndefined[VccLo] | wave.scalarUndefined[VccHi])
      return wave.fail("branches on VCC, which is uninitialised");
    value = wave.vcc() != 0;
    break;
  case Condition::Exec:
    value = wave.exec != 0;
    break;
  }
  if (value == Expected)
    branchTo(wave, inst);
}

static void executeEnd(Wave &wave, const Instruction &) {
  wave.state = Wave::State::Ended;
}

static void executeBarrier(Wave &wave, const Instruction &) {
  wave.state = Wave::State::AtBarrier;
}

/// vmcnt lies in bits 3:0 and 15:14, lgkmcnt in bits 11:8.
static void executeWait(Wave &wave, const Instruction &inst) {
  unsigned bits = inst.immediate & 0xffff;
  unsigned vector = (bits & 15) | (bits >> 14 & 3) << 4;
  unsigned lgkm = bits >> 8 & 15;
  Profile &profile = wave.workgroup->context.profile;
  ++profile.waits;
  // The largest value of a field means: no wait.
  bool stalls = vector < 63 && wave.waitVector(vector);
  stalls |= lgkm < 15 && wave.waitLgkm(lgkm);
  profile.waitsThatStall += stalls;
}

static void executeNothing(Wave &, const Instruction &) {}

// Program counter. Code addresses are host addresses. -------------------------

static uint64_t addressAfter(const Wave &wave, const Instruction &inst) {
  return wave.workgroup->context.programAddress + inst.offset + inst.size;
}

static void executeGetPc(Wave &wave, const Instruction &inst) {
  writeScalar(wave, inst.dst, 2, {addressAfter(wave, inst), 0});
}

static void executeSetPc(Wave &wave, const Instruction &inst) {
  ScalarValue target = readScalar(wave, inst, inst.src[0], Type::B64);
  if (target.undefined)
    return wave.fail("jumps to the uninitialised value of " +
                     scalarName(inst.src[0]));
  const ExecutionContext &context = wave.workgroup->context;
  int32_t index =
      context.program.indexAt(target.value - context.programAddress);
  if (index < 0)
    return wave.fail(llvm::formatv(
        "jumps to {0:x}, which is no instruction of this code object",
        target.value));
  wave.next = index;
}

static void executeSwapPc(Wave &wave, const Instruction &inst) {
  uint64_t after = addressAfter(wave, inst);
  executeSetPc(wave, inst);
  writeScalar(wave, inst.dst, 2, {after, 0});
}

// Hardware registers ----------------------------------------------------------

namespace {
/// SIMM16: register in bits 5:0, first bit in 10:6, width less one in 15:11.
struct HardwareField {
  unsigned reg, shift;
  uint32_t mask; // not shifted
};
} // namespace

static HardwareField decodeField(const Instruction &inst) {
  unsigned bits = inst.immediate & 0xffff;
  unsigned width = (bits >> 11) + 1;
  return {bits & 63, bits >> 6 & 31, width == 32 ? ~0u : (1u << width) - 1};
}

constexpr unsigned HwRegMode = 1;

static bool checkMode(Wave &wave, const HardwareField &field) {
  if (field.reg == HwRegMode)
    return true;
  wave.fail("hardware registers other than MODE are not modelled");
  return false;
}

static void executeGetReg(Wave &wave, const Instruction &inst) {
  HardwareField field = decodeField(inst);
  if (checkMode(wave, field))
    writeScalar(wave, inst.dst, 1, {wave.mode >> field.shift & field.mask, 0});
}

static void setReg(Wave &wave, const Instruction &inst, uint32_t value) {
  HardwareField field = decodeField(inst);
  if (!checkMode(wave, field))
    return;
  uint32_t mask = field.mask << field.shift;
  uint32_t mode = (wave.mode & ~mask) | (value << field.shift & mask);
  if (mode & ~uint32_t(ModeMask))
    return wave.fail("MODE bits other than rounding, denormals, DX10_CLAMP and "
                     "IEEE are not modelled");
  wave.mode = mode;
}

static void executeSetReg(Wave &wave, const Instruction &inst) {
  ScalarValue value = readScalar(wave, inst, inst.src[0], Type::B32);
  if (value.undefined)
    return wave.fail("sets a hardware register to the uninitialised value of " +
                     scalarName(inst.src[0]));
  setReg(wave, inst, value.value);
}

static void executeSetRegImmediate(Wave &wave, const Instruction &inst) {
  setReg(wave, inst, inst.literal);
}

std::vector<Operation> kimi::emulator::getControlOperations() {
  std::vector<Operation> table;
  auto add = [&](const char *name, InstructionClass cls,
                 void (*execute)(Wave &, const Instruction &)) -> Operation & {
    Operation op;
    op.name = name;
    op.execute = execute;
    op.cls = cls;
    table.push_back(op);
    return table.back();
  };
  constexpr auto Branch = InstructionClass::Branch;
  constexpr auto Nop = InstructionClass::Nop;
  constexpr auto Other = InstructionClass::Other;
  add("s_branch", Branch, executeBranch<Condition::Always, true>);
  add("s_cbranch_scc0", Branch, executeBranch<Condition::Scc, false>);
  add("s_cbranch_scc1", Branch, executeBranch<Condition::Scc, true>);
  add("s_cbranch_vccz", Branch, executeBranch<Condition::Vcc, false>).flags =
      ReadsVcc;
  add("s_cbranch_vccnz", Branch, executeBranch<Condition::Vcc, true>).flags =
      ReadsVcc;
  add("s_cbranch_execz", Branch, executeBranch<Condition::Exec, false>);
  add("s_cbranch_execnz", Branch, executeBranch<Condition::Exec, true>);
  add("s_endpgm", Other, executeEnd);
  add("s_barrier", InstructionClass::Barrier, executeBarrier);
  add("s_waitcnt", InstructionClass::Wait, executeWait);
  add("s_nop", Nop, executeNothing).flags = IsNop;
  for (const char *hint : {"s_sleep", "s_setprio", "s_icache_inv"})
    add(hint, Nop, executeNothing);
  for (const char *cache : {"buffer_inv", "buffer_wbl2"})
    add(cache, Other, executeNothing);

  Operation &getPc = add("s_getpc_b64", Other, executeGetPc);
  getPc.dst = Type::B64;
  Operation &setPc = add("s_setpc_b64", Other, executeSetPc);
  setPc.src[0] = Type::B64;
  setPc.sources = 1;
  Operation &swapPc = add("s_swappc_b64", Other, executeSwapPc);
  swapPc.dst = swapPc.src[0] = Type::B64;
  swapPc.sources = 1;
  add("s_getreg_b32", Other, executeGetReg).dst = Type::B32;
  Operation &set = add("s_setreg_b32", Other, executeSetReg);
  set.src[0] = Type::B32;
  set.sources = 1;
  add("s_setreg_imm32_b32", Other, executeSetRegImmediate);
  return table;
}
