//===- GlobalMemory.cpp - Global and flat memory instructions -------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Flat, Global and Scratch". Accesses
// of any alignment are taken: unaligned access mode is on under HSA (LLVM's
// AMDGPUUsage, "Memory Model").
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace kimi::emulator;

namespace {

/// The addresses of the enabled lanes. Returns false after an error.
bool computeAddresses(Wave &wave, const Instruction &inst,
                      uint64_t (&addresses)[WaveSize]) {
  unsigned reg = inst.src[0] - FirstVector;
  bool scalarBase = inst.src[2] != 0x7f;
  uint64_t undefined = wave.undefinedLanes(reg);
  if (!scalarBase)
    undefined |= wave.undefinedLanes(reg + 1);
  if (undefined &= wave.exec) {
    unsigned lane = llvm::countr_zero(undefined);
    unsigned which = wave.undefinedBits(reg, lane) ? reg : reg + 1;
    wave.fail(lane, "the address uses the uninitialised value of " +
                        wave.describeUndefined(which, lane));
    return false;
  }
  const uint32_t *low = wave.lanes(reg);
  int64_t offset = inst.immediate;
  if (scalarBase) {
    ScalarValue base = readScalar(wave, inst, inst.src[2], Type::B64);
    if (base.undefined) {
      wave.fail("the address uses the uninitialised value of " +
                scalarName(inst.src[2]) + ", which nothing has written");
      return false;
    }
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      addresses[lane] = base.value + low[lane] + offset;
    return true;
  }
  const uint32_t *high = wave.lanes(reg + 1);
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    addresses[lane] = (low[lane] | uint64_t(high[lane]) << 32) + offset;
  return true;
}

/// Finds the mapping of an access. Null after an error.
Memory::Range *findRange(Wave &wave, unsigned lane, uint64_t address,
                         unsigned bytes, const char *what,
                         Memory::Range *hint) {
  if (hint && hint->contains(address, bytes))
    return hint;
  Memory &memory = wave.workgroup->context.memory;
  Memory::Range *range = memory.find(address, bytes);
  if (!range)
    wave.fail(lane,
              llvm::formatv(
                  "{0} {1} bytes at {2:x}, outside all mapped memory{3}", what,
                  bytes, address, memory.describeNearest(address, bytes)));
  return range;
}

uint32_t writerId(const Wave &wave) {
  const Workgroup &workgroup = *wave.workgroup;
  return workgroup.linearId * uint32_t(workgroup.waves.size()) + wave.index + 1;
}

std::string describeWriter(const Wave &wave, uint32_t id) {
  uint32_t waves = wave.workgroup->waves.size();
  return llvm::formatv("wave {0} of workgroup number {1}", (id - 1) % waves,
                       (id - 1) / waves);
}

/// What another workgroup wrote in this launch may or may not be there yet.
bool checkReadRace(Wave &wave, unsigned lane, const Memory::Range &range,
                   uint64_t address, unsigned bytes) {
  uint32_t waves = wave.workgroup->waves.size();
  for (unsigned i = 0; i < bytes; ++i) {
    const Memory::WriterPage *page = range.findWriterPage(address + i);
    uint32_t writer = page ? (*page)[(address + i) % Memory::PageSize] : 0;
    if (writer && (writer - 1) / waves != wave.workgroup->linearId) {
      wave.fail(lane,
                llvm::formatv("race: reads byte {0:x}, which {1} wrote in this "
                              "launch, of {2}",
                              address + i, describeWriter(wave, writer),
                              Memory::describe(range)));
      return false;
    }
  }
  return true;
}

void executeLoad(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ExecutionContext &context = wave.workgroup->context;
  uint64_t addresses[WaveSize];
  if (!computeAddresses(wave, inst, addresses))
    return;
  unsigned bytes = op.bytes, dwords = bytes < 4 ? 1 : bytes / 4;
  Memory::Range *range = nullptr;
  uint64_t kernargBytes = 0, globalBytes = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    uint64_t address = addresses[lane];
    range = findRange(wave, lane, address, bytes, "reads", range);
    if (!range)
      return;
    if (!range->initialized.empty()) {
      uint64_t bad = range->firstUninitialized(address, bytes);
      if (bad != bytes)
        return wave.fail(
            lane, llvm::formatv("reads byte {0:x}, which nothing has written, "
                                "of {1}",
                                address + bad, Memory::describe(*range)));
    }
    if (!range->writers.empty() && context.options.detectGlobalRaces &&
        !checkReadRace(wave, lane, *range, address, bytes))
      return;
    (range->begin == context.kernargBegin ? kernargBytes : globalBytes) +=
        bytes;
    uint32_t data[4] = {0, 0, 0, 0};
    std::memcpy(data, reinterpret_cast<const void *>(address), bytes);
    if (op.has(SignExtends))
      data[0] = bytes == 1 ? uint32_t(int32_t(int8_t(data[0])))
                           : uint32_t(int32_t(int16_t(data[0])));
    if (op.has(HighHalf | LowHalf)) {
      // With SRAM ECC the other half is clobbered (LLVM: a target whose
      // SRAM ECC may be on does not preserve unused bits of d16 loads).
      bool high = op.has(HighHalf);
      uint32_t keep = high ? 0xffff : 0xffff0000;
      uint32_t old = wave.lanes(inst.dst)[lane] & keep;
      uint32_t undefined = context.d16Preserves
                               ? wave.undefinedBits(inst.dst, lane) & keep
                               : keep;
      wave.lanes(inst.dst)[lane] = old | (high ? data[0] << 16 : data[0]);
      wave.setUndefinedBits(inst.dst, lane, undefined);
      continue;
    }
    for (unsigned d = 0; d < dwords; ++d)
      wave.lanes(inst.dst + d)[lane] = data[d];
  }
  if (!op.has(HighHalf | LowHalf))
    for (unsigned d = 0; d < dwords; ++d)
      wave.define(inst.dst + d, wave.exec);
  context.profile.kernargBytesRead += kernargBytes;
  context.profile.globalBytesRead += globalBytes;

  InFlight entry{};
  entry.kind = InFlight::Load;
  entry.flat = inst.segment == 0;
  // Without a lane nothing will be written.
  if (wave.exec)
    entry.dst = {true, inst.dst, uint16_t(dwords)};
  entry.instruction = wave.pc;
  if (entry.flat)
    wave.issueLgkm(entry);
  wave.issueVector(std::move(entry));
  context.profile.maxOutstandingVectorLoads = std::max<uint64_t>(
      context.profile.maxOutstandingVectorLoads, wave.vectorLoadsInFlight());
}

/// Notes the writer of each byte. Two waves that write different values to one
/// byte leave it to chance which stays.
bool recordWrite(Wave &wave, unsigned lane, Memory::Range &range,
                 uint64_t address, const uint8_t *data, unsigned bytes) {
  uint32_t id = writerId(wave);
  for (unsigned i = 0; i < bytes; ++i) {
    uint32_t &writer =
        range.writerPage(address + i)[(address + i) % Memory::PageSize];
    uint8_t old = *reinterpret_cast<const uint8_t *>(address + i);
    if (writer && writer != id && old != data[i]) {
      wave.fail(lane,
                llvm::formatv("race: writes {0:x} to byte {1:x} of {2}, where "
                              "{3} wrote {4:x} in this launch",
                              data[i], address + i, Memory::describe(range),
                              describeWriter(wave, writer), old));
      return false;
    }
    writer = id;
  }
  return true;
}

void executeStore(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ExecutionContext &context = wave.workgroup->context;
  uint64_t addresses[WaveSize];
  if (!computeAddresses(wave, inst, addresses))
    return;
  unsigned bytes = op.bytes, dwords = bytes < 4 ? 1 : bytes / 4;
  unsigned reg = inst.src[1] - FirstVector;
  uint32_t used = bytes >= 4 ? ~0u : bytes == 2 ? 0xffff : 0xff;
  if (op.has(HighHalf))
    used <<= 16;
  for (unsigned d = 0; d < dwords; ++d) {
    uint64_t undefined = wave.undefinedLanes(reg + d) & wave.exec;
    for (; undefined; undefined &= undefined - 1) {
      unsigned lane = llvm::countr_zero(undefined);
      if (wave.undefinedBits(reg + d, lane) & used)
        return wave.fail(lane, "stores the uninitialised value of " +
                                   wave.describeUndefined(reg + d, lane));
    }
  }
  Memory::Range *range = nullptr;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(wave.exec >> lane & 1))
      continue;
    uint64_t address = addresses[lane];
    range = findRange(wave, lane, address, bytes, "writes", range);
    if (!range)
      return;
    if (range->readOnly)
      return wave.fail(
          lane, llvm::formatv("writes {0} bytes at {1:x} to read-only {2}",
                              bytes, address, Memory::describe(*range)));
    uint32_t data[4];
    for (unsigned d = 0; d < dwords; ++d)
      data[d] = wave.lanes(reg + d)[lane];
    if (op.has(HighHalf))
      data[0] >>= 16;
    if (context.options.detectGlobalRaces &&
        !recordWrite(wave, lane, *range, address,
                     reinterpret_cast<const uint8_t *>(data), bytes))
      return;
    std::memcpy(reinterpret_cast<void *>(address), data, bytes);
    range->setInitialized(address, bytes);
    context.profile.globalBytesWritten += bytes;
  }
  InFlight entry{};
  entry.kind = InFlight::Store;
  entry.flat = inst.segment == 0;
  entry.instruction = wave.pc;
  if (entry.flat)
    wave.issueLgkm(entry);
  wave.issueVector(std::move(entry));
}

} // namespace

std::vector<Operation> kimi::emulator::getGlobalMemoryOperations() {
  std::vector<Operation> table;
  auto load = [&](const char *global, const char *flat, unsigned bytes,
                  uint32_t flags = 0) {
    Operation op;
    op.execute = executeLoad;
    op.cls = InstructionClass::GlobalLoad;
    op.bytes = bytes;
    op.flags = LoadsMemory | flags;
    op.name = global;
    table.push_back(op);
    op.name = flat;
    table.push_back(op);
  };
  auto store = [&](const char *global, const char *flat, unsigned bytes,
                   uint32_t flags = 0) {
    Operation op;
    op.execute = executeStore;
    op.cls = InstructionClass::GlobalStore;
    op.bytes = bytes;
    op.flags = StoresMemory | flags;
    op.name = global;
    table.push_back(op);
    op.name = flat;
    table.push_back(op);
  };
  load("global_load_ubyte", "flat_load_ubyte", 1);
  load("global_load_sbyte", "flat_load_sbyte", 1, SignExtends);
  load("global_load_ushort", "flat_load_ushort", 2);
  load("global_load_sshort", "flat_load_sshort", 2, SignExtends);
  load("global_load_dword", "flat_load_dword", 4);
  load("global_load_dwordx2", "flat_load_dwordx2", 8);
  load("global_load_dwordx3", "flat_load_dwordx3", 12);
  load("global_load_dwordx4", "flat_load_dwordx4", 16);
  load("global_load_short_d16", "flat_load_short_d16", 2, LowHalf);
  load("global_load_short_d16_hi", "flat_load_short_d16_hi", 2, HighHalf);
  store("global_store_byte", "flat_store_byte", 1);
  store("global_store_byte_d16_hi", "flat_store_byte_d16_hi", 1, HighHalf);
  store("global_store_short", "flat_store_short", 2);
  store("global_store_short_d16_hi", "flat_store_short_d16_hi", 2, HighHalf);
  store("global_store_dword", "flat_store_dword", 4);
  store("global_store_dwordx2", "flat_store_dwordx2", 8);
  store("global_store_dwordx3", "flat_store_dwordx3", 12);
  store("global_store_dwordx4", "flat_store_dwordx4", 16);
  return table;
}
