//===- FoldOffsets.cpp - Operands of kernels as bare pointers -------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLaunches.h"
#include "KimiMlaGate/Conversion/Passes.h"
#include "KimiMlaGate/Transforms/LaunchEffects.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATEFOLDOFFSETS
#include "KimiMlaGate/Conversion/Passes.h.inc"
} // namespace kimi

using namespace mlir;
using namespace kimi;

namespace {

/// The type of a row-major buffer at any offset, at offset zero.
MemRefType withoutOffset(MemRefType type) {
  return MemRefType::get(type.getShape(), type.getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}

/// Whether `type` is row-major, static but for its offset.
bool isRowMajorAtAnyOffset(MemRefType type) {
  auto layout = dyn_cast<StridedLayoutAttr>(type.getLayout());
  if (!layout || !type.hasStaticShape())
    return false;
  auto strides = withoutOffset(type).getStridesAndOffset().first;
  return layout.getStrides() == ArrayRef<int64_t>(strides);
}

class FoldOffsetsPass
    : public kimi::impl::KimiMlaGateFoldOffsetsBase<FoldOffsetsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    KimiMlaGateFoldOffsetsBase::getDependentDialects(registry);
    registerLaunchMemoryEffects(registry);
  }
  void runOnOperation() override;

  void foldArguments(gpu::GPUFuncOp kernel);
  void foldOperands(gpu::LaunchFuncOp launch, LLVMTypeConverter &converter);
};

/// The accesses in a kernel are by index, and do not care about the layout.
void FoldOffsetsPass::foldArguments(gpu::GPUFuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType());
        type && isRowMajorAtAnyOffset(type))
      argument.setType(withoutOffset(type));
  kernel.setFunctionType(FunctionType::get(
      &getContext(),
      llvm::to_vector(ValueRange(kernel.getArguments())
                          .take_front(kernel.getFunctionType().getNumInputs())
                          .getTypes()),
      {}));
}

void FoldOffsetsPass::foldOperands(gpu::LaunchFuncOp launch,
                                   LLVMTypeConverter &converter) {
  ImplicitLocOpBuilder b(launch.getLoc(), launch);
  for (OpOperand &operand : launch.getKernelOperandsMutable()) {
    Value buffer = operand.get();
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type || !isRowMajorAtAnyOffset(type))
      continue;
    MemRefType target = withoutOffset(type);
    if (auto cast = buffer.getDefiningOp<memref::CastOp>();
        cast && cast.getSource().getType() == target) {
      operand.set(cast.getSource());
      continue;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(b, buffer);
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
    Value bytes = arith::MulIOp::create(
        b, metadata.getOffset(),
        arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8));
    Value address = arith::IndexCastOp::create(
        b, b.getI64Type(), arith::AddIOp::create(b, base, bytes));
    Value pointer = LLVM::IntToPtrOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext()), address);
    Value descriptor = MemRefDescriptor::fromStaticShape(
        b, b.getLoc(), converter, target, pointer);
    operand.set(
        UnrealizedConversionCastOp::create(b, target, descriptor).getResult(0));
  }
}

void FoldOffsetsPass::runOnOperation() {
  LLVMTypeConverter converter(&getContext());
  SmallVector<gpu::LaunchFuncOp> launches;
  getOperation().walk([&](gpu::LaunchFuncOp launch) {
    if (isFusedLaunch(launch))
      launches.push_back(launch);
  });
  // Fails before anything has changed.
  for (gpu::LaunchFuncOp launch : launches)
    for (Value operand : launch.getKernelOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType());
          type && type.getMemorySpace() && isRowMajorAtAnyOffset(type)) {
        launch.emitError() << "kimi-mla-gate-fold-offsets: an operand of type "
                           << type << " is in a memory space of its own";
        return signalPassFailure();
      }
  for (gpu::LaunchFuncOp launch : launches)
    foldOperands(launch, converter);
  getOperation().walk([&](gpu::GPUModuleOp module) {
    if (isFusedModule(module))
      module.walk([&](gpu::GPUFuncOp kernel) { foldArguments(kernel); });
  });
}

} // namespace
