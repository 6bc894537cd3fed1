//===- Pipelines.h - Pass pipelines -----------------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_CONVERSION_PIPELINES_H
#define KIMIMLAGATE_CONVERSION_PIPELINES_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace kimi {

/// Options of `kimi-mla-gate-to-rocdl`.
struct KimiMlaGateToROCDLOptions
    : public mlir::PassPipelineOptions<KimiMlaGateToROCDLOptions> {
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What the gpu.binary holds: binary, isa or llvm"),
      llvm::cl::init("binary")};
  Option<std::string> dumpDir{
      *this, "dump-dir",
      llvm::cl::desc("Also write DIR/NAME.hsaco, DIR/NAME.s and DIR/NAME.json "
                     "for each kernel"),
      llvm::cl::init("")};
};

/// Options of `kimi-mla-gate-pipeline`. Those of `kimi-mla-gate-fuse` mean the
/// same as there.
struct KimiMlaGatePipelineOptions
    : public mlir::PassPipelineOptions<KimiMlaGatePipelineOptions> {
  using Layout = mlir::bufferization::LayoutMapOption;

  Option<bool> fuse{
      *this, "fuse",
      llvm::cl::desc("Fuse gates; without, everything runs on the host, each "
                     "operation rounded as written"),
      llvm::cl::init(true)};
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("The chip to emit kernels for"),
                           llvm::cl::init("gfx950")};
  ListOption<int64_t> tensorParallel{
      *this, "tensor-parallel",
      llvm::cl::desc("Degrees of tensor parallelism, out of 1, 2, 4 and 8")};
  Option<int64_t> maxBatch{*this, "max-batch",
                           llvm::cl::desc("The largest M, 1 to 16"),
                           llvm::cl::init(1)};
  Option<std::string> rounding{*this, "rounding",
                               llvm::cl::desc("ir or production"),
                               llvm::cl::init("ir")};
  Option<Layout> functionBoundaryLayout{
      *this, "function-boundary-layout",
      llvm::cl::desc("The layout of memrefs that functions take and return"),
      llvm::cl::init(Layout::IdentityLayoutMap),
      llvm::cl::values(
          clEnumValN(Layout::IdentityLayoutMap, "identity", "row-major"),
          clEnumValN(Layout::FullyDynamicLayoutMap, "dynamic",
                     "any strides and offset"))};
  Option<bool> hostMemory{
      *this, "host-memory",
      llvm::cl::desc("Buffers are the host's: register the operands of "
                     "launches with the device"),
      llvm::cl::init(true)};
  Option<std::string> dumpDir{
      *this, "dump-dir",
      llvm::cl::desc("Also write DIR/NAME.hsaco, DIR/NAME.s and DIR/NAME.json "
                     "for each kernel"),
      llvm::cl::init("")};
};

/// Kernels of fused gates to `gpu.binary`. Launches then take bare pointers:
/// `gpu-to-llvm{use-bare-pointers-for-kernels=true}` lowers them.
void buildKimiMlaGateToROCDLPipeline(mlir::OpPassManager &pm,
                                     const KimiMlaGateToROCDLOptions &options);

/// From linalg on tensors to LLVM dialect and `gpu.binary`, ready for
/// mlir-runner with a library of mgpu* entry points: fuses, bufferizes, frees
/// buffers, compiles the kernels and lowers the host code, bf16 arithmetic
/// included.
void buildKimiMlaGatePipeline(mlir::OpPassManager &pm,
                              const KimiMlaGatePipelineOptions &options);

/// Registers every pass and pipeline of this project.
void registerKimiMlaGatePasses();

} // namespace kimi

#endif // KIMIMLAGATE_CONVERSION_PIPELINES_H
