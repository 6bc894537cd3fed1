//===- CodeObject.h - From a ROCDL module to a code object ------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fifth step of the path of data: a gpu.module whose kernels are in the LLVM
// and ROCDL dialects becomes assembly and a code object, an ELF file as LLVM's
// AMDGPUUsage describes it ("Code Object").
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_CONVERSION_CODEOBJECT_H
#define KIMIMLAGATE_CONVERSION_CODEOBJECT_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace kimi {

struct CompiledKernels {
  /// AMDGPU assembly.
  std::string assembly;
  /// The linked ELF file.
  llvm::SmallVector<char, 0> codeObject;
};

/// Compiles `module` for `target`. Errors are reported at the module. May be
/// called from several threads; linking is serialised.
mlir::FailureOr<CompiledKernels>
compileKernels(mlir::gpu::GPUModuleOp module,
               mlir::ROCDL::ROCDLTargetAttr target);

} // namespace kimi

#endif // KIMIMLAGATE_CONVERSION_CODEOBJECT_H
