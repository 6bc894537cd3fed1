//===- WaveState.cpp - Registers of one wave ------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/WaveState.h"

#include "KimiMlaGate/Emulator/Executor.h"

#include "Operands.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace kimi::emulator;

Wave::Wave(unsigned vgprs, unsigned accVgprs, unsigned sgprs)
    : vgprs(vgprs), accVgprs(accVgprs), sgprs(sgprs) {
  unsigned rows = vgprs + accVgprs;
  vector.assign(size_t(rows) * WaveSize, 0);
  undefinedBitsOf.assign(size_t(rows) * WaveSize, 0);
  undefined.resize(rows);
  partial.resize(rows);
  origins.resize(rows);
  vectorPending.resize(rows);
  lgkmPending.resize(rows);
  reset();
}

void Wave::reset() {
  std::fill(undefined.begin(), undefined.end(), ~uint64_t(0));
  std::fill(partial.begin(), partial.end(), 0);
  std::fill(origins.begin(), origins.end(), Origin());
  std::fill(vectorPending.begin(), vectorPending.end(), 0);
  std::fill(lgkmPending.begin(), lgkmPending.end(), 0);
  scalar.fill(0);
  scalarUndefined.fill(~0u);
  scalarPending.fill(0);
  exec = ~uint64_t(0);
  scc = false;
  sccUndefined = true;
  mode = 0;
  pc = next = 0;
  vectorQueue.clear();
  lgkmQueue.clear();
  state = State::Running;
  barriers = 0;
  executed = 0;
  error.clear();
  // Far enough from "never" for every distance that is checked.
  hazards.now = 64;
  for (auto *rows : {&hazards.valuWrote, &hazards.transWrote,
                     &hazards.partWrote, &hazards.storeRead})
    rows->assign(undefined.size(), 0);
  hazards.valuWroteScalar.fill(0);
  hazards.valuWroteExec = 0;
  hazards.setMode = 0;
}

void Wave::setUndefinedBits(unsigned reg, unsigned lane, uint32_t bits) {
  unsigned r = row(reg);
  uint64_t bit = uint64_t(1) << lane;
  if (!bits) {
    undefined[r] &= ~bit;
    return;
  }
  undefined[r] |= bit;
  partial[r] |= bit;
  undefinedBitsOf[r * WaveSize + lane] = bits;
}

void Wave::issueVector(InFlight entry) {
  for (unsigned i = 0; i < entry.dst.count; ++i)
    ++vectorPending[row(entry.dst.first + i)];
  vectorQueue.push_back(std::move(entry));
}

void Wave::issueLgkm(InFlight entry) {
  for (unsigned i = 0; i < entry.dst.count; ++i)
    if (entry.dst.vector)
      ++lgkmPending[row(entry.dst.first + i)];
    else
      ++scalarPending[entry.dst.first + i];
  lgkmQueue.push_back(std::move(entry));
}

void Wave::release(const InFlight &entry, bool vectorCounter) {
  for (unsigned i = 0; i < entry.dst.count; ++i)
    if (!entry.dst.vector)
      --scalarPending[entry.dst.first + i];
    else if (vectorCounter)
      --vectorPending[row(entry.dst.first + i)];
    else
      --lgkmPending[row(entry.dst.first + i)];
}

/// With at most `count` instructions outstanding, those that complete in order
/// among themselves have at most their newest `count` outstanding; the others
/// are known to be complete only at zero.
template <typename InOrder, typename Release>
static bool waitFor(std::vector<InFlight> &queue, unsigned count,
                    InOrder inOrder, Release release) {
  if (queue.size() <= count)
    return false;
  size_t ordered = llvm::count_if(queue, inOrder);
  size_t done = count == 0        ? queue.size()
                : ordered > count ? ordered - count
                                  : 0;
  size_t kept = 0;
  for (InFlight &entry : queue) {
    if (count == 0 || (inOrder(entry) && done > 0)) {
      done -= count != 0;
      release(entry);
    } else {
      if (&queue[kept] != &entry)
        queue[kept] = std::move(entry);
      ++kept;
    }
  }
  queue.erase(queue.begin() + kept, queue.end());
  return true;
}

// FLAT instructions may return out of order with the others of both counters;
// scalar loads return in any order (ISA document, section "Manually Inserted
// Wait States", counters VM_CNT and LGKM_CNT).
bool Wave::waitVector(unsigned count) {
  return waitFor(
      vectorQueue, count, [](const InFlight &entry) { return !entry.flat; },
      [&](const InFlight &entry) { release(entry, /*vectorCounter=*/true); });
}

bool Wave::waitLgkm(unsigned count) {
  return waitFor(
      lgkmQueue, count, [](const InFlight &entry) { return entry.lds; },
      [&](const InFlight &entry) { release(entry, /*vectorCounter=*/false); });
}

static bool overlaps(const RegisterRange &a, const RegisterRange &b) {
  return a.vector == b.vector && a.first < b.first + b.count &&
         b.first < a.first + a.count;
}

const InFlight *Wave::findInFlight(const RegisterRange &range,
                                   bool byVectorLoad, bool byLdsLoad) const {
  bool pending = false;
  for (unsigned i = 0; i < range.count; ++i) {
    unsigned reg = range.first + i;
    pending |= range.vector ? vectorPending[row(reg)] || lgkmPending[row(reg)]
                            : scalarPending[reg] != 0;
  }
  if (!pending)
    return nullptr;
  for (const InFlight &entry : vectorQueue)
    if (overlaps(entry.dst, range) && !(byVectorLoad && !entry.flat))
      return &entry;
  for (const InFlight &entry : lgkmQueue)
    if (overlaps(entry.dst, range) && !(byLdsLoad && entry.lds))
      return &entry;
  return nullptr;
}

unsigned Wave::vectorLoadsInFlight() const {
  return llvm::count_if(vectorQueue, [](const InFlight &entry) {
    return entry.kind == InFlight::Load;
  });
}

void Wave::fail(int lane, const llvm::Twine &message) {
  if (state == State::Failed)
    return;
  state = State::Failed;
  const ExecutionContext &context = workgroup->context;
  const Instruction &inst = context.program[pc];
  std::string place = llvm::formatv(
      "kernel '{0}', workgroup ({1},{2},{3}), wave {4}", context.kernelName,
      workgroup->id[0], workgroup->id[1], workgroup->id[2], index);
  if (lane >= 0)
    place += llvm::formatv(", lane {0}", lane).str();
  int64_t at = int64_t(inst.offset) - int64_t(context.kernelOffset);
  std::string sign = at < 0 ? "-" : "+";
  error = place +
          llvm::formatv(", at {0}{1:x} '{2}': ", sign, at < 0 ? -at : at,
                        context.program.getText(pc))
              .str() +
          message.str();
}

std::string Wave::describeUndefined(unsigned reg, unsigned lane) const {
  const Origin &from = origins[row(reg)];
  std::string name = vectorName(reg);
  uint32_t bits = undefinedBits(reg, lane);
  if (from.instruction < 0)
    return name + ", which nothing has written";
  const ExecutionContext &context = workgroup->context;
  int64_t at = int64_t(context.program[from.instruction].offset) -
               int64_t(context.kernelOffset);
  return llvm::formatv(
      "{0} (uninitialised bits {1:x8}: '{2}' at +{3:x} read {4}, which nothing "
      "has "
      "written)",
      name, bits, context.program.getText(from.instruction), at,
      from.vector ? vectorName(from.reg) : scalarName(from.reg));
}
