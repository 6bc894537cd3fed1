//===- FusedLaunches.h - Launches of fused gates ----------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_CONVERSION_FUSEDLAUNCHES_H
#define KIMIMLAGATE_LIB_CONVERSION_FUSEDLAUNCHES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kimi {

/// Whether `op` is a gpu.module that kimi-mla-gate-fuse made.
bool isFusedModule(mlir::Operation *op);

/// Whether `launch` launches a kernel of such a module, or of the gpu.binary
/// that it became.
bool isFusedLaunch(mlir::gpu::LaunchFuncOp launch);

} // namespace kimi

#endif // KIMIMLAGATE_LIB_CONVERSION_FUSEDLAUNCHES_H
