//===- Metadata.h - The metadata note of a code object ----------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A msgpack value as a tree. llvm::msgpack::Document is made for notes that the
// compiler wrote and stops the process on some malformed ones; this reader
// gives an error.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_METADATA_H
#define KIMIMLAGATE_LIB_EMULATOR_METADATA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kimi::emulator {

struct MetadataNode {
  enum Kind : uint8_t { Other, Integer, String, Array, Map };

  /// Reads one value that fills `blob`.
  static llvm::Expected<MetadataNode> read(llvm::StringRef blob);

  /// The value of a string key of a map, or null.
  const MetadataNode *find(llvm::StringRef key) const;
  /// An integer key's value, limited to 32 bits; 0 if there is none.
  uint32_t getInteger(llvm::StringRef key) const;

  Kind kind = Other;
  uint32_t integer = 0; // limited to 0 to 2^32 - 1
  std::string string;
  std::vector<MetadataNode> elements; // of an array; values of a map
  std::vector<MetadataNode> keys;     // of a map
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_METADATA_H
