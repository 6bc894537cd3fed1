//===- ElementTrace.h - One tensor element as scalar arithmetic -*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows an element of a tensor backwards through the ops that computed it.
// Structured ops are taken apart through their indexing maps and bodies, which
// named linalg ops have as well as generics; reshapes, casts and slices only
// change the index. Everything is computed on demand, so a trace that is given
// up early costs little, and nothing of the IR is changed.
//
// An index is a list of affine expressions: dimension i stands for dimension i
// of the result where the trace started, and the one after the last stands for
// the reduction loop of the contraction. A dimension of extent one is always
// indexed by the constant 0.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H
#define KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>
#include <optional>

namespace kimi {

/// A structured op entered at one point of its iteration space.
struct BodyFrame {
  mlir::linalg::LinalgOp op;
  /// The index of each loop.
  llvm::SmallVector<mlir::AffineExpr, 4> loops;
};

/// A scalar value, named by where it comes from.
class Scalar {
public:
  Scalar() = default;

  /// An element of tensor() at indices().
  bool isElement() const { return kind == Kind::Element; }
  /// An element of the result of a structured op that reduces.
  bool isContraction() const { return kind == Kind::Contraction; }
  /// The running value of a reduction, in its body.
  bool isAccumulator() const { return kind == Kind::Accumulator; }
  /// The value, if it is a floating-point constant; else null.
  const llvm::APFloat *constant() const {
    return constantValue ? &*constantValue : nullptr;
  }
  /// The arithmetic op that computes it, else null.
  mlir::Operation *op() const {
    return kind == Kind::Operation ? value.getDefiningOp() : nullptr;
  }
  unsigned numOperands() const { return op() ? op()->getNumOperands() : 0; }

  mlir::Value tensor() const { return value; }
  llvm::ArrayRef<mlir::AffineExpr> indices() const { return index; }
  mlir::linalg::LinalgOp contraction() const {
    return value.getDefiningOp<mlir::linalg::LinalgOp>();
  }
  mlir::Type type() const { return mlir::getElementTypeOrSelf(value); }

private:
  friend class ElementTrace;
  enum class Kind {
    Opaque,
    Constant,
    Element,
    Operation,
    Contraction,
    Accumulator
  };

  Kind kind = Kind::Opaque;
  /// The tensor of an element or a contraction; the result of an op; else the
  /// scalar itself.
  mlir::Value value;
  /// Of an element, a contraction, or an op on tensors.
  llvm::SmallVector<mlir::AffineExpr, 4> index;
  /// Where an op in a body is; what a contraction is entered with.
  const BodyFrame *frame = nullptr;
  std::optional<llvm::APFloat> constantValue;
};

class ElementTrace {
public:
  /// Starts at an element of the result of `root`, which has one dimension of
  /// the trace for each dimension of the result. Returns `value`, which is the
  /// result of `root` or of an op in its body.
  std::optional<Scalar> start(mlir::Operation *root, mlir::Value value);

  /// Operand `i` of scalar.op().
  Scalar operand(const Scalar &scalar, unsigned i);
  /// One op backwards from an element; nothing when its producer is unknown or
  /// cannot be looked through.
  std::optional<Scalar> step(const Scalar &element);
  /// Backwards from an element to the first scalar that is not one, or to the
  /// last element that can be reached.
  Scalar resolve(Scalar scalar);

  /// What a contraction's body yields, and the element it starts from.
  Scalar contractionYield(const Scalar &contraction);
  Scalar contractionInit(const Scalar &contraction);
  /// Extent and dimension of a contraction's reduction loop.
  int64_t contractionExtent(const Scalar &contraction) const;
  mlir::AffineExpr contractionDim(const Scalar &contraction) const;

  /// Row-major position of an element in its tensor, which has a static shape.
  mlir::AffineExpr linearize(const Scalar &element) const;
  mlir::AffineExpr linearizeResult() const;
  bool dependsOn(const Scalar &element, unsigned dim) const;

  /// (dimension, extent) of the result.
  llvm::ArrayRef<std::pair<unsigned, int64_t>> resultDims() const {
    return dims;
  }
  /// The last dimension of the result that is not of extent one.
  std::optional<unsigned> innermostResultDim() const;

  mlir::AffineExpr dim(unsigned position) const;
  mlir::AffineExpr constant(int64_t value) const;
  mlir::AffineExpr simplify(mlir::AffineExpr expr) const;

  /// The ops that step() looked through since the last clearVisited().
  const llvm::SmallPtrSetImpl<mlir::Operation *> &visited() const {
    return visitedOps;
  }
  void clearVisited() { visitedOps.clear(); }

private:
  unsigned reductionDim() const { return dims.size(); }
  Scalar makeElement(mlir::Value tensor,
                     llvm::SmallVector<mlir::AffineExpr, 4> index) const;
  Scalar makeOperation(mlir::Value value, const BodyFrame *frame,
                       llvm::ArrayRef<mlir::AffineExpr> index);
  Scalar makeOutsideScalar(mlir::Value value) const;
  Scalar bodyValue(mlir::Value value, const BodyFrame &frame);
  const BodyFrame *enter(mlir::linalg::LinalgOp op, unsigned resultNumber,
                         llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::AffineExpr linearize(mlir::Value tensor,
                             llvm::ArrayRef<mlir::AffineExpr> index) const;

  mlir::MLIRContext *context = nullptr;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> dims;
  std::deque<BodyFrame> frames;
  llvm::SmallPtrSet<mlir::Operation *, 16> visitedOps;
};

} // namespace kimi

#endif // KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H
