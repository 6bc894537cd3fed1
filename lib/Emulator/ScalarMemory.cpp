//===- ScalarMemory.cpp - Scalar memory instructions ----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Scalar Memory Operations". Results
// return in any order: only lgkmcnt(0) makes them safe.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace kimi::emulator;

static void issue(Wave &wave, const Instruction &inst, unsigned dwords) {
  InFlight entry{};
  entry.kind = InFlight::Scalar;
  entry.dst = {false, inst.dst, uint16_t(dwords)};
  entry.instruction = wave.pc;
  wave.issueLgkm(std::move(entry));
}

static void executeLoad(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ExecutionContext &context = wave.workgroup->context;
  ScalarValue base = readScalar(wave, inst, inst.src[0], Type::B64);
  ScalarValue offset = readScalar(wave, inst, inst.src[1], Type::B32);
  if (base.undefined || offset.undefined)
    return wave.fail("the address uses the uninitialised value of " +
                     scalarName(inst.src[base.undefined ? 0 : 1]) +
                     ", which nothing has written");
  // The two low bits of the sum are dropped.
  uint64_t address =
      (base.value + int64_t(inst.immediate) + offset.value) & ~uint64_t(3);
  Memory::Range *range = context.memory.find(address, op.bytes);
  if (!range)
    return wave.fail(llvm::formatv(
        "reads {0} bytes at {1:x}, outside all mapped memory{2}", op.bytes,
        address, context.memory.describeNearest(address, op.bytes)));
  uint32_t data[16];
  std::memcpy(data, reinterpret_cast<const void *>(address), op.bytes);
  for (unsigned d = 0; d < op.bytes / 4u; ++d) {
    uint64_t at = address + 4 * d;
    ScalarValue value = {data[d], 0};
    for (unsigned i = 0; i < 4; ++i) {
      if (range->firstUninitialized(at + i, 1) == 1)
        continue;
      if (!range->padded)
        return wave.fail(
            llvm::formatv("reads byte {0:x}, which nothing has written, of {1}",
                          at + i, Memory::describe(*range)));
      value.undefined |= uint64_t(0xff) << 8 * i;
    }
    writeScalar(wave, inst.dst + d, 1, value);
  }
  (range->begin == context.kernargBegin ? context.profile.kernargBytesRead
                                        : context.profile.scalarBytesRead) +=
      op.bytes;
  issue(wave, inst, op.bytes / 4);
}

/// A counter: here the wave's executed instructions.
static void executeTime(Wave &wave, const Instruction &inst) {
  writeScalar(wave, inst.dst, 2, {wave.executed, 0});
  issue(wave, inst, 2);
}

std::vector<Operation> kimi::emulator::getScalarMemoryOperations() {
  std::vector<Operation> table;
  auto add = [&](const char *name, unsigned bytes, unsigned sources,
                 void (*execute)(Wave &, const Instruction &)) {
    Operation op;
    op.name = name;
    op.execute = execute;
    op.cls = InstructionClass::ScalarMemory;
    op.bytes = bytes;
    op.sources = sources;
    op.flags = bytes ? LoadsMemory : 0;
    table.push_back(op);
  };
  add("s_load_dword", 4, 2, executeLoad);
  add("s_load_dwordx2", 8, 2, executeLoad);
  add("s_load_dwordx4", 16, 2, executeLoad);
  add("s_load_dwordx8", 32, 2, executeLoad);
  add("s_load_dwordx16", 64, 2, executeLoad);
  add("s_memtime", 8, 0, executeTime);
  auto nothing = [](Wave &, const Instruction &) {};
  add("s_dcache_inv", 0, 0, nothing);
  add("s_dcache_wb", 0, 0, nothing);
  return table;
}
