//===- FusePass.cpp - The pass that fuses MLA output gates ----------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "KimiMlaGate/Transforms/Chip.h"
#include "KimiMlaGate/Transforms/Contract.h"
#include "KimiMlaGate/Transforms/Emit.h"
#include "KimiMlaGate/Transforms/LaunchEffects.h"
#include "KimiMlaGate/Transforms/Match.h"
#include "KimiMlaGate/Transforms/Passes.h"
#include "KimiMlaGate/Transforms/Plan.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>
#include <vector>

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATEFUSE
#include "KimiMlaGate/Transforms/Passes.h.inc"
} // namespace kimi

using namespace mlir;
using namespace kimi;

namespace {

constexpr llvm::StringLiteral remarkCategory = "kimi-mla-gate-fuse";

remark::RemarkOpts remarkOptions(arith::MulFOp multiply, StringRef name) {
  StringRef function;
  if (auto parent = multiply->getParentOfType<FunctionOpInterface>())
    function = parent.getName();
  return remark::RemarkOpts::name(name)
      .category(remarkCategory)
      .function(function);
}

/// Bodies of named ops have no location of their own.
Location multiplyLocation(arith::MulFOp multiply) {
  Location loc = multiply.getLoc();
  return isa<UnknownLoc>(loc) ? multiply->getParentOp()->getLoc() : loc;
}

void remarkMissed(arith::MulFOp multiply, const MissedGate &missed) {
  remark::missed(multiplyLocation(multiply),
                 remarkOptions(multiply, "MlaGateNotFused"))
      << remark::reason("{0}: {1}", stringifyMissedReason(missed.reason),
                        missed.message);
}

void remarkFused(MlaGate &gate, const KernelPlan &plan, gpu::GPUFuncOp kernel) {
  remark::passed(multiplyLocation(gate.multiply),
                 remarkOptions(gate.multiply, "MlaGateFused"))
      << remark::add("MLA output gate fused into one kernel")
      << remark::metric("Kernel", kernel.getName())
      << remark::metric("M", plan.m) << remark::metric("N", plan.n)
      << remark::metric("K", plan.k)
      << remark::metric("Workgroups", plan.workgroups)
      << remark::metric("WorkgroupSize", plan.workgroupSize());
}

/// Tells most multiplies of a module from products of a gate by one look at
/// each op, in the order of a pre-order walk: whether a tensor depends on a
/// contraction, and on a quotient or hyperbolic tangent behind the last one.
class SigmoidFilter {
public:
  void visit(Operation *op) {
    if (op->getNumResults() != 0 &&
        isa<RankedTensorType>(op->getResult(0).getType()))
      dependences[op] = find(op);
  }
  /// `op` has been visited.
  bool mayDependOnSigmoid(Operation *op) const {
    return dependences.lookup(op) == (Contraction | Quotient);
  }

private:
  enum : uint8_t { Contraction = 1, Quotient = 2 };

  uint8_t find(Operation *op) const {
    uint8_t found = 0;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || !isa<RankedTensorType>(operand.getType()))
        continue;
      auto it = dependences.find(def);
      // Unreachable code and graph regions may use what comes later.
      found |= it == dependences.end() ? Contraction | Quotient : it->second;
    }
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      if (linalgOp.getNumReductionLoops() != 0)
        return Contraction;
      for (Operation &nested : *linalgOp.getBlock())
        if (isa<arith::DivFOp, math::TanhOp>(nested))
          found |= Quotient;
    } else if (isa<arith::DivFOp, math::TanhOp>(op)) {
      found |= Quotient;
    }
    return found;
  }

  llvm::DenseMap<Operation *, uint8_t> dependences;
};

class FusePass : public kimi::impl::KimiMlaGateFuseBase<FusePass> {
public:
  using KimiMlaGateFuseBase::KimiMlaGateFuseBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    KimiMlaGateFuseBase::getDependentDialects(registry);
    registerLaunchMemoryEffects(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult readOptions();
  void eraseChain(const MlaGate &gate);
  void eraseChainOnBuffers(const MlaGate &gate);

  const ChipInfo *chipInfo = nullptr;
  GateContract contract;
  bool productionRounding = false;
};

LogicalResult FusePass::readOptions() {
  Location loc = getOperation().getLoc();
  chipInfo = lookupChip(chip);
  if (!chipInfo)
    return emitError(loc) << "kimi-mla-gate-fuse: unknown chip '" << chip
                          << "'; known chips: " << listKnownChips();
  if (!tensorParallel.empty())
    contract.tensorParallel = llvm::to_vector(
        llvm::map_range(tensorParallel, [](int64_t value) { return value; }));
  for (int64_t value : contract.tensorParallel)
    if (value != 1 && value != 2 && value != 4 && value != 8)
      return emitError(loc) << "kimi-mla-gate-fuse: tensor-parallel is "
                            << value << "; it must be 1, 2, 4 or 8";
  if (maxBatch < 1 || maxBatch > GateContract::maxBatchLimit)
    return emitError(loc) << "kimi-mla-gate-fuse: max-batch is "
                          << maxBatch.getValue() << "; it must be 1 to "
                          << GateContract::maxBatchLimit;
  contract.maxBatch = maxBatch;
  if (rounding != "ir" && rounding != "production")
    return emitError(loc) << "kimi-mla-gate-fuse: rounding is '" << rounding
                          << "'; it must be 'ir' or 'production'";
  productionRounding = rounding == "production";
  return success();
}

/// Erases the ops of a gate whose result has been replaced, and what only they
/// used.
void FusePass::eraseChain(const MlaGate &gate) {
  if (gate.isOnBuffers())
    return eraseChainOnBuffers(gate);
  llvm::SetVector<Operation *> inputs;
  for (Operation *op : llvm::reverse(gate.chain)) {
    // Scalars that a body captures are inputs as well.
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && !op->isAncestor(def))
          inputs.insert(def);
    });
    inputs.remove(op);
    op->erase();
  }
  while (!inputs.empty()) {
    Operation *op = inputs.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        inputs.insert(def);
    inputs.remove(op);
    op->erase();
  }
}

/// The same for buffers: what a dead buffer holds is dead as well.
void FusePass::eraseChainOnBuffers(const MlaGate &gate) {
  // Buffers that the erased ops used.
  llvm::SetVector<Value> buffers;
  llvm::SmallSetVector<Operation *, 8> feeders(gate.feeders.begin(),
                                               gate.feeders.end());
  auto addBuffers = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Value buffer = underlyingBuffer(operand); isLocalAllocation(buffer))
        buffers.insert(buffer);
  };
  for (Operation *op : gate.chain) {
    addBuffers(op);
    op->erase();
  }

  // A buffer is dead when nobody but feeders writes to it, and nobody reads it.
  for (bool changed = true; changed;) {
    changed = false;
    for (Value buffer : llvm::to_vector(buffers)) {
      SmallVector<Operation *> users;
      SmallVector<Value> views = {buffer};
      bool isDead = true;
      while (!views.empty() && isDead)
        for (Operation *user : views.pop_back_val().getUsers()) {
          users.push_back(user);
          if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
            views.push_back(view.getViewDest());
            continue;
          }
          if (isa<memref::DeallocOp>(user))
            continue;
          // A feeder may write one buffer and read another.
          Value target = writtenBuffer(user);
          if (!feeders.contains(user) || !target ||
              underlyingBuffer(target) != buffer)
            isDead = false;
        }
      if (!isDead)
        continue;
      changed = true;
      buffers.remove(buffer);
      llvm::SmallSetVector<Operation *, 8> dead(users.begin(), users.end());
      for (Operation *user : llvm::reverse(dead.getArrayRef())) {
        if (feeders.remove(user))
          addBuffers(user);
        user->erase();
      }
      buffers.remove(buffer);
      buffer.getDefiningOp()->erase();
    }
  }
}

void FusePass::runOnOperation() {
  if (failed(readOptions()))
    return signalPassFailure();

  // Analysis first, so that no verdict depends on what was rewritten before.
  std::vector<std::pair<MlaGate, KernelPlan>> gates;
  SigmoidFilter filter;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    filter.visit(op);
    auto multiply = dyn_cast<arith::MulFOp>(op);
    if (!multiply)
      return;
    Operation *parent = isa<RankedTensorType>(multiply.getType())
                            ? op
                            : multiply->getParentOp();
    if (parent->getNumResults() != 0 && !filter.mayDependOnSigmoid(parent))
      return;
    MatchResult match = matchMlaGate(multiply);
    if (std::holds_alternative<NotAGate>(match))
      return;
    std::optional<MissedGate> missed;
    std::optional<KernelPlan> plan;
    if (auto *failure = std::get_if<MissedGate>(&match)) {
      missed = *failure;
    } else {
      const MlaGate &gate = std::get<MlaGate>(match);
      missed = checkContract(gate, contract);
      if (!missed) {
        plan = planKernel(*chipInfo, gate.m, gate.n, gate.k);
        if (!plan)
          missed = MissedGate{MissedReason::ShapeN,
                              "the shape cannot be spread over the chip"};
      }
    }
    if (missed) {
      ++numMissed;
      remarkMissed(multiply, *missed);
      return;
    }
    gates.push_back({std::get<MlaGate>(std::move(match)), *plan});
  });

  // Analyses stay valid, and nothing needs to be verified again.
  if (gates.empty())
    return markAllAnalysesPreserved();

  // A gate's operand can be the result of a gate that is replaced before it.
  DenseMap<Value, Value> replaced;
  llvm::MapVector<ModuleOp, std::unique_ptr<SymbolTable>> symbolTables;
  std::map<
      std::tuple<Operation *, int64_t, int64_t, int64_t, SigmoidArithmetic>,
      gpu::GPUFuncOp>
      kernels;
  OpBuilder builder(&getContext());
  for (auto &[gate, plan] : gates) {
    for (Value *value :
         {&gate.hidden, &gate.weight, &gate.attention, &gate.destination})
      if (Value current = replaced.lookup(*value))
        *value = current;
    auto module = gate.root->getParentOfType<ModuleOp>();
    std::unique_ptr<SymbolTable> &symbols = symbolTables[module];
    if (!symbols)
      symbols = std::make_unique<SymbolTable>(module);
    gpu::GPUFuncOp &kernel =
        kernels[{module, plan.m, plan.n, plan.k, gate.sigmoid}];
    if (!kernel) {
      FailureOr<EmittedKernel> emitted =
          getOrEmitKernel(module, *symbols, *chipInfo, plan,
                          {gate.sigmoid, productionRounding});
      if (failed(emitted)) {
        emitError(gate.root->getLoc())
            << "kimi-mla-gate-fuse: the kernel cannot be lowered for "
            << chipInfo->name;
        return signalPassFailure();
      }
      kernel = emitted->function;
      if (emitted->isNew)
        ++numKernels;
    }
    remarkFused(gate, plan, kernel);
    if (Value result = createLaunch(builder, gate, plan, kernel)) {
      replaced[gate.result()] = result;
      gate.result().replaceAllUsesWith(result);
    }
    eraseChain(gate);
    ++numFused;
  }
}

} // namespace
