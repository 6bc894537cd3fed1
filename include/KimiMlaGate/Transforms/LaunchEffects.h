//===- LaunchEffects.h - Memory effects of gpu.launch_func ------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_LAUNCHEFFECTS_H
#define KIMIMLAGATE_TRANSFORMS_LAUNCHEFFECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kimi {

/// Tells MLIR that a gpu.launch_func may read and write any memory, and neither
/// allocates nor frees. Upstream's op does not say what it does, and ownership
/// based buffer deallocation refuses functions with such ops. The fusing pass
/// registers this by itself.
void registerLaunchMemoryEffects(mlir::DialectRegistry &registry);

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_LAUNCHEFFECTS_H
