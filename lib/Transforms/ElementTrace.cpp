//===- ElementTrace.cpp - One element as scalar arithmetic ----------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace kimi;

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

AffineExpr ElementTrace::dim(unsigned position) const {
  return getAffineDimExpr(position, context);
}

AffineExpr ElementTrace::constant(int64_t value) const {
  return getAffineConstantExpr(value, context);
}

AffineExpr ElementTrace::simplify(AffineExpr expr) const {
  return simplifyAffineExpr(expr, firstReductionDim() + maxReductionLoops,
                            /*numSymbols=*/0);
}

AffineExpr ElementTrace::linearize(Value container,
                                   ArrayRef<AffineExpr> index) const {
  auto type = cast<ShapedType>(container.getType());
  AffineExpr position = constant(0);
  for (auto [extent, i] : llvm::zip(type.getShape(), index))
    position = position * extent + i;
  return simplify(position);
}

AffineExpr ElementTrace::linearize(const Scalar &element) const {
  return linearize(element.value, element.index);
}

AffineExpr ElementTrace::linearizeResult() const {
  AffineExpr position = constant(0);
  for (auto [position_, extent] : dims)
    position = position * extent + (extent == 1 ? constant(0) : dim(position_));
  return simplify(position);
}

bool ElementTrace::dependsOn(const Scalar &element, unsigned dim) const {
  return llvm::any_of(element.index, [&](AffineExpr expr) {
    return simplify(expr).isFunctionOfDim(dim);
  });
}

std::optional<unsigned> ElementTrace::innermostResultDim() const {
  for (auto [position, extent] : llvm::reverse(dims))
    if (extent != 1)
      return position;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Scalar ElementTrace::makeElement(Value container, Index index,
                                 Operation *before) const {
  auto type = cast<ShapedType>(container.getType());
  for (auto [extent, i] : llvm::zip(type.getShape(), index))
    if (extent == 1)
      i = constant(0);
  Scalar scalar;
  scalar.kind = Scalar::Kind::Element;
  scalar.value = container;
  scalar.index = std::move(index);
  if (isa<MemRefType>(type))
    scalar.before = before;
  return scalar;
}

Scalar ElementTrace::makeOutsideScalar(Value value) const {
  Scalar scalar;
  scalar.value = value;
  FloatAttr attr;
  if (matchPattern(value, m_Constant(&attr))) {
    scalar.kind = Scalar::Kind::Constant;
    scalar.constantValue = attr.getValue();
  }
  return scalar;
}

/// How many conversions of conversions a constant is looked for under.
constexpr unsigned maxConversionDepth = 8;

Scalar ElementTrace::makeOperation(Value value, const BodyFrame *frame,
                                   ArrayRef<AffineExpr> index) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::Operation;
  scalar.value = value;
  scalar.frame = frame;
  scalar.index.assign(index.begin(), index.end());

  // A constant that is converted exactly is still that constant.
  if (isa<arith::ExtFOp, arith::TruncFOp>(scalar.op()) &&
      conversionDepth < maxConversionDepth) {
    ++conversionDepth;
    llvm::scope_exit leave([&] { --conversionDepth; });
    Scalar source = resolve(operand(scalar, 0));
    if (const APFloat *constant = source.constant()) {
      APFloat converted = *constant;
      bool losesInfo = false;
      converted.convert(cast<FloatType>(scalar.type()).getFloatSemantics(),
                        APFloat::rmNearestTiesToEven, &losesInfo);
      if (!losesInfo) {
        scalar.kind = Scalar::Kind::Constant;
        scalar.constantValue = converted;
      }
    }
  }
  return scalar;
}

Scalar ElementTrace::bodyValue(Value value, const BodyFrame &frame) {
  linalg::LinalgOp op = frame.op;
  Block *body = op.getBlock();
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == body) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    if (op.isDpsInit(operand) && op.getNumReductionLoops() != 0) {
      Scalar scalar;
      scalar.kind = Scalar::Kind::Accumulator;
      scalar.value = value;
      return scalar;
    }
    if (!isa<RankedTensorType, MemRefType>(operand->get().getType()))
      return makeOutsideScalar(operand->get());
    AffineMap map = op.getMatchingIndexingMap(operand);
    Index index;
    for (AffineExpr expr : map.getResults())
      index.push_back(expr.replaceDims(frame.loops));
    return makeElement(operand->get(), std::move(index), op);
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != body || matchPattern(value, m_Constant()))
    return makeOutsideScalar(value);
  if (!isa<FloatType>(value.getType())) {
    Scalar scalar;
    scalar.value = value;
    return scalar;
  }
  return makeOperation(value, &frame, {});
}

Scalar ElementTrace::operand(const Scalar &scalar, unsigned i) {
  Value value = scalar.op()->getOperand(i);
  if (scalar.frame)
    return bodyValue(value, *scalar.frame);
  if (isa<RankedTensorType>(value.getType()))
    return makeElement(value, scalar.index, nullptr);
  return makeOutsideScalar(value);
}

Scalar ElementTrace::resolve(Scalar scalar) {
  // Unreachable code and graph regions may have cycles.
  for (unsigned i = 0; i < maxSteps && scalar.isElement(); ++i) {
    std::optional<Scalar> producer = step(scalar);
    if (!producer)
      break;
    scalar = *producer;
  }
  return scalar;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<Scalar> ElementTrace::start(Operation *root, Value value) {
  context = root->getContext();
  rootOp = root;
  ShapedType type;
  if (root->getNumResults() != 0)
    type = dyn_cast<RankedTensorType>(root->getResult(0).getType());
  else if (auto op = dyn_cast<linalg::LinalgOp>(root))
    type = dyn_cast<MemRefType>(op.getDpsInits()[0].getType());
  if (!type)
    return std::nullopt;
  Index index;
  for (auto [position, extent] : llvm::enumerate(type.getShape())) {
    dims.push_back({position, extent});
    index.push_back(extent == 1 ? constant(0) : dim(position));
  }
  if (value.getDefiningOp() == root)
    return makeOperation(value, nullptr, index);
  const BodyFrame *frame = enter(cast<linalg::LinalgOp>(root), 0, index);
  if (!frame)
    return std::nullopt;
  return bodyValue(value, *frame);
}

/// Whether running the body has no effect but its results.
static bool hasPureBody(linalg::LinalgOp op) {
  return llvm::all_of(
      op.getBlock()->without_terminator(),
      [](Operation &nested) { return isMemoryEffectFree(&nested); });
}

const BodyFrame *ElementTrace::enter(linalg::LinalgOp op, unsigned initNumber,
                                     ArrayRef<AffineExpr> index) {
  if (!hasPureBody(op))
    return nullptr;
  OpOperand *init = op.getDpsInitOperand(initNumber);
  AffineMap map = op.getMatchingIndexingMap(init);
  // What an op on buffers reads must not be what it has written before; it may
  // be the very element that it writes next.
  if (isa<MemRefType>(init->get().getType()))
    for (OpOperand &operand : op->getOpOperands()) {
      if (&operand == init || !isa<MemRefType>(operand.get().getType()))
        continue;
      if (operand.get() == init->get()
              ? op.getMatchingIndexingMap(&operand) != map
              : !areDisjoint(operand.get(), init->get()))
        overlappingOps.insert(op);
    }

  SmallVector<int64_t, 4> extents = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  BodyFrame frame{op, {}};
  frame.loops.resize(extents.size());
  // An element that the op does not write has another producer.
  for (auto [expr, i] : llvm::zip(map.getResults(), index)) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      AffineExpr &known = frame.loops[loop.getPosition()];
      if (known && simplify(known) != simplify(i))
        return nullptr;
      known = i;
    } else if (expr != simplify(i)) {
      return nullptr;
    }
  }

  unsigned reductionLoops = 0;
  for (auto [loop, extent, iterator] :
       llvm::zip(frame.loops, extents, iterators)) {
    if (extent == 1) {
      loop = constant(0);
    } else if (!loop) {
      // What is not an index of the result is summed over.
      if (iterator != utils::IteratorType::reduction)
        return nullptr;
      loop = dim(firstReductionDim() + reductionLoops++);
    }
  }
  maxReductionLoops = std::max(maxReductionLoops, reductionLoops);
  frames.push_back(std::move(frame));
  return &frames.back();
}

std::optional<Scalar> ElementTrace::stepInto(linalg::LinalgOp op,
                                             unsigned initNumber,
                                             Scalar element) {
  bool reduces = op.getNumReductionLoops() != 0;
  if (reduces && op.getNumDpsInputs() != 2)
    return std::nullopt;
  const BodyFrame *frame = enter(op, initNumber, element.index);
  if (!frame)
    return std::nullopt;
  visitedOps.insert(op);
  if (reduces) {
    element.kind = Scalar::Kind::Contraction;
    element.frame = frame;
    return element;
  }
  return bodyValue(op.getBlock()->getTerminator()->getOperand(initNumber),
                   *frame);
}

std::optional<Scalar> ElementTrace::step(const Scalar &element) {
  return isa<MemRefType>(element.value.getType()) ? stepBuffer(element)
                                                  : stepTensor(element);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

static std::optional<ArrayRef<int64_t>> staticShape(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasRank() || !type.hasStaticShape())
    return std::nullopt;
  return type.getShape();
}

std::optional<ElementTrace::Index>
ElementTrace::expandedIndex(Value result, ArrayRef<ReassociationIndices> groups,
                            ArrayRef<AffineExpr> index) const {
  std::optional<ArrayRef<int64_t>> shape = staticShape(result);
  if (!shape)
    return std::nullopt;
  Index sourceIndex;
  for (const ReassociationIndices &group : groups) {
    AffineExpr position = constant(0);
    for (int64_t i : group)
      position = position * (*shape)[i] + index[i];
    sourceIndex.push_back(simplify(position));
  }
  return sourceIndex;
}

ElementTrace::Index ElementTrace::delinearize(AffineExpr position,
                                              ArrayRef<int64_t> shape) const {
  // The outermost dimension that is not of extent one needs no modulus.
  size_t outermost = 0;
  while (outermost + 1 < shape.size() && shape[outermost] == 1)
    ++outermost;
  Index index(shape.size(), constant(0));
  for (size_t i = shape.size(); i-- > outermost;) {
    index[i] = simplify(i == outermost ? position : position % shape[i]);
    position = position.floorDiv(shape[i]);
  }
  return index;
}

std::optional<ElementTrace::Index>
ElementTrace::collapsedIndex(Value source,
                             ArrayRef<ReassociationIndices> groups,
                             ArrayRef<AffineExpr> index) const {
  std::optional<ArrayRef<int64_t>> shape = staticShape(source);
  if (!shape)
    return std::nullopt;
  // Without groups, all dimensions are of extent one.
  Index sourceIndex(shape->size(), constant(0));
  for (auto [group, position] : llvm::zip(groups, index)) {
    Index part =
        delinearize(position, shape->slice(group.front(), group.size()));
    llvm::copy(part, sourceIndex.begin() + group.front());
  }
  return sourceIndex;
}

/// The index into the source of a slice, or nothing when it is dynamic.
static std::optional<SmallVector<AffineExpr, 4>>
sliceIndex(OffsetSizeAndStrideOpInterface slice,
           const llvm::SmallBitVector &dropped, ArrayRef<AffineExpr> index,
           MLIRContext *context) {
  if (llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(slice.getStaticStrides(), ShapedType::isDynamic))
    return std::nullopt;
  SmallVector<AffineExpr, 4> sourceIndex;
  unsigned next = 0;
  for (auto [i, offset, stride] :
       llvm::enumerate(slice.getStaticOffsets(), slice.getStaticStrides()))
    sourceIndex.push_back(dropped.test(i)
                              ? getAffineConstantExpr(offset, context)
                              : index[next++] * stride + offset);
  return sourceIndex;
}

template <typename CastOp, typename ExpandOp, typename CollapseOp,
          typename SliceOp>
std::optional<std::pair<Value, ElementTrace::Index>>
ElementTrace::throughView(Operation *def, ArrayRef<AffineExpr> index) const {
  Value source;
  std::optional<Index> sourceIndex;
  if (auto cast = dyn_cast<CastOp>(def)) {
    source = cast.getSource();
    sourceIndex = Index(index);
  } else if (auto expand = dyn_cast<ExpandOp>(def)) {
    source = expand.getSrc();
    sourceIndex = expandedIndex(expand.getResult(),
                                expand.getReassociationIndices(), index);
  } else if (auto collapse = dyn_cast<CollapseOp>(def)) {
    source = collapse.getSrc();
    sourceIndex =
        collapsedIndex(source, collapse.getReassociationIndices(), index);
  } else if (auto slice = dyn_cast<SliceOp>(def)) {
    source = slice.getSource();
    sourceIndex = sliceIndex(slice, slice.getDroppedDims(), index, context);
  }
  if (!sourceIndex || !isa<RankedTensorType, MemRefType>(source.getType()))
    return std::nullopt;
  return std::make_pair(source, std::move(*sourceIndex));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::optional<APFloat> splatOf(Attribute attr) {
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(attr);
  if (!dense || !dense.isSplat())
    return std::nullopt;
  return dense.getSplatValue<APFloat>();
}

std::optional<Scalar> ElementTrace::stepTensor(const Scalar &element) {
  Operation *def = element.value.getDefiningOp();
  if (!def)
    return std::nullopt;

  DenseFPElementsAttr dense;
  if (matchPattern(element.value, m_Constant(&dense))) {
    Scalar scalar;
    scalar.kind = Scalar::Kind::Constant;
    scalar.value = element.value;
    scalar.constantValue = splatOf(dense);
    if (!scalar.constantValue)
      return std::nullopt;
    return scalar;
  }

  if (auto source =
          throughView<tensor::CastOp, tensor::ExpandShapeOp,
                      tensor::CollapseShapeOp, tensor::ExtractSliceOp>(
              def, element.index)) {
    visitedOps.insert(def);
    return makeElement(source->first, std::move(source->second), nullptr);
  }

  // A splat of a constant; one of anything else leads nowhere.
  if (auto splat = dyn_cast<tensor::SplatOp>(def)) {
    visitedOps.insert(def);
    return makeOutsideScalar(splat.getInput());
  }

  unsigned resultNumber = cast<OpResult>(element.value).getResultNumber();
  if (auto op = dyn_cast<linalg::LinalgOp>(def)) {
    if (!op.hasPureTensorSemantics())
      return std::nullopt;
    return stepInto(op, resultNumber, element);
  }
  if (OpTrait::hasElementwiseMappableTraits(def) && def->getNumResults() == 1 &&
      isa<FloatType>(getElementTypeOrSelf(element.value))) {
    visitedOps.insert(def);
    return makeOperation(element.value, nullptr, element.index);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// How many ops in front of a read are looked at for the one that wrote what is
/// read. Bufferization leaves producer and consumer close together; the bound
/// keeps the cost of a buffer that nobody wrote from growing with the block.
constexpr unsigned maxScannedOps = 1024;

/// The constant global that `buffer` is, or null.
static memref::GlobalOp constantGlobal(Value buffer) {
  auto get = buffer.getDefiningOp<memref::GetGlobalOp>();
  if (!get)
    return nullptr;
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      get, get.getNameAttr());
  return global && global.getConstant() ? global : nullptr;
}

bool ElementTrace::areDisjoint(Value lhs, Value rhs) {
  // Nothing may write to a constant, so it shares no byte that matters.
  if (constantGlobal(lhs) || constantGlobal(rhs))
    return true;
  if (!aliases)
    aliases.emplace(rootOp);
  return aliases->alias(lhs, rhs).isNo();
}

bool ElementTrace::mayWrite(Operation *op, Value buffer) {
  // The alias analysis does not know linalg.yield, and takes every structured
  // op for a write to everything.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (hasPureBody(linalgOp))
      return llvm::any_of(linalgOp.getDpsInits(), [&](Value init) {
        return isa<MemRefType>(init.getType()) && !areDisjoint(init, buffer);
      });
  }
  if (!aliases)
    aliases.emplace(rootOp);
  if (aliases->getModRef(op, buffer).isMod())
    return true;
  // Nor does it take freeing for writing; nothing may be read behind it.
  WalkResult frees = op->walk([&](MemoryEffectOpInterface nested) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    nested.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (isa<MemoryEffects::Free>(effect.getEffect()) &&
          (!effect.getValue() || !areDisjoint(effect.getValue(), buffer)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return frees.wasInterrupted();
}

/// The last op in front of `before` that may write `buffer`, or null. `known`
/// says whether null means that there is none in the block.
Operation *ElementTrace::lastWriter(Value buffer, Operation *before,
                                    bool &known) {
  known = true;
  auto isObstacle = [&](Operation *op) {
    if (!ignoresObstacles || isa<linalg::LinalgOp, memref::CopyOp>(op))
      return false;
    if (!firstObstacle)
      firstObstacle = op;
    return true;
  };
  unsigned scanned = 0;
  while (true) {
    for (Operation *op = before->getPrevNode(); op; op = op->getPrevNode()) {
      if (++scanned > maxScannedOps) {
        known = false;
        return nullptr;
      }
      if (op == buffer.getDefiningOp())
        return nullptr;
      if (mayWrite(op, buffer) && !isObstacle(op))
        return op;
    }
    before = before->getParentOp();
    if (!before || before->hasTrait<OpTrait::IsIsolatedFromAbove>() ||
        !isObstacle(before))
      return nullptr;
  }
}

/// The buffer that `view` covers without rearranging, or null: a reshape or a
/// cast.
static Value reshapedBuffer(Value view) {
  Operation *def = view.getDefiningOp();
  if (isa_and_nonnull<memref::CastOp, memref::ExpandShapeOp,
                      memref::CollapseShapeOp>(def))
    return def->getOperand(0);
  return nullptr;
}

std::optional<Scalar> ElementTrace::stepBuffer(const Scalar &element) {
  Value buffer = element.value;
  if (memref::GlobalOp global = constantGlobal(buffer)) {
    Scalar scalar;
    scalar.kind = Scalar::Kind::Constant;
    scalar.value = buffer;
    scalar.constantValue = splatOf(global.getInitialValueAttr());
    if (!scalar.constantValue)
      return std::nullopt;
    return scalar;
  }
  bool known;
  Operation *writer = lastWriter(buffer, element.before, known);
  if (!known)
    return std::nullopt;

  // What the writer wrote, seen as the buffer that is read.
  if (writer) {
    Value written;
    std::optional<unsigned> initNumber;
    if (auto op = dyn_cast<linalg::LinalgOp>(writer)) {
      if (!op.hasPureBufferSemantics())
        return std::nullopt;
      for (auto [i, init] : llvm::enumerate(op.getDpsInits()))
        if (!areDisjoint(init, buffer)) {
          if (initNumber)
            return std::nullopt;
          initNumber = i;
          written = init;
        }
    } else if (auto copy = dyn_cast<memref::CopyOp>(writer)) {
      written = copy.getTarget();
    }
    if (!written)
      return std::nullopt;

    std::optional<Index> index;
    if (written == buffer) {
      index = element.index;
    } else {
      // A reshape of the same buffer.
      Value source = written;
      for (unsigned i = 0; i < maxSteps && source != buffer; ++i) {
        Value next = reshapedBuffer(source);
        if (!next)
          break;
        source = next;
      }
      std::optional<ArrayRef<int64_t>> shape = staticShape(written);
      if (source == buffer && shape && staticShape(buffer))
        index = delinearize(linearize(buffer, element.index), *shape);
    }
    if (index) {
      Scalar seen = makeElement(written, std::move(*index), writer);
      std::optional<Scalar> producer;
      if (initNumber) {
        producer = stepInto(cast<linalg::LinalgOp>(writer), *initNumber, seen);
      } else {
        visitedOps.insert(writer);
        Value source = cast<memref::CopyOp>(writer).getSource();
        if (isa<MemRefType>(source.getType()))
          producer = makeElement(source, seen.index, writer);
      }
      if (producer)
        writers[element.before].insert(writer);
      return producer;
    }
  }

  // Through a view to the buffer under it, which the writer may have written.
  Operation *def = buffer.getDefiningOp();
  if (!def)
    return std::nullopt;
  if (auto source = throughView<memref::CastOp, memref::ExpandShapeOp,
                                memref::CollapseShapeOp, memref::SubViewOp>(
          def, element.index))
    return makeElement(source->first, std::move(source->second),
                       element.before);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

Scalar ElementTrace::contractionYield(const Scalar &contraction) {
  linalg::LinalgOp op = contraction.frame->op;
  return bodyValue(op.getBlock()->getTerminator()->getOperand(0),
                   *contraction.frame);
}

Scalar ElementTrace::contractionInit(const Scalar &contraction) {
  linalg::LinalgOp op = contraction.frame->op;
  return makeElement(op.getDpsInits()[0], contraction.index, op);
}

SmallVector<std::pair<unsigned, int64_t>, 2>
ElementTrace::contractionLoops(const Scalar &contraction) const {
  linalg::LinalgOp op = contraction.frame->op;
  SmallVector<std::pair<unsigned, int64_t>, 2> loops;
  for (auto [iterator, extent] :
       llvm::zip(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
    if (iterator == utils::IteratorType::reduction && extent != 1)
      loops.push_back({firstReductionDim() + loops.size(), extent});
  return loops;
}
