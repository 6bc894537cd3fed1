//===- Profile.h - What a launch did ----------------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts of one launch. A count of instructions is of instructions that a wave
// issued, not of lanes. Bytes are those that active lanes asked for: no cache
// is modelled.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_PROFILE_H
#define KIMIMLAGATE_EMULATOR_PROFILE_H

#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdint>
#include <string>

namespace kimi::emulator {

enum class InstructionClass : uint8_t {
  ScalarALU,
  ScalarMemory,
  VectorInteger, // moves, integer, bitwise and conversions
  VectorFloat,   // f16, f32 and f64 arithmetic
  VectorTranscendental,
  VectorCompare,
  VectorCrossLane, // readlane, writelane, permlane
  GlobalLoad,
  GlobalStore,
  LdsRead,
  LdsWrite,
  LdsPermute, // ds_permute, ds_bpermute, ds_swizzle: no LDS memory
  Branch,
  Wait, // s_waitcnt
  Barrier,
  Nop,   // s_nop, v_nop and hints
  Other, // s_endpgm, mode changes, cache control
};
constexpr unsigned NumInstructionClasses = 17;
/// A stable identifier: "scalar_alu", …
const char *getInstructionClassName(InstructionClass cls);

struct Profile {
  // Shape.
  uint64_t workgroups = 0;
  uint64_t waves = 0;
  uint64_t wavesPerWorkgroup = 0;
  // Resources per wave (registers) and workgroup (LDS), as allocated.
  uint64_t vgprs = 0;
  uint64_t accVgprs = 0;
  uint64_t sgprs = 0;
  uint64_t ldsBytes = 0;
  // Executed instructions.
  uint64_t instructions = 0;
  std::array<uint64_t, NumInstructionClasses> byClass{};
  /// Of the vector ones, how many used the DPP and the SDWA encodings.
  uint64_t dppInstructions = 0;
  uint64_t sdwaInstructions = 0;
  // Bytes.
  uint64_t globalBytesRead = 0;
  uint64_t globalBytesWritten = 0;
  uint64_t kernargBytesRead = 0;
  uint64_t scalarBytesRead = 0; // scalar loads from anywhere else
  uint64_t ldsBytesRead = 0;
  uint64_t ldsBytesWritten = 0;
  /// Extra passes over the 64 banks of 4 bytes that lanes of one pass cause
  /// when they touch different dwords of one bank. A pass holds 64 lanes of
  /// at most 4 bytes, 32 of 8, 16 of 16.
  uint64_t ldsBankConflicts = 0;
  // Waiting. A wait stalls here when something it names was outstanding.
  uint64_t waits = 0;
  uint64_t waitsThatStall = 0;
  uint64_t maxOutstandingVectorLoads = 0; // in one wave
  /// From the code alone: vector memory loads ahead of the first s_waitcnt
  /// that waits for vector memory, in program order.
  uint64_t loadsBeforeFirstVectorWait = 0;

  /// One `name: value` line for each figure, in a fixed order.
  void print(llvm::raw_ostream &os) const;
  /// The same as one JSON object.
  void printJSON(llvm::raw_ostream &os) const;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_PROFILE_H
