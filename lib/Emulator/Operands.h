//===- Operands.h - Operand fetch and result write of vector instructions *- C++
//-*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector instruction reads all of its sources in all lanes, computes, and
// only then writes: executeVector does the first and the last for every
// instruction, so that a table entry holds the computation alone.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_OPERANDS_H
#define KIMIMLAGATE_LIB_EMULATOR_OPERANDS_H

#include "FloatBits.h"
#include "Operation.h"

#include <cstdint>
#include <type_traits>

namespace kimi::emulator {

/// A scalar operand's value and its undefined bits. `width` is 32 or 64.
struct ScalarValue {
  uint64_t value = 0;
  uint64_t undefined = 0;
};
ScalarValue readScalar(const Wave &wave, const Instruction &inst, unsigned code,
                       Type type);
void writeScalar(Wave &wave, unsigned code, unsigned dwords, ScalarValue value);
/// "v5" or "a5".
std::string vectorName(unsigned reg);
/// "s5", "vcc_lo", …
std::string scalarName(unsigned code);

/// The sources and the result of a vector instruction, one element for each
/// lane: uint32_t for operands of one dword, uint64_t for two.
class VectorContext {
public:
  VectorContext(Wave &wave, const Instruction &inst)
      : wave(wave), inst(inst), op(*inst.operation), exec(wave.exec) {}

  Wave &wave;
  const Instruction &inst;
  const Operation &op;
  uint64_t exec;
  unsigned rounding = 0; // MODE's field, for f16 results
  uint64_t maskIn = 0;   // one bit for each lane
  uint64_t maskOut = 0;  // bits of inactive lanes are ignored
  const void *source[3] = {nullptr, nullptr, nullptr};
  void *result = resultBuffer;

  Transcendental transcendental() const;

  // Element-wise computation. T is what a source is read as; the result's
  // width is that of what `fn` returns. The pointers are copied so that the
  // compiler sees that the loops write none of them.
  template <typename T, typename Fn> void map1(Fn fn) {
    const void *a = source[0];
    write([=](unsigned i) { return fn(load<T>(a, i)); });
  }
  template <typename T, typename U = T, typename Fn> void map2(Fn fn) {
    const void *a = source[0], *b = source[1];
    write([=](unsigned i) { return fn(load<T>(a, i), load<U>(b, i)); });
  }
  template <typename T, typename U = T, typename V = U, typename Fn>
  void map3(Fn fn) {
    const void *a = source[0], *b = source[1], *c = source[2];
    write([=](unsigned i) {
      return fn(load<T>(a, i), load<U>(b, i), load<V>(c, i));
    });
  }
  /// `fn` gets the lane.
  template <typename Fn> void write(Fn fn) {
    using R = decltype(fn(0u));
    auto *__restrict out = static_cast<char *>(result);
    for (unsigned i = 0; i < WaveSize; ++i) {
      R value = fn(i);
      std::memcpy(out + i * sizeof(R), &value, sizeof(R));
    }
  }
  template <typename T> static T load(const void *values, unsigned lane) {
    T value;
    std::memcpy(&value, static_cast<const char *>(values) + lane * sizeof(T),
                sizeof(T));
    return value;
  }
  template <typename T> T get(unsigned index, unsigned lane) const {
    return load<T>(source[index], lane);
  }
  uint32_t &out32(unsigned lane) {
    return static_cast<uint32_t *>(result)[lane];
  }
  uint64_t &out64(unsigned lane) {
    return static_cast<uint64_t *>(result)[lane];
  }

  alignas(64) uint64_t sourceBuffer[3][WaveSize];
  alignas(64) uint64_t resultBuffer[WaveSize];
};

/// Runs a vector instruction through its table entry's computation.
void executeVector(Wave &wave, const Instruction &inst);

/// Fetches one source of all lanes, with its modifiers; `undefinedPlane` asks
/// for the undefined bits in place of the values. Returns `buffer`, or the
/// register itself when nothing has to be changed.
const void *fetchSource(const VectorContext &context, unsigned index,
                        bool undefinedPlane, uint64_t *buffer);
/// Lanes whose result is written: EXEC, less what DPP masks out.
uint64_t getWriteMask(const VectorContext &context);

// Builders of table entries ---------------------------------------------------
using VectorFn = void (*)(VectorContext &);
using ShadowFn = uint64_t (*)(const VectorContext &, const uint64_t *,
                              const uint64_t *);

inline Operation vectorOp(const char *name, InstructionClass cls, Type dst,
                          std::initializer_list<Type> sources, VectorFn fn,
                          uint32_t flags = 0, ShadowFn shadow = nullptr) {
  Operation op;
  op.name = name;
  op.execute = executeVector;
  op.cls = cls;
  op.dst = dst;
  for (Type type : sources)
    op.src[op.sources++] = type;
  op.vectorCompute = fn;
  op.flags = flags;
  op.shadow = shadow;
  return op;
}

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_OPERANDS_H
