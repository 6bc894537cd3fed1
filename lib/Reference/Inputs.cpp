//===- Inputs.cpp - Inputs that any language can regenerate ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Reference/Inputs.h"

#include "KimiMlaGate/Reference/BFloat16.h"

namespace kimi::reference {
namespace {

constexpr uint64_t golden = 0x9E3779B97F4A7C15;

/// The finalizer of SplitMix64.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

double scaleOf(const InputSpec &spec, InputTensor tensor) {
  switch (tensor) {
  case InputTensor::Hidden:
    return spec.hiddenScale;
  case InputTensor::Weight:
    return spec.weightScale;
  case InputTensor::Attention:
    break;
  }
  return spec.attentionScale;
}

} // namespace

std::vector<uint16_t> generateInput(const InputSpec &spec, InputTensor tensor,
                                    size_t count) {
  bool ternary =
      spec.kind == InputKind::Ternary && tensor != InputTensor::Attention;
  float scale = float(scaleOf(spec, tensor));
  uint64_t start =
      spec.seed * golden + uint64_t(tensor) * 0xD1B54A32D192ED03 + 1;
  std::vector<uint16_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    // 24 bits: every value below is exact in float until it is scaled.
    uint32_t bits = uint32_t(mix((start + i) * golden) >> 40);
    float value = ternary ? float(int(bits % 3) - 1)
                          : float(int32_t(bits) - (1 << 23)) * 0x1p-23f;
    values[i] = floatToBF16(value * scale);
  }
  return values;
}

} // namespace kimi::reference
