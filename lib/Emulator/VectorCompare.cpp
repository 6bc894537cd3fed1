//===- VectorCompare.cpp - Vector comparisons -----------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_cmp writes one bit for each lane to VCC or a scalar pair, zero for lanes
// that EXEC disables; v_cmpx writes EXEC as well (CDNA4 ISA document, section
// "VOPC Instructions").
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/ADT/bit.h"

#include <string>

using namespace kimi::emulator;

/// What an undefined source would decide is an error, not a result.
static void executeCompare(Wave &wave, const Instruction &inst) {
  VectorContext context(wave, inst);
  const Operation &op = context.op;
  if (inst.clamp)
    return wave.fail("clamp is not modelled for this instruction");
  uint64_t undefined = 0;
  for (unsigned i = 0; i < op.sources; ++i) {
    unsigned code = inst.src[i];
    if (code >= FirstVector) {
      for (unsigned d = 0; d < dwordsOf(op.src[i]); ++d)
        undefined |= wave.undefinedLanes(code - FirstVector + d) & context.exec;
    } else if (readScalar(wave, inst, code, op.src[i]).undefined) {
      if (context.exec)
        return wave.fail("compares the uninitialised value of " +
                         scalarName(code) + ", which nothing has written");
    }
  }
  if (undefined) {
    // Only the bits that are compared count: a half, or a byte.
    uint64_t buffer[WaveSize];
    for (unsigned i = 0; i < op.sources; ++i) {
      const void *plane =
          fetchSource(context, i, /*undefinedPlane=*/true, buffer);
      for (unsigned lane = 0; lane < WaveSize; ++lane) {
        uint64_t bits = dwordsOf(op.src[i]) == 2
                            ? static_cast<const uint64_t *>(plane)[lane]
                            : static_cast<const uint32_t *>(plane)[lane];
        if (bits && (context.exec >> lane & 1))
          return wave.fail(lane, inst.src[i] >= FirstVector
                                     ? "compares the uninitialised value of " +
                                           vectorName(inst.src[i] - FirstVector)
                                     : "compares an uninitialised value");
      }
    }
  }
  for (unsigned i = 0; i < op.sources; ++i)
    context.source[i] = fetchSource(context, i, /*undefinedPlane=*/false,
                                    context.sourceBuffer[i]);
  op.vectorCompute(context);
  uint64_t mask = context.maskOut & getWriteMask(context);
  wave.setMask(inst.maskDst, mask);
  if (op.has(WritesExec))
    wave.exec = mask;
}

namespace {

template <typename T, typename Fn> void compare(VectorContext &c, Fn fn) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    out |= uint64_t(fn(c.get<T>(0, lane), c.get<T>(1, lane))) << lane;
  c.maskOut = out;
}
template <typename Fn> void compareHalf(VectorContext &c, Fn fn) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    out |= uint64_t(fn(halfToFloat(c.get<uint32_t>(0, lane)),
                       halfToFloat(c.get<uint32_t>(1, lane))))
           << lane;
  c.maskOut = out;
}
template <typename T, typename Fn> void compareShort(VectorContext &c, Fn fn) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    out |=
        uint64_t(fn(T(c.get<uint32_t>(0, lane)), T(c.get<uint32_t>(1, lane))))
        << lane;
  c.maskOut = out;
}

/// Bits of the class mask, from least: signalling NaN, quiet NaN, -infinity,
/// -normal, -denormal, -0, +0, +denormal, +normal, +infinity.
unsigned classOf32(uint32_t x) {
  if (isNaN32(x))
    return isSignaling32(x) ? 0 : 1;
  bool negative = x >> 31;
  uint32_t magnitude = x & 0x7fffffff;
  unsigned kind = magnitude == Infinity32    ? 0
                  : magnitude >= 0x00800000u ? 1
                  : magnitude                ? 2
                                             : 3;
  return negative ? 2 + kind : 9 - kind;
}
unsigned classOf64(uint64_t x) {
  if (isNaN64(x))
    return isSignaling64(x) ? 0 : 1;
  bool negative = x >> 63;
  uint64_t magnitude = x & ~SignBit64;
  unsigned kind = magnitude == Infinity64              ? 0
                  : magnitude >= 0x0010000000000000ull ? 1
                  : magnitude                          ? 2
                                                       : 3;
  return negative ? 2 + kind : 9 - kind;
}

Operation compareOp(const char *name, Type type, VectorFn fn, bool writesExec,
                    Type second = Type::None) {
  Operation op = vectorOp(name, InstructionClass::VectorCompare, Type::None,
                          {type, second == Type::None ? type : second}, fn,
                          WritesMask | Denormals |
                              (writesExec ? uint32_t(WritesExec) : 0));
  op.execute = executeCompare;
  return op;
}

} // namespace

std::vector<Operation> kimi::emulator::getVectorCompareOperations() {
  std::vector<Operation> table;
  // Ordered comparisons are false with a NaN; the others are their negations.
#define KIMI_FLOAT(CONDITION, EXPRESSION)                                      \
  for (bool x : {false, true}) {                                               \
    table.push_back(compareOp(                                                 \
        x ? "v_cmpx_" CONDITION "_f32" : "v_cmp_" CONDITION "_f32", Type::F32, \
        [](VectorContext &c) {                                                 \
          compare<float>(c, [](float a, float b) {                             \
            (void)a, (void)b;                                                  \
            return EXPRESSION;                                                 \
          });                                                                  \
        },                                                                     \
        x));                                                                   \
    table.push_back(compareOp(                                                 \
        x ? "v_cmpx_" CONDITION "_f64" : "v_cmp_" CONDITION "_f64", Type::F64, \
        [](VectorContext &c) {                                                 \
          compare<double>(c, [](double a, double b) {                          \
            (void)a, (void)b;                                                  \
            return EXPRESSION;                                                 \
          });                                                                  \
        },                                                                     \
        x));                                                                   \
    table.push_back(compareOp(                                                 \
        x ? "v_cmpx_" CONDITION "_f16" : "v_cmp_" CONDITION "_f16", Type::F16, \
        [](VectorContext &c) {                                                 \
          compareHalf(c, [](float a, float b) {                                \
            (void)a, (void)b;                                                  \
            return EXPRESSION;                                                 \
          });                                                                  \
        },                                                                     \
        x));                                                                   \
  }
  KIMI_FLOAT("f", false)
  KIMI_FLOAT("lt", a < b)
  KIMI_FLOAT("eq", a == b)
  KIMI_FLOAT("le", a <= b)
  KIMI_FLOAT("gt", a > b)
  KIMI_FLOAT("lg", a < b || a > b)
  KIMI_FLOAT("ge", a >= b)
  KIMI_FLOAT("o", a == a && b == b)
  KIMI_FLOAT("u", a != a || b != b)
  KIMI_FLOAT("nge", !(a >= b))
  KIMI_FLOAT("nlg", !(a < b || a > b))
  KIMI_FLOAT("ngt", !(a > b))
  KIMI_FLOAT("nle", !(a <= b))
  KIMI_FLOAT("neq", !(a == b))
  KIMI_FLOAT("nlt", !(a < b))
  KIMI_FLOAT("tru", true)
#undef KIMI_FLOAT
#define KIMI_INTEGER_TYPE(CONDITION, SUFFIX, TYPE, FUNCTION, T, EXPRESSION)    \
  table.push_back(compareOp(                                                   \
      x ? "v_cmpx_" CONDITION "_" SUFFIX : "v_cmp_" CONDITION "_" SUFFIX,      \
      TYPE,                                                                    \
      [](VectorContext &c) {                                                   \
        FUNCTION<T>(c, [](T a, T b) {                                          \
          (void)a, (void)b;                                                    \
          return EXPRESSION;                                                   \
        });                                                                    \
      },                                                                       \
      x));
#define KIMI_INTEGER(CONDITION, EXPRESSION)                                    \
  for (bool x : {false, true}) {                                               \
    KIMI_INTEGER_TYPE(CONDITION, "i32", Type::B32, compare, int32_t,           \
                      EXPRESSION)                                              \
    KIMI_INTEGER_TYPE(CONDITION, "u32", Type::B32, compare, uint32_t,          \
                      EXPRESSION)                                              \
    KIMI_INTEGER_TYPE(CONDITION, "i64", Type::B64, compare, int64_t,           \
                      EXPRESSION)                                              \
    KIMI_INTEGER_TYPE(CONDITION, "u64", Type::B64, compare, uint64_t,          \
                      EXPRESSION)                                              \
    KIMI_INTEGER_TYPE(CONDITION, "i16", Type::B16, compareShort, int16_t,      \
                      EXPRESSION)                                              \
    KIMI_INTEGER_TYPE(CONDITION, "u16", Type::B16, compareShort, uint16_t,     \
                      EXPRESSION)                                              \
  }
  KIMI_INTEGER("f", false)
  KIMI_INTEGER("lt", a < b)
  KIMI_INTEGER("eq", a == b)
  KIMI_INTEGER("le", a <= b)
  KIMI_INTEGER("gt", a > b)
  KIMI_INTEGER("ne", a != b)
  KIMI_INTEGER("ge", a >= b)
  KIMI_INTEGER("t", true)
#undef KIMI_INTEGER
#undef KIMI_INTEGER_TYPE
  for (bool x : {false, true}) {
    Operation class32 = compareOp(
        x ? "v_cmpx_class_f32" : "v_cmp_class_f32", Type::F32,
        [](VectorContext &c) {
          uint64_t out = 0;
          for (unsigned lane = 0; lane < WaveSize; ++lane)
            out |= uint64_t(c.get<uint32_t>(1, lane) >>
                                classOf32(c.get<uint32_t>(0, lane)) &
                            1)
                   << lane;
          c.maskOut = out;
        },
        x, Type::B32);
    Operation class64 = compareOp(
        x ? "v_cmpx_class_f64" : "v_cmp_class_f64", Type::F64,
        [](VectorContext &c) {
          uint64_t out = 0;
          for (unsigned lane = 0; lane < WaveSize; ++lane)
            out |= uint64_t(c.get<uint32_t>(1, lane) >>
                                classOf64(c.get<uint64_t>(0, lane)) &
                            1)
                   << lane;
          c.maskOut = out;
        },
        x, Type::B32);
    // Denormals are a class, whatever MODE does to them elsewhere.
    class32.flags &= ~Denormals;
    class64.flags &= ~Denormals;
    table.push_back(class32);
    table.push_back(class64);
  }
  return table;
}
