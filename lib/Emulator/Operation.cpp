//===- Operation.cpp - The table of instructions --------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "llvm/ADT/StringMap.h"

using namespace kimi::emulator;

const Operation *kimi::emulator::findOperation(llvm::StringRef mnemonic) {
  static const llvm::StringMap<Operation> table = [] {
    llvm::StringMap<Operation> map;
    for (auto getPart : {getScalarOperations, getScalarMemoryOperations,
                         getControlOperations, getVectorFloatOperations,
                         getVectorIntegerOperations, getVectorConvertOperations,
                         getVectorCompareOperations, getVectorPackedOperations,
                         getTranscendentalOperations, getCrossLaneOperations,
                         getGlobalMemoryOperations, getLocalMemoryOperations})
      for (const Operation &operation : getPart())
        map[operation.name] = operation;
    return map;
  }();
  auto it = table.find(mnemonic);
  return it == table.end() ? nullptr : &it->second;
}
