//===- Match.cpp - Recognising an MLA output gate -------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Transforms/Match.h"
#include "Buffers.h"
#include "ElementTrace.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/RegionKindInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kimi;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef kimi::stringifySigmoidArithmetic(SigmoidArithmetic arithmetic) {
  switch (arithmetic) {
  case SigmoidArithmetic::F32:
    return "f32";
  case SigmoidArithmetic::BF16Steps:
    return "bf16";
  }
  llvm_unreachable("unknown sigmoid arithmetic");
}

StringRef kimi::stringifyMissedReason(MissedReason reason) {
  switch (reason) {
  case MissedReason::AccumulatorInit:
    return "accumulator-init";
  case MissedReason::AccumulatorType:
    return "accumulator-type";
  case MissedReason::AttentionLayout:
    return "attention-layout";
  case MissedReason::ContractionBody:
    return "contraction-body";
  case MissedReason::DestinationAlias:
    return "destination-alias";
  case MissedReason::DestinationLayout:
    return "destination-layout";
  case MissedReason::DynamicShape:
    return "dynamic-shape";
  case MissedReason::ElementType:
    return "element-type";
  case MissedReason::ExtraArithmetic:
    return "extra-arithmetic";
  case MissedReason::ExtraUse:
    return "extra-use";
  case MissedReason::GateIndexing:
    return "gate-indexing";
  case MissedReason::HiddenLayout:
    return "hidden-layout";
  case MissedReason::InputOverwritten:
    return "input-overwritten";
  case MissedReason::Placement:
    return "placement";
  case MissedReason::ProductPrecision:
    return "product-precision";
  case MissedReason::ProjectionRounding:
    return "projection-rounding";
  case MissedReason::ShapeK:
    return "shape-k";
  case MissedReason::ShapeM:
    return "shape-m";
  case MissedReason::ShapeN:
    return "shape-n";
  case MissedReason::SigmoidForm:
    return "sigmoid-form";
  case MissedReason::WeightLayout:
    return "weight-layout";
  }
  llvm_unreachable("unknown reason");
}

void MlaGate::print(raw_ostream &os) const {
  os << "mla-gate m=" << m << " n=" << n << " k=" << k
     << " sigmoid=" << stringifySigmoidArithmetic(sigmoid) << " hidden=<"
     << hidden.getType() << "> weight=<" << weight.getType() << "> attention=<"
     << attention.getType() << "> ops=" << chain.size();
}

//===----------------------------------------------------------------------===//
// Small predicates on scalars
//===----------------------------------------------------------------------===//

namespace {

bool isConstant(const Scalar &scalar, double value) {
  const APFloat *constant = scalar.constant();
  return constant && constant->isExactlyValue(value);
}

/// Rounding to nearest even: what the kernel's own truncation does.
bool roundsToNearestEven(arith::TruncFOp truncation) {
  std::optional<arith::RoundingMode> mode = truncation.getRoundingmode();
  return !mode || *mode == arith::RoundingMode::to_nearest_even;
}

std::string describe(Operation *op) {
  return ("'" + op->getName().getStringRef() + "'").str();
}

template <typename... Args>
MissedGate missed(MissedReason reason, const char *format, Args &&...args) {
  return {reason, llvm::formatv(format, std::forward<Args>(args)...).str()};
}

/// A float op with at most one operand that is not a constant.
std::optional<Scalar> stripStep(ElementTrace &trace, const Scalar &scalar) {
  std::optional<Scalar> variable;
  for (unsigned i = 0, e = scalar.numOperands(); i < e; ++i) {
    Scalar operand = trace.resolve(trace.operand(scalar, i));
    if (operand.constant())
      continue;
    if (variable)
      return std::nullopt;
    variable = operand;
  }
  return variable;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Bounds on how far the search for "something like a sigmoid" goes. Real
/// sigmoids need six nodes; the rest is room for near misses that deserve a
/// remark.
constexpr unsigned maxStrippedSteps = 12;
constexpr unsigned maxSearchedNodes = 32;

/// Whether `scalar` depends on a contraction, through arithmetic on at most
/// maxSearchedNodes values. `sawExp` says whether an exponential was passed.
bool dependsOnContraction(ElementTrace &trace, const Scalar &start, bool sawExp,
                          unsigned &budget) {
  if (budget == 0)
    return false;
  --budget;
  Scalar scalar = trace.resolve(start);
  if (scalar.isContraction())
    return sawExp;
  Operation *op = scalar.op();
  if (!op)
    return false;
  sawExp |= isa<math::ExpOp, math::Exp2Op, math::TanhOp>(op);
  for (unsigned i = 0, e = scalar.numOperands(); i < e; ++i)
    if (dependsOnContraction(trace, trace.operand(scalar, i), sawExp, budget))
      return true;
  return false;
}

/// Whether `start` is a quotient with an exponential of a contraction in it,
/// or a hyperbolic tangent of one, under nothing but arithmetic with
/// constants.
bool isLikeSigmoid(ElementTrace &trace, const Scalar &start) {
  std::optional<Scalar> scalar = trace.resolve(start);
  for (unsigned step = 0; scalar && step < maxStrippedSteps; ++step) {
    Operation *op = scalar->op();
    if (!op)
      return false;
    unsigned budget = maxSearchedNodes;
    if (isa<arith::DivFOp>(op))
      return dependsOnContraction(trace, trace.operand(*scalar, 1),
                                  /*sawExp=*/false, budget);
    if (isa<math::TanhOp>(op))
      return dependsOnContraction(trace, *scalar, /*sawExp=*/false, budget);
    scalar = stripStep(trace, *scalar);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The matcher
//===----------------------------------------------------------------------===//

class GateMatcher {
public:
  GateMatcher(arith::MulFOp multiply) : multiply(multiply) {}

  MatchResult match();

private:
  using Failure = std::optional<MissedGate>;

  Failure matchProduct();
  Failure matchSigmoid(Scalar scalar);
  Failure matchProjection(Scalar scalar);
  Failure matchContraction(const Scalar &contraction);
  Failure matchContractionBody(const Scalar &contraction, Scalar &lhs,
                               Scalar &rhs);
  Failure matchFactors(const Scalar &contraction, Scalar lhs, Scalar rhs);
  Failure matchAttention(const Scalar &attention);
  Failure checkUses();
  Failure checkBuffers();

  arith::MulFOp multiply;
  ElementTrace trace;
  MlaGate gate;
  /// The side of the product that is like a sigmoid, and the other one.
  Scalar sigmoidSide, attentionSide;
  /// The ops in front of which the buffers of hidden and of the weight are
  /// read.
  Operation *hiddenRead = nullptr, *weightRead = nullptr;
  /// Ops from the root to the contraction.
  llvm::SmallSetVector<Operation *, 8> chain;

  llvm::DenseMap<Operation *, bool> leadsToContraction;

  bool collectChain(Operation *op);
};

MatchResult GateMatcher::match() {
  // The op on tensors that the multiply is, or is in the body of.
  Operation *root = multiply;
  if (!isa<RankedTensorType>(multiply.getType())) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(multiply->getParentOp());
    if (!linalgOp ||
        (!linalgOp.hasPureTensorSemantics() &&
         !linalgOp.hasPureBufferSemantics()) ||
        linalgOp.getNumParallelLoops() != linalgOp.getNumLoops())
      return NotAGate();
    root = linalgOp;
  }
  // Dead code is left to those who erase it.
  if (multiply->use_empty() ||
      (root->getNumResults() != 0 && root->use_empty()))
    return NotAGate();
  std::optional<Scalar> product = trace.start(root, multiply);
  if (!product)
    return NotAGate();

  // Which operand is like a sigmoid. If both are, the second is taken for
  // attention, and refused below for its arithmetic.
  for (unsigned i : {0, 1}) {
    Scalar operand = trace.operand(*product, i);
    // A scale is not the product of a gate.
    Scalar other = trace.operand(*product, 1 - i);
    if (!isLikeSigmoid(trace, operand) || trace.resolve(other).constant())
      continue;
    gate.multiply = multiply;
    gate.root = root;
    sigmoidSide = operand;
    attentionSide = other;
    if (Failure failure = matchProduct())
      return *failure;
    return gate;
  }
  return NotAGate();
}

GateMatcher::Failure GateMatcher::matchProduct() {
  // The product must be what the op yields.
  if (gate.root != multiply) {
    Operation *terminator = gate.root->getRegion(0).front().getTerminator();
    for (Operation *user : multiply->getUsers())
      if (user != terminator)
        return missed(MissedReason::ExtraArithmetic,
                      "{0} follows the product in the same body",
                      describe(user));
    int64_t results = cast<linalg::LinalgOp>(gate.root).getNumDpsInits();
    if (results != 1)
      return missed(MissedReason::ExtraUse,
                    "{0} has {1} results; the gate must have one",
                    describe(gate.root), results);
  }
  for (Operation *parent = gate.root->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<gpu::GPUModuleOp, gpu::LaunchOp>(parent))
      return missed(MissedReason::Placement,
                    "the gate is in {0}; kernels are launched by host code",
                    describe(parent));
  auto type = cast<ShapedType>(
      gate.isOnBuffers()
          ? cast<linalg::LinalgOp>(gate.root).getDpsInits()[0].getType()
          : gate.result().getType());
  if (type.getElementType() != Float32Type::get(type.getContext()) &&
      !type.getElementType().isBF16())
    return missed(MissedReason::ElementType,
                  "the product is {0}; the kernel computes bf16",
                  type.getElementType());
  if (!type.getElementType().isBF16())
    return missed(MissedReason::ProductPrecision,
                  "the product is {0}; the kernel multiplies bf16 attention by "
                  "the sigmoid rounded to bf16",
                  type.getElementType());
  if (!type.hasStaticShape())
    return missed(MissedReason::DynamicShape,
                  "the result's shape is dynamic: {0}", type);
  if (auto tensor = dyn_cast<RankedTensorType>(type);
      tensor && tensor.getEncoding())
    return missed(MissedReason::DestinationLayout,
                  "the result is a tensor of type {0}; the kernel writes "
                  "row-major ones",
                  tensor);

  trace.clearVisited();
  if (Failure failure = matchSigmoid(sigmoidSide))
    return failure;
  if (Failure failure = matchAttention(attentionSide))
    return failure;
  return checkUses();
}

GateMatcher::Failure GateMatcher::matchSigmoid(Scalar scalar) {
  scalar = trace.resolve(scalar);
  Operation *op = scalar.op();

  // An f32 sigmoid is rounded once; a bf16 one is bf16 all the way.
  gate.sigmoid = SigmoidArithmetic::BF16Steps;
  if (auto truncation = dyn_cast_or_null<arith::TruncFOp>(op)) {
    if (!roundsToNearestEven(truncation))
      return missed(
          MissedReason::SigmoidForm,
          "the sigmoid is rounded with mode {0}; the kernel rounds "
          "to nearest even",
          arith::stringifyRoundingMode(*truncation.getRoundingmode()));
    scalar = trace.resolve(trace.operand(scalar, 0));
    op = scalar.op();
    gate.sigmoid = SigmoidArithmetic::F32;
  }
  if (!op)
    return missed(MissedReason::SigmoidForm,
                  "the gate is not computed by a sigmoid");
  bool isF32 = gate.sigmoid == SigmoidArithmetic::F32;
  Type type = scalar.type();
  if (isF32 ? !type.isF32() : !type.isBF16())
    return missed(MissedReason::ElementType,
                  "the sigmoid is computed in {0}; the kernel computes it in "
                  "f32 or bf16",
                  type);

  // 1 / (1 + exp(-x)); the remarks below name the nearest known other form.
  if (isa<math::TanhOp>(op))
    return missed(MissedReason::SigmoidForm,
                  "the gate is a hyperbolic tangent, not a sigmoid");
  if (!isa<arith::DivFOp>(op)) {
    std::optional<Scalar> inner = scalar;
    for (unsigned step = 0; inner && step < maxStrippedSteps; ++step) {
      if (isa_and_nonnull<math::TanhOp>(inner->op()))
        return missed(MissedReason::SigmoidForm,
                      "the sigmoid is written with 'math.tanh', whose "
                      "roundings differ from 1 / (1 + exp(-x))");
      inner = stripStep(trace, *inner);
    }
    return missed(MissedReason::ExtraArithmetic,
                  "{0} lies between the sigmoid and the product", describe(op));
  }
  Scalar numerator = trace.resolve(trace.operand(scalar, 0));
  Scalar denominator = trace.resolve(trace.operand(scalar, 1));
  if (!isConstant(numerator, 1.0)) {
    if (isa_and_nonnull<math::ExpOp>(numerator.op()))
      return missed(MissedReason::SigmoidForm,
                    "the sigmoid is exp(x) / (1 + exp(x)), which overflows to "
                    "NaN for large x; the kernel computes 1 / (1 + exp(-x))");
    return missed(MissedReason::SigmoidForm,
                  "the sigmoid's numerator is not 1");
  }
  auto sum = dyn_cast_or_null<arith::AddFOp>(denominator.op());
  if (!sum)
    return missed(MissedReason::SigmoidForm,
                  "the sigmoid's denominator is not 1 + exp(-x)");
  std::optional<Scalar> exponential;
  bool hasOne = false;
  for (unsigned i : {0, 1}) {
    Scalar operand = trace.resolve(trace.operand(denominator, i));
    if (operand.constant())
      hasOne |= isConstant(operand, 1.0);
    else
      exponential = operand;
  }
  if (!hasOne || !exponential)
    return missed(MissedReason::SigmoidForm,
                  "the sigmoid's denominator is not 1 + exp(-x)");
  if (!isa_and_nonnull<math::ExpOp>(exponential->op())) {
    if (Operation *other = exponential->op())
      return missed(MissedReason::SigmoidForm,
                    "the sigmoid's exponential is {0}, not 'math.exp'",
                    describe(other));
    return missed(MissedReason::SigmoidForm,
                  "the sigmoid's denominator is not 1 + exp(-x)");
  }

  // -x: negf x, 0 - x or x * -1. They differ in the sign of a zero only, and
  // the exponential of either zero is 1.
  Scalar negation = trace.resolve(trace.operand(*exponential, 0));
  std::optional<Scalar> argument;
  if (isa_and_nonnull<arith::NegFOp>(negation.op())) {
    argument = trace.operand(negation, 0);
  } else if (isa_and_nonnull<arith::SubFOp>(negation.op())) {
    const Scalar minuend = trace.resolve(trace.operand(negation, 0));
    if (minuend.constant() && minuend.constant()->isZero())
      argument = trace.operand(negation, 1);
  } else if (isa_and_nonnull<arith::MulFOp>(negation.op())) {
    for (unsigned i : {0, 1})
      if (isConstant(trace.resolve(trace.operand(negation, i)), -1.0))
        argument = trace.operand(negation, 1 - i);
  }
  if (!argument) {
    if (Operation *other = negation.op();
        other && !isa<arith::TruncFOp, arith::ExtFOp>(other))
      return missed(MissedReason::ExtraArithmetic,
                    "{0} computes the exponential's argument, which must be "
                    "the negated projection",
                    describe(other));
    return missed(MissedReason::SigmoidForm,
                  "the exponential's argument is not negated");
  }

  Scalar projection = trace.resolve(*argument);
  if (isF32) {
    if (projection.isContraction())
      return missed(MissedReason::ProjectionRounding,
                    "the projection is not rounded to bf16 before the sigmoid");
    if (!isa_and_nonnull<arith::ExtFOp>(projection.op()))
      return missed(MissedReason::ExtraArithmetic,
                    "{0} lies between the projection and the sigmoid",
                    projection.op() ? describe(projection.op()) : "a value");
    projection = trace.resolve(trace.operand(projection, 0));
  }
  return matchProjection(projection);
}

GateMatcher::Failure GateMatcher::matchProjection(Scalar scalar) {
  if (scalar.isContraction())
    return missed(MissedReason::AccumulatorType,
                  "the contraction accumulates in {0}; the kernel accumulates "
                  "in f32 and rounds once",
                  scalar.type());
  auto truncation = dyn_cast_or_null<arith::TruncFOp>(scalar.op());
  if (!truncation)
    return missed(MissedReason::ExtraArithmetic,
                  "{0} lies between the projection and the sigmoid",
                  scalar.op() ? describe(scalar.op()) : "a value");
  if (!roundsToNearestEven(truncation))
    return missed(MissedReason::ProjectionRounding,
                  "the projection is rounded with mode {0}; the kernel rounds "
                  "to nearest even",
                  arith::stringifyRoundingMode(*truncation.getRoundingmode()));
  if (!scalar.type().isBF16())
    return missed(MissedReason::ElementType,
                  "the projection is rounded to {0}, not bf16", scalar.type());
  Scalar contraction = trace.resolve(trace.operand(scalar, 0));
  if (!contraction.isContraction())
    return missed(MissedReason::ExtraArithmetic,
                  "{0} lies between the contraction and its rounding",
                  contraction.op() ? describe(contraction.op()) : "a value");
  if (!contraction.type().isF32())
    return missed(MissedReason::AccumulatorType,
                  "the contraction accumulates in {0}; the kernel accumulates "
                  "in f32",
                  contraction.type());
  return matchContraction(contraction);
}

GateMatcher::Failure GateMatcher::matchContraction(const Scalar &contraction) {
  gate.contraction = contraction.contraction();
  if (gate.contraction.getNumDpsInits() != 1)
    return missed(MissedReason::ExtraUse,
                  "the contraction has {0} results; the gate reads one",
                  gate.contraction.getNumDpsInits());
  if (llvm::any_of(gate.contraction.getStaticLoopRanges(),
                   ShapedType::isDynamic))
    return missed(MissedReason::DynamicShape,
                  "the contraction's shape is dynamic");

  // The element of the projection that an element of the result reads.
  if (trace.linearize(contraction) != trace.linearizeResult())
    return missed(MissedReason::GateIndexing,
                  "the product reads the projection broadcast, sliced or "
                  "permuted, not element by element");

  Scalar lhs, rhs;
  if (Failure failure = matchContractionBody(contraction, lhs, rhs))
    return failure;

  // Zero of either sign: a sum that starts from -0.0 differs only where it is
  // a zero, and the sigmoid of both zeros is the same.
  Scalar init = trace.resolve(trace.contractionInit(contraction));
  if (!init.constant() || !init.constant()->isZero())
    return missed(MissedReason::AccumulatorInit,
                  "the accumulator starts from {0}; the kernel starts from "
                  "zero",
                  init.constant() ? "a constant other than zero"
                                  : "a value that is not a constant");
  return matchFactors(contraction, lhs, rhs);
}

GateMatcher::Failure
GateMatcher::matchContractionBody(const Scalar &contraction, Scalar &lhs,
                                  Scalar &rhs) {
  // yield acc + extf(a) * extf(b), operands of both ops in either order.
  Scalar sum = trace.contractionYield(contraction);
  if (!isa_and_nonnull<arith::AddFOp>(sum.op()))
    return missed(MissedReason::ContractionBody,
                  "the contraction's body does not yield a sum");
  std::optional<Scalar> product;
  bool hasAccumulator = false;
  for (unsigned i : {0, 1}) {
    Scalar operand = trace.operand(sum, i);
    if (operand.isAccumulator())
      hasAccumulator = true;
    else
      product = operand;
  }
  if (!hasAccumulator || !product)
    return missed(MissedReason::ContractionBody,
                  "the contraction's body does not add to its accumulator");
  if (!isa_and_nonnull<arith::MulFOp>(product->op())) {
    if (isa_and_nonnull<arith::ExtFOp>(product->op()))
      return missed(MissedReason::ContractionBody,
                    "the contraction rounds each product to {0} before it is "
                    "added; the kernel adds exact products",
                    trace.operand(*product, 0).type());
    return missed(MissedReason::ContractionBody,
                  "the contraction's body adds {0}, not a product",
                  product->op() ? describe(product->op()) : "a value");
  }
  lhs = trace.operand(*product, 0);
  rhs = trace.operand(*product, 1);
  return std::nullopt;
}

/// Whether a buffer type is row-major without gaps, as far as it says.
bool mayBeRowMajor(MemRefType buffer) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (buffer.getMemorySpace() ||
      failed(buffer.getStridesAndOffset(strides, offset)))
    return false;
  int64_t wanted = 1;
  for (auto [extent, stride] :
       llvm::reverse(llvm::zip_equal(buffer.getShape(), strides))) {
    if (extent != 1 && stride != wanted && !ShapedType::isDynamic(stride))
      return false;
    wanted *= extent;
  }
  return true;
}

/// Whether the elements of a slice lie next to each other in its source.
bool isContiguous(tensor::ExtractSliceOp slice) {
  bool isWhole = true;
  for (auto [size, stride, extent] : llvm::reverse(
           llvm::zip_equal(slice.getStaticSizes(), slice.getStaticStrides(),
                           slice.getSourceType().getShape()))) {
    if (size == 1)
      isWhole &= extent == 1;
    else if (stride != 1 || !isWhole)
      return false;
    else
      isWhole = !ShapedType::isDynamic(size) && size == extent;
  }
  return true;
}

/// Whether a container holds its elements in row-major order without gaps, as
/// far as the IR says. What it does not say is found out when the program runs.
bool mayBeRowMajor(Value container) {
  if (auto buffer = dyn_cast<MemRefType>(container.getType()))
    return mayBeRowMajor(buffer);
  if (cast<RankedTensorType>(container.getType()).getEncoding())
    return false;
  // Bufferization makes a view of a slice.
  for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
    Operation *def = container.getDefiningOp();
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(def)) {
      if (!isContiguous(slice))
        return false;
      container = slice.getSource();
    } else if (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp,
                               tensor::CollapseShapeOp>(def)) {
      container = def->getOperand(0);
    } else if (auto wrap = dyn_cast_or_null<bufferization::ToTensorOp>(def)) {
      auto buffer = dyn_cast<MemRefType>(wrap.getBuffer().getType());
      return buffer && mayBeRowMajor(buffer);
    } else {
      return true;
    }
  }
  return false;
}

/// The bf16 element that an f32 factor of the contraction extends, looking
/// through nothing else than data movement.
std::variant<Scalar, MissedGate> stripExtension(ElementTrace &trace,
                                                Scalar factor) {
  // A factor that was extended by an op of its own is followed to that op.
  for (unsigned i = 0; factor.isElement(); ++i) {
    std::optional<Scalar> producer;
    if (i < ElementTrace::maxSteps)
      producer = trace.step(factor);
    if (!producer)
      return missed(MissedReason::ElementType,
                    "an operand of the contraction is {0}, not bf16",
                    factor.type());
    factor = *producer;
  }
  if (!isa_and_nonnull<arith::ExtFOp>(factor.op()))
    return missed(MissedReason::ContractionBody,
                  "{0} computes an operand of the contraction's product",
                  factor.op() ? describe(factor.op()) : "a constant");
  Scalar narrow = trace.operand(factor, 0);
  if (!narrow.type().isBF16())
    return missed(MissedReason::ElementType,
                  "an operand of the contraction is {0}, not bf16",
                  narrow.type());
  return narrow;
}

GateMatcher::Failure GateMatcher::matchFactors(const Scalar &contraction,
                                               Scalar lhs, Scalar rhs) {
  Scalar factors[] = {lhs, rhs};
  for (Scalar &factor : factors) {
    auto narrow = stripExtension(trace, factor);
    if (auto *failure = std::get_if<MissedGate>(&narrow))
      return *failure;
    factor = std::get<Scalar>(narrow);
    if (!factor.isElement())
      return missed(MissedReason::ContractionBody,
                    "{0} computes an operand of the contraction's product",
                    factor.op() ? describe(factor.op()) : "a constant");
  }

  // The weight is the factor that depends on the innermost dimension of the
  // result; hidden depends on the outer ones (for M = 1 on none).
  std::optional<unsigned> innermost = trace.innermostResultDim();
  if (!innermost)
    return missed(MissedReason::ShapeN, "the result has one element only");
  std::optional<unsigned> weightIndex;
  for (unsigned i : {0, 1}) {
    if (!trace.dependsOn(factors[i], *innermost))
      continue;
    if (weightIndex)
      return missed(MissedReason::ContractionBody,
                    "both operands of the contraction depend on the result's "
                    "innermost dimension");
    weightIndex = i;
  }
  if (!weightIndex)
    return missed(MissedReason::GateIndexing,
                  "no operand of the contraction depends on the result's "
                  "innermost dimension");
  Scalar weight = factors[*weightIndex], hidden = factors[1 - *weightIndex];

  // Rows of the weight: the innermost dimensions. Rows of hidden: the others.
  gate.m = gate.n = 1;
  AffineExpr mIndex = trace.constant(0), nIndex = trace.constant(0);
  bool inWeight = false;
  for (auto [dim, extent] : trace.resultDims()) {
    if (extent == 1)
      continue;
    bool weightDim = trace.dependsOn(weight, dim);
    if (weightDim == trace.dependsOn(hidden, dim) || (inWeight && !weightDim))
      return missed(MissedReason::GateIndexing,
                    "the result is not [rows of hidden, rows of the weight]");
    inWeight |= weightDim;
    (weightDim ? gate.n : gate.m) *= extent;
    AffineExpr &index = weightDim ? nIndex : mIndex;
    index = index * extent + trace.dim(dim);
  }
  gate.k = trace.contractionExtent(contraction);
  AffineExpr kIndex = trace.contractionDim(contraction);

  // Each operand is taken at the first tensor, seen from the contraction,
  // whose elements lie as the kernel reads them.
  auto find = [&](Scalar element, AffineExpr wanted) -> std::optional<Scalar> {
    wanted = trace.simplify(wanted);
    for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
      if (!element.isElement())
        return std::nullopt;
      if (auto type = dyn_cast<ShapedType>(element.container().getType());
          type && type.hasStaticShape() && trace.linearize(element) == wanted &&
          type.getElementType().isBF16() && mayBeRowMajor(element.container()))
        return element;
      std::optional<Scalar> producer = trace.step(element);
      if (!producer)
        return std::nullopt;
      element = *producer;
    }
    return std::nullopt;
  };
  std::optional<Scalar> found = find(weight, nIndex * gate.k + kIndex);
  if (!found) {
    if (find(weight, kIndex * gate.n + nIndex))
      return missed(MissedReason::WeightLayout,
                    "the weight is stored [K,N]; the kernel streams the rows "
                    "of an [N,K] weight");
    return missed(MissedReason::WeightLayout,
                  "the weight is not row-major [N,K]");
  }
  gate.weight = found->container();
  weightRead = found->readBefore();
  found = find(hidden, mIndex * gate.k + kIndex);
  if (!found)
    return missed(MissedReason::HiddenLayout, "hidden is not row-major [M,K]");
  gate.hidden = found->container();
  hiddenRead = found->readBefore();
  return std::nullopt;
}

GateMatcher::Failure GateMatcher::matchAttention(const Scalar &attention) {
  if (!attention.isElement()) {
    if (Operation *op = attention.op())
      return missed(MissedReason::ExtraArithmetic,
                    "{0} computes the attention operand in the same body",
                    describe(op));
    return missed(MissedReason::ExtraArithmetic,
                  "the attention operand is not an element of a tensor");
  }
  auto type = dyn_cast<ShapedType>(attention.container().getType());
  if (!type || !type.getElementType().isBF16())
    return missed(MissedReason::ElementType, "attention is {0}, not bf16",
                  attention.type());
  if (!type.hasStaticShape() ||
      trace.linearize(attention) != trace.linearizeResult())
    return missed(MissedReason::AttentionLayout,
                  "attention is read broadcast, sliced or permuted, not "
                  "element by element");
  if (!mayBeRowMajor(attention.container()))
    return missed(MissedReason::AttentionLayout,
                  "attention is not row-major without gaps, but {0}",
                  attention.container().getType());
  gate.attention = attention.container();
  return std::nullopt;
}

/// Adds `op` to the chain if it is the contraction or leads back to it through
/// ops that the match of the sigmoid looked through.
bool GateMatcher::collectChain(Operation *op) {
  if (op == gate.contraction)
    return true;
  // An op that is being looked at already does not lead back through itself.
  auto [known, isNew] = leadsToContraction.try_emplace(op, false);
  if (!isNew)
    return known->second;
  bool leadsBack = false;
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && trace.visited().contains(def) && collectChain(def))
      leadsBack = true;
  }
  for (Operation *writer : trace.writersFor(op))
    if (collectChain(writer))
      leadsBack = true;
  leadsToContraction[op] = leadsBack;
  if (leadsBack)
    chain.insert(op);
  return leadsBack;
}

GateMatcher::Failure GateMatcher::checkUses() {
  chain.insert(gate.contraction);
  collectChain(gate.root);
  for (Operation *op : chain) {
    if (op->getBlock() != gate.root->getBlock())
      return missed(MissedReason::Placement,
                    "{0} lies in another block than the product", describe(op));
    if (op == gate.root)
      continue;
    // Of an op on buffers there are no users; checkBuffers() looks for them.
    for (Operation *user : op->getUsers())
      if (!chain.contains(user))
        return missed(MissedReason::ExtraUse,
                      "the result of {0} is also used by {1}", describe(op),
                      describe(user));
  }
  auto isInChain = [&](Value value) {
    return value.getDefiningOp() && chain.contains(value.getDefiningOp());
  };
  if (isInChain(gate.attention))
    return missed(MissedReason::ExtraUse,
                  "the attention operand is itself computed from the "
                  "projection");
  gate.chain = llvm::to_vector(chain);
  if (gate.isOnBuffers())
    return checkBuffers();

  if (auto dps = dyn_cast<DestinationStyleOpInterface>(gate.root))
    if (Value init = dps.getDpsInits()[0]; !isInChain(init))
      gate.destination = init;
  return std::nullopt;
}

/// Tensors cannot change; for buffers, this finds out whether running the whole
/// gate where its product is makes a difference to anyone.
GateMatcher::Failure GateMatcher::checkBuffers() {
  Block *block = gate.root->getBlock();
  if (!mayHaveSSADominance(*block->getParent()))
    return missed(MissedReason::Placement,
                  "the gate is in a region whose ops have no order");
  gate.destination = cast<linalg::LinalgOp>(gate.root).getDpsInits()[0];
  Value destinationBase = underlyingBuffer(gate.destination);
  if (!mayBeRowMajor(gate.destination))
    return missed(MissedReason::DestinationLayout,
                  "the destination is a buffer of type {0}; the kernel writes "
                  "row-major ones",
                  gate.destination.getType());

  // Ops that only prepare buffers for the chain: the zeros of the accumulator,
  // a transposed copy of the weight.
  llvm::SmallSetVector<Operation *, 8> feeders;
  for (Operation *op : trace.visited())
    if (!chain.contains(op) && op->getBlock() == block)
      feeders.insert(op);

  // Whether the root's operands overlap its destination comes last.
  for (Operation *op : trace.overlapping())
    if (op != gate.root && (chain.contains(op) || feeders.contains(op)))
      return missed(MissedReason::InputOverwritten,
                    "{0} writes to a buffer that its operands may overlap",
                    describe(op));

  // What the chain writes before the product must be its own.
  llvm::SmallSetVector<Value, 4> intermediates;
  for (Operation *op : chain) {
    if (op == gate.root)
      continue;
    // Of an op with several inits, some other one may be read elsewhere.
    Value target = writtenBuffer(op);
    Value base = target ? underlyingBuffer(target) : Value();
    if (!base || !isLocalAllocation(base))
      return missed(MissedReason::ExtraUse,
                    "{0} writes to a buffer that is not allocated here and may "
                    "be read elsewhere",
                    describe(op));
    intermediates.insert(base);
  }
  for (Value base : intermediates) {
    if (base == underlyingBuffer(gate.attention))
      return missed(MissedReason::ExtraUse,
                    "the attention operand is in a buffer that the gate's "
                    "intermediate values are written to");
    SmallVector<Value> views = {base};
    while (!views.empty()) {
      for (Operation *user : views.pop_back_val().getUsers()) {
        if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
          views.push_back(view.getViewDest());
          continue;
        }
        bool isOutsideUse = !chain.contains(user) && !feeders.contains(user) &&
                            !isa<memref::DeallocOp>(user);
        // Whoever comes after the product sees the destination's new values.
        Operation *ancestor = block->findAncestorOpInBlock(*user);
        if (isOutsideUse && base == destinationBase && ancestor &&
            gate.root->isBeforeInBlock(ancestor))
          isOutsideUse = false;
        if (isOutsideUse)
          return missed(MissedReason::ExtraUse,
                        "a buffer of the gate's intermediate values is also "
                        "used by {0}",
                        describe(user));
      }
    }
  }

  // The kernel reads hidden and the weight when the product is computed, not
  // when the contraction is.
  for (auto [name, buffer, read] :
       {std::make_tuple("hidden", gate.hidden, hiddenRead),
        std::make_tuple("the weight", gate.weight, weightRead)}) {
    if (read->getBlock() != block)
      return missed(MissedReason::Placement,
                    "{0} reads {1} in another block than the product",
                    describe(read), name);
    for (Operation *op = read; op != gate.root; op = op->getNextNode())
      if (!chain.contains(op) && trace.mayWrite(op, buffer))
        return missed(MissedReason::InputOverwritten,
                      "{0} may write to {1} between the contraction and the "
                      "product",
                      describe(op), name);
  }

  // The kernel's workgroups read their inputs while others write.
  for (auto [name, buffer, mayOverlap] :
       {std::make_tuple("hidden", gate.hidden,
                        &gate.destinationMayOverlapHidden),
        std::make_tuple("the weight", gate.weight,
                        &gate.destinationMayOverlapWeight)}) {
    if (underlyingBuffer(buffer) == destinationBase)
      return missed(MissedReason::DestinationAlias,
                    "the destination is in the same buffer as {0}", name);
    *mayOverlap = !trace.areDisjoint(buffer, gate.destination);
  }
  if (gate.attention != gate.destination) {
    if (underlyingBuffer(gate.attention) == destinationBase)
      return missed(MissedReason::DestinationAlias,
                    "the destination is another view of the attention's "
                    "buffer");
    gate.destinationMayOverlapAttention =
        !trace.areDisjoint(gate.attention, gate.destination);
  }
  gate.feeders = llvm::to_vector(feeders);
  return std::nullopt;
}

} // namespace

MatchResult kimi::matchMlaGate(arith::MulFOp multiply) {
  return GateMatcher(multiply).match();
}
