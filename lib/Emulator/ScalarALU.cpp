//===- ScalarALU.cpp - Scalar ALU instructions ----------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: CDNA4 ISA document, chapter "Instructions", SOP1, SOP2, SOPK and
// SOPC.
//
//===----------------------------------------------------------------------===//

#include "ScalarALU.h"

#include "Operands.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace kimi::emulator;

/// Finds the undefined bits of the result and whether SCC is undefined, when
/// every result bit depends on one bit of each source: those that change as the
/// undefined bits of the sources go through zeros and ones.
static void probeUndefined(const Operation &op, const ScalarContext &context,
                           const uint64_t (&undefined)[3], uint64_t &result,
                           bool &scc) {
  result = 0;
  scc = false;
  ScalarContext first;
  for (unsigned ones = 0; ones < 1u << op.sources; ++ones) {
    ScalarContext probe = context;
    for (unsigned i = 0; i < op.sources; ++i)
      probe.source[i] = ones >> i & 1 ? probe.source[i] | undefined[i]
                                      : probe.source[i] & ~undefined[i];
    op.scalarCompute(probe);
    if (ones == 0)
      first = probe;
    result |= probe.result ^ first.result;
    scc |= probe.scc != first.scc;
  }
}

static void executeScalar(Wave &wave, const Instruction &inst) {
  const Operation &op = *inst.operation;
  ScalarContext context;
  context.immediate = inst.immediate;
  context.scc = wave.scc;
  uint64_t undefined[3] = {0, 0, 0};
  bool anyUndefined = false;
  for (unsigned i = 0; i < op.sources; ++i) {
    ScalarValue value = readScalar(wave, inst, inst.src[i], op.src[i]);
    context.source[i] = value.value;
    // The second source is selected when SCC is clear.
    if (!op.has(ShadowSelect) || i == (wave.scc ? 0u : 1u))
      undefined[i] = value.undefined;
    anyUndefined |= undefined[i] != 0;
  }
  bool sccRead = op.has(ReadsScc) && wave.sccUndefined;
  anyUndefined |= sccRead;
  uint64_t resultUndefined = anyUndefined ? ~uint64_t(0) : 0;
  bool sccUndefined = anyUndefined;
  bool bitByBit =
      op.has(ShadowBitwise) || (op.has(ShadowMoves) && undefined[1] == 0);
  if (anyUndefined && !sccRead && bitByBit)
    probeUndefined(op, context, undefined, resultUndefined, sccUndefined);
  op.scalarCompute(context);
  if (op.dst != Type::None)
    writeScalar(wave, inst.dst, dwordsOf(op.dst),
                {context.result, resultUndefined});
  if (op.has(WritesScc)) {
    wave.scc = context.scc;
    wave.sccUndefined = sccUndefined;
  }
}

/// EXEC := a function of EXEC and the source; the old EXEC is saved.
template <typename Fn>
static void saveExec(Wave &wave, const Instruction &inst, Fn fn) {
  ScalarValue source = readScalar(wave, inst, inst.src[0], Type::B64);
  if (source.undefined)
    return wave.fail("EXEC would take the uninitialised value of " +
                     scalarName(inst.src[0]));
  uint64_t old = wave.exec;
  writeScalar(wave, inst.dst, 2, {old, 0});
  wave.exec = fn(source.value, old);
  wave.scc = wave.exec != 0;
  wave.sccUndefined = false;
}

namespace {

Operation scalarOp(const char *name, Type dst, std::initializer_list<Type> src,
                   ScalarFn fn, uint32_t flags = 0) {
  Operation op;
  op.name = name;
  op.execute = executeScalar;
  op.cls = InstructionClass::ScalarALU;
  op.dst = dst;
  for (Type type : src)
    op.src[op.sources++] = type;
  op.scalarCompute = fn;
  op.flags = flags;
  return op;
}

Operation execOp(const char *name,
                 void (*execute)(Wave &, const Instruction &)) {
  Operation op = scalarOp(name, Type::B64, {Type::B64}, nullptr,
                          WritesScc | ReadsExec | WritesExec);
  op.execute = execute;
  return op;
}

bool signedOverflow(int64_t exact) { return exact != int32_t(exact); }

} // namespace

std::vector<Operation> kimi::emulator::getScalarOperations() {
  constexpr auto B32 = Type::B32;
  constexpr auto B64 = Type::B64;
  constexpr auto None = Type::None;
  // Result only, or result with SCC: a and b are the sources as T, c the
  // context.
#define KIMI_S2(NAME, WIDTH, T, BODY, FLAGS)                                   \
  scalarOp(                                                                    \
      NAME, WIDTH, {WIDTH, WIDTH},                                             \
      [](ScalarContext &c) {                                                   \
        T a = T(c.source[0]), b = T(c.source[1]);                              \
        (void)a, (void)b;                                                      \
        BODY                                                                   \
      },                                                                       \
      FLAGS)
#define KIMI_S1(NAME, DST, SRC, T, BODY, FLAGS)                                \
  scalarOp(                                                                    \
      NAME, DST, {SRC},                                                        \
      [](ScalarContext &c) {                                                   \
        T a = T(c.source[0]);                                                  \
        (void)a;                                                               \
        BODY                                                                   \
      },                                                                       \
      FLAGS)
  // A bitwise operation sets SCC when its result is not zero.
#define KIMI_BITWISE(NAME, EXPRESSION)                                         \
  KIMI_S2(NAME "_b32", B32, uint32_t, c.setNonZero(uint32_t(EXPRESSION));      \
          , WritesScc | ShadowBitwise),                                        \
      KIMI_S2(NAME "_b64", B64, uint64_t, c.setNonZero(EXPRESSION);            \
              , WritesScc | ShadowBitwise)
#define KIMI_COMPARE(NAME, T, EXPRESSION)                                      \
  scalarOp(                                                                    \
      NAME, None, {B32, B32},                                                  \
      [](ScalarContext &c) {                                                   \
        T a = T(c.source[0]), b = T(c.source[1]);                              \
        c.scc = EXPRESSION;                                                    \
      },                                                                       \
      WritesScc)
#define KIMI_COMPARE_BOTH(NAME, EXPRESSION)                                    \
  KIMI_COMPARE("s_cmp_" NAME "_i32", int32_t, EXPRESSION),                     \
      KIMI_COMPARE("s_cmp_" NAME "_u32", uint32_t, EXPRESSION)
#define KIMI_COMPARE_K(NAME, T, IMMEDIATE, EXPRESSION)                         \
  scalarOp(                                                                    \
      NAME, None, {B32},                                                       \
      [](ScalarContext &c) {                                                   \
        T a = T(c.source[0]), b = T(IMMEDIATE(c.immediate));                   \
        c.scc = EXPRESSION;                                                    \
      },                                                                       \
      WritesScc)
#define KIMI_COMPARE_K_BOTH(NAME, EXPRESSION)                                  \
  KIMI_COMPARE_K("s_cmpk_" NAME "_i32", int32_t, int16_t, EXPRESSION),         \
      KIMI_COMPARE_K("s_cmpk_" NAME "_u32", uint32_t, uint16_t, EXPRESSION)

  std::vector<Operation> table = {
      // Moves.
      KIMI_S1("s_mov_b32", B32, B32, uint32_t, c.result = a;, ShadowBitwise),
      KIMI_S1("s_mov_b64", B64, B64, uint64_t, c.result = a;, ShadowBitwise),
      scalarOp("s_movk_i32", B32, {},
               [](ScalarContext &c) { c.result = uint32_t(c.immediate); }),
      // The destination keeps its value when SCC is clear.
      scalarOp(
          "s_cmov_b32", B32, {B32, B32},
          [](ScalarContext &c) { c.result = c.source[c.scc ? 0 : 1]; },
          ReadsScc | ReadsDst | ShadowSelect),
      scalarOp(
          "s_cmov_b64", B64, {B64, B64},
          [](ScalarContext &c) { c.result = c.source[c.scc ? 0 : 1]; },
          ReadsScc | ReadsDst | ShadowSelect),
      scalarOp(
          "s_cmovk_i32", B32, {B32},
          [](ScalarContext &c) {
            c.result = c.scc ? uint32_t(c.immediate) : c.source[0];
          },
          ReadsScc | ReadsDst),
      KIMI_S2("s_cselect_b32", B32, uint32_t, c.result = c.scc ? a : b;
              , ReadsScc | ShadowSelect),
      KIMI_S2("s_cselect_b64", B64, uint64_t, c.result = c.scc ? a : b;
              , ReadsScc | ShadowSelect),
      // Bitwise.
      KIMI_BITWISE("s_and", a &b),
      KIMI_BITWISE("s_or", a | b),
      KIMI_BITWISE("s_xor", a ^ b),
      KIMI_BITWISE("s_andn2", a & ~b),
      KIMI_BITWISE("s_orn2", a | ~b),
      KIMI_BITWISE("s_nand", ~(a & b)),
      KIMI_BITWISE("s_nor", ~(a | b)),
      KIMI_BITWISE("s_xnor", ~(a ^ b)),
      KIMI_S1("s_not_b32", B32, B32, uint32_t, c.setNonZero(uint32_t(~a));
              , WritesScc | ShadowBitwise),
      KIMI_S1("s_not_b64", B64, B64, uint64_t, c.setNonZero(~a);
              , WritesScc | ShadowBitwise),
      KIMI_S1("s_brev_b32", B32, B32, uint32_t,
              c.result = llvm::reverseBits(a);, ShadowMoves),
      KIMI_S1("s_brev_b64", B64, B64, uint64_t,
              c.result = llvm::reverseBits(a);, ShadowMoves),
      scalarOp(
          "s_bitset0_b32", B32, {B32, B32},
          [](ScalarContext &c) {
            c.result = c.source[1] & ~(uint64_t(1) << (c.source[0] & 31));
          },
          ReadsDst),
      scalarOp(
          "s_bitset1_b32", B32, {B32, B32},
          [](ScalarContext &c) {
            c.result = c.source[1] | uint64_t(1) << (c.source[0] & 31);
          },
          ReadsDst),
      // Scans and counts. No bit found gives -1.
      KIMI_S1("s_ff1_i32_b32", B32, B32, uint32_t,
              c.result = a ? llvm::countr_zero(a) : ~0u;, 0),
      KIMI_S1("s_ff1_i32_b64", B32, B64, uint64_t,
              c.result = a ? uint32_t(llvm::countr_zero(a)) : ~0u;, 0),
      KIMI_S1("s_flbit_i32_b32", B32, B32, uint32_t,
              c.result = a ? llvm::countl_zero(a) : ~0u;, 0),
      KIMI_S1("s_flbit_i32_b64", B32, B64, uint64_t,
              c.result = a ? uint32_t(llvm::countl_zero(a)) : ~0u;, 0),
      KIMI_S1("s_flbit_i32", B32, B32, uint32_t,
              c.result = a == 0 || a == ~0u
                             ? ~0u
                             : llvm::countl_zero(a >> 31 ? ~a : a);, 0),
      KIMI_S1("s_bcnt1_i32_b32", B32, B32, uint32_t,
              c.setNonZero(uint32_t(llvm::popcount(a)));, WritesScc),
      KIMI_S1("s_bcnt1_i32_b64", B32, B64, uint64_t,
              c.setNonZero(uint32_t(llvm::popcount(a)));, WritesScc),
      KIMI_S1("s_bcnt0_i32_b32", B32, B32, uint32_t,
              c.setNonZero(uint32_t(llvm::popcount(~a)));, WritesScc),
      KIMI_S1("s_bcnt0_i32_b64", B32, B64, uint64_t,
              c.setNonZero(uint32_t(llvm::popcount(~a)));, WritesScc),
      KIMI_S1("s_sext_i32_i8", B32, B32, uint32_t,
              c.result = uint32_t(int32_t(int8_t(a)));, ShadowMoves),
      KIMI_S1("s_sext_i32_i16", B32, B32, uint32_t,
              c.result = uint32_t(int32_t(int16_t(a)));, ShadowMoves),
      KIMI_S1("s_abs_i32", B32, B32, uint32_t,
              c.setNonZero(int32_t(a) < 0 ? uint32_t(-a) : a);, WritesScc),
      // Sums.
      KIMI_S2("s_add_u32", B32, uint32_t, uint64_t sum = uint64_t(a) + b;
              c.result = uint32_t(sum); c.scc = sum >> 32;, WritesScc),
      KIMI_S2("s_addc_u32", B32, uint32_t,
              uint64_t sum = uint64_t(a) + b + c.scc;
              c.result = uint32_t(sum); c.scc = sum >> 32;
              , WritesScc | ReadsScc),
      KIMI_S2("s_sub_u32", B32, uint32_t, c.result = a - b; c.scc = b > a;
              , WritesScc),
      KIMI_S2("s_subb_u32", B32, uint32_t,
              uint64_t subtrahend = uint64_t(b) + c.scc;
              c.result = uint32_t(a - subtrahend); c.scc = subtrahend > a;
              , WritesScc | ReadsScc),
      KIMI_S2("s_add_i32", B32, int32_t, int64_t sum = int64_t(a) + b;
              c.result = uint32_t(sum); c.scc = signedOverflow(sum);
              , WritesScc),
      KIMI_S2("s_sub_i32", B32, int32_t, int64_t difference = int64_t(a) - b;
              c.result = uint32_t(difference);
              c.scc = signedOverflow(difference);, WritesScc),
      scalarOp(
          "s_addk_i32", B32, {B32},
          [](ScalarContext &c) {
            int64_t sum = int64_t(int32_t(c.source[0])) + c.immediate;
            c.result = uint32_t(sum);
            c.scc = signedOverflow(sum);
          },
          WritesScc | ReadsDst),
      scalarOp(
          "s_mulk_i32", B32, {B32},
          [](ScalarContext &c) {
            c.result = uint32_t(c.source[0]) * uint32_t(c.immediate);
          },
          ReadsDst),
      KIMI_S2("s_absdiff_i32", B32, int32_t,
              uint32_t difference = uint32_t(a) - uint32_t(b);
              c.setNonZero(int32_t(difference) < 0 ? -difference : difference);
              , WritesScc),
      KIMI_S2("s_min_i32", B32, int32_t, c.result = uint32_t(std::min(a, b));
              c.scc = a < b;, WritesScc),
      KIMI_S2("s_min_u32", B32, uint32_t, c.result = std::min(a, b);
              c.scc = a < b;, WritesScc),
      KIMI_S2("s_max_i32", B32, int32_t, c.result = uint32_t(std::max(a, b));
              c.scc = a >= b;, WritesScc),
      KIMI_S2("s_max_u32", B32, uint32_t, c.result = std::max(a, b);
              c.scc = a >= b;, WritesScc),
      // Products.
      KIMI_S2("s_mul_i32", B32, uint32_t, c.result = a * b;, 0),
      KIMI_S2("s_mul_hi_u32", B32, uint32_t,
              c.result = uint64_t(a) * b >> 32;, 0),
      KIMI_S2("s_mul_hi_i32", B32, int32_t,
              c.result = uint32_t(int64_t(a) * b >> 32);, 0),
      // Shifts.
      KIMI_S2("s_lshl_b32", B32, uint32_t, c.setNonZero(a << (b & 31));
              , WritesScc | ShadowMoves),
      KIMI_S2("s_lshr_b32", B32, uint32_t, c.setNonZero(a >> (b & 31));
              , WritesScc | ShadowMoves),
      KIMI_S2("s_ashr_i32", B32, int32_t, c.setNonZero(uint32_t(a >> (b & 31)));
              , WritesScc | ShadowMoves),
      scalarOp(
          "s_lshl_b64", B64, {B64, B32},
          [](ScalarContext &c) {
            c.setNonZero(c.source[0] << (c.source[1] & 63));
          },
          WritesScc | ShadowMoves),
      scalarOp(
          "s_lshr_b64", B64, {B64, B32},
          [](ScalarContext &c) {
            c.setNonZero(c.source[0] >> (c.source[1] & 63));
          },
          WritesScc | ShadowMoves),
      scalarOp(
          "s_ashr_i64", B64, {B64, B32},
          [](ScalarContext &c) {
            c.setNonZero(uint64_t(int64_t(c.source[0]) >> (c.source[1] & 63)));
          },
          WritesScc | ShadowMoves),
#define KIMI_LSHL_ADD(N)                                                       \
  KIMI_S2("s_lshl" #N "_add_u32", B32, uint32_t,                               \
          uint64_t sum = (uint64_t(a) << N) + b;                               \
          c.result = uint32_t(sum); c.scc = sum >> 32 != 0;, WritesScc)
      KIMI_LSHL_ADD(1),
      KIMI_LSHL_ADD(2),
      KIMI_LSHL_ADD(3),
      KIMI_LSHL_ADD(4),
#undef KIMI_LSHL_ADD
      // Bit fields. Source 1 of s_bfe holds the offset in its low bits and
      // the width from bit 16.
      KIMI_S2("s_bfm_b32", B32, uint32_t,
              c.result = ((1u << (a & 31)) - 1) << (b & 31);, 0),
      scalarOp("s_bfm_b64", B64, {B32, B32},
               [](ScalarContext &c) {
                 c.result = ((uint64_t(1) << (c.source[0] & 63)) - 1)
                            << (c.source[1] & 63);
               }),
      KIMI_S2("s_bfe_u32", B32, uint32_t,
              c.setNonZero(extractField<uint32_t>(a, b & 31, b >> 16 & 0x7f));
              , WritesScc | ShadowMoves),
      KIMI_S2("s_bfe_i32", B32, uint32_t,
              c.setNonZero(uint32_t(
                  extractField<int32_t>(a, b & 31, b >> 16 & 0x7f)));
              , WritesScc | ShadowMoves),
      scalarOp(
          "s_bfe_u64", B64, {B64, B32},
          [](ScalarContext &c) {
            c.setNonZero(extractField<uint64_t>(c.source[0], c.source[1] & 63,
                                                c.source[1] >> 16 & 0x7f));
          },
          WritesScc | ShadowMoves),
      scalarOp(
          "s_bfe_i64", B64, {B64, B32},
          [](ScalarContext &c) {
            c.setNonZero(uint64_t(extractField<int64_t>(
                c.source[0], c.source[1] & 63, c.source[1] >> 16 & 0x7f)));
          },
          WritesScc | ShadowMoves),
      // Packing.
      KIMI_S2("s_pack_ll_b32_b16", B32, uint32_t,
              c.result = (a & 0xffff) | b << 16;, ShadowBitwise),
      KIMI_S2("s_pack_lh_b32_b16", B32, uint32_t,
              c.result = (a & 0xffff) | (b & 0xffff0000);, ShadowBitwise),
      KIMI_S2("s_pack_hh_b32_b16", B32, uint32_t,
              c.result = a >> 16 | (b & 0xffff0000);, ShadowBitwise),
      // Comparisons.
      KIMI_COMPARE_BOTH("eq", a == b),
      KIMI_COMPARE_BOTH("lg", a != b),
      KIMI_COMPARE_BOTH("gt", a > b),
      KIMI_COMPARE_BOTH("ge", a >= b),
      KIMI_COMPARE_BOTH("lt", a < b),
      KIMI_COMPARE_BOTH("le", a <= b),
      KIMI_COMPARE_K_BOTH("eq", a == b),
      KIMI_COMPARE_K_BOTH("lg", a != b),
      KIMI_COMPARE_K_BOTH("gt", a > b),
      KIMI_COMPARE_K_BOTH("ge", a >= b),
      KIMI_COMPARE_K_BOTH("lt", a < b),
      KIMI_COMPARE_K_BOTH("le", a <= b),
      scalarOp(
          "s_cmp_eq_u64", None, {B64, B64},
          [](ScalarContext &c) { c.scc = c.source[0] == c.source[1]; },
          WritesScc),
      scalarOp(
          "s_cmp_lg_u64", None, {B64, B64},
          [](ScalarContext &c) { c.scc = c.source[0] != c.source[1]; },
          WritesScc),
      KIMI_COMPARE("s_bitcmp0_b32", uint32_t, !(a >> (b & 31) & 1)),
      KIMI_COMPARE("s_bitcmp1_b32", uint32_t, a >> (b & 31) & 1),
      scalarOp(
          "s_bitcmp0_b64", None, {B64, B32},
          [](ScalarContext &c) {
            c.scc = !(c.source[0] >> (c.source[1] & 63) & 1);
          },
          WritesScc),
      scalarOp(
          "s_bitcmp1_b64", None, {B64, B32},
          [](ScalarContext &c) {
            c.scc = c.source[0] >> (c.source[1] & 63) & 1;
          },
          WritesScc),
  // EXEC.
#define KIMI_SAVE_EXEC(NAME, EXPRESSION)                                       \
  execOp("s_" NAME "_saveexec_b64", [](Wave &wave, const Instruction &inst) {  \
    saveExec(wave, inst,                                                       \
             [](uint64_t s, uint64_t exec) { return EXPRESSION; });            \
  })
      KIMI_SAVE_EXEC("and", s &exec),
      KIMI_SAVE_EXEC("or", s | exec),
      KIMI_SAVE_EXEC("xor", s ^ exec),
      KIMI_SAVE_EXEC("andn2", s & ~exec),
      KIMI_SAVE_EXEC("orn2", s | ~exec),
      KIMI_SAVE_EXEC("nand", ~(s & exec)),
      KIMI_SAVE_EXEC("nor", ~(s | exec)),
      KIMI_SAVE_EXEC("xnor", ~(s ^ exec)),
      KIMI_SAVE_EXEC("andn1", ~s &exec),
      KIMI_SAVE_EXEC("orn1", ~s | exec),
#undef KIMI_SAVE_EXEC
  };
#undef KIMI_S1
#undef KIMI_S2
#undef KIMI_BITWISE
#undef KIMI_COMPARE
#undef KIMI_COMPARE_BOTH
#undef KIMI_COMPARE_K
#undef KIMI_COMPARE_K_BOTH
  return table;
}
