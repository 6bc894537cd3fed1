//===- CrossLane.cpp - Vector instructions that move data across lanes ----===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Instructions". Scalar results must be
// defined: a wave-wide value that nothing wrote is an error at once.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/ADT/bit.h"

using namespace kimi::emulator;

static void readLane(Wave &wave, const Instruction &inst, unsigned lane) {
  unsigned reg = inst.src[0] - FirstVector;
  if (wave.undefinedBits(reg, lane))
    return wave.fail(lane,
                     "reads the uninitialised value of " + vectorName(reg));
  writeScalar(wave, inst.dst, 1, {wave.lanes(reg)[lane], 0});
}

static void executeReadFirstLane(Wave &wave, const Instruction &inst) {
  if (inst.src[0] < FirstVector)
    return writeScalar(wave, inst.dst, 1,
                       readScalar(wave, inst, inst.src[0], Type::B32));
  // Lane 0 if EXEC is empty.
  readLane(wave, inst, wave.exec ? llvm::countr_zero(wave.exec) : 0);
}

/// The lane select operand, or -1 after an error.
static int getLaneSelect(Wave &wave, const Instruction &inst) {
  ScalarValue select = readScalar(wave, inst, inst.src[1], Type::B32);
  if (select.undefined) {
    wave.fail("selects a lane by the uninitialised value of " +
              scalarName(inst.src[1]));
    return -1;
  }
  return select.value & 63;
}

static void executeReadLane(Wave &wave, const Instruction &inst) {
  int lane = getLaneSelect(wave, inst);
  if (lane >= 0)
    readLane(wave, inst, lane);
}

/// EXEC is ignored.
static void executeWriteLane(Wave &wave, const Instruction &inst) {
  int lane = getLaneSelect(wave, inst);
  if (lane < 0)
    return;
  ScalarValue value = readScalar(wave, inst, inst.src[0], Type::B32);
  wave.lanes(inst.dst)[lane] = value.value;
  wave.setUndefinedBits(inst.dst, lane, value.undefined);
}

static void moveLane(Wave &wave, unsigned reg, unsigned lane, uint32_t value,
                     uint32_t undefined) {
  wave.lanes(reg)[lane] = value;
  wave.setUndefinedBits(reg, lane, undefined);
}

static void executeSwap(Wave &wave, const Instruction &inst) {
  unsigned a = inst.dst, b = inst.src[0] - FirstVector;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    uint32_t valueA = wave.lanes(a)[lane], valueB = wave.lanes(b)[lane];
    uint32_t undefinedA = wave.undefinedBits(a, lane),
             undefinedB = wave.undefinedBits(b, lane);
    moveLane(wave, a, lane, valueB, undefinedB);
    moveLane(wave, b, lane, valueA, undefinedA);
  }
}

/// Swaps the upper half of each block of 2*Width lanes of the destination with
/// the lower half of the source's block. Lanes that EXEC disables are not
/// written. An enabled lane whose partner is disabled follows the modifiers as
/// DPP does: fi reads it all the same, bound_ctrl reads zero, without either
/// the lane keeps its value. In VOP3 they lie in op_sel (bits 0 and 1).
template <unsigned Width>
static void executePermlaneSwap(Wave &wave, const Instruction &inst) {
  unsigned dst = inst.dst, src = inst.src[0] - FirstVector;
  bool fetchInactive = inst.format == Format::VOP3 && (inst.opSel & 1);
  bool boundZero = inst.format == Format::VOP3 && (inst.opSel & 2);
  struct Move {
    unsigned reg, lane;
    uint32_t value, undefined;
  };
  llvm::SmallVector<Move, 2 * WaveSize> moves;
  auto move = [&](unsigned toReg, unsigned toLane, unsigned fromReg,
                  unsigned fromLane) {
    if (!(wave.exec >> toLane & 1))
      return;
    if (fetchInactive || (wave.exec >> fromLane & 1))
      moves.push_back({toReg, toLane, wave.lanes(fromReg)[fromLane],
                       wave.undefinedBits(fromReg, fromLane)});
    else if (boundZero)
      moves.push_back({toReg, toLane, 0, 0});
  };
  for (unsigned block = 0; block < WaveSize; block += 2 * Width)
    for (unsigned i = 0; i < Width; ++i) {
      unsigned low = block + i, high = block + Width + i;
      move(src, low, dst, high);
      move(dst, high, src, low);
    }
  for (const Move &m : moves)
    moveLane(wave, m.reg, m.lane, m.value, m.undefined);
}

std::vector<Operation> kimi::emulator::getCrossLaneOperations() {
  auto op = [](const char *name, void (*execute)(Wave &, const Instruction &),
               std::initializer_list<Type> sources, uint32_t flags) {
    Operation result = vectorOp(name, InstructionClass::VectorCrossLane,
                                Type::B32, sources, nullptr, flags);
    result.execute = execute;
    return result;
  };
  constexpr auto B32 = Type::B32;
  return {
      op("v_readfirstlane_b32", executeReadFirstLane, {B32}, ScalarDst),
      op("v_readlane_b32", executeReadLane, {B32, B32}, ScalarDst),
      op("v_writelane_b32", executeWriteLane, {B32, B32}, 0),
      op("v_swap_b32", executeSwap, {B32}, SwapsSources),
      op("v_permlane16_swap_b32", executePermlaneSwap<16>, {B32}, SwapsSources),
      op("v_permlane32_swap_b32", executePermlaneSwap<32>, {B32}, SwapsSources),
  };
}
