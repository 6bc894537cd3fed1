//===- Executor.h - Runs waves, workgroups and launches ---------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a kernel over a grid. Waves of a workgroup take turns: each runs until
// a barrier or its end. What the kernel could observe of another order is a
// race, and races are errors.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_EXECUTOR_H
#define KIMIMLAGATE_EMULATOR_EXECUTOR_H

#include "KimiMlaGate/Emulator/CodeObject.h"
#include "KimiMlaGate/Emulator/Memory.h"
#include "KimiMlaGate/Emulator/Profile.h"
#include "KimiMlaGate/Emulator/WaveState.h"

#include <memory>
#include <vector>

namespace kimi::emulator {

/// How the instructions that the ISA specifies to 1 ULP only (v_exp_f32,
/// v_log_f32, v_rcp_f32, v_rsq_f32, v_sqrt_f32, v_sin_f32, v_cos_f32) round an
/// inexact result: correctly, or to the neighbour above or below that.
enum class Transcendental : uint8_t { Nearest, Up, Down };

/// Parses "nearest", "up" or "down".
llvm::Expected<Transcendental> parseTranscendental(llvm::StringRef text);

struct LaunchOptions {
  Transcendental transcendental = Transcendental::Nearest;
  /// Instructions that one wave may execute before it counts as stuck.
  uint64_t instructionBudget = uint64_t(1) << 32;
  /// Two waves that write different values to one byte of global memory, or a
  /// workgroup that reads what another one wrote, are errors.
  bool detectGlobalRaces = true;
  /// Missing wait states between dependent instructions are errors.
  bool detectHazards = true;
  /// Every executed instruction is printed here.
  llvm::raw_ostream *trace = nullptr;
};

/// What all workgroups of a launch share.
struct ExecutionContext {
  const Program &program;
  Memory &memory;
  LaunchOptions options;
  Profile profile;
  std::string kernelName;
  uint32_t kernelOffset = 0; // of the entry, in the program
  uint64_t programAddress = 0;
  uint64_t kernargBegin = 0;
  uint64_t kernargEnd = 0;
  bool d16Preserves = true;
};

/// LDS of one workgroup, with who touched each byte since the last barrier.
class LocalMemory {
public:
  struct Byte {
    uint8_t value = 0;
    bool initialized = false;
    uint16_t writer = 0; // wave + 1
    uint16_t reader = 0; // wave + 1, 0xffff: several
    uint32_t writeEpoch = 0;
    uint32_t readEpoch = 0;
    uint32_t writeInstruction = 0;
    uint32_t readInstruction = 0;
  };

  void reset(uint32_t size) { bytes.assign(size, Byte{}); }
  uint32_t size() const { return bytes.size(); }
  Byte &operator[](uint32_t address) { return bytes[address]; }
  const Byte &operator[](uint32_t address) const { return bytes[address]; }

private:
  std::vector<Byte> bytes;
};

class Workgroup {
public:
  explicit Workgroup(ExecutionContext &context) : context(context) {}

  ExecutionContext &context;
  uint32_t id[3] = {0, 0, 0};
  uint32_t linearId = 0;
  LocalMemory lds;
  std::vector<std::unique_ptr<Wave>> waves;

  /// Runs all waves to their end.
  llvm::Error run();

private:
  void step(Wave &wave);
};

struct Dispatch {
  uint32_t workgroups[3] = {1, 1, 1};
  uint32_t workgroupSize[3] = {1, 1, 1}; // work-items
  uint32_t dynamicLdsSize = 0;           // bytes
  /// The explicit arguments, laid out as the metadata says.
  llvm::ArrayRef<uint8_t> kernarg;
};

/// Runs a kernel to its end and returns what it did. On an error, memory may
/// have been written already.
llvm::Expected<Profile> launch(const CodeObject &codeObject, Memory &memory,
                               llvm::StringRef kernel, const Dispatch &dispatch,
                               const LaunchOptions &options);

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_EXECUTOR_H
