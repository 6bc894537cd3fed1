//===- KernelFiles.h - Files of a compiled kernel ---------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_CONVERSION_KERNELFILES_H
#define KIMIMLAGATE_LIB_CONVERSION_KERNELFILES_H

#include "KimiMlaGate/Conversion/CodeObject.h"

namespace kimi {

/// The description of a fused module's kernel as JSON, read from the module
/// before its kernel is lowered. `tools/kimi-gate-run/KernelDescription.h`
/// lists the keys. Reports an error at the module when it does not describe its
/// kernel.
mlir::FailureOr<std::string>
describeKernelAsJson(mlir::gpu::GPUModuleOp module,
                     mlir::ROCDL::ROCDLTargetAttr target);

/// A kernel as it is dumped.
struct KernelFiles {
  std::string name;
  CompiledKernels compiled;
  std::string json;
};

/// Writes NAME.s, NAME.hsaco and NAME.json of each kernel to `directory`, which
/// is made if it does not exist. Each file appears whole or not at all, and
/// none stays behind when another cannot be written. Errors are reported at
/// `loc`.
llvm::LogicalResult writeKernelFiles(mlir::Location loc,
                                     llvm::StringRef directory,
                                     llvm::ArrayRef<KernelFiles> kernels);

} // namespace kimi

#endif // KIMIMLAGATE_LIB_CONVERSION_KERNELFILES_H
