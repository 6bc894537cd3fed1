//===- Disassembler.h - LLVM's MC disassembler for gfx950 -------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_DISASSEMBLER_H
#define KIMIMLAGATE_LIB_EMULATOR_DISASSEMBLER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace kimi::emulator {

class Disassembler {
public:
  static llvm::Expected<std::unique_ptr<Disassembler>> create();
  ~Disassembler();

  /// The length of the instruction at the start of `bytes`, and its text as
  /// the assembler takes it; 0 if it is none.
  unsigned decode(llvm::ArrayRef<uint8_t> bytes, uint64_t address,
                  std::string &text);

private:
  Disassembler();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_DISASSEMBLER_H
