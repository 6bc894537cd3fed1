//===- Operation.h - What instructions do -----------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of instructions: one entry for each mnemonic, without the suffix
// of its encoding. Each family of instructions provides its part.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_OPERATION_H
#define KIMIMLAGATE_LIB_EMULATOR_OPERATION_H

#include "KimiMlaGate/Emulator/Executor.h"
#include "KimiMlaGate/Emulator/Profile.h"
#include "KimiMlaGate/Emulator/Program.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace kimi::emulator {

/// Operand types: they decide the width, and what constants and modifiers mean.
enum class Type : uint8_t {
  None,
  B32,
  F32,
  B16, // the low half, or the half that op_sel chooses
  F16,
  B64,
  F64,
  PkB16, // two halves, chosen by op_sel and op_sel_hi
  PkF16,
  PkF32, // two dwords, chosen by op_sel and op_sel_hi
};
constexpr unsigned dwordsOf(Type type) {
  return type == Type::None                                              ? 0
         : type == Type::B64 || type == Type::F64 || type == Type::PkF32 ? 2
                                                                         : 1;
}

enum OperationFlags : uint32_t {
  ReadsMask = 1 << 0,  // VCC; the third source in VOP3
  WritesMask = 1 << 1, // VCC; the scalar destination in VOP3
  ReadsVcc = 1 << 2,   // VCC in every encoding
  ReadsDst = 1 << 3,   // the destination is the last source
  ScalarDst = 1 << 4,  // a vector instruction with a scalar destination
  WritesExec = 1 << 5, // v_cmpx
  ReadsScc = 1 << 6,
  WritesScc = 1 << 7,
  /// A NaN result is the first NaN source made quiet, or the default NaN.
  QuietsNaN = 1 << 8,
  /// Denormals follow the MODE register, on the way in and out.
  Denormals = 1 << 9,
  /// Rounds by the MODE register.
  Rounds = 1 << 10,
  /// Takes clamp and omod as floating point instructions do.
  FloatOutput = 1 << 11,
  IsTranscendental = 1 << 12,
  HighHalf = 1 << 13,    // memory: the high half of the register
  SignExtends = 1 << 14, // memory: narrow loads
  LoadsMemory = 1 << 15,
  StoresMemory = 1 << 16,
  TwoAddresses = 1 << 17, // ds_read2, ds_write2
  Stride64 = 1 << 18,     // …st64
  Fmamk = 1 << 19,        // the literal is the second source
  Fmaak = 1 << 20,        // the literal is the third source
  SwapsSources = 1 << 21, // writes its source register too
  /// Undefined sources: a result bit depends on the same bit, or on one bit, of
  /// each source. Vector instructions take the union of the sources' bits.
  ShadowBitwise = 1 << 22,
  ReadsExec = 1 << 23,
  IsPacked = 1 << 24,
  LowHalf = 1 << 25, // memory: the low half of the register alone
  /// Saturates when clamp is set.
  IntegerClamp = 1 << 26,
  /// Right in every rounding mode: through the host's for f32 and f64, through
  /// VectorContext::rounding for f16.
  DirectedRounding = 1 << 27,
  IsNop = 1 << 28, // s_nop: its operand counts wait states
  /// Undefined sources: only the one that SCC selects counts.
  ShadowSelect = 1 << 29,
  /// A 16-bit result leaves the other half of the register as it is.
  KeepsOtherHalf = 1 << 30,
  /// Undefined sources: once the second source is known, a result bit is a
  /// constant or one bit of the first.
  ShadowMoves = 1u << 31,
};

class VectorContext;
struct ScalarContext;

struct Operation {
  const char *name = nullptr;
  void (*execute)(Wave &, const Instruction &) = nullptr;
  InstructionClass cls = InstructionClass::Other;
  Type dst = Type::None;
  Type src[3] = {Type::None, Type::None, Type::None};
  uint8_t sources = 0;
  uint8_t bytes = 0; // memory: of one element; DS with two addresses: of each
  uint32_t flags = 0;
  void (*vectorCompute)(VectorContext &) = nullptr;
  void (*scalarCompute)(ScalarContext &) = nullptr;
  /// The undefined bits of one lane's result, given the values and the
  /// undefined bits of its sources; null: all bits as soon as one is.
  uint64_t (*shadow)(const VectorContext &, const uint64_t *values,
                     const uint64_t *undefined) = nullptr;

  bool has(uint32_t flag) const { return flags & flag; }
};

/// The entry for a mnemonic without its encoding suffix, or null.
const Operation *findOperation(llvm::StringRef mnemonic);

// The parts of the table.
std::vector<Operation> getScalarOperations();
std::vector<Operation> getScalarMemoryOperations();
std::vector<Operation> getControlOperations();
std::vector<Operation> getVectorFloatOperations();
std::vector<Operation> getVectorIntegerOperations();
std::vector<Operation> getVectorConvertOperations();
std::vector<Operation> getVectorCompareOperations();
std::vector<Operation> getVectorPackedOperations();
std::vector<Operation> getTranscendentalOperations();
std::vector<Operation> getCrossLaneOperations();
std::vector<Operation> getGlobalMemoryOperations();
std::vector<Operation> getLocalMemoryOperations();

/// Before an instruction: errors for missing wait states. After it: notes what
/// it wrote (Hazards.cpp).
bool checkHazards(Wave &wave, const Instruction &instruction);
void recordHazards(Wave &wave, const Instruction &instruction);

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_OPERATION_H
