//===- LocalMemory.cpp - LDS instructions ---------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Data Share". Lanes that EXEC disables
// touch nothing. Any alignment is taken: under HSA the LDS is in unaligned
// mode.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace kimi::emulator;

namespace {

/// Byte addresses of one of an instruction's accesses.
struct Access {
  uint32_t address[WaveSize];
};

bool checkAddressDefined(Wave &wave, unsigned reg) {
  uint64_t undefined = wave.undefinedLanes(reg) & wave.exec;
  if (!undefined)
    return true;
  unsigned lane = llvm::countr_zero(undefined);
  wave.fail(lane, "the address uses the uninitialised value of " +
                      wave.describeUndefined(reg, lane));
  return false;
}

bool computeAccess(Wave &wave, const Instruction &inst, unsigned offset,
                   unsigned bytes, const char *what, Access &access) {
  const uint32_t *base = wave.lanes(inst.src[0] - FirstVector);
  uint64_t size = wave.workgroup->lds.size();
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    uint64_t address = uint64_t(base[lane]) + offset;
    if (address + bytes > size) {
      wave.fail(lane, llvm::formatv("{0} {1} bytes at LDS address {2}, beyond "
                                    "the {3} bytes that the kernel allocates",
                                    what, bytes, address, size));
      return false;
    }
    access.address[lane] = address;
  }
  return true;
}

std::string describeInstruction(const Wave &wave, uint32_t index) {
  const ExecutionContext &context = wave.workgroup->context;
  return llvm::formatv("'{0}' at +{1:x}", context.program.getText(index),
                       context.program[index].offset - context.kernelOffset);
}

bool raceError(Wave &wave, unsigned lane, uint32_t address, const char *what,
               unsigned other, const char *did, uint32_t instruction) {
  std::string who =
      other == 0xffff ? "another wave" : "wave " + std::to_string(other - 1);
  wave.fail(lane,
            llvm::formatv("LDS race: {0} byte {1}, which {2} {3} with {4}, "
                          "without a barrier and a wait between",
                          what, address, who, did,
                          describeInstruction(wave, instruction)));
  return false;
}

/// Accesses of two waves are ordered only by a barrier between them.
bool noteRead(Wave &wave, unsigned lane, uint32_t address) {
  LocalMemory::Byte &byte = wave.workgroup->lds[address];
  unsigned self = wave.index + 1;
  if (byte.writer && byte.writeEpoch == wave.barriers && byte.writer != self)
    return raceError(wave, lane, address, "reads", byte.writer, "wrote",
                     byte.writeInstruction);
  if (!byte.initialized) {
    wave.fail(lane,
              llvm::formatv("reads LDS byte {0}, which nothing has written",
                            address));
    return false;
  }
  byte.reader =
      byte.readEpoch == wave.barriers && byte.reader && byte.reader != self
          ? 0xffff
          : self;
  byte.readEpoch = wave.barriers;
  byte.readInstruction = wave.pc;
  return true;
}

bool noteWrite(Wave &wave, unsigned lane, uint32_t address, uint8_t value) {
  LocalMemory::Byte &byte = wave.workgroup->lds[address];
  unsigned self = wave.index + 1;
  if (byte.writer && byte.writeEpoch == wave.barriers && byte.writer != self)
    return raceError(wave, lane, address, "writes", byte.writer, "wrote",
                     byte.writeInstruction);
  if (byte.reader && byte.readEpoch == wave.barriers && byte.reader != self)
    return raceError(wave, lane, address, "writes", byte.reader, "read",
                     byte.readInstruction);
  byte.value = value;
  byte.initialized = true;
  byte.writer = self;
  byte.writeEpoch = wave.barriers;
  byte.writeInstruction = wave.pc;
  return true;
}

/// Extra passes that bank conflicts cause: in each group of lanes that the LDS
/// serves together, the largest number of different dwords in one bank, less
/// one.
uint64_t countBankConflicts(const Wave &wave, const Access &access,
                            unsigned bytes) {
  constexpr unsigned Banks = 64;
  unsigned dwords = std::max(1u, bytes / 4);
  unsigned lanes = dwords == 1 ? 64 : dwords == 2 ? 32 : 16;
  uint64_t conflicts = 0;
  for (unsigned first = 0; first < WaveSize; first += lanes) {
    llvm::SmallVector<uint32_t, WaveSize> touched;
    for (unsigned lane = first; lane < first + lanes; ++lane)
      if (wave.exec >> lane & 1)
        for (unsigned d = 0; d < dwords; ++d)
          touched.push_back(access.address[lane] / 4 + d);
    llvm::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    unsigned counts[Banks] = {}, most = 0;
    for (uint32_t dword : touched)
      most = std::max(most, ++counts[dword % Banks]);
    conflicts += most > 1 ? most - 1 : 0;
  }
  return conflicts;
}

/// The offsets of an instruction's one or two accesses.
unsigned getOffsets(const Instruction &inst, unsigned (&offsets)[2]) {
  const Operation &op = *inst.operation;
  if (!op.has(TwoAddresses)) {
    offsets[0] = inst.immediate;
    return 1;
  }
  unsigned stride = op.bytes * (op.has(Stride64) ? 64 : 1);
  offsets[0] = inst.immediate * stride;
  offsets[1] = inst.immediate1 * stride;
  return 2;
}

void issue(Wave &wave, InFlight::Kind kind, RegisterRange dst,
           llvm::SmallVector<std::pair<uint32_t, uint32_t>, 0> bytes) {
  InFlight entry{};
  entry.kind = kind;
  entry.lds = true;
  // Without a lane nothing will be written.
  if (wave.exec)
    entry.dst = dst;
  entry.instruction = wave.pc;
  entry.ldsBytes = std::move(bytes);
  wave.issueLgkm(std::move(entry));
}

void executeRead(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ExecutionContext &context = wave.workgroup->context;
  LocalMemory &lds = wave.workgroup->lds;
  if (!checkAddressDefined(wave, inst.src[0] - FirstVector))
    return;
  unsigned offsets[2], accesses = getOffsets(inst, offsets);
  unsigned bytes = op.bytes, dwords = bytes < 4 ? 1 : bytes / 4;
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 0> touched;
  // All of the sources are read before anything is written: the address
  // register may be among the destinations.
  uint32_t results[2][4][WaveSize];
  for (unsigned a = 0; a < accesses; ++a) {
    Access access;
    if (!computeAccess(wave, inst, offsets[a], bytes, "reads", access))
      return;
    context.profile.ldsBankConflicts += countBankConflicts(wave, access, bytes);
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      if (!(wave.exec >> lane & 1))
        continue;
      uint8_t data[16] = {};
      for (unsigned i = 0; i < bytes; ++i) {
        if (!noteRead(wave, lane, access.address[lane] + i))
          return;
        data[i] = lds[access.address[lane] + i].value;
      }
      uint32_t words[4];
      std::memcpy(words, data, sizeof(words));
      for (unsigned d = 0; d < dwords; ++d)
        results[a][d][lane] = words[d];
      touched.emplace_back(access.address[lane], bytes);
      context.profile.ldsBytesRead += bytes;
    }
  }
  for (unsigned a = 0; a < accesses; ++a)
    for (unsigned d = 0; d < dwords; ++d) {
      unsigned reg = inst.dst + a * dwords + d;
      uint32_t *lanes = wave.lanes(reg);
      for (unsigned lane = 0; lane < WaveSize; ++lane) {
        if (!(wave.exec >> lane & 1))
          continue;
        uint32_t value = results[a][d][lane];
        if (op.has(SignExtends))
          value = bytes == 1 ? uint32_t(int32_t(int8_t(value)))
                             : uint32_t(int32_t(int16_t(value)));
        if (op.has(HighHalf | LowHalf)) {
          bool high = op.has(HighHalf);
          uint32_t keep = high ? 0xffff : 0xffff0000;
          uint32_t undefined = context.d16Preserves
                                   ? wave.undefinedBits(reg, lane) & keep
                                   : keep;
          lanes[lane] = (lanes[lane] & keep) | (high ? value << 16 : value);
          wave.setUndefinedBits(reg, lane, undefined);
          continue;
        }
        lanes[lane] = value;
      }
      if (!op.has(HighHalf | LowHalf))
        wave.define(reg, wave.exec);
    }
  issue(wave, InFlight::Load, {true, inst.dst, uint16_t(accesses * dwords)},
        std::move(touched));
}

void executeWrite(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ExecutionContext &context = wave.workgroup->context;
  if (!checkAddressDefined(wave, inst.src[0] - FirstVector))
    return;
  unsigned offsets[2], accesses = getOffsets(inst, offsets);
  // Equal offsets: one write, of the first data.
  if (accesses == 2 && offsets[0] == offsets[1])
    accesses = 1;
  unsigned bytes = op.bytes, dwords = bytes < 4 ? 1 : bytes / 4;
  uint32_t used = bytes >= 4 ? ~0u : bytes == 2 ? 0xffff : 0xff;
  if (op.has(HighHalf))
    used <<= 16;
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 0> touched;
  for (unsigned a = 0; a < accesses; ++a) {
    unsigned reg = inst.src[1 + a] - FirstVector;
    Access access;
    if (!computeAccess(wave, inst, offsets[a], bytes, "writes", access))
      return;
    context.profile.ldsBankConflicts += countBankConflicts(wave, access, bytes);
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      if (!(wave.exec >> lane & 1))
        continue;
      uint32_t data[4];
      for (unsigned d = 0; d < dwords; ++d) {
        if (wave.undefinedBits(reg + d, lane) & used)
          return wave.fail(lane, "writes to LDS the uninitialised value of " +
                                     wave.describeUndefined(reg + d, lane));
        data[d] = wave.lanes(reg + d)[lane];
      }
      if (op.has(HighHalf))
        data[0] >>= 16;
      uint8_t raw[16];
      std::memcpy(raw, data, sizeof(raw));
      for (unsigned i = 0; i < bytes; ++i)
        if (!noteWrite(wave, lane, access.address[lane] + i, raw[i]))
          return;
      touched.emplace_back(access.address[lane], bytes);
      context.profile.ldsBytesWritten += bytes;
    }
  }
  issue(wave, InFlight::Store, {}, std::move(touched));
}

// Permutations: data moves between lanes, LDS memory is not touched. ----------

void writePermuted(Wave &wave, const Instruction &inst,
                   const uint32_t (&values)[WaveSize],
                   const uint32_t (&undefined)[WaveSize]) {
  uint32_t *lanes = wave.lanes(inst.dst);
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    lanes[lane] = values[lane];
    wave.setUndefinedBits(inst.dst, lane, undefined[lane]);
  }
  issue(wave, InFlight::Load, {true, inst.dst, 1}, {});
}

/// Each lane sends to the lane that its address names; the highest lane that
/// names one wins; who gets nothing gets zero.
void executePermute(Wave &wave, const Instruction &inst) {
  unsigned address = inst.src[0] - FirstVector,
           data = inst.src[1] - FirstVector;
  if (!checkAddressDefined(wave, address))
    return;
  uint32_t values[WaveSize] = {}, undefined[WaveSize] = {};
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    unsigned to = (wave.lanes(address)[lane] + inst.immediate) / 4 % WaveSize;
    values[to] = wave.lanes(data)[lane];
    undefined[to] = wave.undefinedBits(data, lane);
  }
  writePermuted(wave, inst, values, undefined);
}

/// Each lane fetches from the lane that its address names; zero if that one is
/// disabled.
void executeBackwardPermute(Wave &wave, const Instruction &inst) {
  unsigned address = inst.src[0] - FirstVector,
           data = inst.src[1] - FirstVector;
  if (!checkAddressDefined(wave, address))
    return;
  uint32_t values[WaveSize] = {}, undefined[WaveSize] = {};
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    unsigned from = (wave.lanes(address)[lane] + inst.immediate) / 4 % WaveSize;
    if (!(wave.exec >> from & 1))
      continue;
    values[lane] = wave.lanes(data)[from];
    undefined[lane] = wave.undefinedBits(data, from);
  }
  writePermuted(wave, inst, values, undefined);
}

/// Modes of the offset (LLVM's AMDGPUModifierSyntax, "swizzle pattern"): bit 15
/// clear: and, or and xor masks on the lane within 32; 0x80xx: quad_perm;
/// 0xc000: rotation within 32; 0xe000: FFT order, the lane's five bits reversed
/// except for those of the mask.
void executeSwizzle(Wave &wave, const Instruction &inst) {
  unsigned offset = inst.immediate, data = inst.src[0] - FirstVector;
  if (offset >= 0x8100 && offset < 0xc000)
    return wave.fail("this swizzle mode is not modelled");
  uint32_t values[WaveSize] = {}, undefined[WaveSize] = {};
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    unsigned from;
    if (offset >= 0xe000) {
      unsigned mask = offset & 31;
      unsigned reversed = llvm::reverseBits(uint32_t(lane & 31)) >> 27;
      from = (lane & ~31u) | (reversed >> llvm::popcount(mask)) | (lane & mask);
    } else if (offset >= 0xc000) {
      unsigned amount = offset >> 5 & 31;
      bool right = offset >> 10 & 1;
      // The bits of the mask stay; here as in the assembler it is zero.
      unsigned mask = offset & 31;
      unsigned moved = (right ? lane - amount : lane + amount) & 31;
      from = (lane & ~31u) | (lane & mask) | (moved & ~mask & 31);
    } else if (offset & 0x8000) {
      from = (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
    } else {
      unsigned andMask = offset & 31, orMask = offset >> 5 & 31,
               xorMask = offset >> 10 & 31;
      from = (lane & ~31u) | (((lane & 31 & andMask) | orMask) ^ xorMask);
    }
    if (!(wave.exec >> from & 1))
      continue;
    values[lane] = wave.lanes(data)[from];
    undefined[lane] = wave.undefinedBits(data, from);
  }
  writePermuted(wave, inst, values, undefined);
}

} // namespace

std::vector<Operation> kimi::emulator::getLocalMemoryOperations() {
  std::vector<Operation> table;
  auto read = [&](const char *name, unsigned bytes, uint32_t flags = 0) {
    Operation op;
    op.name = name;
    op.execute = executeRead;
    op.cls = InstructionClass::LdsRead;
    op.bytes = bytes;
    op.flags = LoadsMemory | flags;
    table.push_back(op);
  };
  auto write = [&](const char *name, unsigned bytes, uint32_t flags = 0) {
    Operation op;
    op.name = name;
    op.execute = executeWrite;
    op.cls = InstructionClass::LdsWrite;
    op.bytes = bytes;
    op.flags = StoresMemory | flags;
    table.push_back(op);
  };
  auto permute = [&](const char *name, unsigned sources,
                     void (*execute)(Wave &, const Instruction &)) {
    Operation op;
    op.name = name;
    op.execute = execute;
    op.cls = InstructionClass::LdsPermute;
    op.bytes = 4;
    op.sources = sources;
    table.push_back(op);
  };
  read("ds_read_u8", 1);
  read("ds_read_i8", 1, SignExtends);
  read("ds_read_u16", 2);
  read("ds_read_i16", 2, SignExtends);
  read("ds_read_u16_d16", 2, LowHalf);
  read("ds_read_u16_d16_hi", 2, HighHalf);
  read("ds_read_b32", 4);
  read("ds_read_b64", 8);
  read("ds_read_b96", 12);
  read("ds_read_b128", 16);
  read("ds_read2_b32", 4, TwoAddresses);
  read("ds_read2_b64", 8, TwoAddresses);
  read("ds_read2st64_b32", 4, TwoAddresses | Stride64);
  read("ds_read2st64_b64", 8, TwoAddresses | Stride64);
  write("ds_write_b8", 1);
  write("ds_write_b8_d16_hi", 1, HighHalf);
  write("ds_write_b16", 2);
  write("ds_write_b16_d16_hi", 2, HighHalf);
  write("ds_write_b32", 4);
  write("ds_write_b64", 8);
  write("ds_write_b96", 12);
  write("ds_write_b128", 16);
  write("ds_write2_b32", 4, TwoAddresses);
  write("ds_write2_b64", 8, TwoAddresses);
  write("ds_write2st64_b32", 4, TwoAddresses | Stride64);
  write("ds_write2st64_b64", 8, TwoAddresses | Stride64);
  permute("ds_permute_b32", 2, executePermute);
  permute("ds_bpermute_b32", 2, executeBackwardPermute);
  permute("ds_swizzle_b32", 1, executeSwizzle);
  return table;
}
