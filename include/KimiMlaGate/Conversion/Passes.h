//===- Passes.h - Lowering passes -------------------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_CONVERSION_PASSES_H
#define KIMIMLAGATE_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
namespace arith {
class ArithDialect;
} // namespace arith
namespace cf {
class ControlFlowDialect;
} // namespace cf
namespace gpu {
class GPUDialect;
} // namespace gpu
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace memref {
class MemRefDialect;
} // namespace memref
namespace ROCDL {
class ROCDLDialect;
} // namespace ROCDL
} // namespace mlir

namespace kimi {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "KimiMlaGate/Conversion/Passes.h.inc"

} // namespace kimi

#endif // KIMIMLAGATE_CONVERSION_PASSES_H
