//===- VectorPacked.cpp - Packed vector instructions ----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two results side by side (CDNA4 ISA document, section "VOP3P Instructions").
// The sources arrive with op_sel, op_sel_hi and the two negations applied.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include <algorithm>
#include <limits>

using namespace kimi::emulator;

namespace {

/// A half or a dword of the result is undefined if its sources' are.
template <unsigned Width>
uint64_t shadowParts(const VectorContext &c, const uint64_t *,
                     const uint64_t *u) {
  constexpr uint64_t Mask = (uint64_t(1) << Width) - 1;
  uint64_t any = 0;
  for (unsigned i = 0; i < c.op.sources; ++i)
    any |= u[i];
  return (any & Mask ? Mask : 0) | (any & Mask << Width ? Mask << Width : 0);
}
uint64_t shadowMovePair(const VectorContext &, const uint64_t *,
                        const uint64_t *u) {
  return (u[0] & 0xffffffff) | (u[1] & 0xffffffff00000000);
}

template <typename Fn> void packedHalves(VectorContext &c, Fn fn) {
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint32_t s[3] = {0, 0, 0}, result = 0;
    for (unsigned i = 0; i < c.op.sources; ++i)
      s[i] = c.get<uint32_t>(i, lane);
    for (unsigned shift : {0, 16})
      result |=
          uint32_t(uint16_t(fn(s[0] >> shift & 0xffff, s[1] >> shift & 0xffff,
                               s[2] >> shift & 0xffff)))
          << shift;
    c.out32(lane) = result;
  }
}

/// The first NaN of the sources, made quiet, in place of a NaN result.
uint16_t chooseNaN(uint16_t result, uint32_t a, uint32_t b, uint32_t d) {
  if (!isNaN16(result))
    return result;
  for (uint32_t x : {a, b, d})
    if (isNaN16(x))
      return x | QuietBit16;
  return QuietNaN16;
}

/// One source of the mixed-precision instructions: f32, or where op_sel_hi has
/// its bit the half that op_sel names. What is neg_hi elsewhere is abs.
float mixedSource(const VectorContext &c, unsigned index, unsigned lane) {
  const Instruction &inst = c.inst;
  uint32_t bits = c.get<uint32_t>(index, lane);
  if (inst.opSelHi >> index & 1)
    bits = bitCast<uint32_t>(
        halfToFloat(bits >> (inst.opSel >> index & 1 ? 16 : 0) & 0xffff));
  if (inst.abs >> index & 1)
    bits &= 0x7fffffff;
  if (inst.neg >> index & 1)
    bits ^= 0x80000000;
  return bitCast<float>(bits);
}

/// fma in f32, with the first NaN of the sources, made quiet. `half` rounds the
/// f32 result again, to f16.
void mixedFma(VectorContext &c, bool half) {
  const Wave &wave = c.wave;
  if (wave.denorm32() != 3 || wave.denorm64() != 3)
    return c.wave.fail("flushing denormals is not modelled for this "
                       "instruction");
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    float s[3];
    for (unsigned i = 0; i < 3; ++i)
      s[i] = mixedSource(c, i, lane);
    uint32_t result = bitCast<uint32_t>(std::fma(s[0], s[1], s[2]));
    if (isNaN32(result)) {
      result = QuietNaN32;
      for (unsigned i = 3; i-- > 0;)
        if (s[i] != s[i])
          result = bitCast<uint32_t>(s[i]) | QuietBit32;
    }
    c.out32(lane) = half ? doubleToHalf(bitCast<float>(result)) : result;
  }
}

template <typename Fn> void packedFloats(VectorContext &c, Fn fn) {
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint64_t result = 0;
    for (unsigned shift : {0, 32}) {
      float s[3] = {0, 0, 0};
      for (unsigned i = 0; i < c.op.sources; ++i)
        s[i] = bitCast<float>(uint32_t(c.get<uint64_t>(i, lane) >> shift));
      result |= uint64_t(bitCast<uint32_t>(fn(s[0], s[1], s[2]))) << shift;
    }
    c.out64(lane) = result;
  }
}

} // namespace

std::vector<Operation> kimi::emulator::getVectorPackedOperations() {
  constexpr auto PkB16 = Type::PkB16;
  constexpr auto PkF16 = Type::PkF16;
  constexpr auto PkF32 = Type::PkF32;
  constexpr uint32_t Arithmetic =
      Denormals | Rounds | DirectedRounding | FloatOutput | IsPacked;
  auto op = [=](const char *name, InstructionClass cls, Type type,
                unsigned sources, VectorFn fn, uint32_t flags,
                ShadowFn shadow) {
    Operation result =
        vectorOp(name, cls, type, {type, type}, fn, flags, shadow);
    if (sources == 3)
      result.src[result.sources++] = type;
    return result;
  };
#define KIMI_PK16(NAME, SOURCES, EXPRESSION)                                   \
  op(                                                                          \
      NAME, InstructionClass::VectorInteger, PkB16, SOURCES,                   \
      [](VectorContext &context) {                                             \
        packedHalves(context, [](uint32_t a, uint32_t b, uint32_t c) {         \
          (void)c;                                                             \
          return EXPRESSION;                                                   \
        });                                                                    \
      },                                                                       \
      IsPacked, shadowParts<16>)
  // Sums and differences saturate with clamp.
#define KIMI_PKSUM(NAME, T, OPERATOR)                                          \
  op(                                                                          \
      NAME, InstructionClass::VectorInteger, PkB16, 2,                         \
      [](VectorContext &context) {                                             \
        bool clamp = context.inst.clamp;                                       \
        packedHalves(context, [=](uint32_t a, uint32_t b, uint32_t) {          \
          int32_t sum = int32_t(T(a)) OPERATOR int32_t(T(b));                  \
          return clamp                                                         \
                     ? std::clamp<int32_t>(sum, std::numeric_limits<T>::min(), \
                                           std::numeric_limits<T>::max())      \
                     : sum;                                                    \
        });                                                                    \
      },                                                                       \
      IsPacked | IntegerClamp, shadowParts<16>)
#define KIMI_PKF16(NAME, SOURCES, EXPRESSION)                                  \
  op(                                                                          \
      NAME, InstructionClass::VectorFloat, PkF16, SOURCES,                     \
      [](VectorContext &context) {                                             \
        unsigned rounding = context.rounding;                                  \
        packedHalves(context, [=](uint32_t x, uint32_t y, uint32_t z) {        \
          double a = halfToFloat(x), b = halfToFloat(y), c = halfToFloat(z);   \
          (void)c;                                                             \
          return chooseNaN(doubleToHalf(EXPRESSION, rounding), x, y, z);       \
        });                                                                    \
      },                                                                       \
      Arithmetic, shadowParts<16>)
#define KIMI_PKF32(NAME, SOURCES, EXPRESSION)                                  \
  op(                                                                          \
      NAME, InstructionClass::VectorFloat, PkF32, SOURCES,                     \
      [](VectorContext &context) {                                             \
        packedFloats(context, [](float a, float b, float c) {                  \
          (void)c;                                                             \
          return EXPRESSION;                                                   \
        });                                                                    \
      },                                                                       \
      Arithmetic | QuietsNaN, shadowParts<32>)
  return {
      KIMI_PKF32("v_pk_fma_f32", 3, std::fma(a, b, c)),
      KIMI_PKF32("v_pk_mul_f32", 2, a * b),
      KIMI_PKF32("v_pk_add_f32", 2, a + b),
      // Sources as they are: op_sel_hi decides what they mean.
      vectorOp(
          "v_fma_mix_f32", InstructionClass::VectorFloat, Type::F32,
          {Type::B32, Type::B32, Type::B32},
          [](VectorContext &c) { mixedFma(c, false); }, Rounds | FloatOutput),
      vectorOp(
          "v_fma_mixlo_f16", InstructionClass::VectorFloat, Type::F16,
          {Type::B32, Type::B32, Type::B32},
          [](VectorContext &c) { mixedFma(c, true); },
          Rounds | FloatOutput | KeepsOtherHalf),
      vectorOp(
          "v_fma_mixhi_f16", InstructionClass::VectorFloat, Type::F16,
          {Type::B32, Type::B32, Type::B32},
          [](VectorContext &c) { mixedFma(c, true); },
          Rounds | FloatOutput | KeepsOtherHalf | HighHalf),
      // op_sel alone chooses: its first bit for the low result, its second for
      // the high one.
      vectorOp(
          "v_pk_mov_b32", InstructionClass::VectorInteger, Type::B64,
          {Type::B64, Type::B64},
          [](VectorContext &c) {
            unsigned low = c.inst.opSel & 1 ? 32 : 0;
            unsigned high = c.inst.opSel & 2 ? 32 : 0;
            c.map2<uint64_t>([=](uint64_t a, uint64_t b) {
              return (a >> low & 0xffffffff) | (b >> high & 0xffffffff) << 32;
            });
          },
          IsPacked,
          [](const VectorContext &c, const uint64_t *, const uint64_t *u) {
            uint64_t parts[2] = {u[0] >> (c.inst.opSel & 1 ? 32 : 0),
                                 u[1] >> (c.inst.opSel & 2 ? 32 : 0) << 32};
            return shadowMovePair(c, nullptr, parts);
          }),
      KIMI_PKSUM("v_pk_add_u16", uint16_t, +),
      KIMI_PKSUM("v_pk_sub_u16", uint16_t, -),
      KIMI_PKSUM("v_pk_add_i16", int16_t, +),
      KIMI_PKSUM("v_pk_sub_i16", int16_t, -),
      KIMI_PK16("v_pk_mul_lo_u16", 2, a * b),
      KIMI_PK16("v_pk_mad_u16", 3, a * b + c),
      KIMI_PK16("v_pk_mad_i16", 3, a * b + c),
      KIMI_PK16("v_pk_lshlrev_b16", 2, b << (a & 15)),
      KIMI_PK16("v_pk_lshrrev_b16", 2, b >> (a & 15)),
      KIMI_PK16("v_pk_ashrrev_i16", 2, int16_t(b) >> (a & 15)),
      KIMI_PK16("v_pk_max_u16", 2, a > b ? a : b),
      KIMI_PK16("v_pk_min_u16", 2, a < b ? a : b),
      KIMI_PK16("v_pk_max_i16", 2, int16_t(a) > int16_t(b) ? a : b),
      KIMI_PK16("v_pk_min_i16", 2, int16_t(a) < int16_t(b) ? a : b),
      KIMI_PKF16("v_pk_add_f16", 2, a + b),
      KIMI_PKF16("v_pk_mul_f16", 2, a * b),
      // The product is exact in double.
      KIMI_PKF16("v_pk_fma_f16", 3, addToOdd(a * b, c)),
  };
#undef KIMI_PK16
#undef KIMI_PKSUM
#undef KIMI_PKF16
#undef KIMI_PKF32
}
