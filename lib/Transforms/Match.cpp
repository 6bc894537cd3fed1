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
  case SigmoidArithmetic::F32Unrounded:
    return "f32_unrounded";
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

  /// Starts at `value`, which `root` computes: the product, or its rounding.
  /// Fails when the product is not found from there.
  LogicalResult start(Operation *root, Value value);
  /// The product of a contraction's sigmoid that cannot be followed, since
  /// something else may write the buffers between.
  MatchResult matchBehindObstacle();
  MatchResult match();

private:
  using Failure = std::optional<MissedGate>;
  /// A value without the conversions around the op that computes it.
  struct Step {
    Scalar scalar;
    bool isRounded = false;
  };

  bool findSigmoid();
  Failure matchProduct();
  Failure peel(Scalar scalar, MissedReason reason, StringRef name, Step &step);
  Failure matchSigmoid();
  Failure matchNegation(Scalar argument);
  Failure matchProjection(const Step &projection);
  Failure matchContraction(const Scalar &contraction);
  Failure matchContractionBody(const Scalar &contraction, Scalar &lhs,
                               Scalar &rhs);
  Failure matchFactors(const Scalar &contraction, Scalar lhs, Scalar rhs);
  Failure matchAttention();
  std::optional<Scalar> findRowMajor(Scalar element, AffineExpr position);
  Failure checkUses();
  Failure checkBuffers();

  arith::MulFOp multiply;
  /// What the root yields: the multiply or its rounding.
  Scalar yielded;
  ElementTrace trace;
  MlaGate gate;
  /// The side of the product that is like a sigmoid, and the other one.
  Scalar sigmoidSide, attentionSide;
  /// The ops in front of which the buffers of the operands are read.
  Operation *hiddenRead = nullptr, *weightRead = nullptr,
            *attentionRead = nullptr;
  /// Ops from the root to the contraction.
  llvm::SmallSetVector<Operation *, 8> chain;

  llvm::DenseMap<Operation *, bool> leadsToContraction;

  bool collectChain(Operation *op);
};

LogicalResult GateMatcher::start(Operation *root, Value value) {
  std::optional<Scalar> start = trace.start(root, value);
  if (!start)
    return failure();
  gate.root = root;
  gate.multiply = multiply;
  yielded = *start;
  Scalar product = yielded;
  if (value != multiply.getResult()) {
    if (!yielded.op())
      return failure();
    product = trace.resolve(trace.operand(yielded, 0));
  }
  if (product.op() != multiply)
    return failure();
  sigmoidSide = trace.operand(product, 0);
  attentionSide = trace.operand(product, 1);
  return success();
}

/// Which operand is like a sigmoid. If both are, the second is taken for
/// attention, and refused later for its arithmetic.
bool GateMatcher::findSigmoid() {
  if (!isLikeSigmoid(trace, sigmoidSide)) {
    std::swap(sigmoidSide, attentionSide);
    trace.forgetObstacle();
    if (!isLikeSigmoid(trace, sigmoidSide))
      return false;
  }
  // A scale is not the product of a gate.
  return !trace.resolve(attentionSide).constant();
}

MatchResult GateMatcher::match() {
  if (!findSigmoid())
    return NotAGate();
  if (Failure failure = matchProduct())
    return *failure;
  return gate;
}

MatchResult GateMatcher::matchBehindObstacle() {
  trace.ignoreObstacles();
  if (!findSigmoid())
    return NotAGate();
  Operation *obstacle = trace.obstacle();
  if (!obstacle)
    return NotAGate();
  if (obstacle->isProperAncestor(gate.root))
    return missed(MissedReason::Placement,
                  "values of the gate are computed outside of {0}, which the "
                  "product is in",
                  describe(obstacle));
  return missed(MissedReason::ExtraUse,
                "{0} may use a buffer of the gate's intermediate values",
                describe(obstacle));
}

GateMatcher::Failure GateMatcher::matchProduct() {
  // The product must be what the op yields.
  Operation *last = yielded.op();
  if (gate.root != last) {
    Operation *terminator = gate.root->getRegion(0).front().getTerminator();
    for (Operation *user : last->getUsers())
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
  Type product = getElementTypeOrSelf(multiply.getType());
  auto type = cast<ShapedType>(
      gate.isOnBuffers()
          ? cast<linalg::LinalgOp>(gate.root).getDpsInits()[0].getType()
          : gate.result().getType());
  if (!product.isF32() && !product.isBF16())
    return missed(MissedReason::ElementType,
                  "the product is {0}; the kernel computes bf16", product);
  if (auto rounding = dyn_cast<arith::TruncFOp>(last)) {
    if (!roundsToNearestEven(rounding))
      return missed(MissedReason::ProductPrecision,
                    "the product is rounded with mode {0}; the kernel rounds "
                    "to nearest even",
                    arith::stringifyRoundingMode(*rounding.getRoundingmode()));
  } else if (product.isF32()) {
    return missed(MissedReason::ProductPrecision,
                  "the product is f32 and not rounded to bf16 by the only op "
                  "that uses it");
  }
  if (!type.getElementType().isBF16())
    return missed(MissedReason::ElementType,
                  "the product is rounded to {0}, not bf16",
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

  // What the search for a sigmoid looked at is not part of the gate.
  trace.clearVisited();
  if (last != multiply)
    trace.resolve(trace.operand(yielded, 0));
  if (Failure failure = matchSigmoid())
    return failure;
  if (Failure failure = matchAttention())
    return failure;
  return checkUses();
}

/// Looks through the conversions between bf16 and f32 to the op that computes a
/// value. It is rounded if it passes through bf16, by a conversion or because
/// the op is on bf16.
GateMatcher::Failure GateMatcher::peel(Scalar scalar, MissedReason reason,
                                       StringRef name, Step &step) {
  step = {trace.resolve(scalar), false};
  for (unsigned i = 0; i < maxStrippedSteps; ++i) {
    Operation *op = step.scalar.op();
    if (auto truncation = dyn_cast_or_null<arith::TruncFOp>(op)) {
      if (!step.scalar.type().isBF16())
        return missed(MissedReason::ElementType,
                      "{0} is rounded to {1}, not bf16", name,
                      step.scalar.type());
      if (!roundsToNearestEven(truncation))
        return missed(
            reason,
            "{0} is rounded with mode {1}; the kernel rounds to nearest even",
            name, arith::stringifyRoundingMode(*truncation.getRoundingmode()));
      step.isRounded = true;
    } else if (!isa_and_nonnull<arith::ExtFOp>(op)) {
      break;
    }
    step.scalar = trace.resolve(trace.operand(step.scalar, 0));
  }
  if (step.scalar.op() && step.scalar.type().isBF16())
    step.isRounded = true;
  return std::nullopt;
}

GateMatcher::Failure GateMatcher::matchSigmoid() {
  // 1 / (1 + exp(-x)); the remarks below name the nearest known other form.
  constexpr MissedReason form = MissedReason::SigmoidForm;
  Step quotient;
  if (Failure failure = peel(sigmoidSide, form, "the sigmoid", quotient))
    return failure;
  Operation *op = quotient.scalar.op();
  if (!op)
    return missed(form, "the gate is not computed by a sigmoid");
  auto checkType = [&](const Scalar &scalar) -> Failure {
    if (scalar.type().isF32() || scalar.type().isBF16())
      return std::nullopt;
    return missed(MissedReason::ElementType,
                  "the sigmoid is computed in {0}; the kernel computes it in "
                  "f32 or bf16",
                  scalar.type());
  };
  if (Failure failure = checkType(quotient.scalar))
    return failure;
  if (isa<math::TanhOp>(op))
    return missed(form, "the gate is a hyperbolic tangent, not a sigmoid");
  if (!isa<arith::DivFOp>(op)) {
    std::optional<Scalar> inner = quotient.scalar;
    for (unsigned step = 0; inner && step < maxStrippedSteps; ++step) {
      if (isa_and_nonnull<math::TanhOp>(inner->op()))
        return missed(form, "the sigmoid is written with 'math.tanh', whose "
                            "roundings differ from 1 / (1 + exp(-x))");
      inner = stripStep(trace, *inner);
    }
    return missed(MissedReason::ExtraArithmetic,
                  "{0} lies between the sigmoid and the product", describe(op));
  }

  Step numerator, sum, exponential;
  if (Failure failure = peel(trace.operand(quotient.scalar, 0), form,
                             "the sigmoid's numerator", numerator))
    return failure;
  if (!isConstant(numerator.scalar, 1.0)) {
    if (isa_and_nonnull<math::ExpOp>(numerator.scalar.op()))
      return missed(form,
                    "the sigmoid is exp(x) / (1 + exp(x)), which overflows to "
                    "NaN for large x; the kernel computes 1 / (1 + exp(-x))");
    return missed(form, "the sigmoid's numerator is not 1");
  }
  if (Failure failure = peel(trace.operand(quotient.scalar, 1), form,
                             "the sigmoid's denominator", sum))
    return failure;
  std::optional<Scalar> addend;
  bool hasOne = false;
  if (isa_and_nonnull<arith::AddFOp>(sum.scalar.op()))
    for (unsigned i : {0, 1}) {
      Scalar operand = trace.resolve(trace.operand(sum.scalar, i));
      if (operand.constant())
        hasOne |= isConstant(operand, 1.0);
      else
        addend = operand;
    }
  if (!hasOne || !addend)
    return missed(form, "the sigmoid's denominator is not 1 + exp(-x)");
  if (Failure failure =
          peel(*addend, form, "the sigmoid's exponential", exponential))
    return failure;
  if (!isa_and_nonnull<math::ExpOp>(exponential.scalar.op())) {
    if (Operation *other = exponential.scalar.op())
      return missed(form, "the sigmoid's exponential is {0}, not 'math.exp'",
                    describe(other));
    return missed(form, "the sigmoid's denominator is not 1 + exp(-x)");
  }
  for (const Step &step : {sum, exponential})
    if (Failure failure = checkType(step.scalar))
      return failure;

  if (exponential.isRounded != sum.isRounded ||
      (sum.isRounded && !quotient.isRounded)) {
    auto verdict = [](const Step &step) {
      return step.isRounded ? "rounded" : "not rounded";
    };
    return missed(form,
                  "of the sigmoid, the exponential is {0}, the sum {1} and the "
                  "quotient {2}; the kernel rounds each, or none but the "
                  "quotient",
                  verdict(exponential), verdict(sum), verdict(quotient));
  }
  gate.sigmoid = sum.isRounded        ? SigmoidArithmetic::BF16Steps
                 : quotient.isRounded ? SigmoidArithmetic::F32
                                      : SigmoidArithmetic::F32Unrounded;
  return matchNegation(trace.operand(exponential.scalar, 0));
}

/// -x: negf x, 0 - x or x * -1, in f32 or bf16. They differ in the sign of a
/// zero only, and the exponential of either zero is 1.
GateMatcher::Failure GateMatcher::matchNegation(Scalar scalar) {
  Step negation, projection;
  if (Failure failure = peel(scalar, MissedReason::SigmoidForm,
                             "the exponential's argument", negation))
    return failure;
  Operation *op = negation.scalar.op();
  std::optional<Scalar> argument;
  if (isa_and_nonnull<arith::NegFOp>(op)) {
    argument = trace.operand(negation.scalar, 0);
  } else if (isa_and_nonnull<arith::SubFOp>(op)) {
    const Scalar minuend = trace.resolve(trace.operand(negation.scalar, 0));
    if (minuend.constant() && minuend.constant()->isZero())
      argument = trace.operand(negation.scalar, 1);
  } else if (isa_and_nonnull<arith::MulFOp>(op)) {
    for (unsigned i : {0, 1})
      if (isConstant(trace.resolve(trace.operand(negation.scalar, i)), -1.0))
        argument = trace.operand(negation.scalar, 1 - i);
  }
  if (!argument) {
    if (op)
      return missed(MissedReason::ExtraArithmetic,
                    "{0} computes the exponential's argument, which must be "
                    "the negated projection",
                    describe(op));
    return missed(MissedReason::SigmoidForm,
                  "the exponential's argument is not negated");
  }
  if (Failure failure = peel(*argument, MissedReason::ProjectionRounding,
                             "the projection", projection))
    return failure;
  // Rounding to nearest commutes with negation.
  projection.isRounded |= negation.isRounded;
  return matchProjection(projection);
}

GateMatcher::Failure GateMatcher::matchProjection(const Step &projection) {
  const Scalar &scalar = projection.scalar;
  if (!scalar.isContraction()) {
    bool isBehindRounding = projection.isRounded && !scalar.type().isBF16();
    return missed(MissedReason::ExtraArithmetic, "{0} lies between {1}",
                  scalar.op() ? describe(scalar.op()) : "a value",
                  isBehindRounding ? "the contraction and its rounding"
                                   : "the projection and the sigmoid");
  }
  if (!scalar.type().isF32())
    return missed(MissedReason::AccumulatorType,
                  "the contraction accumulates in {0}; the kernel accumulates "
                  "in f32 and rounds once",
                  scalar.type());
  if (!projection.isRounded)
    return missed(MissedReason::ProjectionRounding,
                  "the projection is not rounded to bf16 before the sigmoid");
  return matchContraction(scalar);
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
  // yield acc + extf(a) * extf(b), operands of both ops in either order. The
  // product is exact in f32, so that fusing it with the sum changes nothing.
  Scalar sum = trace.contractionYield(contraction);
  if (isa_and_nonnull<math::FmaOp>(sum.op()) &&
      trace.operand(sum, 2).isAccumulator()) {
    lhs = trace.operand(sum, 0);
    rhs = trace.operand(sum, 1);
    return std::nullopt;
  }
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

/// The bf16 value that the f32 value `factor` extends, looking through nothing
/// else than data movement; or why there is none, for `reason` when it is
/// computed by something else.
std::variant<Scalar, MissedGate> stripExtension(ElementTrace &trace,
                                                Scalar factor, StringRef name,
                                                MissedReason reason) {
  // A factor that was extended by an op of its own is followed to that op.
  for (unsigned i = 0; factor.isElement(); ++i) {
    std::optional<Scalar> producer;
    if (i < ElementTrace::maxSteps)
      producer = trace.step(factor);
    if (!producer)
      return missed(MissedReason::ElementType, "{0} is {1}, not bf16", name,
                    factor.type());
    factor = *producer;
  }
  if (!isa_and_nonnull<arith::ExtFOp>(factor.op()))
    return missed(reason, "{0} computes {1}",
                  factor.op() ? describe(factor.op()) : "a constant", name);
  Scalar narrow = trace.operand(factor, 0);
  if (!narrow.type().isBF16())
    return missed(MissedReason::ElementType, "{0} is {1}, not bf16", name,
                  narrow.type());
  return narrow;
}

/// The first container, seen from `element`, in which the element lies at
/// `position` of a row-major bf16 matrix.
std::optional<Scalar> GateMatcher::findRowMajor(Scalar element,
                                                AffineExpr position) {
  position = trace.simplify(position);
  for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
    if (!element.isElement())
      return std::nullopt;
    if (auto type = dyn_cast<ShapedType>(element.container().getType());
        type && type.hasStaticShape() && type.getElementType().isBF16() &&
        trace.linearize(element) == position &&
        mayBeRowMajor(element.container()))
      return element;
    std::optional<Scalar> producer = trace.step(element);
    if (!producer)
      return std::nullopt;
    element = *producer;
  }
  return std::nullopt;
}

GateMatcher::Failure GateMatcher::matchFactors(const Scalar &contraction,
                                               Scalar lhs, Scalar rhs) {
  Scalar factors[] = {lhs, rhs};
  for (Scalar &factor : factors) {
    auto narrow = stripExtension(trace, factor, "an operand of the contraction",
                                 MissedReason::ContractionBody);
    if (auto *failure = std::get_if<MissedGate>(&narrow))
      return *failure;
    factor = std::get<Scalar>(narrow);
    if (!factor.isElement())
      return missed(MissedReason::ContractionBody,
                    "{0} computes an operand of the contraction",
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
  SmallVector<std::pair<unsigned, int64_t>, 2> loops =
      trace.contractionLoops(contraction);
  constexpr size_t maxLoops = 4;
  if (loops.size() > maxLoops)
    return missed(MissedReason::ContractionBody,
                  "the contraction sums over {0} loops", loops.size());
  gate.k = 1;
  for (auto [dim, extent] : loops)
    gate.k *= extent;

  // Each operand is taken at the first container whose elements lie as the
  // kernel reads them. Loops that together run over K may be in any order.
  AffineExpr kIndex;
  std::optional<Scalar> found;
  do {
    kIndex = trace.constant(0);
    for (auto [dim, extent] : loops)
      kIndex = kIndex * extent + trace.dim(dim);
    found = findRowMajor(weight, nIndex * gate.k + kIndex);
    if (!found && findRowMajor(weight, kIndex * gate.n + nIndex))
      return missed(MissedReason::WeightLayout,
                    "the weight is stored [K,N]; the kernel streams the rows "
                    "of an [N,K] weight");
  } while (!found && std::next_permutation(loops.begin(), loops.end()));
  if (!found)
    return missed(MissedReason::WeightLayout,
                  "the weight is not row-major [N,K]");
  gate.weight = found->container();
  weightRead = found->readBefore();
  found = findRowMajor(hidden, mIndex * gate.k + kIndex);
  if (!found)
    return missed(MissedReason::HiddenLayout, "hidden is not row-major [M,K]");
  gate.hidden = found->container();
  hiddenRead = found->readBefore();
  return std::nullopt;
}

GateMatcher::Failure GateMatcher::matchAttention() {
  Scalar attention = attentionSide;
  if (!attention.type().isBF16()) {
    auto narrow = stripExtension(trace, attention, "attention",
                                 MissedReason::ExtraArithmetic);
    if (auto *failure = std::get_if<MissedGate>(&narrow))
      return *failure;
    attention = std::get<Scalar>(narrow);
  }
  if (!attention.isElement()) {
    if (Operation *op = attention.op())
      return missed(MissedReason::ExtraArithmetic,
                    "{0} computes the attention operand in the same body",
                    describe(op));
    return missed(MissedReason::ExtraArithmetic,
                  "the attention operand is not an element of a tensor");
  }
  std::optional<Scalar> found =
      findRowMajor(attention, trace.linearizeResult());
  if (!found) {
    auto type = cast<ShapedType>(attention.container().getType());
    if (!type.getElementType().isBF16())
      return missed(MissedReason::ElementType, "attention is {0}, not bf16",
                    attention.type());
    if (!mayBeRowMajor(attention.container()))
      return missed(MissedReason::AttentionLayout,
                    "attention is not row-major without gaps, but {0}", type);
    return missed(MissedReason::AttentionLayout,
                  "attention is read broadcast, sliced or permuted, not "
                  "element by element");
  }
  gate.attention = found->container();
  attentionRead = found->readBefore();
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

  // The kernel reads its operands where the root is, not where the contraction
  // or the product is.
  for (auto [name, buffer, read] :
       {std::make_tuple("hidden", gate.hidden, hiddenRead),
        std::make_tuple("the weight", gate.weight, weightRead),
        std::make_tuple("attention", gate.attention, attentionRead)}) {
    if (read->getBlock() != block)
      return missed(MissedReason::Placement,
                    "{0} reads {1} in another block than the product",
                    describe(read), name);
    for (Operation *op = read; op != gate.root; op = op->getNextNode())
      if (!chain.contains(op) && trace.mayWrite(op, buffer))
        return missed(MissedReason::InputOverwritten,
                      "{0} may write to {1} before the kernel reads it, where "
                      "the product is",
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

/// The op on tensors or buffers that the scalar or tensor op `op` is, or is in
/// the body of; null if there is none that computes element by element.
static Operation *elementwiseParent(Operation *op) {
  if (isa<RankedTensorType>(op->getResult(0).getType()))
    return op;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op->getParentOp());
  if (!linalgOp ||
      (!linalgOp.hasPureTensorSemantics() &&
       !linalgOp.hasPureBufferSemantics()) ||
      linalgOp.getNumParallelLoops() != linalgOp.getNumLoops())
    return nullptr;
  return linalgOp;
}

/// The only op that reads what `op` computes, through views; null if there is
/// none. Of a buffer, the next one in the block.
static Operation *nextReader(Operation *op) {
  if (op->getNumResults() == 0) {
    Value buffer = underlyingBuffer(writtenBuffer(op));
    for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
      op = op->getNextNode();
      if (!op)
        return nullptr;
      auto reader = dyn_cast<linalg::LinalgOp>(op);
      if (reader && llvm::any_of(reader.getDpsInputs(), [&](Value input) {
            return isa<MemRefType>(input.getType()) &&
                   underlyingBuffer(input) == buffer;
          }))
        return reader;
    }
    return nullptr;
  }
  for (unsigned i = 0; i < ElementTrace::maxSteps; ++i) {
    if (!op->hasOneUse())
      return nullptr;
    op = *op->user_begin();
    if (!isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op))
      return op;
  }
  return nullptr;
}

/// The truncation to bf16 that alone uses the f32 product `multiply`, which
/// `parent` computes, in the same body or in an op of its own.
static arith::TruncFOp findRounding(arith::MulFOp multiply, Operation *parent) {
  if (parent != multiply && multiply->hasOneUse())
    if (auto truncation = dyn_cast<arith::TruncFOp>(*multiply->user_begin()))
      return truncation;
  if (parent != multiply && writtenBuffer(parent) == nullptr &&
      parent->getNumResults() != 1)
    return nullptr;
  Operation *reader = nextReader(parent);
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(reader);
  if (!linalgOp)
    return dyn_cast_or_null<arith::TruncFOp>(reader);
  Operation *terminator = linalgOp.getBlock()->getTerminator();
  if (terminator->getNumOperands() != 1)
    return nullptr;
  return terminator->getOperand(0).getDefiningOp<arith::TruncFOp>();
}

MatchResult kimi::matchMlaGate(arith::MulFOp multiply) {
  Operation *parent = elementwiseParent(multiply);
  // Dead code is left to those who erase it.
  if (!parent || multiply->use_empty() ||
      (parent->getNumResults() != 0 && parent->use_empty()))
    return NotAGate();
  if (!getElementTypeOrSelf(multiply.getType()).isBF16())
    if (arith::TruncFOp rounding = findRounding(multiply, parent))
      if (Operation *root = elementwiseParent(rounding)) {
        GateMatcher matcher(multiply);
        if (succeeded(matcher.start(root, rounding)))
          return matcher.match();
      }
  GateMatcher matcher(multiply);
  if (failed(matcher.start(parent, multiply)))
    return NotAGate();
  MatchResult result = matcher.match();
  if (!std::holds_alternative<NotAGate>(result) || parent->getNumResults() != 0)
    return result;
  GateMatcher behindObstacle(multiply);
  if (failed(behindObstacle.start(parent, multiply)))
    return result;
  return behindObstacle.matchBehindObstacle();
}
