//===- Pipelines.cpp - Pass pipelines -------------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Conversion/Pipelines.h"
#include "KimiMlaGate/Conversion/Passes.h"
#include "KimiMlaGate/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kimi;

void kimi::buildKimiMlaGateToROCDLPipeline(
    OpPassManager &pm, const KimiMlaGateToROCDLOptions &options) {
  pm.addPass(createKimiMlaGateFoldOffsets());
  KimiMlaGateCompileKernelsOptions compile;
  compile.format = options.format;
  compile.dumpDir = options.dumpDir;
  pm.addPass(createKimiMlaGateCompileKernels(compile));
}

/// bf16 arithmetic as f32 arithmetic and integer operations, one rounding for
/// each operation. The processor's own conversions would flush denormals.
static void addBF16Emulation(OpPassManager &pm) {
  math::MathExtendToSupportedTypesOptions extend;
  extend.extraTypeStrs = {};
  extend.targetTypeStr = "f32";
  pm.addPass(math::createMathExtendToSupportedTypes(extend));
  pm.addPass(createKimiMlaGateKeepRoundings());
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(createKimiMlaGateKeepRoundings());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
}

void kimi::buildKimiMlaGatePipeline(OpPassManager &pm,
                                    const KimiMlaGatePipelineOptions &options) {
  if (options.fuse) {
    KimiMlaGateFuseOptions fuse;
    fuse.chip = options.chip;
    fuse.tensorParallel.assign(options.tensorParallel.begin(),
                               options.tensorParallel.end());
    fuse.maxBatch = options.maxBatch;
    fuse.rounding = options.rounding;
    pm.addPass(createKimiMlaGateFuse(fuse));
  }

  // Tensors to buffers.
  pm.addPass(createConvertElementwiseToLinalgPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  // A loop may yield a value that it does not compute in place.
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.functionBoundaryTypeConversion = options.functionBoundaryLayout;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());

  // Kernels, before host lowering would touch them.
  if (options.hostMemory)
    pm.addPass(createKimiMlaGateRegisterHostBuffers());
  KimiMlaGateToROCDLOptions toROCDL;
  toROCDL.dumpDir = options.dumpDir.getValue();
  buildKimiMlaGateToROCDLPipeline(pm, toROCDL);

  // The host.
  pm.addNestedPass<func::FuncOp>(createGpuAsyncRegionPass());
  pm.addPass(createConvertLinalgToLoopsPass());
  addBF16Emulation(pm);
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createKimiMlaGateLowerChecks());
  GpuToLLVMConversionPassOptions gpuToLLVM;
  gpuToLLVM.kernelBarePtrCallConv = true;
  pm.addPass(createGpuToLLVMConversionPass(gpuToLLVM));
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void kimi::registerKimiMlaGatePasses() {
  registerKimiMlaGateTransformsPasses();
  registerKimiMlaGateConversionPasses();
  PassPipelineRegistration<KimiMlaGateToROCDLOptions>(
      "kimi-mla-gate-to-rocdl",
      "Compiles the kernels of fused gates to gpu.binary for their chip",
      buildKimiMlaGateToROCDLPipeline);
  PassPipelineRegistration<KimiMlaGatePipelineOptions>(
      "kimi-mla-gate-pipeline",
      "Fuses gates and lowers kernels and host code, ready for mlir-runner",
      buildKimiMlaGatePipeline);
}
