//===- Assembler.h - Assembles gfx950 instructions in process ---*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GFX950_INSTRUCTION_TEST_ASSEMBLER_H
#define KIMIMLAGATE_TOOLS_GFX950_INSTRUCTION_TEST_ASSEMBLER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace kimi::tools {

struct AssemblyError {
  unsigned line = 0; // in the assembled text, from 1
  std::string message;
};

/// The machine code of `text`, which has one instruction or label a line.
/// `errors` is what the assembler complained about; the result is empty then.
std::vector<uint8_t> assemble(llvm::StringRef text,
                              std::vector<AssemblyError> &errors);

} // namespace kimi::tools

#endif // KIMIMLAGATE_TOOLS_GFX950_INSTRUCTION_TEST_ASSEMBLER_H
