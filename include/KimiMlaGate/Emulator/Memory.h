//===- Memory.h - Global memory of the emulated device ----------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulated device shares the address space of this process: a kernel sees
// host addresses, and may touch only the ranges mapped here. The memory stays
// the caller's. All sizes are in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_MEMORY_H
#define KIMIMLAGATE_EMULATOR_MEMORY_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kimi::emulator {

class Memory {
public:
  enum Flags : unsigned {
    /// Every byte holds a value already.
    Initialized = 1,
    /// A store by a kernel is an error.
    ReadOnly = 2,
    /// Reading a byte that nobody wrote gives an undefined value instead of an
    /// error: padding of the kernel argument segment, which wide scalar loads
    /// may cover.
    Padded = 4,
  };

  /// Who wrote the bytes of one page during the current launch; 0 is nobody.
  static constexpr uint64_t PageSize = 4096;
  using WriterPage = std::array<uint32_t, PageSize>;

  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool readOnly = false;
    bool padded = false;
    std::string name;
    /// One flag for each byte; empty when every byte holds a value.
    std::vector<uint8_t> initialized;
    llvm::DenseMap<uint64_t, std::unique_ptr<WriterPage>> writers;

    bool contains(uint64_t address, uint64_t bytes) const {
      return address >= begin && bytes <= end - begin &&
             address - begin <= end - begin - bytes;
    }
    /// The first byte in [address, address+bytes) that holds no value, or
    /// `bytes`. The range must contain them.
    uint64_t firstUninitialized(uint64_t address, uint64_t bytes) const;
    void setInitialized(uint64_t address, uint64_t bytes);
    /// The page's writers, created on demand.
    WriterPage &writerPage(uint64_t address);
    const WriterPage *findWriterPage(uint64_t address) const;
  };

  /// Lets kernels access [host, host+bytes). `name` is what errors call the
  /// buffer. Overlap with an existing mapping, and a size of zero, are errors.
  llvm::Error map(void *host, size_t bytes, unsigned flags,
                  std::string name = {});
  /// `host` must be the start of a mapping.
  llvm::Error unmap(const void *host);
  /// The range must lie inside one mapping.
  llvm::Error markInitialized(const void *host, size_t bytes);
  llvm::Error checkRange(const void *host, size_t bytes) const;

  /// The mapping that holds all of the bytes, or null.
  Range *find(uint64_t address, uint64_t bytes);
  const Range *find(uint64_t address, uint64_t bytes) const;

  /// Says where the bytes lie with respect to the nearest mapping.
  std::string describeNearest(uint64_t address, uint64_t bytes) const;
  /// What errors call a mapping.
  static std::string describe(const Range &range);

  /// Forgets which waves wrote what.
  void beginLaunch();

private:
  std::map<uint64_t, Range> ranges;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_MEMORY_H
