//===- LowerChecks.cpp - Layout checks to an error exit -------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATELOWERCHECKS
#include "KimiMlaGate/Conversion/Passes.h.inc"
} // namespace kimi

using namespace mlir;

namespace {

class LowerChecksPass
    : public kimi::impl::KimiMlaGateLowerChecksBase<LowerChecksPass> {
  void runOnOperation() override;
  LogicalResult lower(cf::AssertOp check, SymbolTable &symbols);

  /// One string for each message.
  llvm::StringMap<LLVM::GlobalOp> messages;
};

LogicalResult LowerChecksPass::lower(cf::AssertOp check, SymbolTable &symbols) {
  ModuleOp module = getOperation();
  ImplicitLocOpBuilder b(check.getLoc(), check);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto declare = [&](StringRef name, ArrayRef<Type> arguments,
                     Type result) -> FailureOr<LLVM::LLVMFuncOp> {
    Operation *other = symbols.lookup(name);
    if (other && !isa<LLVM::LLVMFuncOp>(other))
      return check.emitError()
             << "kimi-mla-gate-lower-checks: the program has "
                "a symbol '"
             << name << "' that is not the C library's function";
    return LLVM::lookupOrCreateFn(b, module, name, arguments, result);
  };
  FailureOr<LLVM::LLVMFuncOp> flush = declare("fflush", pointer, i32);
  FailureOr<LLVM::LLVMFuncOp> write =
      declare("write", {i32, pointer, i64}, i64);
  FailureOr<LLVM::LLVMFuncOp> exit = declare("_Exit", i32, none);
  if (failed(flush) || failed(write) || failed(exit))
    return failure();

  std::string text = (check.getMsg() + "\n").str();
  LLVM::GlobalOp &message = messages[text];
  if (!message) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    message = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal,
        "kimi_mla_gate_check_message", b.getStringAttr(text));
    symbols.insert(message);
  }

  Block *block = check->getBlock();
  Block *rest = block->splitBlock(check);
  Block *failed = b.createBlock(rest->getParent());
  b.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(b, check.getArg(), rest, failed);
  b.setInsertionPointToStart(failed);
  // What the program printed so far must not be lost.
  LLVM::CallOp::create(b, *flush, ValueRange{LLVM::ZeroOp::create(b, pointer)});
  auto constant = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
  };
  LLVM::CallOp::create(
      b, *write,
      ValueRange{constant(i32, /*stderr*/ 2),
                 LLVM::AddressOfOp::create(b, message),
                 constant(i64, static_cast<int64_t>(text.size()))});
  LLVM::CallOp::create(b, *exit, ValueRange{constant(i32, 1)});
  LLVM::UnreachableOp::create(b);
  check.erase();
  return success();
}

void LowerChecksPass::runOnOperation() {
  SmallVector<cf::AssertOp> checks;
  getOperation().walk([&](cf::AssertOp check) {
    if (check.getMsg().starts_with("kimi-mla-gate:"))
      checks.push_back(check);
  });
  messages.clear();
  SymbolTable symbols(getOperation());
  for (cf::AssertOp check : checks) {
    if (!check->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>()) {
      check.emitError() << "kimi-mla-gate-lower-checks: this check is in a "
                           "structured region; run convert-scf-to-cf first";
      return signalPassFailure();
    }
    if (failed(lower(check, symbols)))
      return signalPassFailure();
  }
}

} // namespace
