//===- ElementTrace.cpp - One tensor element as scalar arithmetic ---------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTrace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

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
  return simplifyAffineExpr(expr, reductionDim() + 1, /*numSymbols=*/0);
}

AffineExpr ElementTrace::linearize(Value tensor,
                                   ArrayRef<AffineExpr> index) const {
  auto type = cast<RankedTensorType>(tensor.getType());
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

Scalar ElementTrace::makeElement(Value tensor,
                                 SmallVector<AffineExpr, 4> index) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [extent, i] : llvm::zip(type.getShape(), index))
    if (extent == 1)
      i = constant(0);
  Scalar scalar;
  scalar.kind = Scalar::Kind::Element;
  scalar.value = tensor;
  scalar.index = std::move(index);
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

Scalar ElementTrace::makeOperation(Value value, const BodyFrame *frame,
                                   ArrayRef<AffineExpr> index) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::Operation;
  scalar.value = value;
  scalar.frame = frame;
  scalar.index.assign(index.begin(), index.end());

  // A constant that is converted exactly is still that constant.
  if (isa<arith::ExtFOp, arith::TruncFOp>(scalar.op())) {
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
    if (!isa<RankedTensorType>(operand->get().getType()))
      return makeOutsideScalar(operand->get());
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<AffineExpr, 4> index;
    for (AffineExpr expr : map.getResults())
      index.push_back(expr.replaceDims(frame.loops));
    return makeElement(operand->get(), std::move(index));
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
    return makeElement(value, scalar.index);
  return makeOutsideScalar(value);
}

Scalar ElementTrace::resolve(Scalar scalar) {
  while (scalar.isElement()) {
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
  auto type = dyn_cast<RankedTensorType>(root->getResult(0).getType());
  if (!type)
    return std::nullopt;
  SmallVector<AffineExpr, 4> index;
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

const BodyFrame *ElementTrace::enter(linalg::LinalgOp op, unsigned resultNumber,
                                     ArrayRef<AffineExpr> index) {
  SmallVector<int64_t, 4> extents = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  BodyFrame frame{op, {}};
  frame.loops.resize(extents.size());
  AffineMap map = op.getIndexingMapMatchingResult(
      op->getResult(resultNumber));
  for (auto [expr, i] : llvm::zip(map.getResults(), index))
    if (auto loop = dyn_cast<AffineDimExpr>(expr))
      frame.loops[loop.getPosition()] = i;
    else if (!isa<AffineConstantExpr>(expr))
      return nullptr;

  bool hasReduction = false;
  for (auto [loop, extent, iterator] :
       llvm::zip(frame.loops, extents, iterators)) {
    if (extent == 1) {
      loop = constant(0);
    } else if (!loop) {
      // What is not an index of the result is summed over.
      if (iterator != utils::IteratorType::reduction || hasReduction)
        return nullptr;
      hasReduction = true;
      loop = dim(reductionDim());
    }
  }
  frames.push_back(std::move(frame));
  return &frames.back();
}

std::optional<Scalar> ElementTrace::step(const Scalar &element) {
  Operation *def = element.value.getDefiningOp();
  if (!def)
    return std::nullopt;

  DenseFPElementsAttr dense;
  if (matchPattern(element.value, m_Constant(&dense))) {
    if (!dense.isSplat())
      return std::nullopt;
    Scalar scalar;
    scalar.kind = Scalar::Kind::Constant;
    scalar.value = element.value;
    scalar.constantValue = dense.getSplatValue<APFloat>();
    return scalar;
  }

  auto staticShape = [](Value tensor) -> std::optional<ArrayRef<int64_t>> {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    return type.getShape();
  };
  auto moved = [&](Value source, SmallVector<AffineExpr, 4> index) -> Scalar {
    visitedOps.insert(def);
    return makeElement(source, std::move(index));
  };

  if (auto castOp = dyn_cast<tensor::CastOp>(def)) {
    if (!isa<RankedTensorType>(castOp.getSource().getType()))
      return std::nullopt;
    return moved(castOp.getSource(), element.index);
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(def)) {
    std::optional<ArrayRef<int64_t>> shape = staticShape(expand.getResult());
    if (!shape)
      return std::nullopt;
    SmallVector<AffineExpr, 4> index;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      AffineExpr position = constant(0);
      for (int64_t i : group)
        position = position * (*shape)[i] + element.index[i];
      index.push_back(simplify(position));
    }
    return moved(expand.getSrc(), std::move(index));
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(def)) {
    std::optional<ArrayRef<int64_t>> shape = staticShape(collapse.getSrc());
    if (!shape)
      return std::nullopt;
    SmallVector<AffineExpr, 4> index(shape->size());
    for (auto [group, position] :
         llvm::zip(collapse.getReassociationIndices(), element.index)) {
      // The outermost dimension that is not of extent one needs no modulus.
      int64_t outermost = group.front();
      for (int64_t i : group)
        if ((*shape)[i] != 1) {
          outermost = i;
          break;
        }
      AffineExpr rest = position;
      for (int64_t i : llvm::reverse(group)) {
        index[i] = i <= outermost ? rest : rest % (*shape)[i];
        rest = i <= outermost ? constant(0) : rest.floorDiv((*shape)[i]);
      }
    }
    for (AffineExpr &i : index)
      i = simplify(i);
    return moved(collapse.getSrc(), std::move(index));
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def)) {
    if (llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
        llvm::any_of(slice.getStaticStrides(), ShapedType::isDynamic))
      return std::nullopt;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<AffineExpr, 4> index;
    unsigned next = 0;
    for (auto [i, offset, stride] :
         llvm::enumerate(slice.getStaticOffsets(), slice.getStaticStrides()))
      index.push_back(dropped.test(i)
                          ? constant(offset)
                          : element.index[next++] * stride + offset);
    return moved(slice.getSource(), std::move(index));
  }

  unsigned resultNumber = cast<OpResult>(element.value).getResultNumber();
  if (auto op = dyn_cast<linalg::LinalgOp>(def)) {
    if (!op.hasPureTensorSemantics())
      return std::nullopt;
    bool reduces = op.getNumReductionLoops() != 0;
    if (reduces && op.getNumDpsInputs() != 2)
      return std::nullopt;
    const BodyFrame *frame = enter(op, resultNumber, element.index);
    if (!frame)
      return std::nullopt;
    visitedOps.insert(def);
    if (reduces) {
      Scalar scalar = element;
      scalar.kind = Scalar::Kind::Contraction;
      scalar.frame = frame;
      return scalar;
    }
    return bodyValue(op.getBlock()->getTerminator()->getOperand(resultNumber),
                     *frame);
  }
  if (OpTrait::hasElementwiseMappableTraits(def) && def->getNumResults() == 1 &&
      isa<FloatType>(getElementTypeOrSelf(element.value))) {
    visitedOps.insert(def);
    return makeOperation(element.value, nullptr, element.index);
  }
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
  return makeElement(op.getDpsInits()[0], contraction.index);
}

int64_t ElementTrace::contractionExtent(const Scalar &contraction) const {
  linalg::LinalgOp op = contraction.frame->op;
  int64_t extent = 1;
  for (auto [iterator, loops] :
       llvm::zip(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
    if (iterator == utils::IteratorType::reduction)
      extent *= loops;
  return extent;
}

AffineExpr ElementTrace::contractionDim(const Scalar &contraction) const {
  // A sum over one element has no loop left.
  return contractionExtent(contraction) == 1 ? constant(0)
                                             : dim(reductionDim());
}
