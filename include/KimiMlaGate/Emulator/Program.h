//===- Program.h - Decoded gfx950 machine code ------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machine code decoded once, into an array that the executor walks. LLVM's MC
// layer decides what the bytes are (length, mnemonic, text); the operand fields
// come from the encodings of the CDNA4 ISA document, chapter "Microcode
// Formats". What cannot be executed is an error only when a wave reaches it.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_PROGRAM_H
#define KIMIMLAGATE_EMULATOR_PROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace kimi::emulator {

/// What an instruction does (lib/Emulator/Operation.h).
struct Operation;

constexpr unsigned WaveSize = 64;
/// VGPRs are numbered 0 to 255, accumulation VGPRs 256 to 511.
constexpr unsigned FirstAccVgpr = 256;
constexpr unsigned NumVectorRegisters = 512;
/// Scalar operand codes of the ISA document, section "Scalar Operands".
enum ScalarCode : uint16_t {
  SgprLimit = 102, // s0 to s101
  FlatScratchLo = 102,
  XnackMaskLo = 104,
  VccLo = 106,
  VccHi = 107,
  Ttmp0 = 108,
  M0 = 124,
  ExecLo = 126,
  ExecHi = 127,
  FirstConstant = 128,
  Vccz = 251,
  Execz = 252,
  Scc = 253,
  Literal = 255,
  FirstVector = 256, // as a source operand: v0
};
constexpr unsigned NumScalarRegisters = 128;

enum class Format : uint8_t {
  SOP1,
  SOP2,
  SOPK,
  SOPC,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  DS,
  FLAT,
  Unknown,
};

/// A contiguous range of registers that an instruction reads or writes.
struct RegisterRange {
  bool vector = false;
  uint16_t first = 0;
  uint16_t count = 0;
};

/// Data-parallel-primitive control, expanded for each lane.
struct DppControl {
  std::array<int8_t, WaveSize> source; // meaningful where `valid` has a bit
  uint64_t valid = 0;                  // the source lane exists
  uint64_t writeMask = 0;              // row_mask and bank_mask
  bool boundZero = false;              // invalid lanes read zero
};

/// Sub-dword addressing: selectors are 0-3 byte, 4-5 word, 6 dword.
struct SdwaControl {
  uint8_t dstSel = 6;
  uint8_t dstUnused = 0; // 0 pad with zeros, 1 sign-extend, 2 preserve
  uint8_t srcSel[2] = {6, 6};
  bool signExtend[2] = {false, false};
};

struct Instruction {
  const Operation *operation = nullptr;
  uint32_t offset = 0; // bytes from the start of the program
  uint8_t size = 0;    // bytes
  Format format = Format::Unknown;
  /// Source operand codes: 0 to 255 scalar, 256 to 511 VGPR, 512 to 767
  /// accumulation VGPR.
  uint16_t src[3] = {0, 0, 0};
  uint8_t sources = 0;
  uint16_t dst = 0;         // vector register, or scalar code
  uint16_t maskDst = VccLo; // scalar code of a lane mask result
  uint16_t maskSrc = VccLo; // scalar code of a lane mask operand
  uint32_t literal = 0;
  int32_t immediate = 0; // SIMM16, memory offset
  int32_t immediate1 = 0;
  uint8_t neg = 0;
  uint8_t abs = 0; // neg_hi in VOP3P
  uint8_t opSel = 0;
  uint8_t opSelHi = 0;
  uint8_t omod = 0;
  bool clamp = false;
  /// A function starts here, or what follows one: execution must not run into
  /// it from the instruction before.
  bool startsFunction = false;
  /// FLAT format: 0 flat, 1 scratch, 2 global. `src[1]` is the data and
  /// `src[2]` the scalar base (0x7f: none).
  uint8_t segment = 0;
  const DppControl *dpp = nullptr;
  const SdwaControl *sdwa = nullptr;
  int32_t target = -1; // index of a branch's target, -1: outside the code
  std::array<RegisterRange, 6> reads;
  std::array<RegisterRange, 3> writes;
  uint8_t numReads = 0;
  uint8_t numWrites = 0;
  // Numbers of registers that a wave must own for this instruction.
  uint16_t needVgprs = 0;
  uint16_t needAccVgprs = 0;
  uint16_t needSgprs = 0;
};

/// The mnemonics that the emulator executes, without encoding suffixes such as
/// _e32, sorted.
std::vector<llvm::StringRef> getKnownInstructions();

class Program {
public:
  /// Decodes `text`. `starts` are byte offsets at which an instruction
  /// certainly starts (functions); they keep data between functions from
  /// shifting the decoding. Fails only when LLVM lacks the AMDGPU target.
  static llvm::Expected<Program> decode(llvm::ArrayRef<uint8_t> text,
                                        llvm::ArrayRef<uint32_t> starts);

  const Instruction &operator[](size_t index) const {
    return instructions[index];
  }
  /// Not counting the sentinel behind the last instruction.
  size_t size() const { return instructions.size() - 1; }
  /// The instruction at a byte offset, or -1.
  int32_t indexAt(uint64_t offset) const {
    return offset % 4 || offset / 4 >= atWord.size() ? -1 : atWord[offset / 4];
  }
  llvm::StringRef getText(size_t index) const { return texts[index]; }
  /// Why the instruction cannot be executed; empty if it can.
  llvm::StringRef getDefect(size_t index) const { return defects[index]; }
  size_t indexOf(const Instruction &instruction) const {
    return &instruction - instructions.data();
  }

private:
  std::vector<Instruction> instructions;
  std::vector<std::string> texts;
  std::vector<std::string> defects;
  std::vector<int32_t> atWord;
  // Deques: instructions point into them.
  std::deque<DppControl> dppControls;
  std::deque<SdwaControl> sdwaControls;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_PROGRAM_H
