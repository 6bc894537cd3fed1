//===- WaveState.h - Registers of one wave ----------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The architectural state of a wave, with what the strict checks need beside
// it: which bits of a register are undefined, and which registers a load in
// flight will still write.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_WAVESTATE_H
#define KIMIMLAGATE_EMULATOR_WAVESTATE_H

#include "KimiMlaGate/Emulator/Program.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kimi::emulator {

class Workgroup;

/// MODE register fields (ISA document, section "Mode Register").
enum ModeBits : uint32_t {
  ModeRound32Shift = 0,
  ModeRound64Shift = 2, // f16 and f64
  ModeDenorm32Shift = 4,
  ModeDenorm64Shift = 6, // f16 and f64
  ModeDX10Clamp = 1u << 8,
  ModeIEEE = 1u << 9,
  /// Bits that s_setreg may change here.
  ModeMask = 0x3ff,
};

/// A memory instruction that has been issued and not yet waited for.
struct InFlight {
  enum Kind : uint8_t { Load, Store, Scalar };
  Kind kind;
  bool flat;         // counts in vmcnt and lgkmcnt
  bool lds;          // accesses LDS: in order with other LDS instructions
  RegisterRange dst; // count 0: none
  uint32_t instruction;
  /// LDS bytes touched, for accesses that outlive a barrier.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 0> ldsBytes;
};

class Wave {
public:
  enum class State : uint8_t { Running, AtBarrier, Ended, Failed };

  Wave(unsigned vgprs, unsigned accVgprs, unsigned sgprs);
  /// Back to the state before the first instruction: nothing is written.
  void reset();

  // Vector registers ---------------------------------------------------------
  uint32_t *lanes(unsigned reg) { return &vector[row(reg) * WaveSize]; }
  const uint32_t *lanes(unsigned reg) const {
    return &vector[row(reg) * WaveSize];
  }
  /// Lanes of which at least one bit is undefined.
  uint64_t undefinedLanes(unsigned reg) const { return undefined[row(reg)]; }
  /// The undefined bits of one lane.
  uint32_t undefinedBits(unsigned reg, unsigned lane) const {
    unsigned r = row(reg);
    if (!(undefined[r] >> lane & 1))
      return 0;
    return partial[r] >> lane & 1 ? undefinedBitsOf[r * WaveSize + lane] : ~0u;
  }
  void setUndefinedBits(unsigned reg, unsigned lane, uint32_t bits);
  /// Marks the lanes of `mask` as fully defined.
  void define(unsigned reg, uint64_t mask) { undefined[row(reg)] &= ~mask; }
  /// The instruction that made a register undefined from another register;
  /// empty when nothing was ever written.
  struct Origin {
    int32_t instruction = -1;
    bool vector = false;
    uint16_t reg = 0;
  };
  Origin &origin(unsigned reg) { return origins[row(reg)]; }
  /// "v4, which nothing has written", or how it became undefined.
  std::string describeUndefined(unsigned reg, unsigned lane) const;

  // Scalar registers, by operand code below 128; EXEC is kept apart. ----------
  std::array<uint32_t, NumScalarRegisters> scalar;
  std::array<uint32_t, NumScalarRegisters> scalarUndefined;
  uint64_t exec = 0;
  bool scc = false;
  bool sccUndefined = true;
  uint32_t mode = 0;
  int32_t pc = 0;   // index of the current instruction
  int32_t next = 0; // index of the one after it; branches change it

  uint64_t vcc() const { return scalar[VccLo] | uint64_t(scalar[VccHi]) << 32; }
  void setMask(unsigned code, uint64_t value) {
    if (code == ExecLo) {
      exec = value;
      return;
    }
    scalar[code] = uint32_t(value);
    scalar[code + 1] = uint32_t(value >> 32);
    scalarUndefined[code] = scalarUndefined[code + 1] = 0;
  }
  bool ieee() const { return mode & ModeIEEE; }
  unsigned denorm32() const { return mode >> ModeDenorm32Shift & 3; }
  unsigned denorm64() const { return mode >> ModeDenorm64Shift & 3; }
  unsigned round32() const { return mode >> ModeRound32Shift & 3; }
  unsigned round64() const { return mode >> ModeRound64Shift & 3; }

  // Loads and stores in flight ------------------------------------------------
  void issueVector(InFlight entry);
  void issueLgkm(InFlight entry);
  /// At most `count` of each kind stay outstanding. Returns whether something
  /// was outstanding that had to be waited for.
  bool waitVector(unsigned count);
  bool waitLgkm(unsigned count);
  bool anyInFlight() const {
    return !vectorQueue.empty() || !lgkmQueue.empty();
  }
  /// The entry that will still write one of the registers, or null.
  /// `byVectorLoad`/`byLdsLoad`: the register is overwritten by such a load,
  /// which may overlap earlier ones of its kind because they return in order
  /// (ISA document, section "Data dependency resolution").
  const InFlight *findInFlight(const RegisterRange &range, bool byVectorLoad,
                               bool byLdsLoad) const;
  std::vector<InFlight> vectorQueue; // oldest first
  std::vector<InFlight> lgkmQueue;
  unsigned vectorLoadsInFlight() const;

  // Progress ------------------------------------------------------------------
  State state = State::Running;
  Workgroup *workgroup = nullptr;
  unsigned index = 0;    // in the workgroup
  uint32_t barriers = 0; // passed so far
  uint64_t executed = 0;
  std::string error; // state Failed

  /// Ends the wave with an error about the instruction that it executes.
  void fail(const llvm::Twine &message) { fail(-1, message); }
  void fail(int lane, const llvm::Twine &message);

  unsigned numVgprs() const { return vgprs; }
  unsigned numAccVgprs() const { return accVgprs; }
  unsigned numSgprs() const { return sgprs; }

  /// The index of a register in this wave's allocation.
  unsigned row(unsigned reg) const {
    return reg < FirstAccVgpr ? reg : vgprs + (reg - FirstAccVgpr);
  }

  /// When registers were last written, counted in wait states; what the checks
  /// for missing wait states need (Hazards.cpp). 0: never.
  struct HazardState {
    uint64_t now;
    std::vector<uint64_t> valuWrote;  // by row
    std::vector<uint64_t> transWrote; // by row, transcendental instructions
    std::vector<uint64_t> partWrote;  // by row, part of a register
    std::vector<uint64_t> storeRead;  // by row, data of stores above 8 bytes
    std::array<uint64_t, NumScalarRegisters> valuWroteScalar;
    uint64_t valuWroteExec;
    uint64_t setMode; // s_setreg
  } hazards;

private:
  void release(const InFlight &entry, bool vector);

  unsigned vgprs, accVgprs, sgprs;
  std::vector<uint32_t> vector;
  std::vector<uint64_t> undefined;
  /// Lanes whose undefined bits are in `undefinedBitsOf`; other undefined
  /// lanes are undefined in every bit.
  std::vector<uint64_t> partial;
  std::vector<uint32_t> undefinedBitsOf;
  std::vector<Origin> origins;
  // How many entries of each queue will write a register.
  std::vector<uint16_t> vectorPending;
  std::vector<uint16_t> lgkmPending;
  std::array<uint16_t, NumScalarRegisters> scalarPending;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_WAVESTATE_H
