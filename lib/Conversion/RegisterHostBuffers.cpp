//===- RegisterHostBuffers.cpp - Host buffers that a device may read ------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLaunches.h"
#include "KimiMlaGate/Conversion/Passes.h"
#include "KimiMlaGate/Transforms/LaunchEffects.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATEREGISTERHOSTBUFFERS
#include "KimiMlaGate/Conversion/Passes.h.inc"
} // namespace kimi

using namespace mlir;
using namespace kimi;

namespace {

class RegisterHostBuffersPass
    : public kimi::impl::KimiMlaGateRegisterHostBuffersBase<
          RegisterHostBuffersPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    KimiMlaGateRegisterHostBuffersBase::getDependentDialects(registry);
    registerLaunchMemoryEffects(registry);
  }
  void runOnOperation() override {
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      if (!isFusedLaunch(launch))
        return;
      OpBuilder builder(launch);
      Location loc = launch.getLoc();
      SmallVector<Value> registered;
      for (Value operand : launch.getKernelOperands()) {
        auto type = dyn_cast<MemRefType>(operand.getType());
        if (!type)
          continue;
        auto anyRank = UnrankedMemRefType::get(type.getElementType(),
                                               type.getMemorySpace());
        Value buffer = memref::CastOp::create(builder, loc, anyRank, operand);
        gpu::HostRegisterOp::create(builder, loc, buffer);
        registered.push_back(buffer);
      }
      builder.setInsertionPointAfter(launch);
      for (Value buffer : registered)
        gpu::HostUnregisterOp::create(builder, loc, buffer);
      numRegistered += registered.size();
    });
  }
};

} // namespace
