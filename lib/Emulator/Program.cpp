//===- Program.cpp - Decodes gfx950 machine code --------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operand fields follow the CDNA4 ISA document, chapter "Microcode Formats".
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Program.h"

#include "Disassembler.h"
#include "Operation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace kimi::emulator;

static unsigned field(uint32_t word, unsigned low, unsigned width) {
  return word >> low & ((1u << width) - 1);
}

static Format getFormat(uint32_t word) {
  if (word >> 31 == 0)
    return word >> 25 == 0x3f   ? Format::VOP1
           : word >> 25 == 0x3e ? Format::VOPC
                                : Format::VOP2;
  if (word >> 30 == 2)
    switch (word >> 23) {
    case 0x17d:
      return Format::SOP1;
    case 0x17e:
      return Format::SOPC;
    case 0x17f:
      return Format::SOPP;
    default:
      return word >> 28 == 0xb ? Format::SOPK : Format::SOP2;
    }
  switch (word >> 26) {
  case 0x30:
    return Format::SMEM;
  case 0x34:
    return word >> 23 == 0x1a7 ? Format::VOP3P : Format::VOP3;
  case 0x36:
    return Format::DS;
  case 0x37:
    return Format::FLAT;
  default:
    return Format::Unknown;
  }
}

/// Expands dpp_ctrl (ISA document, section "Data Parallel Processing (DPP)").
/// Returns false for a value that gfx950 does not have.
static bool expandDpp(uint32_t word, DppControl &dpp) {
  unsigned control = field(word, 8, 9);
  unsigned bankMask = field(word, 24, 4), rowMask = field(word, 28, 4);
  dpp.boundZero = field(word, 19, 1);
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    unsigned row = lane & ~15u, column = lane & 15;
    int source = -1;
    if (control <= 0xff) // quad_perm
      source = (lane & ~3u) | (control >> 2 * (lane & 3) & 3);
    else if (control >= 0x101 && control <= 0x10f) // row_shl
      source = column + (control & 15) < 16 ? lane + (control & 15) : -1;
    else if (control >= 0x111 && control <= 0x11f) // row_shr
      source = column >= (control & 15) ? lane - (control & 15) : -1;
    else if (control >= 0x121 && control <= 0x12f) // row_ror
      source = row | ((column - (control & 15)) & 15);
    else if (control == 0x130) // wave_shl
      source = lane < 63 ? lane + 1 : -1;
    else if (control == 0x134) // wave_rol
      source = (lane + 1) & 63;
    else if (control == 0x138) // wave_shr
      source = int(lane) - 1;
    else if (control == 0x13c) // wave_ror
      source = (lane - 1) & 63;
    else if (control == 0x140) // row_mirror
      source = row | (15 - column);
    else if (control == 0x141) // row_half_mirror
      source = (lane & ~7u) | (7 - (lane & 7));
    else if (control == 0x142) // row_bcast:15
      source = row ? int(row) - 1 : -1;
    else if (control == 0x143) // row_bcast:31
      source = lane >= 32 ? 31 : -1;
    else if (control >= 0x150 && control <= 0x15f) // row_newbcast
      source = row | (control & 15);
    else
      return false;
    dpp.source[lane] = source < 0 ? 0 : source;
    dpp.valid |= uint64_t(source >= 0) << lane;
    if ((rowMask >> (lane / 16) & 1) && (bankMask >> (column / 4) & 1))
      dpp.writeMask |= uint64_t(1) << lane;
  }
  return true;
}

namespace {

/// Fills one instruction from its words.
class OperandDecoder {
public:
  OperandDecoder(Instruction &inst, const Operation &op, uint32_t word,
                 uint32_t extra, std::deque<DppControl> &dpps,
                 std::deque<SdwaControl> &sdwas)
      : inst(inst), op(op), word(word), extra(extra), dpps(dpps), sdwas(sdwas) {
  }

  /// Returns why the operands cannot be executed; empty if they can.
  std::string decode();

private:
  void setSource(unsigned index, unsigned code) { inst.src[index] = code; }
  bool decodeSource0(unsigned code);
  void decodeVop2Extra();
  void decodeVop3();
  void decodeVop3p();
  void decodeSmem();
  void decodeDs();
  void decodeFlat();
  void addUses();
  void read(unsigned code, unsigned count);
  void readVector(unsigned first, unsigned count) {
    add(inst.reads, inst.numReads, true, first, count);
  }
  void readScalar(unsigned first, unsigned count) {
    add(inst.reads, inst.numReads, false, first, count);
  }
  void writeVector(unsigned first, unsigned count) {
    add(inst.writes, inst.numWrites, true, first, count);
  }
  void writeScalar(unsigned first, unsigned count) {
    add(inst.writes, inst.numWrites, false, first, count);
  }
  template <size_t N>
  void add(std::array<RegisterRange, N> &list, uint8_t &size, bool vector,
           unsigned first, unsigned count) {
    if (!count)
      return;
    if (vector) {
      uint16_t &need =
          first < FirstAccVgpr ? inst.needVgprs : inst.needAccVgprs;
      unsigned base = first < FirstAccVgpr ? 0 : FirstAccVgpr;
      need = std::max<uint16_t>(need, first - base + count);
      // A tuple must not run past v255 or a255.
      if (first - base + count > FirstAccVgpr) {
        defect = "a register tuple runs past the last register";
        return;
      }
    } else if (first < SgprLimit) {
      inst.needSgprs = std::max<uint16_t>(inst.needSgprs, first + count);
    }
    if (!vector && first + count > NumScalarRegisters) {
      defect = "a register tuple runs past the last register";
      return;
    }
    list[size++] = {vector, uint16_t(first), uint16_t(count)};
  }

  Instruction &inst;
  const Operation &op;
  uint32_t word, extra;
  std::deque<DppControl> &dpps;
  std::deque<SdwaControl> &sdwas;
  std::string defect;
};

} // namespace

/// VOP1, VOP2 and VOPC: codes 249 and 250 announce SDWA and DPP.
bool OperandDecoder::decodeSource0(unsigned code) {
  if (code == 250) {
    DppControl dpp;
    if (!expandDpp(extra, dpp)) {
      defect = "the DPP control is not one of gfx950's";
      return false;
    }
    inst.dpp = &dpps.emplace_back(dpp);
    setSource(0, FirstVector + field(extra, 0, 8));
    inst.neg = field(extra, 20, 1) | field(extra, 22, 1) << 1;
    inst.abs = field(extra, 21, 1) | field(extra, 23, 1) << 1;
  } else if (code == 249) {
    SdwaControl sdwa;
    setSource(0, field(extra, 0, 8) + (field(extra, 23, 1) ? 0 : FirstVector));
    sdwa.srcSel[0] = field(extra, 16, 3);
    sdwa.srcSel[1] = field(extra, 24, 3);
    sdwa.signExtend[0] = field(extra, 19, 1);
    sdwa.signExtend[1] = field(extra, 27, 1);
    inst.neg = field(extra, 20, 1) | field(extra, 28, 1) << 1;
    inst.abs = field(extra, 21, 1) | field(extra, 29, 1) << 1;
    if (inst.format == Format::VOPC) {
      inst.maskDst = field(extra, 15, 1) ? field(extra, 8, 7) : VccLo;
    } else {
      sdwa.dstSel = field(extra, 8, 3);
      sdwa.dstUnused = field(extra, 11, 2);
      inst.clamp = field(extra, 13, 1);
      inst.omod = field(extra, 14, 2);
    }
    if (sdwa.srcSel[0] > 6 || sdwa.srcSel[1] > 6 || sdwa.dstSel > 6 ||
        sdwa.dstUnused > 2) {
      defect = "a reserved SDWA selector";
      return false;
    }
    inst.sdwa = &sdwas.emplace_back(sdwa);
  } else {
    setSource(0, code);
    if (code == Literal)
      inst.literal = extra;
  }
  return true;
}

void OperandDecoder::decodeVop2Extra() {
  unsigned vsrc1 = field(word, 9, 8);
  // In SDWA the second source may be scalar.
  bool scalar = inst.sdwa && field(extra, 31, 1);
  setSource(1, vsrc1 + (scalar ? 0 : FirstVector));
  if (op.has(Fmamk)) {
    setSource(2, inst.src[1]);
    setSource(1, Literal);
    inst.literal = extra;
  } else if (op.has(Fmaak)) {
    setSource(2, Literal);
    inst.literal = extra;
  }
}

void OperandDecoder::decodeVop3() {
  inst.dst = field(word, 0, 8);
  inst.clamp = field(word, 15, 1);
  for (unsigned i = 0; i < 3; ++i)
    setSource(i, field(extra, 9 * i, 9));
  inst.omod = field(extra, 27, 2);
  inst.neg = field(extra, 29, 3);
  // VOP3B has a scalar destination where VOP3A has abs and op_sel.
  bool vop3b = op.has(WritesMask) && !op.has(ScalarDst) &&
               op.cls != InstructionClass::VectorCompare;
  if (vop3b) {
    inst.maskDst = field(word, 8, 7);
  } else {
    inst.abs = field(word, 8, 3);
    inst.opSel = field(word, 11, 4);
  }
  if (op.cls == InstructionClass::VectorCompare)
    inst.maskDst = inst.dst;
  if (op.has(ReadsMask))
    inst.maskSrc = inst.src[2];
}

void OperandDecoder::decodeVop3p() {
  inst.dst = field(word, 0, 8);
  inst.abs = field(word, 8, 3); // neg_hi
  inst.opSel = field(word, 11, 3);
  inst.opSelHi = field(extra, 27, 2) | field(word, 14, 1) << 2;
  inst.clamp = field(word, 15, 1);
  inst.neg = field(extra, 29, 3);
  for (unsigned i = 0; i < 3; ++i)
    setSource(i, field(extra, 9 * i, 9));
}

void OperandDecoder::decodeSmem() {
  inst.src[0] = field(word, 0, 6) * 2;
  inst.dst = field(word, 6, 7);
  bool hasOffset = field(word, 17, 1), hasSgpr = field(word, 14, 1);
  inst.src[1] = FirstConstant; // no scalar offset
  if (hasOffset)
    inst.immediate = llvm::SignExtend32<21>(extra & 0x1fffff);
  if (hasSgpr)
    inst.src[1] = field(extra, 25, 7);
  else if (!hasOffset)
    inst.src[1] = field(extra, 0, 7);
}

void OperandDecoder::decodeDs() {
  inst.immediate =
      op.has(TwoAddresses) ? field(word, 0, 8) : field(word, 0, 16);
  inst.immediate1 = field(word, 8, 8);
  unsigned acc = field(word, 25, 1) * FirstAccVgpr;
  setSource(0, FirstVector + field(extra, 0, 8));
  setSource(1, FirstVector + acc + field(extra, 8, 8));
  setSource(2, FirstVector + acc + field(extra, 16, 8));
  inst.dst = field(extra, 24, 8) + acc;
  if (field(word, 16, 1))
    defect = "global data share is not there on gfx950";
}

void OperandDecoder::decodeFlat() {
  inst.segment = field(word, 14, 2);
  inst.immediate = inst.segment == 0
                       ? int32_t(field(word, 0, 12))
                       : llvm::SignExtend32<13>(field(word, 0, 13));
  unsigned acc = field(extra, 23, 1) * FirstAccVgpr;
  setSource(0, FirstVector + field(extra, 0, 8));
  setSource(1, FirstVector + acc + field(extra, 8, 8));
  setSource(2, field(extra, 16, 7));
  inst.dst = field(extra, 24, 8) + acc;
  if (inst.segment == 0)
    inst.src[2] = 0x7f;
}

void OperandDecoder::read(unsigned code, unsigned count) {
  if (code >= FirstVector)
    readVector(code - FirstVector, count);
  else if (code < FirstConstant)
    readScalar(code, count);
}

/// What the instruction reads and writes.
void OperandDecoder::addUses() {
  switch (inst.format) {
  case Format::SMEM:
    if (op.has(LoadsMemory)) {
      if (op.sources) {
        read(inst.src[0], 2);
        read(inst.src[1], 1);
      }
      writeScalar(inst.dst, op.bytes / 4);
    }
    return;
  case Format::DS:
  case Format::FLAT: {
    bool ds = inst.format == Format::DS;
    bool permutes = op.cls == InstructionClass::LdsPermute;
    unsigned dwords = std::max(1u, op.bytes / 4u);
    if (!op.has(LoadsMemory | StoresMemory) && !permutes)
      return;
    if (ds) {
      read(inst.src[0], 1);
    } else {
      bool scalarBase = inst.src[2] != 0x7f;
      read(inst.src[0], scalarBase ? 1 : 2);
      if (scalarBase)
        read(inst.src[2], 2);
    }
    if (op.has(StoresMemory) || (permutes && op.sources > 1)) {
      read(inst.src[1], dwords);
      if (op.has(TwoAddresses))
        read(inst.src[2], dwords);
    }
    if (op.has(LoadsMemory) || permutes)
      writeVector(inst.dst, op.has(TwoAddresses) ? 2 * dwords : dwords);
    return;
  }
  case Format::SOPP:
    if (op.has(ReadsVcc))
      readScalar(VccLo, 2);
    return;
  default:
    break;
  }
  for (unsigned i = 0; i < op.sources; ++i)
    read(inst.src[i], dwordsOf(op.src[i]));
  if (op.has(ReadsMask))
    read(inst.maskSrc, 2);
  if (op.has(ReadsVcc))
    readScalar(VccLo, 2);
  bool vectorFormat = inst.format >= Format::VOP1;
  if (op.dst != Type::None) {
    if (vectorFormat && !op.has(ScalarDst))
      writeVector(inst.dst, dwordsOf(op.dst));
    else if (inst.dst < NumScalarRegisters)
      writeScalar(inst.dst, dwordsOf(op.dst));
  }
  if (op.has(SwapsSources))
    writeVector(inst.src[0] - FirstVector, dwordsOf(op.dst));
  if (op.has(WritesMask))
    writeScalar(inst.maskDst, 2);
  // What SDWA preserves is read.
  if (inst.sdwa && inst.sdwa->dstUnused == 2 && op.dst != Type::None &&
      !op.has(ScalarDst))
    readVector(inst.dst, 1);
}

std::string OperandDecoder::decode() {
  inst.sources = op.sources;
  switch (inst.format) {
  case Format::SOP1:
    setSource(0, field(word, 0, 8));
    inst.dst = field(word, 16, 7);
    break;
  case Format::SOP2:
  case Format::SOPC:
    setSource(0, field(word, 0, 8));
    setSource(1, field(word, 8, 8));
    inst.dst = field(word, 16, 7);
    break;
  case Format::SOPK:
    inst.immediate = llvm::SignExtend32<16>(field(word, 0, 16));
    inst.dst = field(word, 16, 7);
    setSource(0, inst.dst);
    // s_setreg_imm32_b32 takes its value from the literal.
    inst.literal = extra;
    break;
  case Format::SOPP:
    inst.immediate = llvm::SignExtend32<16>(field(word, 0, 16));
    break;
  case Format::SMEM:
    decodeSmem();
    break;
  case Format::VOP1:
    inst.dst = field(word, 17, 8);
    if (!decodeSource0(field(word, 0, 9)))
      return defect;
    break;
  case Format::VOP2:
    inst.dst = field(word, 17, 8);
    if (!decodeSource0(field(word, 0, 9)))
      return defect;
    decodeVop2Extra();
    break;
  case Format::VOPC:
    if (!decodeSource0(field(word, 0, 9)))
      return defect;
    decodeVop2Extra();
    break;
  case Format::VOP3:
    decodeVop3();
    break;
  case Format::VOP3P:
    decodeVop3p();
    break;
  case Format::DS:
    decodeDs();
    break;
  case Format::FLAT:
    decodeFlat();
    break;
  case Format::Unknown:
    // Cache control in the MUBUF encoding has no operand that matters here.
    if (op.cls == InstructionClass::Other && op.sources == 0)
      break;
    return "an encoding that the emulator does not know";
  }
  if (inst.format == Format::SOP1 || inst.format == Format::SOP2 ||
      inst.format == Format::SOPC)
    for (unsigned i = 0; i < op.sources; ++i)
      if (inst.src[i] == Literal)
        inst.literal = extra;
  // v_accvgpr_read, _write and _mov name accumulation registers by opcode.
  llvm::StringRef name = op.name;
  if (name == "v_accvgpr_mov_b32" || name == "v_accvgpr_read_b32")
    inst.src[0] += FirstAccVgpr;
  if (name == "v_accvgpr_mov_b32" || name == "v_accvgpr_write_b32")
    inst.dst += FirstAccVgpr;
  if (op.has(ReadsDst))
    setSource(op.sources - 1,
              inst.format >= Format::VOP1 ? FirstVector + inst.dst : inst.dst);
  if (!defect.empty())
    return defect;
  addUses();
  return defect;
}

llvm::Expected<Program> Program::decode(llvm::ArrayRef<uint8_t> text,
                                        llvm::ArrayRef<uint32_t> starts) {
  llvm::Expected<std::unique_ptr<Disassembler>> disassembler =
      Disassembler::create();
  if (!disassembler)
    return disassembler.takeError();

  Program program;
  program.atWord.assign(text.size() / 4, -1);
  std::vector<uint32_t> sorted(starts.begin(), starts.end());
  llvm::sort(sorted);
  auto wordAt = [&](size_t offset) {
    return offset + 4 <= text.size()
               ? llvm::support::endian::read32le(&text[offset])
               : 0;
  };

  for (uint32_t offset = 0; offset + 4 <= text.size();) {
    auto next = llvm::upper_bound(sorted, offset);
    size_t limit = next == sorted.end() ? text.size()
                                        : std::min<size_t>(*next, text.size());
    Instruction inst;
    inst.offset = offset;
    inst.size = 4;
    std::string mnemonicText, defect;
    unsigned size =
        (*disassembler)
            ->decode(text.slice(offset, limit - offset), offset, mnemonicText);
    if (!size) {
      defect = "not an instruction of gfx950";
      mnemonicText = llvm::formatv(".long {0:x}", wordAt(offset));
    } else {
      inst.size = size;
      inst.format = getFormat(wordAt(offset));
      llvm::StringRef mnemonic =
          llvm::StringRef(mnemonicText).take_until([](char c) {
            return c == ' ';
          });
      for (llvm::StringRef suffix : {"_e32", "_e64", "_dpp", "_sdwa"})
        if (mnemonic.consume_back(suffix))
          break;
      inst.operation = findOperation(mnemonic);
      if (!inst.operation)
        defect = "unknown instruction: the emulator does not execute it";
      else
        defect = OperandDecoder(inst, *inst.operation, wordAt(offset),
                                wordAt(offset + 4), program.dppControls,
                                program.sdwaControls)
                     .decode();
    }
    inst.startsFunction =
        offset != 0 && std::binary_search(sorted.begin(), sorted.end(), offset);
    program.atWord[offset / 4] = program.instructions.size();
    program.instructions.push_back(inst);
    program.texts.push_back(std::move(mnemonicText));
    program.defects.push_back(std::move(defect));
    offset += inst.size;
  }

  // Branch targets, now that every instruction has an index.
  for (Instruction &inst : program.instructions)
    if (inst.operation && inst.format == Format::SOPP &&
        inst.operation->cls == InstructionClass::Branch) {
      int64_t target = int64_t(inst.offset) + 4 + int64_t(inst.immediate) * 4;
      inst.target = target < 0 ? -1 : program.indexAt(target);
    }

  Instruction sentinel;
  sentinel.offset = text.size() & ~size_t(3);
  program.instructions.push_back(sentinel);
  program.texts.push_back("(end of the code)");
  program.defects.push_back("execution runs past the end of the code");
  return program;
}
