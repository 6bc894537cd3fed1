//===- Transcendental.cpp - Instructions specified to 1 ULP ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_exp_f32, v_log_f32, v_rcp_f32, v_rsq_f32, v_sqrt_f32, v_sin_f32 and
// v_cos_f32 are specified to 1 ULP, with denormals flushed in and out (CDNA4
// ISA document, VOP1; LLVM's expansions of fdiv, exp2, log2 and sqrt scale
// their operands for that reason). The result here is the correctly rounded
// one, evaluated in long double, or its neighbour; exact results stay exact.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include <cmath>
#include <limits>

using namespace kimi::emulator;

namespace {

/// Rounds as the launch asks. `exact` is the result before rounding.
template <typename F>
F roundResult(long double exact, bool isExact, Transcendental mode) {
  F nearest = F(exact);
  if (mode == Transcendental::Nearest || isExact || !std::isfinite(nearest))
    return nearest;
  F limit = mode == Transcendental::Up ? std::numeric_limits<F>::infinity()
                                       : -std::numeric_limits<F>::infinity();
  return std::nextafter(nearest, limit);
}

bool fits(long double value) { return (long double)(float(value)) == value; }

float exp2Result(float x, Transcendental mode) {
  if (std::isinf(x))
    return x > 0 ? x : 0.0f;
  return roundResult<float>(exp2l(x), std::trunc(x) == x, mode);
}

float log2Result(float x, Transcendental mode) {
  if (x < 0)
    return bitCast<float>(QuietNaN32);
  if (x == 0)
    return -std::numeric_limits<float>::infinity();
  if (std::isinf(x))
    return x;
  int exponent;
  bool isExact = std::frexp(x, &exponent) == 0.5f;
  return roundResult<float>(log2l(x), isExact, mode);
}

float rcpResult(float x, Transcendental mode) {
  if (x == 0 || std::isinf(x))
    return 1.0f / x;
  int exponent;
  bool isExact = std::fabs(std::frexp(x, &exponent)) == 0.5f;
  return roundResult<float>(1.0L / x, isExact, mode);
}

float sqrtResult(float x, Transcendental mode) {
  if (x < 0)
    return bitCast<float>(QuietNaN32);
  if (x == 0 || std::isinf(x))
    return x;
  long double root = sqrtl(x);
  return roundResult<float>(root, fits(root) && root * root == x, mode);
}

float rsqResult(float x, Transcendental mode) {
  if (x < 0)
    return bitCast<float>(QuietNaN32);
  if (x == 0)
    return 1.0f / x;
  if (std::isinf(x))
    return 0.0f;
  long double root = sqrtl(x), result = 1.0L / root;
  bool isExact = fits(result) && result * result * x == 1.0L;
  return roundResult<float>(result, isExact, mode);
}

template <typename Fn> void evaluate(VectorContext &c, Fn fn) {
  Transcendental mode = c.transcendental();
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!(c.exec >> lane & 1)) {
      c.out32(lane) = 0;
      continue;
    }
    uint32_t x = c.get<uint32_t>(0, lane);
    uint32_t result = x;
    if (!isNaN32(x))
      result = flush32(bitCast<uint32_t>(fn(bitCast<float>(flush32(x)), mode)));
    c.out32(lane) = result;
  }
}

double rcp64(double x, Transcendental mode) {
  if (x == 0 || std::isinf(x))
    return 1.0 / x;
  int exponent;
  bool isExact = std::fabs(std::frexp(x, &exponent)) == 0.5;
  return roundResult<double>(1.0L / x, isExact, mode);
}

} // namespace

std::vector<Operation> kimi::emulator::getTranscendentalOperations() {
  auto op = [](const char *name, VectorFn fn) {
    return vectorOp(name, InstructionClass::VectorTranscendental, Type::F32,
                    {Type::F32}, fn,
                    QuietsNaN | FloatOutput | IsTranscendental);
  };
  Operation rcp64Op = vectorOp(
      "v_rcp_f64", InstructionClass::VectorTranscendental, Type::F64,
      {Type::F64},
      [](VectorContext &c) {
        Transcendental mode = c.transcendental();
        c.map1<double>([=](double a) { return a != a ? a : rcp64(a, mode); });
      },
      QuietsNaN | FloatOutput | Denormals | IsTranscendental);
  return {
      op("v_exp_f32", [](VectorContext &c) { evaluate(c, exp2Result); }),
      op("v_log_f32", [](VectorContext &c) { evaluate(c, log2Result); }),
      op("v_rcp_f32", [](VectorContext &c) { evaluate(c, rcpResult); }),
      op("v_rcp_iflag_f32", [](VectorContext &c) { evaluate(c, rcpResult); }),
      op("v_rsq_f32", [](VectorContext &c) { evaluate(c, rsqResult); }),
      op("v_sqrt_f32", [](VectorContext &c) { evaluate(c, sqrtResult); }),
      rcp64Op,
  };
}
