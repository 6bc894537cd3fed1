//===- Emit.cpp - Kernel and launch of a fused gate -----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/Emit.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kimi;

namespace {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// What the kernel takes for a row-major bf16 matrix. The offset is dynamic,
/// so that a view into a larger buffer needs no copy.
MemRefType operandType(MLIRContext *context, int64_t rows, int64_t columns) {
  return MemRefType::get(
      {rows, columns}, BFloat16Type::get(context),
      StridedLayoutAttr::get(context, ShapedType::kDynamic, {columns, 1}));
}

SmallVector<Type> operandTypes(MLIRContext *context, const KernelPlan &plan) {
  return {operandType(context, plan.m, plan.k),
          operandType(context, plan.n, plan.k),
          operandType(context, plan.m, plan.n),
          operandType(context, plan.m, plan.n)};
}

//===----------------------------------------------------------------------===//
// The kernel's body
//===----------------------------------------------------------------------===//

class KernelEmitter {
public:
  KernelEmitter(gpu::GPUFuncOp kernel, const KernelPlan &plan,
                const KernelEpilogue &epilogue)
      : plan(plan), epilogue(epilogue), b(kernel.getLoc(), kernel.getContext()),
        hidden(kernel.getArgument(0)), weight(kernel.getArgument(1)),
        attention(kernel.getArgument(2)), out(kernel.getArgument(3)),
        partials(kernel.getWorkgroupAttributions()[0]) {
    b.setInsertionPointToStart(&kernel.getBody().front());
  }

  void emit();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value f32(float value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  /// lhs * factor + rhs; no index of a kernel comes near overflow.
  Value multiplyAdd(Value lhs, int64_t factor, Value rhs);
  Value extend(Value bf16) {
    return arith::ExtFOp::create(b, b.getF32Type(), bf16);
  }
  Value round(Value f32) {
    return arith::TruncFOp::create(b, b.getBF16Type(), f32);
  }

  Value emitSigmoid(Value projection);
  Value emitExp(Value x);
  Value emitStableSigmoid(Value projection);
  Value emitSigmoidAsWritten(Value projection, bool roundSteps);
  Value sumPairwise(SmallVector<Value> values);

  const KernelPlan &plan;
  const KernelEpilogue &epilogue;
  ImplicitLocOpBuilder b;
  Value hidden, weight, attention, out, partials;
};

Value KernelEmitter::multiplyAdd(Value lhs, int64_t factor, Value rhs) {
  auto noWrap =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  Value product = arith::MulIOp::create(b, lhs, index(factor), noWrap);
  return arith::AddIOp::create(b, product, rhs, noWrap);
}

void KernelEmitter::emit() {
  int64_t rows = plan.rowsPerWorkgroup;
  int64_t outputs = plan.m * rows;
  auto vectorType = VectorType::get({plan.elementsPerLoad}, b.getBF16Type());
  auto wideType = VectorType::get({plan.elementsPerLoad}, b.getF32Type());
  Value zero = index(0);
  Value item = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value workgroup = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value firstRow = multiplyAdd(workgroup, rows, zero);

  // The output that a work-item finishes; those past the last one look at its
  // attention too, which costs less than a branch.
  Value output = arith::MinUIOp::create(b, item, index(outputs - 1));
  Value outputBatch = zero, outputRow = output;
  if (plan.m != 1) {
    outputBatch = arith::DivUIOp::create(b, output, index(rows));
    outputRow = arith::RemUIOp::create(b, output, index(rows));
  }
  Value outputColumn = arith::AddIOp::create(b, firstRow, outputRow);

  // Loads return in order: hidden first, then the rows in the order in which
  // they are used, so that row r is worked on while r + 1 is still in flight.
  SmallVector<Value> column;
  for (int64_t load = 0; load < plan.loadsPerRow; ++load)
    column.push_back(
        multiplyAdd(item, plan.elementsPerLoad,
                    index(load * plan.workgroupSize() * plan.elementsPerLoad)));
  SmallVector<SmallVector<Value>> hiddenLoads(plan.m), weightLoads(rows);
  auto loadHidden = [&](int64_t first) {
    for (int64_t i = first; i < std::min(first + plan.batchesPerPass, plan.m);
         ++i)
      for (Value k : column)
        hiddenLoads[i].push_back(vector::LoadOp::create(
            b, vectorType, hidden, ValueRange{index(i), k}));
  };
  loadHidden(0);
  for (int64_t row = 0; row < rows; ++row)
    for (Value k : column)
      weightLoads[row].push_back(vector::LoadOp::create(
          b, vectorType, weight,
          ValueRange{arith::AddIOp::create(b, firstRow, index(row)), k},
          plan.nonTemporalWeights));
  Value attentionValue = memref::LoadOp::create(
      b, attention, ValueRange{outputBatch, outputColumn});
  // The scheduler would sink loads to save registers; nothing may cross this.
  amdgpu::SchedBarrierOp::create(b, amdgpu::sched_barrier_opt_enum::none);

  // Each wave's sum of each output.
  SmallVector<Value> waveSums(outputs);
  Value wave = arith::DivUIOp::create(b, item, index(plan.subgroupSize));
  Value lane = arith::RemUIOp::create(b, item, index(plan.subgroupSize));
  auto emitWaveSum = [&](int64_t batch, int64_t row) {
    Value sum = f32(0.0f);
    for (auto [w, h] : llvm::zip(weightLoads[row], hiddenLoads[batch])) {
      Value wide[] = {arith::ExtFOp::create(b, wideType, w),
                      arith::ExtFOp::create(b, wideType, h)};
      for (int64_t i = 0; i < plan.elementsPerLoad; ++i)
        sum =
            math::FmaOp::create(b, vector::ExtractOp::create(b, wide[0], i),
                                vector::ExtractOp::create(b, wide[1], i), sum);
    }
    return gpu::SubgroupReduceOp::create(
        b, sum, gpu::AllReduceOperation::ADD, /*uniform=*/false,
        /*cluster_size=*/std::nullopt, /*cluster_stride=*/1);
  };
  for (int64_t first = 0; first < plan.m; first += plan.batchesPerPass) {
    if (first != 0) {
      amdgpu::SchedBarrierOp::create(b, amdgpu::sched_barrier_opt_enum::none);
      loadHidden(first);
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t batch = first;
           batch < std::min(first + plan.batchesPerPass, plan.m); ++batch)
        waveSums[batch * rows + row] = emitWaveSum(batch, row);
  }
  auto isFirstLane =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, zero);
  scf::IfOp::create(b, isFirstLane, [&](OpBuilder &nested, Location loc) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(nested.getBlock(), nested.getInsertionPoint());
    for (int64_t i = 0; i < outputs; ++i)
      memref::StoreOp::create(b, waveSums[i], partials,
                              ValueRange{wave, index(i)});
    scf::YieldOp::create(b);
  });
  gpu::BarrierOp::create(b);

  auto finishesOutput =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, item, index(outputs));
  scf::IfOp::create(b, finishesOutput, [&](OpBuilder &nested, Location loc) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(nested.getBlock(), nested.getInsertionPoint());
    SmallVector<Value> sums;
    for (int64_t i = 0; i < plan.wavesPerWorkgroup; ++i)
      sums.push_back(
          memref::LoadOp::create(b, partials, ValueRange{index(i), item}));
    Value projection = round(sumPairwise(sums));
    Value product = arith::MulFOp::create(b, extend(attentionValue),
                                          emitSigmoid(projection));
    memref::StoreOp::create(b, round(product), out,
                            ValueRange{outputBatch, outputColumn});
    scf::YieldOp::create(b);
  });
  gpu::ReturnOp::create(b);
}

Value KernelEmitter::sumPairwise(SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> sums;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      sums.push_back(arith::AddFOp::create(b, values[i], values[i + 1]));
    if (values.size() % 2)
      sums.push_back(values.back());
    values = std::move(sums);
  }
  return values.front();
}

/// The sigmoid as f32, rounded as the IR says.
Value KernelEmitter::emitSigmoid(Value projection) {
  if (epilogue.productionRounding)
    return extend(round(emitStableSigmoid(projection)));
  switch (epilogue.sigmoid) {
  case SigmoidArithmetic::F32:
    return extend(round(emitStableSigmoid(projection)));
  case SigmoidArithmetic::F32Unrounded:
    return emitSigmoidAsWritten(projection, /*roundSteps=*/false);
  case SigmoidArithmetic::BF16Steps:
    return emitSigmoidAsWritten(projection, /*roundSteps=*/true);
  }
  llvm_unreachable("unknown sigmoid arithmetic");
}

/// exp(x) from IEEE operations alone, so that every chip and the emulator give
/// the same bits: the bare exponential instructions have an error of one unit
/// in the last place and no public definition (AMD CDNA4 ISA, V_EXP_F32).
///
/// exp(x) = 2^n * exp(r) with n = round(x / ln 2), and exp(r) by its Taylor
/// series up to r^7, whose remainder is below 2^-27 for |r| <= ln(2) / 2.
/// Results below the normal range are rounded once. NaN stays NaN.
Value KernelEmitter::emitExp(Value x) {
  // exp(89) is infinite in f32, exp(-104) is less than half of what is not 0.
  auto clamp = [&](arith::CmpFPredicate predicate, float limit) {
    Value bound = f32(limit);
    x = arith::SelectOp::create(
        b, arith::CmpFOp::create(b, predicate, x, bound), bound, x);
  };
  clamp(arith::CmpFPredicate::OLT, -104.0f);
  clamp(arith::CmpFPredicate::OGT, 89.0f);

  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  Value magic = f32(12582912.0f);
  Value shifted = math::FmaOp::create(b, x, f32(1.44269504f), magic);
  Value n = arith::SubFOp::create(b, shifted, magic);
  Value r = math::FmaOp::create(b, n, f32(-0.693145752f), x);
  r = math::FmaOp::create(b, n, f32(-1.42860677e-6f), r);
  Value sum = f32(1.0f / 5040);
  for (float reciprocalFactorial :
       {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    sum = math::FmaOp::create(b, sum, r, f32(reciprocalFactorial));

  // 2^n in two factors, each in the normal range: n is -150 to 128.
  Type i32 = b.getI32Type();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  Value bits = arith::SubIOp::create(
      b, arith::BitcastOp::create(b, i32, shifted), constant(0x4b400000));
  Value half = arith::ShRSIOp::create(b, bits, constant(1));
  for (Value exponent :
       {half, arith::SubIOp::create(b, bits, half).getResult()}) {
    Value biased = arith::AddIOp::create(b, exponent, constant(127));
    Value power = arith::BitcastOp::create(
        b, b.getF32Type(), arith::ShLIOp::create(b, biased, constant(23)));
    sum = arith::MulFOp::create(b, sum, power);
  }
  return sum;
}

/// With e = exp(-|x|): 1 / (1 + e) for x >= 0, e / (1 + e) below. Neither
/// overflows, so the logits from -88.5 to -92, whose sigmoid is a bf16
/// subnormal, come out right where 1 / (1 + exp(-x)) gives zero. NaN compares
/// false, and e carries it.
Value KernelEmitter::emitStableSigmoid(Value projection) {
  Value x = extend(projection);
  Value one = f32(1.0f);
  Value magnitude = math::AbsFOp::create(b, x);
  Value e = emitExp(arith::NegFOp::create(b, magnitude));
  Value notNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, f32(0.0f));
  Value numerator = arith::SelectOp::create(b, notNegative, one, e);
  Value denominator = arith::AddFOp::create(b, e, one);
  return arith::DivFOp::create(b, numerator, denominator);
}

/// 1 / (1 + exp(-x)). A bf16 op is the f32 op on extended operands, rounded:
/// f32 has more than twice bf16's precision plus two bits, so the double
/// rounding of a sum or a quotient is harmless (Figueroa, "When is double
/// rounding innocuous?").
Value KernelEmitter::emitSigmoidAsWritten(Value projection, bool roundSteps) {
  auto step = [&](Value value) {
    return roundSteps ? extend(round(value)) : value;
  };
  Value one = f32(1.0f);
  Value e = step(emitExp(arith::NegFOp::create(b, extend(projection))));
  Value denominator = step(arith::AddFOp::create(b, e, one));
  return step(arith::DivFOp::create(b, one, denominator));
}

//===----------------------------------------------------------------------===//
// The kernel's module
//===----------------------------------------------------------------------===//

std::string kernelName(const KernelPlan &plan, const KernelEpilogue &epilogue) {
  return llvm::formatv(
      "kimi_mla_gate_m{0}_n{1}_k{2}_{3}", plan.m, plan.n, plan.k,
      epilogue.productionRounding
          ? std::string("production")
          : ("sigmoid_" + stringifySigmoidArithmetic(epilogue.sigmoid)).str());
}

DictionaryAttr describeKernel(Builder &b, const KernelPlan &plan,
                              const KernelEpilogue &epilogue) {
  auto sigmoid =
      epilogue.productionRounding ? SigmoidArithmetic::F32 : epilogue.sigmoid;
  return b.getDictionaryAttr({
      b.getNamedAttr("m", b.getI64IntegerAttr(plan.m)),
      b.getNamedAttr("n", b.getI64IntegerAttr(plan.n)),
      b.getNamedAttr("k", b.getI64IntegerAttr(plan.k)),
      b.getNamedAttr("arguments", b.getStrArrayAttr({"hidden", "weight",
                                                     "attention", "out"})),
      b.getNamedAttr(
          "rounding",
          b.getStringAttr(epilogue.productionRounding ? "production" : "ir")),
      b.getNamedAttr("sigmoid",
                     b.getStringAttr(stringifySigmoidArithmetic(sigmoid))),
      b.getNamedAttr("product", b.getStringAttr("bf16")),
  });
}

/// Lowers the wave reductions here rather than in the pipeline: the order in
/// which lanes are added is part of the kernel's contract, and stock passes
/// would reduce 32 lanes only.
LogicalResult lowerReductions(gpu::GPUFuncOp kernel, const ChipInfo &chip) {
  RewritePatternSet patterns(kernel.getContext());
  populateGpuLowerSubgroupReduceToDPPPatterns(patterns, chip.subgroupSize,
                                              chip.chipset);
  GreedyRewriteConfig config;
  config.enableFolding(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  if (failed(applyPatternsGreedily(kernel, std::move(patterns), config)))
    return failure();
  WalkResult left = kernel.walk(
      [](gpu::SubgroupReduceOp) { return WalkResult::interrupt(); });
  return failure(left.wasInterrupted());
}

} // namespace

FailureOr<EmittedKernel> kimi::getOrEmitKernel(ModuleOp module,
                                               SymbolTable &symbols,
                                               const ChipInfo &chip,
                                               const KernelPlan &plan,
                                               const KernelEpilogue &epilogue) {
  MLIRContext *context = module.getContext();
  std::string name = kernelName(plan, epilogue);
  // Kernels have no place in the source.
  ImplicitLocOpBuilder b(UnknownLoc::get(context), context);

  auto target =
      ROCDL::ROCDLTargetAttr::get(context, /*optLevel=*/3, "amdgcn-amd-amdhsa",
                                  chip.name, chip.targetFeatures);
  auto gpuModule = gpu::GPUModuleOp::create(b, name, b.getArrayAttr(target));
  OwningOpRef<gpu::GPUModuleOp> owner(gpuModule);
  gpuModule->setAttr(kernelDescriptionAttrName,
                     describeKernel(b, plan, epilogue));

  b.setInsertionPointToStart(gpuModule.getBody());
  auto partials = MemRefType::get(
      {plan.wavesPerWorkgroup, plan.m * plan.rowsPerWorkgroup}, b.getF32Type(),
      MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup));
  auto kernel = gpu::GPUFuncOp::create(
      b, name, b.getFunctionType(operandTypes(context, plan), {}),
      TypeRange{partials});
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr(
      {static_cast<int32_t>(plan.workgroupSize()), 1, 1}));
  kernel.setKnownGridSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(plan.workgroups), 1, 1}));
  KernelEmitter(kernel, plan, epilogue).emit();
  if (failed(lowerReductions(kernel, chip)))
    return failure();

  // An equal kernel that is there already serves: a second gate, or a second
  // run of the pass. Another symbol of that name makes ours step aside.
  for (auto existing : module.getOps<gpu::GPUModuleOp>()) {
    if (existing->getAttr(kernelDescriptionAttrName) !=
        gpuModule->getAttr(kernelDescriptionAttrName))
      continue;
    gpuModule.setName(existing.getName());
    if (OperationEquivalence::isEquivalentTo(
            existing, gpuModule, OperationEquivalence::IgnoreLocations))
      return EmittedKernel{existing.lookupSymbol<gpu::GPUFuncOp>(name),
                           /*isNew=*/false};
    gpuModule.setName(name);
  }
  symbols.insert(owner.release(), module.getBody()->end());
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  return EmittedKernel{kernel, /*isNew=*/true};
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

namespace {

/// `buffer` as the kernel takes it. Strides that its type does not say are
/// checked when the program runs.
Value createOperand(ImplicitLocOpBuilder &b, Value buffer, StringRef name,
                    MemRefType kernelType) {
  auto type = cast<MemRefType>(buffer.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(b, buffer);

  // Row-major without gaps; the stride of a dimension of one does not matter.
  Value contiguous;
  SmallVector<int64_t> known = type.getStridesAndOffset().first;
  int64_t stride = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    int64_t extent = type.getDimSize(i);
    if (extent == 1)
      continue;
    if (ShapedType::isDynamic(known[i])) {
      Value equal = arith::CmpIOp::create(
          b, arith::CmpIPredicate::eq, metadata.getStrides()[i],
          arith::ConstantIndexOp::create(b, stride));
      contiguous =
          contiguous ? arith::AndIOp::create(b, contiguous, equal) : equal;
    }
    stride *= extent;
  }
  if (contiguous)
    cf::AssertOp::create(
        b, contiguous,
        llvm::formatv("kimi-mla-gate: {0} is not contiguous", name).str());
  SmallVector<OpFoldResult> sizes, strides;
  for (int64_t extent : kernelType.getShape())
    sizes.push_back(b.getIndexAttr(extent));
  for (int64_t step : kernelType.getStridesAndOffset().first)
    strides.push_back(b.getIndexAttr(step));
  return memref::ReinterpretCastOp::create(
      b, kernelType, metadata.getBaseBuffer(),
      OpFoldResult(metadata.getOffset()), sizes, strides);
}

/// The buffer of `tensor`, of any layout. Asking bufferization for the kernel's
/// own layout would make it copy every buffer whose layout it cannot prove,
/// 22 MB of weight included.
Value createBuffer(ImplicitLocOpBuilder &b, Value tensor, bool readOnly) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> anyStride(type.getRank(), ShapedType::kDynamic);
  auto bufferType = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, anyStride));
  return bufferization::ToBufferOp::create(b, bufferType, tensor, readOnly);
}

/// The first byte of an operand of the kernel, and the one behind its last.
std::pair<Value, Value> createRange(ImplicitLocOpBuilder &b, Value operand) {
  auto type = cast<MemRefType>(operand.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, operand);
  Value begin = arith::AddIOp::create(
      b, memref::ExtractAlignedPointerAsIndexOp::create(b, operand),
      arith::MulIOp::create(b, metadata.getOffset(),
                            arith::ConstantIndexOp::create(b, bytes)));
  Value end = arith::AddIOp::create(
      b, begin,
      arith::ConstantIndexOp::create(b, bytes * type.getNumElements()));
  return {begin, end};
}

/// Stops the program if the destination overlaps `operand`; equal is allowed
/// for the attention.
void createOverlapCheck(ImplicitLocOpBuilder &b, Value operand,
                        Value destination, StringRef name, bool mayBeEqual) {
  auto [begin, end] = createRange(b, operand);
  auto [outBegin, outEnd] = createRange(b, destination);
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs,
                     Value rhs) -> Value {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  };
  Value fine =
      arith::OrIOp::create(b, compare(arith::CmpIPredicate::ule, end, outBegin),
                           compare(arith::CmpIPredicate::ule, outEnd, begin));
  if (mayBeEqual)
    fine = arith::OrIOp::create(
        b, fine, compare(arith::CmpIPredicate::eq, begin, outBegin));
  cf::AssertOp::create(
      b, fine,
      llvm::formatv("kimi-mla-gate: the destination overlaps {0}", name).str());
}

void createLaunchOp(ImplicitLocOpBuilder &b, const KernelPlan &plan,
                    gpu::GPUFuncOp kernel, ValueRange operands) {
  auto size = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value one = size(1);
  gpu::KernelDim3 workgroups{size(plan.workgroups), one, one};
  gpu::KernelDim3 workgroupSize{size(plan.workgroupSize()), one, one};
  gpu::LaunchFuncOp::create(b, kernel, workgroups, workgroupSize,
                            /*dynamicSharedMemorySize=*/Value(), operands);
}

} // namespace

Value kimi::createLaunch(OpBuilder &builder, const MlaGate &gate,
                         const KernelPlan &plan, gpu::GPUFuncOp kernel) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(gate.root);
  ImplicitLocOpBuilder b(gate.root->getLoc(), builder);
  auto types =
      llvm::map_to_vector(operandTypes(b.getContext(), plan),
                          [](Type type) { return cast<MemRefType>(type); });
  const char *names[] = {"hidden", "weight", "attention", "the destination"};

  if (gate.isOnBuffers()) {
    Value buffers[] = {gate.hidden, gate.weight, gate.attention,
                       gate.destination};
    SmallVector<Value> operands;
    for (auto [buffer, name, type] : llvm::zip(buffers, names, types))
      operands.push_back(createOperand(b, buffer, name, type));
    bool mayOverlap[] = {gate.destinationMayOverlapHidden,
                         gate.destinationMayOverlapWeight,
                         gate.destinationMayOverlapAttention};
    for (auto [i, overlaps] : llvm::enumerate(mayOverlap))
      if (overlaps)
        createOverlapCheck(b, operands[i], operands[3], names[i],
                           /*mayBeEqual=*/i == 2);
    createLaunchOp(b, plan, kernel, operands);
    return nullptr;
  }

  // A destination with contents, or one that somebody else may know, is asked
  // for first: bufferization then sees the inputs read after it was written,
  // and gives the kernel another buffer when they overlap.
  auto resultType = cast<RankedTensorType>(gate.result().getType());
  bool isNew =
      !gate.destination || gate.destination.getDefiningOp<tensor::EmptyOp>();
  Value resultBuffer, outOperand;
  if (!isNew) {
    resultBuffer = createBuffer(b, gate.destination, /*readOnly=*/false);
    outOperand = createOperand(b, resultBuffer, names[3], types[3]);
  }
  Value inputs[] = {gate.hidden, gate.weight, gate.attention};
  SmallVector<Value> operands;
  for (auto [tensor, name, type] : llvm::zip(inputs, names, types)) {
    // The kernel may overwrite the attention, element by element.
    if (!isNew && tensor == gate.attention &&
        gate.attention == gate.destination) {
      operands.push_back(outOperand);
      continue;
    }
    operands.push_back(createOperand(
        b, createBuffer(b, tensor, /*readOnly=*/true), name, type));
  }
  if (isNew) {
    // Not tensor.empty, of which CSE would make one for two gates. It is
    // row-major: asking for less would cost a copy where the result must be
    // row-major again.
    Value allocation =
        bufferization::AllocTensorOp::create(b, resultType, ValueRange());
    auto bufferType =
        MemRefType::get(resultType.getShape(), resultType.getElementType());
    resultBuffer = bufferization::ToBufferOp::create(b, bufferType, allocation,
                                                     /*read_only=*/false);
    outOperand = resultBuffer;
    if (bufferType.getShape() != types[3].getShape())
      outOperand = memref::ReinterpretCastOp::create(
          b, MemRefType::get(types[3].getShape(), types[3].getElementType()),
          outOperand, /*offset=*/0, types[3].getShape(),
          types[3].getStridesAndOffset().first);
    outOperand = memref::CastOp::create(b, types[3], outOperand);
  }
  operands.push_back(outOperand);
  createLaunchOp(b, plan, kernel, operands);
  Value result = bufferization::ToTensorOp::create(
      b, resultType, resultBuffer, /*restrict=*/true, /*writable=*/true);
  if (isNew)
    return result;
  // Says that the result is in the destination. Where bufferization agrees,
  // this copies a buffer to itself, which canonicalization erases.
  return linalg::CopyOp::create(b, result, gate.destination).getResult(0);
}
