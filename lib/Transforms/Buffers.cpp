//===- Buffers.cpp - Small questions about buffers ------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "ElementTrace.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

Value kimi::underlyingBuffer(Value buffer) {
  for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
    auto view = buffer.getDefiningOp<ViewLikeOpInterface>();
    if (!view)
      break;
    buffer = view.getViewSource();
  }
  return buffer;
}

bool kimi::isLocalAllocation(Value buffer) {
  return isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(
      buffer.getDefiningOp());
}

Value kimi::writtenBuffer(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return copy.getTarget();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && linalgOp.getNumDpsInits() == 1)
    return linalgOp.getDpsInits()[0];
  return nullptr;
}
