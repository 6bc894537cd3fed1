//===- ScalarALU.h - Computation of scalar ALU instructions -----*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_EMULATOR_SCALARALU_H
#define KIMIMLAGATE_LIB_EMULATOR_SCALARALU_H

#include <cstdint>

namespace kimi::emulator {

/// The sources and the results of a scalar instruction.
struct ScalarContext {
  uint64_t source[3] = {0, 0, 0};
  uint64_t result = 0;
  int32_t immediate = 0;
  bool scc = false;

  void setNonZero(uint64_t value) {
    result = value;
    scc = value != 0;
  }
};
using ScalarFn = void (*)(ScalarContext &);

/// `width` bits from bit `at`, sign-extended if T is signed.
template <typename T> T extractField(T value, unsigned at, unsigned width) {
  constexpr unsigned Bits = sizeof(T) * 8;
  if (width == 0)
    return 0;
  T shifted = value >> at;
  if (width >= Bits || at + width >= Bits)
    return shifted;
  return T(T(shifted) << (Bits - width)) >> (Bits - width);
}

} // namespace kimi::emulator

#endif // KIMIMLAGATE_LIB_EMULATOR_SCALARALU_H
