//===- FusedLaunches.cpp - Launches of fused gates ------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLaunches.h"
#include "KimiMlaGate/Transforms/Emit.h"

using namespace mlir;

bool kimi::isFusedModule(Operation *op) {
  return op->hasAttr(kernelDescriptionAttrName);
}

bool kimi::isFusedLaunch(gpu::LaunchFuncOp launch) {
  Operation *container = SymbolTable::lookupNearestSymbolFrom(
      launch, launch.getKernelModuleName());
  return container && isFusedModule(container);
}
