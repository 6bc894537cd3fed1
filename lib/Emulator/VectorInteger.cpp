//===- VectorInteger.cpp - Integer, bitwise and move vector instructions --===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Instructions", VOP1, VOP2 and VOP3.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <type_traits>

using namespace kimi::emulator;

namespace {

// Undefined bits --------------------------------------------------------------
// `v` holds the sources' values, `u` their undefined bits.

uint64_t shadowCopy(const VectorContext &, const uint64_t *,
                    const uint64_t *u) {
  return u[0];
}
uint64_t shadowAnd2(uint64_t a, uint64_t ua, uint64_t b, uint64_t ub) {
  // A bit that is known to be zero decides.
  return (ua | ub) & (a | ua) & (b | ub);
}
uint64_t shadowOr2(uint64_t a, uint64_t ua, uint64_t b, uint64_t ub) {
  return (ua | ub) & (~a | ua) & (~b | ub);
}
uint64_t shadowAnd(const VectorContext &, const uint64_t *v,
                   const uint64_t *u) {
  return shadowAnd2(v[0], u[0], v[1], u[1]);
}
uint64_t shadowOr(const VectorContext &, const uint64_t *v, const uint64_t *u) {
  return shadowOr2(v[0], u[0], v[1], u[1]);
}
uint64_t shadowAndOr(const VectorContext &, const uint64_t *v,
                     const uint64_t *u) {
  uint64_t both = v[0] & v[1], ubits = shadowAnd2(v[0], u[0], v[1], u[1]);
  return shadowOr2(both, ubits, v[2], u[2]);
}
uint64_t shadowOr3(const VectorContext &, const uint64_t *v,
                   const uint64_t *u) {
  uint64_t either = v[0] | v[1], ubits = shadowOr2(v[0], u[0], v[1], u[1]);
  return shadowOr2(either, ubits, v[2], u[2]);
}
/// Source 0 is the amount, source 1 what is shifted.
template <typename T, bool Left>
uint64_t shadowShift(const VectorContext &, const uint64_t *v,
                     const uint64_t *u) {
  constexpr unsigned Mask = sizeof(T) == 8 ? 63 : sizeof(T) == 2 ? 15 : 31;
  if (u[0] & Mask)
    return ~uint64_t(0);
  unsigned amount = v[0] & Mask;
  return uint64_t(Left ? T(T(u[1]) << amount) : T(T(u[1]) >> amount));
}
uint64_t shadowLshlOr(const VectorContext &, const uint64_t *v,
                      const uint64_t *u) {
  if (u[1] & 31)
    return ~uint64_t(0);
  unsigned amount = v[1] & 31;
  return shadowOr2(uint32_t(v[0]) << amount, uint32_t(u[0]) << amount, v[2],
                   u[2]);
}

template <bool Signed>
uint32_t extractBits(uint32_t x, uint32_t at, uint32_t width) {
  at &= 31;
  width &= 31;
  if (width == 0)
    return 0;
  if (Signed) {
    int32_t shifted = int32_t(x) >> at;
    return at + width >= 32 ? shifted
                            : uint32_t(llvm::SignExtend64(shifted, width));
  }
  return x >> at & ((1u << width) - 1);
}
template <bool Signed>
uint64_t shadowBfe(const VectorContext &, const uint64_t *v,
                   const uint64_t *u) {
  if ((u[1] | u[2]) & 31)
    return ~uint64_t(0);
  return extractBits<Signed>(u[0], v[1], v[2]);
}
uint64_t shadowBfi(const VectorContext &, const uint64_t *v,
                   const uint64_t *u) {
  return u[0] | (u[1] & v[0]) | (u[2] & ~v[0]);
}

uint32_t permuteBytes(uint64_t data, uint32_t select) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned s = select >> 8 * i & 0xff;
    uint32_t byte;
    if (s >= 13)
      byte = 0xff;
    else if (s == 12)
      byte = 0;
    else if (s >= 8) // the sign of a half
      byte = data >> (16 * (s - 8) + 15) & 1 ? 0xff : 0;
    else
      byte = data >> 8 * s & 0xff;
    result |= byte << 8 * i;
  }
  return result;
}
uint64_t shadowPerm(const VectorContext &, const uint64_t *v,
                    const uint64_t *u) {
  uint32_t constant = 0; // bytes whose selector names no data
  for (unsigned i = 0; i < 4; ++i)
    if ((v[2] >> 8 * i & 0xff) >= 12)
      constant |= 0xffu << 8 * i;
  if (u[2])
    return ~uint64_t(0);
  return permuteBytes(u[0] << 32 | uint32_t(u[1]), v[2]) & ~constant;
}
template <unsigned Unit>
uint64_t shadowAlign(const VectorContext &, const uint64_t *v,
                     const uint64_t *u) {
  constexpr unsigned Mask = Unit == 8 ? 3 : 31;
  if (u[2] & Mask)
    return ~uint64_t(0);
  return uint32_t((u[0] << 32 | uint32_t(u[1])) >> (v[2] & Mask) * Unit);
}

/// In sums and products a bit of the result depends on the sources' bits up to
/// its own place only. The backend relies on it: it multiplies and adds 64-bit
/// values whose high half nobody wrote when it needs the low half alone.
uint64_t upward(uint64_t bits) {
  return bits ? ~uint64_t(0) << llvm::countr_zero(bits) : 0;
}
uint64_t shadowSum(const VectorContext &c, const uint64_t *,
                   const uint64_t *u) {
  uint64_t any = 0;
  for (unsigned i = 0; i < c.op.sources; ++i)
    any |= u[i];
  return upward(any);
}
/// Shifts of v_lshl_add_u64: 0 to 4, other amounts count as 0 (ISA document,
/// V_LSHL_ADD_U64).
unsigned lshlAddAmount(uint32_t amount) {
  amount &= 7;
  return amount <= 4 ? amount : 0;
}

uint64_t shadowLshlAdd(const VectorContext &c, const uint64_t *v,
                       const uint64_t *u) {
  unsigned mask = c.op.dst == Type::B64 ? 7 : 31;
  if (u[1] & mask)
    return ~uint64_t(0);
  unsigned amount = c.op.dst == Type::B64 ? lshlAddAmount(v[1]) : v[1] & 31;
  return upward(u[0] << amount | u[2]);
}
uint64_t shadowAddLshl(const VectorContext &, const uint64_t *v,
                       const uint64_t *u) {
  if (u[2] & 31)
    return ~uint64_t(0);
  return upward(u[0] | u[1]) << (v[2] & 31);
}

// Carries ---------------------------------------------------------------------

/// a + b + carry, or a - b - carry.
template <bool Subtract, bool Reverse, bool CarryIn>
void addCarry(VectorContext &c) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint64_t a = c.get<uint32_t>(Reverse ? 1 : 0, lane),
             b = c.get<uint32_t>(Reverse ? 0 : 1, lane),
             carry = CarryIn ? c.maskIn >> lane & 1 : 0;
    uint64_t result = Subtract ? a - b - carry : a + b + carry;
    bool overflow = result >> 32 & 1;
    c.out32(lane) = !overflow || !c.inst.clamp ? result : Subtract ? 0 : ~0u;
    out |= uint64_t(overflow) << lane;
  }
  c.maskOut = out;
}

/// a + b or a - b, which saturates with clamp.
template <typename T, bool Subtract, bool Reverse>
void addSubtract(VectorContext &c) {
  if (!c.inst.clamp)
    return c.map2<uint32_t>([](uint32_t a, uint32_t b) -> uint32_t {
      return std::make_unsigned_t<T>(!Subtract ? a + b
                                     : Reverse ? b - a
                                               : a - b);
    });
  c.map2<uint32_t>([](uint32_t x, uint32_t y) -> uint32_t {
    int64_t a = T(Reverse ? y : x), b = T(Reverse ? x : y);
    int64_t result = Subtract ? a - b : a + b;
    result = std::clamp<int64_t>(result, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max());
    return std::make_unsigned_t<T>(result);
  });
}

template <bool Signed> void madWide(VectorContext &c) {
  uint64_t out = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint32_t a = c.get<uint32_t>(0, lane), b = c.get<uint32_t>(1, lane);
    uint64_t d = c.get<uint64_t>(2, lane);
    if (Signed) {
      __int128 sum = __int128(int64_t(int32_t(a)) * int32_t(b)) + int64_t(d);
      c.out64(lane) = uint64_t(sum);
      // The 65th bit of the sum.
      out |= uint64_t(sum >> 64 & 1) << lane;
    } else {
      unsigned __int128 sum = (unsigned __int128)(uint64_t(a) * b) + d;
      c.out64(lane) = uint64_t(sum);
      out |= uint64_t(sum >> 64 & 1) << lane;
    }
  }
  c.maskOut = out;
}

int32_t signed24(uint32_t x) { return int32_t(x << 8) >> 8; }
uint32_t unsigned24(uint32_t x) { return x & 0xffffff; }

/// The truth table of v_bitop3 lies where the modifiers would be.
unsigned truthTable(const Instruction &inst) {
  return (inst.neg & 7) | (inst.abs & 7) << 3 | (inst.omod & 3) << 6;
}

/// Bit 7 of the table is the result where all three sources have a one, bit 0
/// where all have a zero; source 0 is the most significant index bit.
template <typename T> T bitop3(T a, T b, T c, unsigned table) {
  T result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : T(~a)) & (i & 2 ? b : T(~b)) & (i & 1 ? c : T(~c));
  return result;
}

} // namespace

std::vector<Operation> kimi::emulator::getVectorIntegerOperations() {
  constexpr auto B32 = Type::B32;
  constexpr auto B16 = Type::B16;
  constexpr auto B64 = Type::B64;
  constexpr auto F32 = Type::F32;
  auto op = [=](const char *name, Type dst, std::initializer_list<Type> src,
                VectorFn fn, uint32_t flags = 0, ShadowFn shadow = nullptr) {
    return vectorOp(name, InstructionClass::VectorInteger, dst, src, fn, flags,
                    shadow);
  };
  // One entry with a stateless lambda over two or three dwords.
#define KIMI_OP2(NAME, T, EXPRESSION, ...)                                     \
  op(                                                                          \
      NAME, B32, {B32, B32},                                                   \
      [](VectorContext &context) {                                             \
        context.map2<T>([](T a, T b) -> uint32_t { return EXPRESSION; });      \
      },                                                                       \
      ##__VA_ARGS__)
#define KIMI_OP3(NAME, T, EXPRESSION, ...)                                     \
  op(                                                                          \
      NAME, B32, {B32, B32, B32},                                              \
      [](VectorContext &context) {                                             \
        context.map3<T>([](T a, T b, T c) -> uint32_t { return EXPRESSION; }); \
      },                                                                       \
      ##__VA_ARGS__)
#define KIMI_OP1(NAME, T, EXPRESSION, ...)                                     \
  op(                                                                          \
      NAME, B32, {B32},                                                        \
      [](VectorContext &context) {                                             \
        context.map1<T>([](T a) -> uint32_t { return EXPRESSION; });           \
      },                                                                       \
      ##__VA_ARGS__)
  // 16-bit results in the low half.
#define KIMI_OP16(NAME, T, EXPRESSION, ...)                                    \
  op(                                                                          \
      NAME, B16, {B16, B16},                                                   \
      [](VectorContext &context) {                                             \
        context.map2<uint32_t>([](uint32_t x, uint32_t y) -> uint32_t {        \
          T a = T(x), b = T(y);                                                \
          return uint16_t(EXPRESSION);                                         \
        });                                                                    \
      },                                                                       \
      ##__VA_ARGS__)
  auto copy32 = [](VectorContext &c) {
    c.map1<uint32_t>([](uint32_t a) { return a; });
  };
  auto copy64 = [](VectorContext &c) {
    c.map1<uint64_t>([](uint64_t a) { return a; });
  };
  auto nop = [](VectorContext &) {};
  std::vector<Operation>
      table =
          {
              // Moves.
              op("v_mov_b32", B32, {B32}, copy32, 0, shadowCopy),
              op("v_mov_b64", B64, {B64}, copy64, 0, shadowCopy),
              op("v_accvgpr_mov_b32", B32, {B32}, copy32, 0, shadowCopy),
              op("v_accvgpr_read_b32", B32, {B32}, copy32, 0, shadowCopy),
              op("v_accvgpr_write_b32", B32, {B32}, copy32, 0, shadowCopy),
              // F32: VOP3 may negate what it selects.
              op(
                  "v_cndmask_b32", B32, {F32, F32},
                  [](VectorContext &c) {
                    uint64_t mask = c.maskIn;
                    const void *a = c.source[0], *b = c.source[1];
                    c.write([=](unsigned lane) {
                      return VectorContext::load<uint32_t>(
                          mask >> lane & 1 ? b : a, lane);
                    });
                  },
                  ReadsMask, shadowCopy),
              // Bitwise.
              KIMI_OP1("v_not_b32", uint32_t, ~a, ShadowBitwise),
              KIMI_OP2("v_and_b32", uint32_t, a &b, 0, shadowAnd),
              KIMI_OP2("v_or_b32", uint32_t, a | b, 0, shadowOr),
              KIMI_OP2("v_xor_b32", uint32_t, a ^ b, ShadowBitwise),
              KIMI_OP2("v_xnor_b32", uint32_t, ~(a ^ b), ShadowBitwise),
              KIMI_OP3("v_and_or_b32", uint32_t, (a & b) | c, 0, shadowAndOr),
              KIMI_OP3("v_or3_b32", uint32_t, a | b | c, 0, shadowOr3),
              KIMI_OP3("v_bfi_b32", uint32_t, (a & b) | (~a & c), 0, shadowBfi),
              KIMI_OP2("v_bfm_b32", uint32_t,
                       ((1u << (a & 31)) - 1) << (b & 31)),
              op(
                  "v_bitop3_b32", B32, {B32, B32, B32},
                  [](VectorContext &context) {
                    unsigned table = truthTable(context.inst);
                    context.map3<uint32_t>(
                        [=](uint32_t a, uint32_t b, uint32_t c) {
                          return bitop3(a, b, c, table);
                        });
                  },
                  ShadowBitwise),
              // Shifts.
              KIMI_OP2("v_lshlrev_b32", uint32_t, b << (a & 31), 0,
                       shadowShift<uint32_t, true>),
              KIMI_OP2("v_lshrrev_b32", uint32_t, b >> (a & 31), 0,
                       shadowShift<uint32_t, false>),
              KIMI_OP2("v_ashrrev_i32", int32_t, uint32_t(b >> (a & 31)), 0,
                       shadowShift<int32_t, false>),
              KIMI_OP3("v_lshl_or_b32", uint32_t, (a << (b & 31)) | c, 0,
                       shadowLshlOr),
              op(
                  "v_lshlrev_b64", B64, {B32, B64},
                  [](VectorContext &c) {
                    c.map2<uint32_t, uint64_t>(
                        [](uint32_t a, uint64_t b) { return b << (a & 63); });
                  },
                  0, shadowShift<uint64_t, true>),
              op(
                  "v_lshrrev_b64", B64, {B32, B64},
                  [](VectorContext &c) {
                    c.map2<uint32_t, uint64_t>(
                        [](uint32_t a, uint64_t b) { return b >> (a & 63); });
                  },
                  0, shadowShift<uint64_t, false>),
              op(
                  "v_ashrrev_i64", B64, {B32, B64},
                  [](VectorContext &c) {
                    c.map2<uint32_t, int64_t>(
                        [](uint32_t a, int64_t b) { return b >> (a & 63); });
                  },
                  0, shadowShift<int64_t, false>),
              KIMI_OP3("v_alignbit_b32", uint32_t,
                       uint32_t((uint64_t(a) << 32 | b) >> (c & 31)), 0,
                       shadowAlign<1>),
              KIMI_OP3("v_alignbyte_b32", uint32_t,
                       uint32_t((uint64_t(a) << 32 | b) >> 8 * (c & 3)), 0,
                       shadowAlign<8>),
              KIMI_OP3("v_bfe_u32", uint32_t, extractBits<false>(a, b, c), 0,
                       shadowBfe<false>),
              KIMI_OP3("v_bfe_i32", uint32_t, extractBits<true>(a, b, c), 0,
                       shadowBfe<true>),
              KIMI_OP3("v_perm_b32", uint32_t,
                       permuteBytes(uint64_t(a) << 32 | b, c), 0, shadowPerm),
              // Bit scans. No bit found gives -1.
              KIMI_OP1("v_bfrev_b32", uint32_t, llvm::reverseBits(a)),
              KIMI_OP1("v_ffbh_u32", uint32_t,
                       a ? uint32_t(llvm::countl_zero(a)) : ~0u),
              KIMI_OP1("v_ffbl_b32", uint32_t,
                       a ? uint32_t(llvm::countr_zero(a)) : ~0u),
              KIMI_OP1("v_ffbh_i32", uint32_t,
                       a == 0 || a == ~0u
                           ? ~0u
                           : uint32_t(llvm::countl_zero(a >> 31 ? ~a : a))),
              KIMI_OP2("v_bcnt_u32_b32", uint32_t,
                       uint32_t(llvm::popcount(a)) + b),
              op("v_mbcnt_lo_u32_b32", B32, {B32, B32},
                 [](VectorContext &c) {
                   for (unsigned lane = 0; lane < WaveSize; ++lane) {
                     uint32_t below = lane >= 32 ? ~0u : (1u << lane) - 1;
                     c.out32(lane) =
                         llvm::popcount(c.get<uint32_t>(0, lane) & below) +
                         c.get<uint32_t>(1, lane);
                   }
                 }),
              op("v_mbcnt_hi_u32_b32", B32, {B32, B32},
                 [](VectorContext &c) {
                   for (unsigned lane = 0; lane < WaveSize; ++lane) {
                     uint32_t below = lane < 32 ? 0 : (1u << (lane - 32)) - 1;
                     c.out32(lane) =
                         llvm::popcount(c.get<uint32_t>(0, lane) & below) +
                         c.get<uint32_t>(1, lane);
                   }
                 }),
              // Arithmetic.
              op("v_add_u32", B32, {B32, B32},
                 addSubtract<uint32_t, false, false>, IntegerClamp, shadowSum),
              op("v_sub_u32", B32, {B32, B32},
                 addSubtract<uint32_t, true, false>, IntegerClamp, shadowSum),
              op("v_subrev_u32", B32, {B32, B32},
                 addSubtract<uint32_t, true, true>, IntegerClamp, shadowSum),
              op("v_add_i32", B32, {B32, B32},
                 addSubtract<int32_t, false, false>, IntegerClamp, shadowSum),
              op("v_sub_i32", B32, {B32, B32},
                 addSubtract<int32_t, true, false>, IntegerClamp, shadowSum),
              op("v_add_co_u32", B32, {B32, B32}, addCarry<false, false, false>,
                 WritesMask | IntegerClamp, shadowSum),
              op("v_sub_co_u32", B32, {B32, B32}, addCarry<true, false, false>,
                 WritesMask | IntegerClamp, shadowSum),
              op("v_subrev_co_u32", B32, {B32, B32},
                 addCarry<true, true, false>, WritesMask | IntegerClamp,
                 shadowSum),
              op("v_addc_co_u32", B32, {B32, B32}, addCarry<false, false, true>,
                 WritesMask | ReadsMask | IntegerClamp, shadowSum),
              op("v_subb_co_u32", B32, {B32, B32}, addCarry<true, false, true>,
                 WritesMask | ReadsMask | IntegerClamp, shadowSum),
              op("v_subbrev_co_u32", B32, {B32, B32},
                 addCarry<true, true, true>,
                 WritesMask | ReadsMask | IntegerClamp, shadowSum),
              KIMI_OP3("v_add3_u32", uint32_t, a + b + c, 0, shadowSum),
              KIMI_OP3("v_lshl_add_u32", uint32_t, (a << (b & 31)) + c, 0,
                       shadowLshlAdd),
              KIMI_OP3("v_add_lshl_u32", uint32_t, (a + b) << (c & 31), 0,
                       shadowAddLshl),
              KIMI_OP3("v_xad_u32", uint32_t, (a ^ b) + c, 0, shadowSum),
              op(
                  "v_lshl_add_u64", B64, {B64, B32, B64},
                  [](VectorContext &context) {
                    context.map3<uint64_t, uint32_t, uint64_t>(
                        [](uint64_t a, uint32_t b, uint64_t c) {
                          return (a << lshlAddAmount(b)) + c;
                        });
                  },
                  0, shadowLshlAdd),
              KIMI_OP2("v_mul_lo_u32", uint32_t, a *b, 0, shadowSum),
              KIMI_OP2("v_mul_hi_u32", uint32_t,
                       uint32_t(uint64_t(a) * b >> 32)),
              KIMI_OP2("v_mul_hi_i32", int32_t, uint32_t(int64_t(a) * b >> 32)),
              KIMI_OP2("v_mul_i32_i24", uint32_t,
                       uint32_t(int64_t(signed24(a)) * signed24(b))),
              KIMI_OP2("v_mul_u32_u24", uint32_t,
                       unsigned24(a) * unsigned24(b)),
              KIMI_OP2("v_mul_hi_i32_i24", uint32_t,
                       uint32_t(int64_t(signed24(a)) * signed24(b) >> 32)),
              KIMI_OP2("v_mul_hi_u32_u24", uint32_t,
                       uint32_t(uint64_t(unsigned24(a)) * unsigned24(b) >> 32)),
              KIMI_OP3("v_mad_i32_i24", uint32_t,
                       uint32_t(int64_t(signed24(a)) * signed24(b)) + c, 0,
                       shadowSum),
              KIMI_OP3("v_mad_u32_u24", uint32_t,
                       unsigned24(a) * unsigned24(b) + c, 0, shadowSum),
              op("v_mad_u64_u32", B64, {B32, B32, B64}, madWide<false>,
                 WritesMask, shadowSum),
              op("v_mad_i64_i32", B64, {B32, B32, B64}, madWide<true>,
                 WritesMask, shadowSum),
              KIMI_OP3("v_sad_u32", uint32_t, (a > b ? a - b : b - a) + c),
              // Selection by order.
              KIMI_OP2("v_min_i32", int32_t, uint32_t(std::min(a, b))),
              KIMI_OP2("v_max_i32", int32_t, uint32_t(std::max(a, b))),
              KIMI_OP2("v_min_u32", uint32_t, std::min(a, b)),
              KIMI_OP2("v_max_u32", uint32_t, std::max(a, b)),
              KIMI_OP3("v_min3_i32", int32_t, uint32_t(std::min({a, b, c}))),
              KIMI_OP3("v_max3_i32", int32_t, uint32_t(std::max({a, b, c}))),
              KIMI_OP3("v_min3_u32", uint32_t, std::min({a, b, c})),
              KIMI_OP3("v_max3_u32", uint32_t, std::max({a, b, c})),
              KIMI_OP3(
                  "v_med3_i32", int32_t,
                  uint32_t(
                      std::
                          max(std::min(a, b), std::min(std::max(a, b), c)))),
              KIMI_OP3("v_med3_u32", uint32_t,
                       std::max(std::min(a, b), std::min(std::max(a, b), c))),
              // 16 bits in a chosen half.
              op(
                  "v_bitop3_b16", B16, {B16, B16, B16},
                  [](VectorContext &context) {
                    unsigned table = truthTable(context.inst);
                    context.map3<uint32_t>(
                        [=](uint32_t a, uint32_t b, uint32_t c) {
                          return bitop3(a, b, c, table) & 0xffff;
                        });
                  },
                  ShadowBitwise | KeepsOtherHalf),
              op(
                  "v_mad_u16", B16, {B16, B16, B16},
                  [](VectorContext &context) {
                    context.map3<uint32_t>(
                        [](uint32_t a, uint32_t b, uint32_t c) {
                          return (a * b + c) & 0xffff;
                        });
                  },
                  KeepsOtherHalf, shadowSum),
              op(
                  "v_mad_i16", B16, {B16, B16, B16},
                  [](VectorContext &context) {
                    context.map3<uint32_t>(
                        [](uint32_t a, uint32_t b, uint32_t c) {
                          return (a * b + c) & 0xffff;
                        });
                  },
                  KeepsOtherHalf, shadowSum),
              // 16 bits.
              op("v_add_u16", B16, {B16, B16},
                 addSubtract<uint16_t, false, false>, IntegerClamp, shadowSum),
              op("v_sub_u16", B16, {B16, B16},
                 addSubtract<uint16_t, true, false>, IntegerClamp, shadowSum),
              op("v_subrev_u16", B16, {B16, B16},
                 addSubtract<uint16_t, true, true>, IntegerClamp, shadowSum),
              KIMI_OP16("v_mul_lo_u16", uint16_t, uint32_t(a) * b, 0,
                        shadowSum),
              KIMI_OP16("v_lshlrev_b16", uint16_t, b << (a & 15), 0,
                        shadowShift<uint16_t, true>),
              KIMI_OP16("v_lshrrev_b16", uint16_t, b >> (a & 15), 0,
                        shadowShift<uint16_t, false>),
              KIMI_OP16("v_ashrrev_i16", int16_t, b >> (a & 15), 0,
                        shadowShift<int16_t, false>),
              KIMI_OP16("v_max_u16", uint16_t, std::max(a, b)),
              KIMI_OP16("v_max_i16", int16_t, std::max(a, b)),
              KIMI_OP16("v_min_u16", uint16_t, std::min(a, b)),
              KIMI_OP16("v_min_i16", int16_t, std::min(a, b)),
          };
#undef KIMI_OP1
#undef KIMI_OP2
#undef KIMI_OP3
#undef KIMI_OP16
  Operation vnop =
      vectorOp("v_nop", InstructionClass::Nop, Type::None, {}, nop);
  table.push_back(vnop);
  return table;
}
