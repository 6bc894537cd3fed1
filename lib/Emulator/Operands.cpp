//===- Operands.cpp - Operand fetch and result write of vector instructions
//===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants: CDNA4 ISA document, section "Scalar Operands". Modifiers: section
// "Input modifiers" and "Output modifiers". DPP and SDWA: their sections in
// chapter "Vector ALU Operations", and LLVM's AMDGPUModifierSyntax for what an
// invalid lane is: out of range, or disabled by EXEC.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cfenv>

using namespace kimi::emulator;

std::string kimi::emulator::vectorName(unsigned reg) {
  return reg < FirstAccVgpr ? "v" + std::to_string(reg)
                            : "a" + std::to_string(reg - FirstAccVgpr);
}

std::string kimi::emulator::scalarName(unsigned code) {
  switch (code) {
  case FlatScratchLo:
    return "flat_scratch_lo";
  case FlatScratchLo + 1:
    return "flat_scratch_hi";
  case XnackMaskLo:
    return "xnack_mask_lo";
  case XnackMaskLo + 1:
    return "xnack_mask_hi";
  case VccLo:
    return "vcc_lo";
  case VccHi:
    return "vcc_hi";
  case M0:
    return "m0";
  case ExecLo:
    return "exec_lo";
  case ExecHi:
    return "exec_hi";
  default:
    if (code < SgprLimit)
      return "s" + std::to_string(code);
    if (code < M0)
      return "ttmp" + std::to_string(code - Ttmp0);
    return "operand " + std::to_string(code);
  }
}

/// Inline constants 128 to 248.
static uint64_t inlineConstant(unsigned code, Type type) {
  if (code >= 128 && code <= 192)
    return code - 128;
  if (code >= 193 && code <= 208)
    return uint64_t(-int64_t(code - 192));
  static const float values[] = {0.5f, -0.5f, 1.0f, -1.0f,
                                 2.0f, -2.0f, 4.0f, -4.0f};
  static const uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
  unsigned index = code - 240;
  switch (type) {
  case Type::F16:
  case Type::B16:
  case Type::PkF16:
  case Type::PkB16:
    return halves[index];
  case Type::F64:
  case Type::B64:
    // 1/(2*pi)
    return index == 8 ? 0x3fc45f306dc9c882
                      : bitCast<uint64_t>(double(values[index]));
  default:
    return index == 8 ? 0x3e22f983 : bitCast<uint32_t>(values[index]);
  }
}

ScalarValue kimi::emulator::readScalar(const Wave &wave,
                                       const Instruction &inst, unsigned code,
                                       Type type) {
  unsigned dwords = dwordsOf(type);
  uint64_t mask = dwords == 2 ? ~uint64_t(0) : 0xffffffff;
  ScalarValue result;
  auto readRegister = [&](unsigned reg) -> ScalarValue {
    if (reg == ExecLo)
      return {uint32_t(wave.exec), 0};
    if (reg == ExecHi)
      return {uint32_t(wave.exec >> 32), 0};
    return {wave.scalar[reg], wave.scalarUndefined[reg]};
  };
  if (code < FirstConstant) {
    result = readRegister(code);
    if (dwords == 2 && code + 1 < FirstConstant) {
      ScalarValue high = readRegister(code + 1);
      result.value |= high.value << 32;
      result.undefined |= high.undefined << 32;
    }
    return result;
  }
  if (code <= 208 || (code >= 240 && code <= 248)) {
    result.value = inlineConstant(code, type) & mask;
    return result;
  }
  switch (code) {
  case Vccz:
    result.value = wave.vcc() == 0;
    if (wave.scalarUndefined[VccLo] | wave.scalarUndefined[VccHi])
      result.undefined = 1;
    return result;
  case Execz:
    result.value = wave.exec == 0;
    return result;
  case Scc:
    result.value = wave.scc;
    result.undefined = wave.sccUndefined;
    return result;
  case Literal:
    // A 64-bit float operand takes the literal as its high half.
    result.value =
        type == Type::F64 ? uint64_t(inst.literal) << 32 : inst.literal;
    return result;
  default:
    // Aperture registers and reserved codes: nothing that they could hold is
    // modelled, so whoever uses the value is told.
    result.undefined = mask;
    return result;
  }
}

void kimi::emulator::writeScalar(Wave &wave, unsigned code, unsigned dwords,
                                 ScalarValue value) {
  for (unsigned i = 0; i < dwords;
       ++i, value.value >>= 32, value.undefined >>= 32) {
    unsigned reg = code + i;
    if (reg == ExecLo || reg == ExecHi) {
      if (uint32_t(value.undefined))
        return wave.fail("writes an uninitialised value to EXEC");
      unsigned shift = reg == ExecHi ? 32 : 0;
      wave.exec = (wave.exec & ~(uint64_t(0xffffffff) << shift)) |
                  uint64_t(uint32_t(value.value)) << shift;
      continue;
    }
    wave.scalar[reg] = value.value;
    wave.scalarUndefined[reg] = value.undefined;
  }
}

Transcendental VectorContext::transcendental() const {
  return wave.workgroup->context.options.transcendental;
}

// Fetch -----------------------------------------------------------------------

/// The source lanes that DPP may read: in range, and enabled by EXEC.
static uint64_t getDppValid(const VectorContext &context) {
  const DppControl &dpp = *context.inst.dpp;
  uint64_t valid = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    valid |= (context.exec >> dpp.source[lane] & 1) << lane;
  return valid & dpp.valid;
}

uint64_t kimi::emulator::getWriteMask(const VectorContext &context) {
  uint64_t mask = context.exec;
  if (const DppControl *dpp = context.inst.dpp) {
    mask &= dpp->writeMask;
    // Without bound_ctrl, a lane whose source is invalid keeps its old value.
    if (!dpp->boundZero)
      mask &= getDppValid(context);
  }
  return mask;
}

template <typename T>
static void permuteDpp(const VectorContext &context, const T *from, T *to) {
  const DppControl &dpp = *context.inst.dpp;
  uint64_t valid = getDppValid(context);
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    to[lane] = valid >> lane & 1 ? from[dpp.source[lane]] : T(0);
}

static uint32_t selectSdwa(uint32_t value, unsigned select, bool extend) {
  switch (select) {
  case 0:
  case 1:
  case 2:
  case 3:
    value = value >> 8 * select & 0xff;
    return extend ? uint32_t(int32_t(int8_t(value))) : value;
  case 4:
  case 5:
    value = value >> 16 * (select - 4) & 0xffff;
    return extend ? uint32_t(int32_t(int16_t(value))) : value;
  default:
    return value;
  }
}

/// neg and abs on a sign bit. In the undefined plane abs makes the bit known.
template <typename T>
static void applySign(T *values, T sign, bool neg, bool abs, bool plane) {
  T clear = abs ? ~sign : T(~T(0)), flip = neg && !plane ? sign : T(0);
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    values[lane] = (values[lane] & clear) ^ flip;
}

static const void *fetch32(const VectorContext &context, unsigned index,
                           bool plane, uint32_t *buffer) {
  const Instruction &inst = context.inst;
  const Wave &wave = context.wave;
  unsigned code = inst.src[index];
  Type type = context.op.src[index];
  const uint32_t *values;
  if (code >= FirstVector && !plane) {
    values = wave.lanes(code - FirstVector);
  } else if (code >= FirstVector) {
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      buffer[lane] = wave.undefinedBits(code - FirstVector, lane);
    values = buffer;
  } else {
    ScalarValue scalar = readScalar(wave, inst, code, type);
    std::fill_n(buffer, WaveSize, plane ? scalar.undefined : scalar.value);
    values = buffer;
  }
  if (inst.dpp && index == 0) {
    uint32_t permuted[WaveSize];
    permuteDpp(context, values, permuted);
    std::copy_n(permuted, WaveSize, buffer);
    values = buffer;
  }
  auto edit = [&]() -> uint32_t * {
    if (values != buffer)
      std::copy_n(values, WaveSize, buffer);
    values = buffer;
    return buffer;
  };
  if (inst.sdwa && index < 2 && inst.sdwa->srcSel[index] != 6) {
    uint32_t *edited = edit();
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      edited[lane] = selectSdwa(edited[lane], inst.sdwa->srcSel[index],
                                inst.sdwa->signExtend[index]);
  }
  bool vop3p = inst.format == Format::VOP3P;
  bool neg = inst.neg >> index & 1, abs = inst.abs >> index & 1;
  unsigned denorm = 3;
  switch (type) {
  case Type::F32:
    if (!vop3p && (neg || abs))
      applySign(edit(), 0x80000000u, neg, abs, plane);
    denorm = wave.denorm32();
    if (!(denorm & 1) && context.op.has(Denormals) && !plane) {
      uint32_t *edited = edit();
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        edited[lane] = flush32(edited[lane]);
    }
    break;
  case Type::F16:
  case Type::B16: {
    uint32_t *edited = edit();
    unsigned shift = inst.opSel >> index & 1 ? 16 : 0;
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      edited[lane] = edited[lane] >> shift & 0xffff;
    if (type == Type::F16 && (neg || abs))
      applySign(edited, 0x8000u, neg, abs, plane);
    if (type == Type::F16 && !(wave.denorm64() & 1) &&
        context.op.has(Denormals) && !plane)
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        edited[lane] = flush16(edited[lane]);
    break;
  }
  case Type::PkB16:
  case Type::PkF16: {
    uint32_t *edited = edit();
    unsigned low = inst.opSel >> index & 1 ? 16 : 0;
    unsigned high = inst.opSelHi >> index & 1 ? 16 : 0;
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      edited[lane] = (edited[lane] >> low & 0xffff) |
                     (edited[lane] >> high & 0xffff) << 16;
    if (type == Type::PkF16 && !plane) {
      uint32_t flip = (neg ? 0x8000u : 0) | (abs ? 0x80000000u : 0);
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        edited[lane] ^= flip;
      if (!(wave.denorm64() & 1) && context.op.has(Denormals))
        for (unsigned lane = 0; lane < WaveSize; ++lane)
          edited[lane] = flush16(edited[lane] & 0xffff) |
                         flush16(edited[lane] >> 16) << 16;
    }
    break;
  }
  default:
    break;
  }
  return values;
}

static const void *fetch64(const VectorContext &context, unsigned index,
                           bool plane, uint64_t *buffer) {
  const Instruction &inst = context.inst;
  const Wave &wave = context.wave;
  unsigned code = inst.src[index];
  Type type = context.op.src[index];
  if (code >= FirstVector) {
    unsigned reg = code - FirstVector;
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      uint32_t low, high;
      if (plane) {
        low = wave.undefinedBits(reg, lane);
        high = wave.undefinedBits(reg + 1, lane);
      } else {
        low = wave.lanes(reg)[lane];
        high = wave.lanes(reg + 1)[lane];
      }
      buffer[lane] = low | uint64_t(high) << 32;
    }
  } else {
    ScalarValue scalar = readScalar(wave, inst, code, type);
    if (type == Type::B64 && code >= 193 && code <= 208)
      scalar.value = uint64_t(-int64_t(code - 192));
    uint64_t value = plane ? scalar.undefined : scalar.value;
    std::fill_n(buffer, WaveSize, value);
  }
  if (inst.dpp && index == 0) {
    uint64_t permuted[WaveSize];
    permuteDpp(context, buffer, permuted);
    std::copy_n(permuted, WaveSize, buffer);
  }
  bool neg = inst.neg >> index & 1, abs = inst.abs >> index & 1;
  if (type == Type::F64) {
    if (neg || abs)
      applySign(buffer, SignBit64, neg, abs, plane);
    if (!(wave.denorm64() & 1) && context.op.has(Denormals) && !plane)
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        buffer[lane] = flush64(buffer[lane]);
  } else if (type == Type::PkF32) {
    unsigned low = inst.opSel >> index & 1 ? 32 : 0;
    unsigned high = inst.opSelHi >> index & 1 ? 32 : 0;
    uint64_t flip =
        plane ? 0
              : (neg ? 0x80000000ull : 0) | (abs ? 0x8000000000000000ull : 0);
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      buffer[lane] = ((buffer[lane] >> low & 0xffffffff) |
                      (buffer[lane] >> high & 0xffffffff) << 32) ^
                     flip;
    }
    if (!(wave.denorm32() & 1) && context.op.has(Denormals) && !plane)
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        buffer[lane] = flush32(uint32_t(buffer[lane])) |
                       uint64_t(flush32(uint32_t(buffer[lane] >> 32))) << 32;
  }
  return buffer;
}

const void *kimi::emulator::fetchSource(const VectorContext &context,
                                        unsigned index, bool plane,
                                        uint64_t *buffer) {
  if (dwordsOf(context.op.src[index]) == 2)
    return fetch64(context, index, plane, buffer);
  return fetch32(context, index, plane, reinterpret_cast<uint32_t *>(buffer));
}

// Result ----------------------------------------------------------------------

static uint64_t elementOf(Type type, const void *values, unsigned lane) {
  return dwordsOf(type) == 2 ? static_cast<const uint64_t *>(values)[lane]
                             : static_cast<const uint32_t *>(values)[lane];
}

/// A NaN result is the first NaN source made quiet; without one the operation
/// was invalid and gives the default NaN.
static void quietNaN32(VectorContext &context) {
  auto *out = static_cast<uint32_t *>(context.result);
  uint32_t any = 0;
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    any |= uint32_t(isNaN32(out[lane]));
  if (!any)
    return;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!isNaN32(out[lane]))
      continue;
    uint32_t nan = QuietNaN32;
    for (unsigned i = context.op.sources; i-- > 0;) {
      if (context.op.src[i] != Type::F32)
        continue;
      uint32_t value = context.get<uint32_t>(i, lane);
      if (isNaN32(value))
        nan = value | QuietBit32;
    }
    out[lane] = nan;
  }
}

static void quietNaN64(VectorContext &context) {
  auto *out = static_cast<uint64_t *>(context.result);
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    if (!isNaN64(out[lane]))
      continue;
    uint64_t nan = QuietNaN64;
    for (unsigned i = context.op.sources; i-- > 0;) {
      if (context.op.src[i] != Type::F64)
        continue;
      uint64_t value = context.get<uint64_t>(i, lane);
      if (isNaN64(value))
        nan = value | QuietBit64;
    }
    out[lane] = nan;
  }
}

static void quietPackedNaN32(VectorContext &context) {
  auto *out = static_cast<uint64_t *>(context.result);
  for (unsigned lane = 0; lane < WaveSize; ++lane)
    for (unsigned shift : {0, 32}) {
      if (!isNaN32(uint32_t(out[lane] >> shift)))
        continue;
      uint64_t nan = QuietNaN32;
      for (unsigned i = context.op.sources; i-- > 0;) {
        uint32_t value = context.get<uint64_t>(i, lane) >> shift;
        if (isNaN32(value))
          nan = value | QuietBit32;
      }
      out[lane] = (out[lane] & ~(uint64_t(0xffffffff) << shift)) | nan << shift;
    }
}

/// Clamps to [0, 1]. A NaN becomes 0 with DX10_CLAMP and stays without.
template <typename Bits, typename Float>
static Bits clampFloat(Bits bits, bool nan, Float value, Bits one,
                       bool dx10Clamp) {
  if (nan)
    return dx10Clamp ? Bits(0) : bits;
  if (!(value > Float(0)))
    return 0;
  return value > Float(1) ? one : bits;
}

/// Output modifiers apply neither with IEEE mode nor with output denormals.
static void finishFloat32(VectorContext &context) {
  auto *out = static_cast<uint32_t *>(context.result);
  const Instruction &inst = context.inst;
  const Wave &wave = context.wave;
  bool flush = !(wave.denorm32() & 2) && context.op.has(Denormals);
  if (inst.omod && !wave.ieee() && !(wave.denorm32() & 2)) {
    static const float factors[] = {1.0f, 2.0f, 4.0f, 0.5f};
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      float value = bitCast<float>(out[lane]) * factors[inst.omod];
      // Output modifiers turn -0 into +0.
      out[lane] = isNaN32(out[lane]) ? out[lane]
                  : value == 0       ? 0
                                     : bitCast<uint32_t>(value);
    }
  }
  if (flush)
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      out[lane] = flush32(out[lane]);
  if (inst.clamp)
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      out[lane] = clampFloat<uint32_t>(out[lane], isNaN32(out[lane]),
                                       bitCast<float>(out[lane]), 0x3f800000,
                                       wave.mode & ModeDX10Clamp);
}

static void finishFloat16(VectorContext &context) {
  auto *out = static_cast<uint32_t *>(context.result);
  const Instruction &inst = context.inst;
  const Wave &wave = context.wave;
  unsigned halves = context.op.dst == Type::PkF16 ? 2 : 1;
  bool omod =
      inst.omod && halves == 1 && !wave.ieee() && !(wave.denorm64() & 2);
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint32_t result = 0;
    for (unsigned half = 0; half < halves; ++half) {
      uint32_t bits = out[lane] >> 16 * half & 0xffff;
      if (omod && !isNaN16(bits)) {
        static const double factors[] = {1, 2, 4, 0.5};
        bits = doubleToHalf(double(halfToFloat(bits)) * factors[inst.omod]);
        bits = bits == 0x8000 ? 0 : bits;
      }
      if (!(wave.denorm64() & 2) && context.op.has(Denormals))
        bits = flush16(bits);
      if (inst.clamp)
        bits = clampFloat<uint32_t>(bits, isNaN16(bits), halfToFloat(bits),
                                    0x3c00, wave.mode & ModeDX10Clamp);
      result |= bits << 16 * half;
    }
    out[lane] = result;
  }
}

static void finishFloat64(VectorContext &context) {
  auto *out = static_cast<uint64_t *>(context.result);
  const Instruction &inst = context.inst;
  const Wave &wave = context.wave;
  if (inst.omod && !wave.ieee() && !(wave.denorm64() & 2)) {
    static const double factors[] = {1.0, 2.0, 4.0, 0.5};
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      double value = bitCast<double>(out[lane]) * factors[inst.omod];
      out[lane] = isNaN64(out[lane]) ? out[lane]
                  : value == 0       ? 0
                                     : bitCast<uint64_t>(value);
    }
  }
  if (!(wave.denorm64() & 2) && context.op.has(Denormals))
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      out[lane] = flush64(out[lane]);
  if (inst.clamp)
    for (unsigned lane = 0; lane < WaveSize; ++lane)
      out[lane] = clampFloat<uint64_t>(
          out[lane], isNaN64(out[lane]), bitCast<double>(out[lane]),
          0x3ff0000000000000, wave.mode & ModeDX10Clamp);
}

static void finishPackedFloat32(VectorContext &context) {
  auto *out = static_cast<uint64_t *>(context.result);
  const Wave &wave = context.wave;
  bool flush = !(wave.denorm32() & 2) && context.op.has(Denormals);
  if (!flush && !context.inst.clamp)
    return;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    uint64_t result = 0;
    for (unsigned shift : {0, 32}) {
      uint32_t bits = out[lane] >> shift;
      if (flush)
        bits = flush32(bits);
      if (context.inst.clamp)
        bits = clampFloat<uint32_t>(bits, isNaN32(bits), bitCast<float>(bits),
                                    0x3f800000, wave.mode & ModeDX10Clamp);
      result |= uint64_t(bits) << shift;
    }
    out[lane] = result;
  }
}

/// Puts a result into the part of the register that SDWA names.
static uint32_t insertSdwa(uint32_t result, uint32_t old,
                           const SdwaControl &sdwa) {
  unsigned width = sdwa.dstSel < 4 ? 8 : 16;
  unsigned shift = sdwa.dstSel < 4 ? 8 * sdwa.dstSel : 16 * (sdwa.dstSel - 4);
  uint32_t mask = ((1u << width) - 1) << shift;
  uint32_t placed = result << shift & mask;
  switch (sdwa.dstUnused) {
  case 1: {
    uint32_t sign = result >> (width - 1) & 1 ? ~0u : 0u;
    // Bits above the part take its sign; bits below are zero.
    uint32_t above = shift + width >= 32 ? 0 : ~0u << (shift + width);
    return placed | (sign & above);
  }
  case 2:
    return placed | (old & ~mask);
  default:
    return placed;
  }
}

static bool usesSdwaInsert(const Instruction &inst) {
  return inst.sdwa && inst.sdwa->dstSel != 6;
}

/// Whether one half of the register stays. 16-bit results clear the high half,
/// except for instructions with op_sel for their destination, which choose a
/// half and keep the other (ISA document, "OPSEL"; LLVM's
/// zeroesHigh16BitsOfDest).
static bool keepsHalf(const VectorContext &context) {
  return (context.op.dst == Type::F16 || context.op.dst == Type::B16) &&
         ((context.inst.opSel & 8) || context.op.has(KeepsOtherHalf));
}

static uint32_t place(const VectorContext &context, uint32_t result,
                      uint32_t old) {
  if (usesSdwaInsert(context.inst))
    return insertSdwa(result, old, *context.inst.sdwa);
  if (keepsHalf(context)) {
    bool high = (context.inst.opSel & 8) || context.op.has(HighHalf);
    return high ? (old & 0xffff) | result << 16 : (old & 0xffff0000) | result;
  }
  return result;
}

/// Whether a source has undefined bits in a lane that matters.
static bool anyUndefined(const VectorContext &context) {
  const Instruction &inst = context.inst;
  uint64_t any = 0;
  for (unsigned i = 0; i < context.op.sources; ++i) {
    unsigned code = inst.src[i], dwords = dwordsOf(context.op.src[i]);
    if (code >= FirstVector)
      for (unsigned d = 0; d < dwords; ++d)
        any |=
            context.wave.undefinedLanes(code - FirstVector + d) & context.exec;
    else
      any |= readScalar(context.wave, inst, code, context.op.src[i]).undefined;
  }
  // What stays of the old value.
  if (keepsHalf(context) || (usesSdwaInsert(inst) && inst.sdwa->dstUnused == 2))
    any |= context.wave.undefinedLanes(inst.dst) & context.exec;
  return any;
}

static void noteOrigin(const VectorContext &context, unsigned reg) {
  Wave &wave = context.wave;
  Wave::Origin origin;
  origin.instruction = wave.pc;
  for (unsigned i = 0; i < context.op.sources; ++i) {
    unsigned code = context.inst.src[i];
    if (code < FirstVector) {
      if (!readScalar(wave, context.inst, code, context.op.src[i]).undefined)
        continue;
      origin.vector = false;
      origin.reg = code;
      break;
    }
    bool found = false;
    for (unsigned d = 0; d < dwordsOf(context.op.src[i]); ++d)
      if (wave.undefinedLanes(code - FirstVector + d) & context.exec) {
        const Wave::Origin &inner = wave.origin(code - FirstVector + d);
        origin.vector = true;
        origin.reg = code - FirstVector + d;
        if (inner.instruction >= 0)
          origin = inner;
        found = true;
      }
    if (found)
      break;
  }
  wave.origin(reg) = origin;
}

/// The undefined bits of the results, when some source has some.
static void computeUndefined(const VectorContext &context, uint64_t mask,
                             uint64_t *undefined) {
  const Operation &op = context.op;
  alignas(64) uint64_t buffers[3][WaveSize];
  const void *planes[3] = {nullptr, nullptr, nullptr};
  for (unsigned i = 0; i < op.sources; ++i)
    planes[i] = fetchSource(context, i, /*undefinedPlane=*/true, buffers[i]);
  uint64_t maskUndefined = 0;
  if (op.has(ReadsMask | ReadsVcc)) {
    unsigned code = op.has(ReadsMask) ? context.inst.maskSrc : VccLo;
    maskUndefined =
        readScalar(context.wave, context.inst, code, Type::B64).undefined;
  }
  unsigned dwords = dwordsOf(op.dst);
  uint64_t all = dwords == 2                                  ? ~uint64_t(0)
                 : op.dst == Type::B16 || op.dst == Type::F16 ? 0xffff
                                                              : 0xffffffff;
  for (unsigned lane = 0; lane < WaveSize; ++lane) {
    undefined[lane] = 0;
    if (!(mask >> lane & 1))
      continue;
    uint64_t values[3] = {0, 0, 0}, bits[3] = {0, 0, 0}, any = 0;
    for (unsigned i = 0; i < op.sources; ++i) {
      values[i] = elementOf(op.src[i], context.source[i], lane);
      bits[i] = elementOf(op.src[i], planes[i], lane);
      any |= bits[i];
    }
    if (maskUndefined >> lane & 1)
      undefined[lane] = all;
    else if (!any)
      undefined[lane] = 0;
    else if (op.has(ShadowBitwise))
      undefined[lane] = any & all;
    else if (op.shadow) {
      // v_cndmask needs the lane's mask bit.
      uint64_t selected = context.maskIn >> lane & 1;
      if (op.has(ReadsMask) && !op.has(WritesMask))
        undefined[lane] = selected ? bits[1] : bits[0];
      else
        undefined[lane] = op.shadow(context, values, bits) & all;
    } else
      undefined[lane] = all;
  }
}

static void writeResult(VectorContext &context, uint64_t mask,
                        bool undefinedSources, const uint64_t *undefined) {
  Wave &wave = context.wave;
  unsigned reg = context.inst.dst;
  unsigned dwords = dwordsOf(context.op.dst);
  bool inserts = usesSdwaInsert(context.inst) || keepsHalf(context);
  for (unsigned d = 0; d < dwords; ++d) {
    uint32_t *lanes = wave.lanes(reg + d);
    if (undefinedSources) {
      bool any = false;
      for (unsigned lane = 0; lane < WaveSize; ++lane) {
        if (!(mask >> lane & 1))
          continue;
        uint32_t bits = undefined[lane] >> 32 * d;
        if (inserts)
          bits = place(context, bits, wave.undefinedBits(reg, lane));
        wave.setUndefinedBits(reg + d, lane, bits);
        any |= bits != 0;
      }
      if (any)
        noteOrigin(context, reg + d);
    } else {
      wave.define(reg + d, mask);
    }
    if (dwords == 2) {
      const auto *out = static_cast<const uint64_t *>(context.result);
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        if (mask >> lane & 1)
          lanes[lane] = out[lane] >> 32 * d;
      continue;
    }
    const auto *out = static_cast<const uint32_t *>(context.result);
    if (inserts) {
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        if (mask >> lane & 1)
          lanes[lane] = place(context, out[lane], lanes[lane]);
    } else if (mask == ~uint64_t(0)) {
      std::copy_n(out, WaveSize, lanes);
    } else {
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        if (mask >> lane & 1)
          lanes[lane] = out[lane];
    }
  }
}

void kimi::emulator::executeVector(Wave &wave, const Instruction &inst) {
  VectorContext context(wave, inst);
  const Operation &op = context.op;
  bool half = op.dst == Type::F16 || op.dst == Type::PkF16;
  if (op.has(Rounds))
    context.rounding =
        half || op.dst == Type::F64 ? wave.round64() : wave.round32();
  if (context.rounding && !op.has(DirectedRounding))
    return wave.fail("rounding modes other than nearest even are not modelled "
                     "for this instruction");
  if (inst.clamp && !op.has(FloatOutput | IntegerClamp))
    return wave.fail("clamp is not modelled for this instruction");

  bool undefinedSources = anyUndefined(context);
  uint64_t undefinedMask = 0;
  if (op.has(ReadsMask | ReadsVcc)) {
    unsigned code = op.has(ReadsMask) ? inst.maskSrc : VccLo;
    ScalarValue mask = readScalar(wave, inst, code, Type::B64);
    context.maskIn = mask.value;
    undefinedMask = mask.undefined & context.exec;
  }
  undefinedSources |= undefinedMask != 0;
  for (unsigned i = 0; i < op.sources; ++i)
    context.source[i] = fetchSource(context, i, /*undefinedPlane=*/false,
                                    context.sourceBuffer[i]);
  if (inst.format == Format::VOP3P && op.src[0] == Type::PkF32)
    for (unsigned i = 0; i < op.sources; ++i)
      if (inst.src[i] >= FirstConstant && inst.src[i] < FirstVector &&
          inst.src[i] != FirstConstant &&
          ((inst.opSel | inst.opSelHi) >> i & 1))
        return wave.fail("the high half of a constant is not documented for "
                         "packed f32 instructions");

  if (context.rounding && !half) {
    static const int hostModes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                    FE_TOWARDZERO};
    std::fesetround(hostModes[context.rounding]);
    op.vectorCompute(context);
    std::fesetround(FE_TONEAREST);
  } else {
    op.vectorCompute(context);
  }
  if (wave.state == Wave::State::Failed)
    return;

  if (op.has(QuietsNaN)) {
    if (op.dst == Type::F32)
      quietNaN32(context);
    else if (op.dst == Type::F64)
      quietNaN64(context);
    else if (op.dst == Type::PkF32)
      quietPackedNaN32(context);
  }
  if (op.has(FloatOutput)) {
    if (op.dst == Type::F32) {
      if (inst.clamp || inst.omod || !(wave.denorm32() & 2))
        finishFloat32(context);
    } else if (op.dst == Type::F64) {
      finishFloat64(context);
    } else if (op.dst == Type::PkF32) {
      finishPackedFloat32(context);
    } else if (op.dst == Type::F16 || op.dst == Type::PkF16) {
      finishFloat16(context);
    }
  }

  uint64_t mask = getWriteMask(context);
  alignas(64) uint64_t undefined[WaveSize];
  if (undefinedSources)
    computeUndefined(context, mask, undefined);
  if (op.dst != Type::None)
    writeResult(context, mask, undefinedSources, undefined);
  if (op.has(WritesMask)) {
    uint64_t undefinedLanes = 0;
    if (undefinedSources)
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        undefinedLanes |= uint64_t(undefined[lane] != 0) << lane;
    writeScalar(wave, inst.maskDst, 2,
                {context.maskOut & context.exec, undefinedLanes});
  }
}
