//===- Operation.cpp - The table of instructions --------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "KimiMlaGate/Emulator/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace kimi::emulator;

static const llvm::StringMap<Operation> &operationTable() {
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
  return table;
}

const Operation *kimi::emulator::findOperation(llvm::StringRef mnemonic) {
  auto it = operationTable().find(mnemonic);
  return it == operationTable().end() ? nullptr : &it->second;
}

std::vector<llvm::StringRef> kimi::emulator::getKnownInstructions() {
  std::vector<llvm::StringRef> names;
  for (const auto &entry : operationTable())
    names.push_back(entry.first());
  llvm::sort(names);
  return names;
}
