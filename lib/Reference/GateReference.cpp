//===- GateReference.cpp - What a gate kernel must return -----------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Reference/GateReference.h"

#include "KimiMlaGate/Reference/BFloat16.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace kimi::reference {
namespace {

/// The exponent of the lowest set bit of a pattern's value; a large number for
/// zeros, infinities and NaNs, which the callers take a minimum over.
constexpr int noBit = 1 << 14;
int lowestBitExponent(uint16_t bits) {
  int exponent = (bits >> 7) & 0xff;
  unsigned significand = bits & 0x7f;
  if (exponent == 0xff || (exponent == 0 && significand == 0))
    return noBit;
  if (exponent)
    significand |= 0x80;
  return std::max(exponent, 1) - 127 - 7 + __builtin_ctz(significand);
}

/// A row as doubles, and the finest bit in it.
struct WideRow {
  std::vector<double> values;
  int lowestBit = noBit;

  void assign(const uint16_t *bits, size_t count,
              const std::vector<int16_t> &bitTable) {
    values.resize(count);
    int lowest = noBit;
    for (size_t i = 0; i < count; ++i) {
      values[i] = bf16ToFloat(bits[i]);
      lowest = std::min<int>(lowest, bitTable[bits[i]]);
    }
    lowestBit = lowest;
  }
};

struct Sum {
  double value = 0, magnitude = 0;
};

Sum dot(const std::vector<double> &a, const std::vector<double> &b) {
  // Independent chains, so that the additions overlap. They start at positive
  // zero, as a kernel's accumulators do.
  constexpr size_t lanes = 8;
  double value[lanes] = {}, magnitude[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= a.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) {
      double product = a[i + lane] * b[i + lane];
      value[lane] += product;
      magnitude[lane] += std::fabs(product);
    }
  for (; i < a.size(); ++i) {
    double product = a[i] * b[i];
    value[0] += product;
    magnitude[0] += std::fabs(product);
  }
  Sum sum;
  for (size_t lane = 0; lane < lanes; ++lane) {
    sum.value += value[lane];
    sum.magnitude += magnitude[lane];
  }
  return sum;
}

double correctSigmoid(double x) {
  // Neither form cancels or overflows.
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}

/// 1 / (1 + e) in bfloat16 operations, for a rounded e.
uint16_t reciprocalOfOnePlus(uint16_t e) {
  uint16_t sum = doubleToBF16(1.0 + double(bf16ToFloat(e)));
  return doubleToBF16(1.0 / double(bf16ToFloat(sum)));
}

double gamma(double roundings, double unit) {
  return roundings * unit / (1 - roundings * unit);
}

} // namespace

SigmoidTable::SigmoidTable(SigmoidForm form, bool allowOverflow)
    : table(65536) {
  for (uint32_t logit = 0; logit < 65536; ++logit) {
    double x = bf16ToFloat(uint16_t(logit));
    auto &right = table[logit].right;
    if (form == SigmoidForm::F32) {
      right[0] = right[1] = right[2] =
          bf16ToFloat(doubleToBF16(correctSigmoid(x)));
      continue;
    }
    double e = std::exp(-x);
    if (form == SigmoidForm::F32Unrounded) {
      // As written: a float exp that overflows makes the quotient zero.
      right[0] = 1 / (1 + static_cast<float>(e));
      right[1] = right[0] * (1 - 0x1p-22);
      right[2] = right[0] * (1 + 0x1p-22);
      continue;
    }
    for (auto [value, error] : {std::make_pair(&right[0], 0.0),
                                {&right[1], -0x1p-22},
                                {&right[2], 0x1p-22}})
      *value = bf16ToFloat(reciprocalOfOnePlus(doubleToBF16(e * (1 + error))));
  }
  if (form == SigmoidForm::F32 && allowOverflow)
    for (uint32_t logit = 0xc2b2; logit <= 0xc2b9; ++logit)
      table[logit].right[1] = 0;
}

/// A product in float, rounded to bfloat16. Of two bfloat16 values it is the
/// exact product rounded once: it has 16 significant bits.
static uint16_t roundedProduct(double sigmoid, uint16_t attention) {
  return doubleToBF16(
      static_cast<float>(sigmoid * double(bf16ToFloat(attention))));
}

uint16_t SigmoidTable::value(uint16_t logit) const {
  return doubleToBF16(table[logit].right[0]);
}

uint16_t SigmoidTable::output(uint16_t logit, uint16_t attention) const {
  return roundedProduct(table[logit].right[0], attention);
}

bool SigmoidTable::isValue(uint16_t logit, uint16_t sigmoid) const {
  for (double right : table[logit].right)
    if (doubleToBF16(right) == sigmoid)
      return true;
  return false;
}

bool SigmoidTable::isOutput(uint16_t logit, uint16_t attention,
                            uint16_t output) const {
  for (double right : table[logit].right)
    if (roundedProduct(right, attention) == output)
      return true;
  return false;
}

uint16_t gateProduct(uint16_t sigmoid, uint16_t attention) {
  return roundedProduct(bf16ToFloat(sigmoid), attention);
}

size_t summationDepth(size_t k) { return (k + 63) / 64 + 64; }

const std::vector<uint16_t> &GateReference::tensor(GateTensor which) const {
  switch (which) {
  case GateTensor::Projection:
    return projection;
  case GateTensor::Sigmoid:
    return sigmoid;
  case GateTensor::Output:
    break;
  }
  return output;
}

GateReference computeReference(const GateShape &shape, const GateInputs &inputs,
                               const SigmoidTable &table, size_t depth) {
  GateReference reference;
  reference.shape = shape;
  for (std::vector<uint16_t> *tensor :
       {&reference.projection, &reference.sigmoid, &reference.output,
        &reference.lowestProjection, &reference.highestProjection})
    tensor->resize(shape.outputs());
  reference.exactSums = true;
  reference.inRange = true;

  std::vector<int16_t> bitTable(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits)
    bitTable[bits] = int16_t(lowestBitExponent(uint16_t(bits)));

  std::vector<WideRow> hidden(shape.m);
  for (size_t m = 0; m < shape.m; ++m)
    hidden[m].assign(&inputs.hidden[m * shape.k], shape.k, bitTable);

  double relativeError = gamma(double(depth), 0x1p-24) +
                         gamma(double(shape.k), 0x1p-53); // the reference's own
  double absoluteError = double(shape.k) * 0x1p-149;
  WideRow weight;
  for (size_t n = 0; n < shape.n; ++n) {
    weight.assign(&inputs.weight[n * shape.k], shape.k, bitTable);
    for (size_t m = 0; m < shape.m; ++m) {
      Sum sum = dot(hidden[m].values, weight.values);
      int q = hidden[m].lowestBit + weight.lowestBit;
      bool exact = sum.magnitude == 0 ||
                   (q >= -149 && sum.magnitude <= std::ldexp(1.0, 24 + q));
      double error = exact ? 0 : relativeError * sum.magnitude + absoluteError;
      reference.exactSums &= exact;
      reference.inRange &=
          sum.magnitude < double(std::numeric_limits<float>::max());

      size_t i = m * shape.n + n;
      reference.projection[i] = doubleToBF16(sum.value);
      reference.lowestProjection[i] = doubleToBF16(sum.value - error);
      reference.highestProjection[i] = doubleToBF16(sum.value + error);
      reference.sigmoid[i] = table.value(reference.projection[i]);
      reference.output[i] =
          table.output(reference.projection[i], inputs.attention[i]);
    }
  }
  return reference;
}

namespace {

/// Whether the bound of the header accepts a value.
bool isRight(const GateReference &reference, const SigmoidTable &table,
             uint16_t attention, GateTensor which, size_t i, uint16_t actual) {
  int32_t low = bf16Order(reference.lowestProjection[i]);
  int32_t high = bf16Order(reference.highestProjection[i]);
  if (which == GateTensor::Projection)
    return !isBF16NaN(actual) && bf16Order(actual) >= low &&
           bf16Order(actual) <= high;
  for (int32_t order = low; order <= high; ++order) {
    uint16_t logit = bf16FromOrder(order);
    if (which == GateTensor::Sigmoid ? table.isValue(logit, actual)
                                     : table.isOutput(logit, attention, actual))
      return true;
  }
  return false;
}

} // namespace

Comparison compare(const GateReference &reference, const SigmoidTable &table,
                   const std::vector<uint16_t> &attention, GateTensor which,
                   const std::vector<uint16_t> &expected,
                   const std::vector<uint16_t> &actual) {
  Comparison result;
  result.count = reference.shape.outputs();
  double difference = 0, magnitude = 0;
  for (size_t i = 0; i < result.count; ++i) {
    double right = bf16ToFloat(expected[i]);
    magnitude += right * right;
    if (actual[i] == expected[i]) {
      ++result.equal;
      continue;
    }
    double delta = double(bf16ToFloat(actual[i])) - right;
    difference += delta * delta;
    int32_t distance =
        isBF16NaN(actual[i]) || isBF16NaN(expected[i])
            ? 65536
            : std::abs(bf16Order(actual[i]) - bf16Order(expected[i]));
    result.largestDistance = std::max(result.largestDistance, distance);
    if (isRight(reference, table, attention[i], which, i, actual[i]))
      ++result.withinBound;
    else
      result.wrong.push_back(i);
  }
  result.relativeRMSE = difference == 0 ? 0 : std::sqrt(difference / magnitude);
  return result;
}

} // namespace kimi::reference
