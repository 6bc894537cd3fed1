//===- Inputs.h - Inputs that any language can regenerate ------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator that the golden cases were made with; its definition is
// test/Integration/Inputs/golden/README.md.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_REFERENCE_INPUTS_H
#define KIMIMLAGATE_REFERENCE_INPUTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kimi::reference {

enum class InputKind {
  Uniform, ///< 24-bit fractions in [-1, 1), times the scale
  Ternary  ///< -1, 0 or 1, times the scale
};

/// The values are the tensor numbers of the generator.
enum class InputTensor : uint64_t { Hidden = 0, Weight = 1, Attention = 2 };

struct InputSpec {
  uint64_t seed = 1;
  /// Of hidden and weight; attention is always uniform.
  InputKind kind = InputKind::Uniform;
  double hiddenScale = 1;
  double weightScale = 0.05;
  double attentionScale = 1;
};

/// `count` elements of a tensor in row-major order, as bfloat16 patterns.
std::vector<uint16_t> generateInput(const InputSpec &spec, InputTensor tensor,
                                    size_t count);

} // namespace kimi::reference

#endif // KIMIMLAGATE_REFERENCE_INPUTS_H
