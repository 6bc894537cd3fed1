//===- CompileKernels.cpp - gpu.module to gpu.binary ----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLaunches.h"
#include "KernelFiles.h"
#include "KimiMlaGate/Conversion/CodeObject.h"
#include "KimiMlaGate/Conversion/Passes.h"
#include "KimiMlaGate/Transforms/Chip.h"
#include "KimiMlaGate/Transforms/Emit.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/ROCDL/Target.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

namespace kimi {
#define GEN_PASS_DEF_KIMIMLAGATECOMPILEKERNELS
#include "KimiMlaGate/Conversion/Passes.h.inc"
} // namespace kimi

using namespace mlir;
using namespace kimi;

namespace {

/// The stock lowering of a kernel, on its own module.
void buildKernelPipeline(OpPassManager &pm, StringRef chip) {
  pm.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = chip.str();
  options.useBarePtrCallConv = true;
  options.runtime = gpu::amd::Runtime::HIP;
  pm.addPass(createConvertGpuOpsToROCDLOps(options));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

class CompileKernelsPass
    : public kimi::impl::KimiMlaGateCompileKernelsBase<CompileKernelsPass> {
public:
  using KimiMlaGateCompileKernelsBase::KimiMlaGateCompileKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override;
  void runOnOperation() override;

private:
  /// Replaces `module` by a gpu.binary.
  FailureOr<KernelFiles> compile(gpu::GPUModuleOp module);
};

void CompileKernelsPass::getDependentDialects(DialectRegistry &registry) const {
  KimiMlaGateCompileKernelsBase::getDependentDialects(registry);
  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  buildKernelPipeline(pm, "gfx950");
  pm.getDependentDialects(registry);
  // What the conversion asks the kernel's dialects for.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  // What the translation asks them for.
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerROCDLDialectTranslation(registry);
  ROCDL::registerROCDLTargetInterfaceExternalModels(registry);
}

FailureOr<KernelFiles> CompileKernelsPass::compile(gpu::GPUModuleOp module) {
  ROCDL::ROCDLTargetAttr target;
  if (ArrayAttr targets = module.getTargetsAttr())
    for (Attribute attr : targets)
      if (auto rocdl = dyn_cast<ROCDL::ROCDLTargetAttr>(attr))
        target = rocdl;
  if (!target)
    return module.emitOpError() << "has no #rocdl.target to be compiled for";
  // LLVM would go on with a chip that it does not know.
  if (!lookupChip(target.getChip()))
    return module.emitOpError()
           << "is for an unknown chip '" << target.getChip()
           << "'; known chips: " << listKnownChips();
  FailureOr<std::string> json = describeKernelAsJson(module, target);
  if (failed(json))
    return failure();
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    for (Type type : kernel.getFunctionType().getInputs())
      if (auto buffer = dyn_cast<MemRefType>(type);
          buffer && !buffer.getLayout().isIdentity())
        return kernel.emitOpError() << "has an argument of type " << buffer
                                    << "; run kimi-mla-gate-fold-offsets first";

  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  buildKernelPipeline(pm, target.getChip());
  if (failed(runPipeline(pm, module)))
    return failure();

  FailureOr<CompiledKernels> compiled = compileKernels(module, target);
  if (failed(compiled))
    return failure();

  auto kind = llvm::StringSwitch<gpu::CompilationTarget>(format)
                  .Case("isa", gpu::CompilationTarget::Assembly)
                  .Case("llvm", gpu::CompilationTarget::Offload)
                  // With a table of the kernel's registers and LDS.
                  .Default(gpu::CompilationTarget::Fatbin);
  gpu::TargetOptions options({}, {}, {}, {}, kind);
  auto interface = cast<gpu::TargetAttrInterface>(Attribute(target));
  SmallVector<char, 0> contents;
  switch (kind) {
  case gpu::CompilationTarget::Assembly:
    contents.assign(compiled->assembly.begin(), compiled->assembly.end());
    break;
  case gpu::CompilationTarget::Offload:
    if (auto bitcode = interface.serializeToObject(module, options))
      contents = std::move(*bitcode);
    else
      return module.emitOpError() << "cannot be translated to LLVM IR";
    break;
  default:
    contents = compiled->codeObject;
  }
  Attribute object = interface.createObject(module, contents, options);
  if (!object)
    return module.emitOpError() << "cannot be made a GPU object";
  OpBuilder builder(module);
  auto binary = gpu::BinaryOp::create(
      builder, module.getLoc(), module.getName(),
      /*offloadingHandler=*/nullptr, ArrayRef<Attribute>{object});
  binary->setAttr(kernelDescriptionAttrName,
                  module->getAttr(kernelDescriptionAttrName));
  module.erase();
  ++numCompiled;
  return KernelFiles{binary.getName().str(), std::move(*compiled),
                     std::move(*json)};
}

void CompileKernelsPass::runOnOperation() {
  if (format != "binary" && format != "isa" && format != "llvm") {
    emitError(getOperation().getLoc())
        << "kimi-mla-gate-compile-kernels: format is '" << format
        << "'; it must be 'binary', 'isa' or 'llvm'";
    return signalPassFailure();
  }
  SmallVector<gpu::GPUModuleOp> modules;
  getOperation().walk([&](gpu::GPUModuleOp module) {
    if (isFusedModule(module))
      modules.push_back(module);
  });
  SmallVector<KernelFiles> kernels;
  for (gpu::GPUModuleOp module : modules) {
    FailureOr<KernelFiles> kernel = compile(module);
    if (failed(kernel))
      return signalPassFailure();
    kernels.push_back(std::move(*kernel));
  }
  if (!dumpDir.empty() && !kernels.empty() &&
      failed(writeKernelFiles(getOperation().getLoc(), dumpDir, kernels)))
    signalPassFailure();
}

} // namespace
