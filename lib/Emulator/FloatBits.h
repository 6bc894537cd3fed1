//===- FloatBits.h - Floating point on bit patterns -------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IEEE helpers on the patterns that registers hold. Everything is exact or
// rounded to nearest even; the files that use it are compiled without
// contraction and without fast math.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_FLOATBITS_H
#define KIMIMLAGATE_LIB_EMULATOR_FLOATBITS_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace kimi::emulator {

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// f32 ------------------------------------------------------------------------
constexpr uint32_t QuietNaN32 = 0x7fc00000;
constexpr uint32_t QuietBit32 = 0x00400000;
constexpr uint32_t Infinity32 = 0x7f800000;
inline bool isNaN32(uint32_t x) { return (x & 0x7fffffff) > Infinity32; }
inline bool isSignaling32(uint32_t x) {
  return isNaN32(x) && !(x & QuietBit32);
}
inline bool isDenormal32(uint32_t x) {
  return !(x & Infinity32) && (x & 0x7fffffff);
}
inline uint32_t flush32(uint32_t x) {
  return x & Infinity32 ? x : x & 0x80000000;
}
inline int exponent32(uint32_t x) { return x >> 23 & 0xff; }

// f64 ------------------------------------------------------------------------
constexpr uint64_t QuietNaN64 = 0x7ff8000000000000;
constexpr uint64_t QuietBit64 = 0x0008000000000000;
constexpr uint64_t Infinity64 = 0x7ff0000000000000;
constexpr uint64_t SignBit64 = 0x8000000000000000;
inline bool isNaN64(uint64_t x) { return (x & ~SignBit64) > Infinity64; }
inline bool isSignaling64(uint64_t x) {
  return isNaN64(x) && !(x & QuietBit64);
}
inline bool isDenormal64(uint64_t x) {
  return !(x & Infinity64) && (x & ~SignBit64);
}
inline uint64_t flush64(uint64_t x) {
  return x & Infinity64 ? x : x & SignBit64;
}
inline int exponent64(uint64_t x) { return x >> 52 & 0x7ff; }

// f16 ------------------------------------------------------------------------
constexpr uint16_t QuietNaN16 = 0x7e00;
constexpr uint16_t QuietBit16 = 0x0200;
constexpr uint16_t Infinity16 = 0x7c00;
inline bool isNaN16(uint32_t x) { return (x & 0x7fff) > Infinity16; }
inline bool isSignaling16(uint32_t x) {
  return isNaN16(x) && !(x & QuietBit16);
}
inline uint32_t flush16(uint32_t x) { return x & Infinity16 ? x : x & 0x8000; }

/// Exact.
inline float halfToFloat(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 31)
    return bitCast<float>(sign | Infinity32 | mantissa << 13);
  if (exponent == 0) {
    float value = float(mantissa) * 0x1p-24f;
    return bitCast<float>(sign | bitCast<uint32_t>(value));
  }
  return bitCast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

/// Rounds by a MODE field: 0 to nearest even, 1 up, 2 down, 3 toward zero. A
/// NaN keeps its upper payload and becomes quiet.
inline uint16_t doubleToHalf(double value, unsigned rounding = 0) {
  uint64_t bits = bitCast<uint64_t>(value);
  uint16_t sign = bits >> 48 & 0x8000;
  uint64_t magnitude = bits & ~SignBit64;
  if (magnitude > Infinity64)
    return sign | Infinity16 | QuietBit16 | (magnitude >> 42 & 0x3ff);
  if (magnitude == Infinity64)
    return sign | Infinity16;
  int exponent = int(magnitude >> 52) - 1023;
  // Whether the magnitude grows when bits are lost.
  bool away = rounding == 1 ? !sign : rounding == 2 ? sign != 0 : false;
  if (exponent < -25)
    return magnitude && away ? sign | 1 : sign;
  // The significand in units of the result's last place, with the rest below.
  uint64_t significand = (magnitude & 0xfffffffffffffull) | 0x10000000000000ull;
  int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
  uint64_t rounded = significand >> shift;
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  if (rounding == 0 ? rest > half || (rest == half && (rounded & 1))
                    : rest && away)
    ++rounded;
  // For normal results the hidden bit adds one to the exponent field.
  uint64_t result =
      exponent < -14 ? rounded : (uint64_t(exponent + 14) << 10) + rounded;
  // An overflow that is rounded toward zero gives the largest number.
  if (result >= Infinity16)
    return sign | (rounding == 0 || away ? Infinity16 : 0x7bff);
  return sign | uint16_t(result);
}

// bf16 -----------------------------------------------------------------------
/// Rounds to nearest even; a NaN becomes quiet.
inline uint16_t floatToBf16(uint32_t bits) {
  if (isNaN32(bits))
    return (bits | QuietBit32) >> 16;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// a + b, rounded to odd: exact results stay, others get an odd last bit, so
/// that a second rounding to a shorter format is correct.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double aPart = sum - b, bPart = sum - aPart;
  double error = (a - aPart) + (b - bPart);
  uint64_t bits = bitCast<uint64_t>(sum);
  if (error != 0 && !(bits & 1))
    bits += (error > 0) == (sum > 0) ? 1 : -1;
  return bitCast<double>(bits);
}

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_FLOATBITS_H
