//===- VectorConvert.cpp - Conversions between formats --------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Instructions". Conversions to
// integers truncate, saturate, and turn NaN into 0.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include <algorithm>
#include <limits>

using namespace kimi::emulator;

namespace {

template <typename Int, typename Float> Int saturate(Float x) {
  if (x != x)
    return 0;
  x = std::trunc(x);
  // Both limits are exact in double; in float the upper one rounds up, so
  // that >= is the right comparison.
  if (x >= Float(std::numeric_limits<Int>::max()))
    return std::numeric_limits<Int>::max();
  if (x <= Float(std::numeric_limits<Int>::min()))
    return std::numeric_limits<Int>::min();
  return Int(x);
}

template <unsigned Byte>
uint64_t shadowByte(const VectorContext &, const uint64_t *,
                    const uint64_t *u) {
  return u[0] >> 8 * Byte & 0xff ? ~uint64_t(0) : 0;
}
/// Two results, one for each half.
uint64_t shadowPack(const VectorContext &, const uint64_t *,
                    const uint64_t *u) {
  return (u[0] ? 0xffff : 0) | (u[1] ? 0xffff0000 : 0);
}
uint64_t shadowPackHalves(const VectorContext &, const uint64_t *,
                          const uint64_t *u) {
  return (u[0] & 0xffff) | (u[1] & 0xffff) << 16;
}
uint64_t shadowBf16(const VectorContext &, const uint64_t *,
                    const uint64_t *u) {
  return u[0] << 16;
}

template <unsigned Byte> void fromByte(VectorContext &c) {
  c.map1<uint32_t>([](uint32_t a) { return float(a >> 8 * Byte & 0xff); });
}

uint32_t pack(uint32_t low, uint32_t high) {
  return (low & 0xffff) | high << 16;
}

} // namespace

std::vector<Operation> kimi::emulator::getVectorConvertOperations() {
  constexpr auto B32 = Type::B32;
  constexpr auto B16 = Type::B16;
  constexpr auto F32 = Type::F32;
  constexpr auto F64 = Type::F64;
  constexpr auto F16 = Type::F16;
  auto op = [=](const char *name, Type dst, std::initializer_list<Type> src,
                VectorFn fn, uint32_t flags = 0, ShadowFn shadow = nullptr) {
    return vectorOp(name, InstructionClass::VectorInteger, dst, src, fn, flags,
                    shadow);
  };
  return {
      op(
          "v_cvt_f32_i32", F32, {B32},
          [](VectorContext &c) {
            c.map1<int32_t>([](int32_t a) { return float(a); });
          },
          Rounds | DirectedRounding | FloatOutput),
      op(
          "v_cvt_f32_u32", F32, {B32},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) { return float(a); });
          },
          Rounds | DirectedRounding | FloatOutput),
      op("v_cvt_i32_f32", B32, {F32},
         [](VectorContext &c) { c.map1<float>(saturate<int32_t, float>); }),
      op("v_cvt_u32_f32", B32, {F32},
         [](VectorContext &c) { c.map1<float>(saturate<uint32_t, float>); }),
      op("v_cvt_rpi_i32_f32", B32, {F32},
         [](VectorContext &c) {
           // Exact in double: the sum has no second rounding.
           c.map1<float>([](float a) {
             return saturate<int32_t>(std::floor(double(a) + 0.5));
           });
         }),
      op("v_cvt_flr_i32_f32", B32, {F32},
         [](VectorContext &c) {
           c.map1<float>([](float a) {
             return saturate<int32_t>(std::floor(double(a)));
           });
         }),
      op("v_cvt_f32_ubyte0", F32, {B32}, fromByte<0>, FloatOutput,
         shadowByte<0>),
      op("v_cvt_f32_ubyte1", F32, {B32}, fromByte<1>, FloatOutput,
         shadowByte<1>),
      op("v_cvt_f32_ubyte2", F32, {B32}, fromByte<2>, FloatOutput,
         shadowByte<2>),
      op("v_cvt_f32_ubyte3", F32, {B32}, fromByte<3>, FloatOutput,
         shadowByte<3>),
      op(
          "v_cvt_f32_f16", F32, {F16},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) {
              uint32_t bits = bitCast<uint32_t>(halfToFloat(a));
              return isNaN32(bits) ? bits | QuietBit32 : bits;
            });
          },
          Denormals | FloatOutput),
      op(
          "v_cvt_f16_f32", F16, {F32},
          [](VectorContext &c) {
            unsigned rounding = c.rounding;
            c.map1<float>([=](float a) {
              return uint32_t(doubleToHalf(double(a), rounding));
            });
          },
          Denormals | Rounds | DirectedRounding | FloatOutput),
      op(
          "v_cvt_f32_bf16", F32, {B16},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) { return a << 16; });
          },
          FloatOutput, shadowBf16),
      op(
          "v_cvt_f64_f32", F64, {F32},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) -> uint64_t {
              // The payload's place is kept; the result is quiet.
              if (isNaN32(a))
                return uint64_t(a & 0x80000000) << 32 | QuietNaN64 |
                       uint64_t(a & 0x3fffff) << 29;
              return bitCast<uint64_t>(double(bitCast<float>(a)));
            });
          },
          Denormals | FloatOutput),
      op(
          "v_cvt_f32_f64", F32, {F64},
          [](VectorContext &c) {
            c.map1<uint64_t>([](uint64_t a) -> uint32_t {
              if (isNaN64(a))
                return uint32_t(a >> 32 & 0x80000000) | QuietNaN32 |
                       uint32_t(a >> 29 & 0x3fffff);
              return bitCast<uint32_t>(float(bitCast<double>(a)));
            });
          },
          Denormals | Rounds | DirectedRounding | FloatOutput),
      op(
          "v_cvt_f64_i32", F64, {B32},
          [](VectorContext &c) {
            c.map1<int32_t>([](int32_t a) { return double(a); });
          },
          FloatOutput),
      op(
          "v_cvt_f64_u32", F64, {B32},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) { return double(a); });
          },
          FloatOutput),
      op("v_cvt_i32_f64", B32, {F64},
         [](VectorContext &c) { c.map1<double>(saturate<int32_t, double>); }),
      op("v_cvt_u32_f64", B32, {F64},
         [](VectorContext &c) { c.map1<double>(saturate<uint32_t, double>); }),
      // Two results in one register. The first two round in a fixed way,
      // whatever MODE says.
      op(
          "v_cvt_pk_bf16_f32", B32, {F32, F32},
          [](VectorContext &c) {
            c.map2<uint32_t>([](uint32_t a, uint32_t b) {
              return pack(floatToBf16(a), floatToBf16(b));
            });
          },
          0, shadowPack),
      op(
          "v_cvt_pkrtz_f16_f32", B32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) {
              return pack(doubleToHalf(a, 3), doubleToHalf(b, 3));
            });
          },
          0, shadowPack),
      op(
          "v_cvt_pk_f16_f32", B32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) {
              return pack(doubleToHalf(a), doubleToHalf(b));
            });
          },
          0, shadowPack),
      op(
          "v_cvt_pk_u16_u32", B32, {B32, B32},
          [](VectorContext &c) {
            c.map2<uint32_t>([](uint32_t a, uint32_t b) {
              return pack(std::min(a, 0xffffu), std::min(b, 0xffffu));
            });
          },
          0, shadowPack),
      op(
          "v_cvt_pk_i16_i32", B32, {B32, B32},
          [](VectorContext &c) {
            c.map2<int32_t>([](int32_t a, int32_t b) {
              return pack(std::clamp(a, -32768, 32767),
                          std::clamp(b, -32768, 32767));
            });
          },
          0, shadowPack),
      op(
          "v_pack_b32_f16", B32, {F16, F16},
          [](VectorContext &c) { c.map2<uint32_t>(pack); }, 0,
          shadowPackHalves),
  };
}
