//===- ElementTrace.h - One tensor element as scalar arithmetic -*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows an element of a tensor or a buffer backwards through the ops that
// computed it. Structured ops are taken apart through their indexing maps and
// bodies, which named linalg ops have as well as generics; reshapes, casts and
// slices only change the index. Everything is computed on demand, so a trace
// that is given up early costs little, and nothing of the IR is changed.
//
// An element of a buffer is what the buffer holds just before some op. Its
// producer is the last op in front of that one, in the same block, that may
// write the buffer; if that op is not known to write all of it, nothing is.
//
// An index is a list of affine expressions: dimension i stands for dimension i
// of the result where the trace started, and those after the last stand for the
// reduction loops of the contraction. A dimension of extent one is always
// indexed by the constant 0.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H
#define KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H

#include "mlir/Analysis/AliasAnalysis.h"
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

  /// An element of container() at indices().
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

  /// A tensor or a buffer.
  mlir::Value container() const { return value; }
  /// The op in front of which an element of a buffer is read.
  mlir::Operation *readBefore() const { return before; }
  llvm::ArrayRef<mlir::AffineExpr> indices() const { return index; }
  mlir::linalg::LinalgOp contraction() const {
    return frame ? frame->op : mlir::linalg::LinalgOp();
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
  /// The container of an element or a contraction; the result of an op; else
  /// the scalar itself.
  mlir::Value value;
  mlir::Operation *before = nullptr;
  /// Of an element, a contraction, or an op on tensors.
  llvm::SmallVector<mlir::AffineExpr, 4> index;
  /// Where an op in a body is; what a contraction is entered with.
  const BodyFrame *frame = nullptr;
  std::optional<llvm::APFloat> constantValue;
};

class ElementTrace {
public:
  /// More ops in a row than that are not followed.
  static constexpr unsigned maxSteps = 1024;

  /// Starts at an element of the only result of `root`, or of the only buffer
  /// that it writes, which has one dimension of the trace for each of its own.
  /// Returns `value`, which is the result of `root` or of an op in its body.
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
  /// (dimension, extent) of each reduction loop of a contraction whose extent
  /// is not one, from the outermost.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2>
  contractionLoops(const Scalar &contraction) const;

  /// Row-major position of an element in its container, which has a static
  /// shape.
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
  void clearVisited() {
    visitedOps.clear();
    writers.clear();
  }
  /// The ops that wrote the buffers that `reader` read, as far as step()
  /// followed them.
  llvm::ArrayRef<mlir::Operation *> writersFor(mlir::Operation *reader) const {
    auto it = writers.find(reader);
    if (it == writers.end())
      return {};
    return it->second.getArrayRef();
  }

  /// The ops on buffers that step() looked into although they may read what
  /// they have written: what the trace says of them need not hold.
  const llvm::SmallPtrSetImpl<mlir::Operation *> &overlapping() const {
    return overlappingOps;
  }

  /// Makes the trace take ops that may write to a buffer in an unknown way for
  /// ops that do not, and look in front of the op that a read is nested in.
  /// What it finds need not be what is computed; it tells what stands in the
  /// way of finding it.
  void ignoreObstacles() { ignoresObstacles = true; }
  /// The first op that was ignored, or null.
  mlir::Operation *obstacle() const { return firstObstacle; }
  void forgetObstacle() { firstObstacle = nullptr; }

  /// Whether two buffers certainly have no byte in common that anything writes,
  /// and whether an op may write to a buffer, or free it.
  bool areDisjoint(mlir::Value lhs, mlir::Value rhs);
  bool mayWrite(mlir::Operation *op, mlir::Value buffer);

private:
  unsigned firstReductionDim() const { return dims.size(); }
  Scalar makeElement(mlir::Value container,
                     llvm::SmallVector<mlir::AffineExpr, 4> index,
                     mlir::Operation *before) const;
  Scalar makeOperation(mlir::Value value, const BodyFrame *frame,
                       llvm::ArrayRef<mlir::AffineExpr> index);
  Scalar makeOutsideScalar(mlir::Value value) const;
  Scalar bodyValue(mlir::Value value, const BodyFrame &frame);
  const BodyFrame *enter(mlir::linalg::LinalgOp op, unsigned initNumber,
                         llvm::ArrayRef<mlir::AffineExpr> index);
  /// What `op` computes for one element of its init `initNumber`, of which
  /// `element` is a copy with that init's index.
  std::optional<Scalar> stepInto(mlir::linalg::LinalgOp op, unsigned initNumber,
                                 Scalar element);
  std::optional<Scalar> stepTensor(const Scalar &element);
  std::optional<Scalar> stepBuffer(const Scalar &element);
  /// The index into the source of a reshape, or nothing when a shape is
  /// dynamic.
  using Index = llvm::SmallVector<mlir::AffineExpr, 4>;
  std::optional<Index>
  expandedIndex(mlir::Value result,
                llvm::ArrayRef<mlir::ReassociationIndices> groups,
                llvm::ArrayRef<mlir::AffineExpr> index) const;
  std::optional<Index>
  collapsedIndex(mlir::Value source,
                 llvm::ArrayRef<mlir::ReassociationIndices> groups,
                 llvm::ArrayRef<mlir::AffineExpr> index) const;
  /// The source of a cast, a reshape or a slice, and the index into it; nothing
  /// when `def` is none of these ops, or a shape or an offset is dynamic.
  template <typename CastOp, typename ExpandOp, typename CollapseOp,
            typename SliceOp>
  std::optional<std::pair<mlir::Value, Index>>
  throughView(mlir::Operation *def,
              llvm::ArrayRef<mlir::AffineExpr> index) const;
  Index delinearize(mlir::AffineExpr position,
                    llvm::ArrayRef<int64_t> shape) const;
  mlir::Operation *lastWriter(mlir::Value buffer, mlir::Operation *before,
                              bool &known);
  mlir::AffineExpr linearize(mlir::Value container,
                             llvm::ArrayRef<mlir::AffineExpr> index) const;

  mlir::MLIRContext *context = nullptr;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> dims;
  /// The most reduction loops of any op that was entered.
  unsigned maxReductionLoops = 0;
  std::deque<BodyFrame> frames;
  llvm::SmallPtrSet<mlir::Operation *, 16> visitedOps;
  llvm::DenseMap<mlir::Operation *, llvm::SmallSetVector<mlir::Operation *, 4>>
      writers;
  llvm::SmallPtrSet<mlir::Operation *, 4> overlappingOps;
  std::optional<mlir::AliasAnalysis> aliases;
  mlir::Operation *rootOp = nullptr;
  unsigned conversionDepth = 0;
  bool ignoresObstacles = false;
  mlir::Operation *firstObstacle = nullptr;
};

} // namespace kimi

#endif // KIMIMLAGATE_LIB_TRANSFORMS_ELEMENTTRACE_H
