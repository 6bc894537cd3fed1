//===- Emit.h - Kernel and launch of a fused gate ---------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fourth step of the path of data: a plan and a gate's epilogue become a
// gpu.func in upstream dialects; the gate becomes its launch.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TRANSFORMS_EMIT_H
#define KIMIMLAGATE_TRANSFORMS_EMIT_H

#include "KimiMlaGate/Transforms/Match.h"
#include "KimiMlaGate/Transforms/Plan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"

namespace kimi {

/// What a kernel computes behind the projection.
struct KernelEpilogue {
  SigmoidArithmetic sigmoid;
  /// Whether the roundings are PyTorch's rather than the IR's.
  bool productionRounding = false;
};

/// The discardable attribute of a gpu.module that describes its kernel:
/// {m, n, k, arguments, rounding, sigmoid, product}. Tools that run a kernel
/// read it from the dumped JSON.
constexpr llvm::StringLiteral kernelDescriptionAttrName =
    "kimi_mla_gate.kernel";

struct EmittedKernel {
  mlir::gpu::GPUFuncOp function;
  /// False when an equal kernel was there already.
  bool isNew;
};

/// Returns the kernel for `plan` and `epilogue`: the one in `module` if an
/// equal one exists, else a new gpu.module at the module's end. Its arguments
/// are hidden [M,K], weight [N,K], attention [M,N] and out [M,N], row-major
/// bf16 buffers at any offset; out may be attention. Fails when the kernel
/// cannot be lowered for the chip.
mlir::FailureOr<EmittedKernel> getOrEmitKernel(mlir::ModuleOp module,
                                               mlir::SymbolTable &symbols,
                                               const ChipInfo &chip,
                                               const KernelPlan &plan,
                                               const KernelEpilogue &epilogue);

/// Creates the launch of `kernel` in front of `gate.root`. Returns the tensor
/// that replaces the gate's result, or null for a gate on buffers. A buffer
/// that turns out at run time not to be contiguous, or a destination that
/// overlaps an input, stops the program with a message.
mlir::Value createLaunch(mlir::OpBuilder &builder, const MlaGate &gate,
                         const KernelPlan &plan, mlir::gpu::GPUFuncOp kernel);

} // namespace kimi

#endif // KIMIMLAGATE_TRANSFORMS_EMIT_H
