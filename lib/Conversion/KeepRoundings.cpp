//===- KeepRoundings.cpp - Roundings to bf16 that nothing may fold --------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATEKEEPROUNDINGS
#include "KimiMlaGate/Conversion/Passes.h.inc"
} // namespace kimi

using namespace mlir;

namespace {

class KeepRoundingsPass
    : public kimi::impl::KimiMlaGateKeepRoundingsBase<KeepRoundingsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto round = dyn_cast<arith::TruncFOp>(op);
          round && getElementTypeOrSelf(round.getType()).isBF16())
        round.removeFastmathAttr();
      if (auto extend = dyn_cast<arith::ExtFOp>(op);
          extend && getElementTypeOrSelf(extend.getIn().getType()).isBF16())
        extend.removeFastmathAttr();
    });
  }
};

} // namespace
