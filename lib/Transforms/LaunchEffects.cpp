//===- LaunchEffects.cpp - Memory effects of gpu.launch_func --------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/LaunchEffects.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace {

struct LaunchMemoryEffects
    : public MemoryEffectOpInterface::ExternalModel<LaunchMemoryEffects,
                                                    gpu::LaunchFuncOp> {
  void
  getEffects(Operation *op,
             SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    // Buffers by name, for those who ask about one; and everything, since a
    // kernel may hold pointers.
    for (OpOperand &operand :
         cast<gpu::LaunchFuncOp>(op).getKernelOperandsMutable())
      if (isa<BaseMemRefType>(operand.get().getType())) {
        effects.emplace_back(MemoryEffects::Read::get(), &operand);
        effects.emplace_back(MemoryEffects::Write::get(), &operand);
      }
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};

} // namespace

void kimi::registerLaunchMemoryEffects(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, gpu::GPUDialect *) {
    // Later versions of MLIR may say it themselves.
    OperationName launch(gpu::LaunchFuncOp::getOperationName(), context);
    if (!launch.hasInterface<MemoryEffectOpInterface>())
      gpu::LaunchFuncOp::attachInterface<LaunchMemoryEffects>(*context);
  });
}
