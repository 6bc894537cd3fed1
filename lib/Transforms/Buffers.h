//===- Buffers.h - Small questions about buffers ----------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_TRANSFORMS_BUFFERS_H
#define KIMIMLAGATE_LIB_TRANSFORMS_BUFFERS_H

#include "mlir/IR/Value.h"

namespace kimi {

/// The buffer under all views of it. Ends in unreachable code too, where views
/// may be their own sources.
mlir::Value underlyingBuffer(mlir::Value buffer);

/// Whether `buffer` is the result of a memref.alloc or memref.alloca.
bool isLocalAllocation(mlir::Value buffer);

/// The buffer that a memref.copy, or a linalg op on buffers with one init,
/// writes; else null.
mlir::Value writtenBuffer(mlir::Operation *op);

} // namespace kimi

#endif // KIMIMLAGATE_LIB_TRANSFORMS_BUFFERS_H
