//===- Memory.cpp - Global memory of the emulated device ------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Memory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace kimi::emulator;

uint64_t Memory::Range::firstUninitialized(uint64_t address,
                                           uint64_t bytes) const {
  if (initialized.empty())
    return bytes;
  auto first = initialized.begin() + (address - begin);
  return std::find(first, first + bytes, uint8_t(0)) - first;
}

void Memory::Range::setInitialized(uint64_t address, uint64_t bytes) {
  if (!initialized.empty())
    std::fill_n(initialized.begin() + (address - begin), bytes, uint8_t(1));
}

Memory::WriterPage &Memory::Range::writerPage(uint64_t address) {
  std::unique_ptr<WriterPage> &page = writers[address / PageSize];
  if (!page)
    page = std::make_unique<WriterPage>(WriterPage{});
  return *page;
}

const Memory::WriterPage *
Memory::Range::findWriterPage(uint64_t address) const {
  auto it = writers.find(address / PageSize);
  return it == writers.end() ? nullptr : it->second.get();
}

llvm::Error Memory::map(void *host, size_t bytes, unsigned flags,
                        std::string name) {
  uint64_t begin = reinterpret_cast<uintptr_t>(host);
  if (bytes == 0 || begin == 0 || begin + bytes < begin)
    return llvm::createStringError(
        llvm::formatv("cannot map {0} bytes at {1:x}", bytes, begin));
  auto next = ranges.lower_bound(begin);
  const Range *overlap = nullptr;
  if (next != ranges.end() && next->first < begin + bytes)
    overlap = &next->second;
  if (next != ranges.begin() && std::prev(next)->second.end > begin)
    overlap = &std::prev(next)->second;
  if (overlap)
    return llvm::createStringError(
        llvm::formatv("cannot map {0} bytes at {1:x}: they overlap {2}", bytes,
                      begin, describe(*overlap)));
  Range &range = ranges[begin];
  range.begin = begin;
  range.end = begin + bytes;
  range.readOnly = flags & ReadOnly;
  range.padded = flags & Padded;
  range.name = std::move(name);
  if (!(flags & Initialized))
    range.initialized.assign(bytes, 0);
  return llvm::Error::success();
}

llvm::Error Memory::unmap(const void *host) {
  uint64_t begin = reinterpret_cast<uintptr_t>(host);
  if (!ranges.erase(begin))
    return llvm::createStringError(
        llvm::formatv("no mapping starts at {0:x}", begin));
  return llvm::Error::success();
}

llvm::Error Memory::markInitialized(const void *host, size_t bytes) {
  if (llvm::Error error = checkRange(host, bytes))
    return error;
  uint64_t address = reinterpret_cast<uintptr_t>(host);
  if (bytes)
    find(address, bytes)->setInitialized(address, bytes);
  return llvm::Error::success();
}

llvm::Error Memory::checkRange(const void *host, size_t bytes) const {
  uint64_t address = reinterpret_cast<uintptr_t>(host);
  if (bytes == 0 || find(address, bytes))
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("{0} bytes at {1:x} lie outside all mapped memory{2}",
                    bytes, address, describeNearest(address, bytes)));
}

const Memory::Range *Memory::find(uint64_t address, uint64_t bytes) const {
  auto it = ranges.upper_bound(address);
  if (it == ranges.begin())
    return nullptr;
  const Range &range = std::prev(it)->second;
  return range.contains(address, bytes) ? &range : nullptr;
}

Memory::Range *Memory::find(uint64_t address, uint64_t bytes) {
  return const_cast<Range *>(
      static_cast<const Memory *>(this)->find(address, bytes));
}

std::string Memory::describe(const Range &range) {
  std::string name = range.name.empty() ? std::string("buffer")
                                        : "buffer '" + range.name + "'";
  return llvm::formatv("{0} of {1} bytes at {2:x}", name,
                       range.end - range.begin, range.begin);
}

std::string Memory::describeNearest(uint64_t address, uint64_t bytes) const {
  const Range *nearest = nullptr;
  uint64_t distance = 0;
  std::string where;
  for (const auto &[begin, range] : ranges) {
    uint64_t gap;
    std::string text;
    if (address < range.begin) {
      gap = range.begin - address;
      text = llvm::formatv("starts {0} bytes before", gap);
    } else if (address < range.end) {
      gap = 0;
      text = llvm::formatv("runs {0} bytes past the end of",
                           address + bytes - range.end);
    } else {
      gap = address - range.end;
      text = llvm::formatv("starts {0} bytes past the end of", gap);
    }
    if (!nearest || gap < distance) {
      nearest = &range;
      distance = gap;
      where = std::move(text);
    }
  }
  if (!nearest)
    return "; nothing is mapped";
  return "; the access " + where + " " + describe(*nearest);
}

void Memory::beginLaunch() {
  for (auto &[begin, range] : ranges)
    range.writers.clear();
}
