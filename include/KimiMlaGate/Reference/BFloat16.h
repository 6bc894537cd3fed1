//===- BFloat16.h - bfloat16 bit patterns ----------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bfloat16 values are carried as their 16-bit patterns: the upper half of the
// IEEE binary32 value they stand for. Every conversion rounds once, to nearest
// with ties to even, and keeps subnormals.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_REFERENCE_BFLOAT16_H
#define KIMIMLAGATE_REFERENCE_BFLOAT16_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace kimi::reference {

inline float bf16ToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline uint16_t floatToBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16) | 0x40; // a quiet NaN stays a NaN
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Rounds once: going through float first would round twice.
inline uint16_t doubleToBF16(double value) {
  if (!std::isfinite(value) || value == 0)
    return floatToBF16(float(value));
  // The distance between neighbouring bfloat16 values around `value`; below
  // the smallest normal value it stays constant.
  int exponent = std::ilogb(value);
  int step = (exponent < -126 ? -126 : exponent) - 7;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  // At most eight significant bits are left, so float is exact here, or
  // infinite, as rounding to nearest demands.
  return floatToBF16(float(rounded));
}

inline bool isBF16NaN(uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

/// Maps the patterns to integers in the order of their values, neighbours one
/// apart, both zeros to 0. NaNs land beyond the infinities.
inline int32_t bf16Order(uint16_t bits) {
  int32_t magnitude = bits & 0x7fff;
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// The inverse of bf16Order; 0 becomes positive zero.
inline uint16_t bf16FromOrder(int32_t order) {
  return order < 0 ? uint16_t(0x8000 | -order) : uint16_t(order);
}

} // namespace kimi::reference

#endif // KIMIMLAGATE_REFERENCE_BFLOAT16_H
