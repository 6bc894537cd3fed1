//===- VectorFloat.cpp - Floating point vector instructions ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Instructions", VOP1, VOP2 and VOP3A.
// Host arithmetic is IEEE and rounds to nearest even. The result of an invalid
// operation and the choice among NaN operands are made by executeVector.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include <algorithm>
#include <cmath>

using namespace kimi::emulator;

namespace {

constexpr uint32_t Arithmetic =
    QuietsNaN | Denormals | Rounds | DirectedRounding | FloatOutput;
constexpr uint32_t HalfArithmetic =
    Denormals | Rounds | DirectedRounding | FloatOutput;
/// Selects or classifies: no rounding.
constexpr uint32_t Selection = Denormals | FloatOutput;

// Minimum and maximum ---------------------------------------------------------
// One description for the three formats: patterns in, pattern out.

struct Half {
  using Bits = uint32_t;
  static bool isNaN(Bits x) { return isNaN16(x); }
  static bool isSignaling(Bits x) { return isSignaling16(x); }
  static Bits quiet(Bits x) { return x | QuietBit16; }
  static Bits sign(Bits x) { return x & 0x8000; }
  static float value(Bits x) { return halfToFloat(x); }
};
struct Single {
  using Bits = uint32_t;
  static bool isNaN(Bits x) { return isNaN32(x); }
  static bool isSignaling(Bits x) { return isSignaling32(x); }
  static Bits quiet(Bits x) { return x | QuietBit32; }
  static Bits sign(Bits x) { return x & 0x80000000; }
  static float value(Bits x) { return bitCast<float>(x); }
};
struct Double {
  using Bits = uint64_t;
  static bool isNaN(Bits x) { return isNaN64(x); }
  static bool isSignaling(Bits x) { return isSignaling64(x); }
  static Bits quiet(Bits x) { return x | QuietBit64; }
  static Bits sign(Bits x) { return x & SignBit64; }
  static double value(Bits x) { return bitCast<double>(x); }
};

/// A quiet NaN loses against a number; a signalling one wins, made quiet, in
/// IEEE mode. -0 is less than +0.
template <typename F>
typename F::Bits minMax(typename F::Bits a, typename F::Bits b, bool ieee,
                        bool max) {
  if (ieee && F::isSignaling(a))
    return F::quiet(a);
  if (ieee && F::isSignaling(b))
    return F::quiet(b);
  if (F::isNaN(a))
    return b;
  if (F::isNaN(b))
    return a;
  if (F::value(a) == F::value(b))
    return (F::sign(a) != 0) == max ? b : a;
  return (F::value(a) < F::value(b)) != max ? a : b;
}

template <typename F, bool Max> void minMax2(VectorContext &c) {
  bool ieee = c.wave.ieee();
  c.map2<typename F::Bits>([=](typename F::Bits a, typename F::Bits b) {
    return minMax<F>(a, b, ieee, Max);
  });
}

template <typename F, bool Max> void minMax3(VectorContext &c) {
  bool ieee = c.wave.ieee();
  using Bits = typename F::Bits;
  c.map3<Bits>([=](Bits x, Bits y, Bits z) {
    return minMax<F>(minMax<F>(x, y, ieee, Max), z, ieee, Max);
  });
}

void med3(VectorContext &c) {
  bool ieee = c.wave.ieee();
  c.map3<uint32_t>([=](uint32_t x, uint32_t y, uint32_t z) {
    auto max = [=](uint32_t a, uint32_t b) {
      return minMax<Single>(a, b, ieee, true);
    };
    if (isNaN32(x) || isNaN32(y) || isNaN32(z))
      return minMax<Single>(minMax<Single>(x, y, ieee, false), z, ieee, false);
    float top = bitCast<float>(max(max(x, y), z));
    if (top == bitCast<float>(x))
      return max(y, z);
    if (top == bitCast<float>(y))
      return max(x, z);
    return max(x, y);
  });
}

/// IEEE 754-2019 minimum and maximum: any NaN wins.
template <bool Max> uint32_t minimumMaximum(uint32_t a, uint32_t b) {
  if (isNaN32(a))
    return a | QuietBit32;
  if (isNaN32(b))
    return b | QuietBit32;
  return minMax<Single>(a, b, false, Max);
}
template <bool Max> void minimumMaximum3(VectorContext &c) {
  c.map3<uint32_t>([](uint32_t x, uint32_t y, uint32_t z) {
    return minimumMaximum<Max>(minimumMaximum<Max>(x, y), z);
  });
}

// Rounding to integers --------------------------------------------------------

/// x - floor(x), which stays below 1.
template <typename F> F fraction(F x) {
  F result = x - std::floor(x);
  F below = std::nextafter(F(1), F(0));
  return result > below ? below : result;
}

// Exponents -------------------------------------------------------------------

/// x * 2^n, rounded once. The exponent is limited first: beyond these bounds
/// every finite x gives zero or infinity all the same.
float loadExponent(float x, int n) {
  return std::ldexp(x, std::clamp(n, -400, 400));
}
double loadExponent(double x, int n) {
  return std::ldexp(x, std::clamp(n, -5000, 5000));
}

// Division --------------------------------------------------------------------
// v_div_scale prepares numerator and denominator so that no step of the Newton
// iteration over- or underflows, v_div_fmas undoes the scaling in its last
// step, v_div_fixup handles the special operands.

template <typename F> struct DivTraits;
template <> struct DivTraits<float> {
  using Bits = uint32_t;
  static constexpr int Scale = 64, NearMax = 96, Tiny = 23;
  static constexpr uint32_t NaN = QuietNaN32;
  static int exponent(Bits x) { return exponent32(x); }
  static bool isDenormal(Bits x) { return isDenormal32(x); }
};
template <> struct DivTraits<double> {
  using Bits = uint64_t;
  static constexpr int Scale = 128, NearMax = 768, Tiny = 53;
  static constexpr uint64_t NaN = QuietNaN64;
  static int exponent(Bits x) { return exponent64(x); }
  static bool isDenormal(Bits x) { return isDenormal64(x); }
};

/// Source 0 is the operand to scale: source 1 (denominator) or 2 (numerator).
template <typename F> void divScale(VectorContext &c) {
  using T = DivTraits<F>;
  using Bits = typename T::Bits;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    Bits b0 = c.get<Bits>(0, lane), b1 = c.get<Bits>(1, lane),
         b2 = c.get<Bits>(2, lane);
    F s0 = bitCast<F>(b0), s1 = bitCast<F>(b1), s2 = bitCast<F>(b2);
    auto isDenormal = [](F x) { return T::isDenormal(bitCast<Bits>(x)); };
    F result = s0;
    bool flag = false;
    if (s1 == 0 || s2 == 0) {
      result = bitCast<F>(T::NaN);
    } else if (T::exponent(b2) - T::exponent(b1) >= T::NearMax) {
      flag = true;
      if (s0 == s1)
        result = loadExponent(s0, T::Scale);
    } else if (T::isDenormal(b1)) {
      result = loadExponent(s0, T::Scale);
    } else if (isDenormal(F(1) / s1) && isDenormal(s2 / s1)) {
      // The documents scale the denominator up here, to infinity, which could
      // not give the correctly rounded quotients that LLVM expects.
      flag = true;
      if (s0 == s1)
        result = loadExponent(s0, -T::Scale);
    } else if (isDenormal(F(1) / s1)) {
      result = loadExponent(s0, -T::Scale);
    } else if (isDenormal(s2 / s1)) {
      flag = true;
      if (s0 == s2)
        result = loadExponent(s0, T::Scale);
    } else if (T::exponent(b2) <= T::Tiny) {
      result = loadExponent(s0, T::Scale);
    }
    if (result != result)
      result = bitCast<F>(T::NaN);
    c.maskOut |= uint64_t(flag) << lane;
    std::memcpy(static_cast<char *>(c.result) + lane * sizeof(F), &result,
                sizeof(F));
  }
}

// A format whose products of two doubles are exact.
#if defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
#else
using Quad = long double;
#endif

/// (a * b + c) * 2^n, rounded once: a denormal quotient would otherwise be
/// rounded twice, and a division of this form is correctly rounded.
float scaledFma(float a, float b, float c, int n) {
  return float(loadExponent(addToOdd(double(a) * double(b), double(c)), n));
}
double scaledFma(double a, double b, double c, int n) {
  return double((Quad(a) * Quad(b) + Quad(c)) * Quad(loadExponent(1.0, n)));
}

/// The scale is undone in the direction that the quotient's estimate (source
/// 2) shows: a small one was scaled up, a large one down. The CDNA documents
/// name one factor only (2^32), with which denormal quotients would be wrong;
/// the RDNA3 document gives both directions, which LLVM's expansion of fdiv
/// needs on every chip.
template <typename F> void divFmas(VectorContext &c) {
  using T = DivTraits<F>;
  using Bits = typename T::Bits;
  int bias = sizeof(F) == 4 ? 127 : 1023;
  uint64_t mask = c.maskIn;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    F a = c.get<F>(0, lane), b = c.get<F>(1, lane), s2 = c.get<F>(2, lane);
    F result;
    if (mask >> lane & 1) {
      int scale = T::exponent(bitCast<Bits>(s2)) > bias ? T::Scale : -T::Scale;
      result = scaledFma(a, b, s2, scale);
    } else {
      result = std::fma(a, b, s2);
    }
    std::memcpy(static_cast<char *>(c.result) + lane * sizeof(F), &result,
                sizeof(F));
  }
}

/// Sources: quotient, denominator, numerator. A quotient that is infinite or
/// NaN although its operands are finite has overflowed in the iteration. (The
/// document tests the denominator's exponent there, which the cases above have
/// already covered.)
void divFixup32(VectorContext &c) {
  c.map3<uint32_t>([](uint32_t q, uint32_t d, uint32_t n) -> uint32_t {
    uint32_t sign = (d ^ n) & 0x80000000, ad = d & 0x7fffffff,
             an = n & 0x7fffffff;
    if (isNaN32(n))
      return n | QuietBit32;
    if (isNaN32(d))
      return d | QuietBit32;
    if ((ad == 0 && an == 0) || (ad == Infinity32 && an == Infinity32))
      return 0xffc00000;
    if (ad == 0 || an == Infinity32)
      return sign | Infinity32;
    if (ad == Infinity32 || an == 0)
      return sign;
    // The quotient is far below the least denormal.
    if (exponent32(n) - exponent32(d) < -150)
      return sign;
    if (exponent32(q) == 255)
      return sign | Infinity32;
    return sign | (q & 0x7fffffff);
  });
}

void divFixup64(VectorContext &c) {
  c.map3<uint64_t>([](uint64_t q, uint64_t d, uint64_t n) -> uint64_t {
    uint64_t sign = (d ^ n) & SignBit64, ad = d & ~SignBit64,
             an = n & ~SignBit64;
    if (isNaN64(n))
      return n | QuietBit64;
    if (isNaN64(d))
      return d | QuietBit64;
    if ((ad == 0 && an == 0) || (ad == Infinity64 && an == Infinity64))
      return 0xfff8000000000000;
    if (ad == 0 || an == Infinity64)
      return sign | Infinity64;
    if (ad == Infinity64 || an == 0)
      return sign;
    if (exponent64(n) - exponent64(d) < -1075)
      return sign;
    if (exponent64(q) == 2047)
      return sign | Infinity64;
    return sign | (q & ~SignBit64);
  });
}

// f16 -------------------------------------------------------------------------
// Sums and products of two halves are exact in double: one rounding remains.

template <typename Fn> void half2(VectorContext &c, Fn fn) {
  unsigned rounding = c.rounding;
  c.map2<uint32_t>([=](uint32_t a, uint32_t b) -> uint32_t {
    uint16_t result = doubleToHalf(
        fn(double(halfToFloat(a)), double(halfToFloat(b))), rounding);
    if (!isNaN16(result))
      return result;
    return isNaN16(a)   ? a | QuietBit16
           : isNaN16(b) ? b | QuietBit16
                        : QuietNaN16;
  });
}

} // namespace

std::vector<Operation> kimi::emulator::getVectorFloatOperations() {
  constexpr auto F32 = Type::F32;
  constexpr auto F64 = Type::F64;
  constexpr auto F16 = Type::F16;
  constexpr auto B32 = Type::B32;
  constexpr auto B16 = Type::B16;
  constexpr auto Float = InstructionClass::VectorFloat;
  auto op = [=](const char *name, Type dst, std::initializer_list<Type> src,
                VectorFn fn, uint32_t flags) {
    return vectorOp(name, Float, dst, src, fn, flags);
  };
  auto add = [](VectorContext &c) {
    c.map2<float>([](float a, float b) { return a + b; });
  };
  auto fma = [](VectorContext &c) {
    c.map3<float>([](float a, float b, float d) { return std::fma(a, b, d); });
  };
  auto fma64 = [](VectorContext &c) {
    c.map3<double>(
        [](double a, double b, double d) { return std::fma(a, b, d); });
  };
  return {
      op("v_add_f32", F32, {F32, F32}, add, Arithmetic),
      op(
          "v_sub_f32", F32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) { return a - b; });
          },
          Arithmetic),
      op(
          "v_subrev_f32", F32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) { return b - a; });
          },
          Arithmetic),
      op(
          "v_mul_f32", F32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) { return a * b; });
          },
          Arithmetic),
      // Zero times anything is +0.
      op(
          "v_mul_legacy_f32", F32, {F32, F32},
          [](VectorContext &c) {
            c.map2<float>([](float a, float b) {
              return a == 0 || b == 0 ? 0.0f : a * b;
            });
          },
          Arithmetic),
      op("v_fma_f32", F32, {F32, F32, F32}, fma, Arithmetic),
      op("v_fmac_f32", F32, {F32, F32, F32}, fma, Arithmetic | ReadsDst),
      op("v_fmamk_f32", F32, {F32, F32, F32}, fma, Arithmetic | Fmamk),
      op("v_fmaak_f32", F32, {F32, F32, F32}, fma, Arithmetic | Fmaak),
      op("v_min_f32", F32, {F32, F32}, minMax2<Single, false>, Selection),
      op("v_max_f32", F32, {F32, F32}, minMax2<Single, true>, Selection),
      op("v_min3_f32", F32, {F32, F32, F32}, minMax3<Single, false>, Selection),
      op("v_max3_f32", F32, {F32, F32, F32}, minMax3<Single, true>, Selection),
      op("v_med3_f32", F32, {F32, F32, F32}, med3, Selection),
      op("v_minimum3_f32", F32, {F32, F32, F32}, minimumMaximum3<false>,
         Selection),
      op("v_maximum3_f32", F32, {F32, F32, F32}, minimumMaximum3<true>,
         Selection),
      op(
          "v_trunc_f32", F32, {F32},
          [](VectorContext &c) {
            c.map1<float>([](float a) { return std::trunc(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_ceil_f32", F32, {F32},
          [](VectorContext &c) {
            c.map1<float>([](float a) { return std::ceil(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_rndne_f32", F32, {F32},
          [](VectorContext &c) {
            c.map1<float>([](float a) { return std::nearbyint(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_floor_f32", F32, {F32},
          [](VectorContext &c) {
            c.map1<float>([](float a) { return std::floor(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_fract_f32", F32, {F32},
          [](VectorContext &c) { c.map1<float>(fraction<float>); },
          QuietsNaN | Selection),
      op(
          "v_trunc_f64", F64, {F64},
          [](VectorContext &c) {
            c.map1<double>([](double a) { return std::trunc(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_ceil_f64", F64, {F64},
          [](VectorContext &c) {
            c.map1<double>([](double a) { return std::ceil(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_rndne_f64", F64, {F64},
          [](VectorContext &c) {
            c.map1<double>([](double a) { return std::nearbyint(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_floor_f64", F64, {F64},
          [](VectorContext &c) {
            c.map1<double>([](double a) { return std::floor(a); });
          },
          QuietsNaN | Selection),
      op(
          "v_frexp_exp_i32_f32", B32, {F32},
          [](VectorContext &c) {
            c.map1<uint32_t>([](uint32_t a) -> int32_t {
              float x = bitCast<float>(a);
              int exponent = 0;
              if (std::isfinite(x))
                std::frexp(x, &exponent);
              return exponent;
            });
          },
          Denormals),
      op(
          "v_frexp_mant_f32", F32, {F32},
          [](VectorContext &c) {
            c.map1<float>([](float a) {
              int exponent;
              return std::isfinite(a) ? std::frexp(a, &exponent) : a;
            });
          },
          QuietsNaN | Selection),
      op(
          "v_ldexp_f32", F32, {F32, B32},
          [](VectorContext &c) {
            c.map2<float, int32_t>(
                [](float a, int32_t b) { return loadExponent(a, b); });
          },
          Arithmetic),
      op(
          "v_ldexp_f64", F64, {F64, B32},
          [](VectorContext &c) {
            c.map2<double, int32_t>(
                [](double a, int32_t b) { return loadExponent(a, b); });
          },
          Arithmetic),
      op(
          "v_add_f64", F64, {F64, F64},
          [](VectorContext &c) {
            c.map2<double>([](double a, double b) { return a + b; });
          },
          Arithmetic),
      op(
          "v_mul_f64", F64, {F64, F64},
          [](VectorContext &c) {
            c.map2<double>([](double a, double b) { return a * b; });
          },
          Arithmetic),
      op("v_fma_f64", F64, {F64, F64, F64}, fma64, Arithmetic),
      op("v_fmac_f64", F64, {F64, F64, F64}, fma64, Arithmetic | ReadsDst),
      op("v_min_f64", F64, {F64, F64}, minMax2<Double, false>, Selection),
      op("v_max_f64", F64, {F64, F64}, minMax2<Double, true>, Selection),
      op("v_div_scale_f32", F32, {F32, F32, F32}, divScale<float>,
         WritesMask | Denormals),
      op("v_div_scale_f64", F64, {F64, F64, F64}, divScale<double>,
         WritesMask | Denormals),
      op("v_div_fmas_f32", F32, {F32, F32, F32}, divFmas<float>,
         (Arithmetic & ~uint32_t(DirectedRounding)) | ReadsVcc),
      op("v_div_fmas_f64", F64, {F64, F64, F64}, divFmas<double>,
         (Arithmetic & ~uint32_t(DirectedRounding)) | ReadsVcc),
      op("v_div_fixup_f32", F32, {F32, F32, F32}, divFixup32, Selection),
      op("v_div_fixup_f64", F64, {F64, F64, F64}, divFixup64, Selection),
      op(
          "v_add_f16", F16, {F16, F16},
          [](VectorContext &c) {
            half2(c, [](double a, double b) { return a + b; });
          },
          HalfArithmetic),
      op(
          "v_sub_f16", F16, {F16, F16},
          [](VectorContext &c) {
            half2(c, [](double a, double b) { return a - b; });
          },
          HalfArithmetic),
      op(
          "v_subrev_f16", F16, {F16, F16},
          [](VectorContext &c) {
            half2(c, [](double a, double b) { return b - a; });
          },
          HalfArithmetic),
      op(
          "v_mul_f16", F16, {F16, F16},
          [](VectorContext &c) {
            half2(c, [](double a, double b) { return a * b; });
          },
          HalfArithmetic),
      op("v_min_f16", F16, {F16, F16}, minMax2<Half, false>, Selection),
      op("v_max_f16", F16, {F16, F16}, minMax2<Half, true>, Selection),
      op(
          "v_ldexp_f16", F16, {F16, B16},
          [](VectorContext &c) {
            unsigned rounding = c.rounding;
            c.map2<uint32_t>([=](uint32_t a, uint32_t b) -> uint32_t {
              if (isNaN16(a))
                return a | QuietBit16;
              return doubleToHalf(
                  loadExponent(double(halfToFloat(a)), int16_t(b)), rounding);
            });
          },
          HalfArithmetic),
  };
}
