//===- gfx950-instruction-test.cpp - Runs instruction tests ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test file is a list of cases, one directive a line; `#` starts a comment:
//
//     case: free text
//     asm: v_add_f32_e32 v2, v0, v1     one or more, run in order by one wave
//     in: v0 = 0x3f800000, 1.0f         lanes from 0; other lanes hold 0
//     in: v[2:3] = 1.5d                 pairs take 64-bit values
//     in: v[4:7] = {1, 2, 3, 4}         other tuples take their dwords
//     in: s4 = 7                        also s[4:5], vcc, exec, scc, m0, mode
//     in: lds 16 = 1, 2                 dwords from a byte address (64 KiB)
//     in: mem 0 = 1, 2                  dwords of one global buffer (4 KiB)
//     out: v2 = 2.0f, any               as for in; what is not named must not
//                                       change
//     error: substring                  in place of out: the run must fail
//     waves: 2                          waves of one workgroup; every wave gets
//                                       the inputs, outputs are wave 0's
//     transcendental: nearest           or up, or down
//
// Numbers: decimal, 0x…, 1.5f (f32), 1.5h (f16), 1.5b (bf16), 1.5d (f64), inff,
// -inff, nanf and likewise for h, b and d; @mem+N is an address in the global
// buffer. `in: v0 = tid` numbers the lanes of all waves. In outputs `any` skips
// a lane, `nan` (or anynanf), anynanh and anynand accept any quiet NaN. EXEC
// starts with the lanes of the longest vector input, at least one.
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"

#include "KimiMlaGate/Emulator/Executor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace kimi::emulator;
using llvm::StringRef;

namespace {

constexpr uint32_t LdsSize = 64 * 1024;
constexpr uint32_t MemorySize = 4096;

/// One element of a list: up to four dwords.
struct Value {
  enum Kind { Exact, Any, NaN16, NaN32, NaN64 } kind = Exact;
  llvm::SmallVector<uint32_t, 4> dwords;
};

/// Where values come from or go to.
struct Place {
  enum Kind { Vector, Scalar, Scc, Mode, Lds, Memory } kind = Vector;
  unsigned first = 0; // register, or byte address
  unsigned count = 1; // registers
};

struct Assignment {
  unsigned line = 0;
  Place place;
  bool threadId = false;
  std::vector<Value> values;
};

struct Case {
  unsigned line = 0;
  std::string name;
  std::vector<std::pair<unsigned, std::string>> code;
  std::vector<Assignment> inputs, outputs;
  std::optional<std::string> error;
  unsigned waves = 1;
  Transcendental transcendental = Transcendental::Nearest;
};

class Parser {
public:
  Parser(StringRef file, uint64_t memoryAddress)
      : file(file), memoryAddress(memoryAddress) {}
  llvm::Expected<std::vector<Case>> parse(StringRef text);

private:
  llvm::Error fail(const llvm::Twine &message) {
    return llvm::createStringError(file + ":" + llvm::Twine(line) + ": " +
                                   message);
  }
  llvm::Error parseLine(StringRef text);
  llvm::Error parseAssignment(StringRef text, bool output,
                              Assignment &assignment);
  llvm::Error parsePlace(StringRef text, Place &place);
  llvm::Error parseValue(StringRef text, unsigned dwords, bool output,
                         Value &value);
  llvm::Error parseNumber(StringRef text, uint64_t &bits);

  StringRef file;
  uint64_t memoryAddress;
  unsigned line = 0;
  std::vector<Case> cases;
};

} // namespace

static std::optional<uint64_t> parseFloat(StringRef text, char suffix) {
  const llvm::fltSemantics &semantics =
      suffix == 'h'   ? llvm::APFloat::IEEEhalf()
      : suffix == 'b' ? llvm::APFloat::BFloat()
      : suffix == 'd' ? llvm::APFloat::IEEEdouble()
                      : llvm::APFloat::IEEEsingle();
  bool negative = text.consume_front("-");
  llvm::APFloat value(semantics);
  if (text == "inf") {
    value = llvm::APFloat::getInf(semantics);
  } else if (text == "nan") {
    value = llvm::APFloat::getQNaN(semantics);
  } else {
    llvm::Expected<llvm::APFloat::opStatus> status =
        value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return std::nullopt;
    }
  }
  if (negative)
    value.changeSign();
  return value.bitcastToAPInt().getZExtValue();
}

llvm::Error Parser::parseNumber(StringRef text, uint64_t &bits) {
  if (text.consume_front("@mem")) {
    int64_t offset = 0;
    text.consume_front("+");
    if (!text.empty() && text.getAsInteger(0, offset))
      return fail("'" + text + "' is not an offset");
    bits = memoryAddress + offset;
    return llvm::Error::success();
  }
  StringRef magnitude = text;
  bool negative = magnitude.consume_front("-");
  bool hex = magnitude.starts_with_insensitive("0x");
  if (!text.empty() && StringRef("fhbd").contains(text.back()) &&
      (!hex || text.contains_insensitive('p'))) {
    if (std::optional<uint64_t> value =
            parseFloat(text.drop_back(), text.back())) {
      bits = *value;
      return llvm::Error::success();
    }
    return fail("'" + text + "' is not a number");
  }
  uint64_t value;
  if (magnitude.getAsInteger(0, value))
    return fail("'" + text + "' is not a number");
  bits = negative ? uint64_t(-int64_t(value)) : value;
  return llvm::Error::success();
}

llvm::Error Parser::parseValue(StringRef text, unsigned dwords, bool output,
                               Value &value) {
  value.dwords.assign(dwords, 0);
  if (output) {
    std::optional<Value::Kind> kind;
    if (text == "any")
      kind = Value::Any;
    else if (text == "nan" || text == "anynan" || text == "anynanf")
      kind = Value::NaN32;
    else if (text == "anynanh")
      kind = Value::NaN16;
    else if (text == "anynand")
      kind = Value::NaN64;
    if (kind) {
      value.kind = *kind;
      return llvm::Error::success();
    }
  }
  if (text.consume_front("{")) {
    if (!text.consume_back("}"))
      return fail("'{' without '}'");
    llvm::SmallVector<StringRef, 4> parts;
    text.split(parts, ',');
    if (parts.size() != dwords)
      return fail(llvm::Twine(parts.size()) +
                  " dwords for a register tuple of " + llvm::Twine(dwords));
    for (unsigned i = 0; i < dwords; ++i) {
      uint64_t bits;
      if (llvm::Error error = parseNumber(parts[i].trim(), bits))
        return error;
      value.dwords[i] = bits;
    }
    return llvm::Error::success();
  }
  if (dwords > 2)
    return fail("a tuple of " + llvm::Twine(dwords) +
                " registers takes {dword, dword, ...}");
  uint64_t bits;
  if (llvm::Error error = parseNumber(text, bits))
    return error;
  int64_t asSigned = int64_t(bits);
  if (dwords == 1 && (asSigned > int64_t(UINT32_MAX) || asSigned < INT32_MIN))
    return fail("'" + text + "' does not fit in 32 bits");
  for (unsigned i = 0; i < dwords; ++i)
    value.dwords[i] = bits >> 32 * i;
  return llvm::Error::success();
}

llvm::Error Parser::parsePlace(StringRef text, Place &place) {
  auto parseAddress = [&](StringRef number, unsigned size) -> llvm::Error {
    if (number.trim().getAsInteger(0, place.first) || place.first >= size ||
        place.first % 4)
      return fail("'" + text + "' is not a dword address below " +
                  llvm::Twine(size));
    return llvm::Error::success();
  };
  if (text.starts_with("lds ")) {
    place.kind = Place::Lds;
    return parseAddress(text.drop_front(4), LdsSize);
  }
  if (text.starts_with("mem ")) {
    place.kind = Place::Memory;
    return parseAddress(text.drop_front(4), MemorySize);
  }
  place.kind = Place::Scalar;
  struct Name {
    const char *name;
    unsigned code, count;
  };
  for (const Name &name :
       {Name{"vcc", VccLo, 2}, Name{"vcc_lo", VccLo, 1},
        Name{"vcc_hi", VccHi, 1}, Name{"exec", ExecLo, 2}, Name{"m0", M0, 1},
        Name{"flat_scratch", FlatScratchLo, 2}})
    if (text == name.name) {
      place.first = name.code;
      place.count = name.count;
      return llvm::Error::success();
    }
  if (text == "scc" || text == "mode") {
    place.kind = text == "scc" ? Place::Scc : Place::Mode;
    return llvm::Error::success();
  }
  StringRef rest = text;
  unsigned limit = FirstAccVgpr, base = 0;
  if (rest.consume_front("v")) {
    place.kind = Place::Vector;
  } else if (rest.consume_front("a")) {
    place.kind = Place::Vector;
    base = FirstAccVgpr;
  } else if (rest.consume_front("s")) {
    limit = SgprLimit;
  } else {
    return fail("'" + text + "' is no register, lds or mem");
  }
  unsigned last;
  if (rest.consume_front("[")) {
    StringRef range = rest;
    if (!range.consume_back("]") ||
        range.split(':').first.getAsInteger(10, place.first) ||
        range.split(':').second.getAsInteger(10, last))
      return fail("'" + text + "' is not a register tuple");
  } else {
    if (rest.getAsInteger(10, place.first))
      return fail("'" + text + "' is not a register");
    last = place.first;
  }
  if (last < place.first || last >= limit)
    return fail("'" + text + "' is not a register tuple");
  place.count = last - place.first + 1;
  place.first += base;
  return llvm::Error::success();
}

/// Splits at commas outside of braces.
static llvm::SmallVector<StringRef, 64> splitList(StringRef text) {
  llvm::SmallVector<StringRef, 64> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      --depth;
    }
  }
  return parts;
}

llvm::Error Parser::parseAssignment(StringRef text, bool output,
                                    Assignment &assignment) {
  auto [name, list] = text.split('=');
  assignment.line = line;
  if (llvm::Error error = parsePlace(name.trim(), assignment.place))
    return error;
  const Place &place = assignment.place;
  if (!output && list.trim() == "tid") {
    if (place.kind != Place::Vector || place.count != 1)
      return fail("tid is for one vector register");
    assignment.threadId = true;
    return llvm::Error::success();
  }
  for (StringRef part : splitList(list)) {
    Value value;
    if (llvm::Error error = parseValue(part,
                                       place.kind == Place::Vector ||
                                               place.kind == Place::Scalar
                                           ? place.count
                                           : 1,
                                       output, value))
      return error;
    assignment.values.push_back(std::move(value));
  }
  size_t limit = place.kind == Place::Vector   ? WaveSize
                 : place.kind == Place::Lds    ? (LdsSize - place.first) / 4
                 : place.kind == Place::Memory ? (MemorySize - place.first) / 4
                                               : 1;
  if (assignment.values.size() > limit)
    return fail(llvm::Twine(assignment.values.size()) + " values, at most " +
                llvm::Twine(limit) + " fit");
  return llvm::Error::success();
}

llvm::Error Parser::parseLine(StringRef text) {
  text = text.split('#').first.trim();
  if (text.empty())
    return llvm::Error::success();
  auto [directive, rest] = text.split(':');
  rest = rest.trim();
  if (directive == "case") {
    if (rest.empty())
      return fail("a case needs a name");
    cases.emplace_back();
    cases.back().line = line;
    cases.back().name = rest.str();
    return llvm::Error::success();
  }
  if (cases.empty())
    return fail("'" + directive + ":' before the first case");
  Case &current = cases.back();
  if (directive == "asm") {
    current.code.emplace_back(line, rest.str());
    return llvm::Error::success();
  }
  if (directive == "in" || directive == "out") {
    Assignment assignment;
    if (llvm::Error error =
            parseAssignment(rest, directive == "out", assignment))
      return error;
    (directive == "in" ? current.inputs : current.outputs)
        .push_back(std::move(assignment));
    return llvm::Error::success();
  }
  if (directive == "error") {
    if (rest.empty())
      return fail("error: needs a substring");
    current.error = rest.str();
    return llvm::Error::success();
  }
  if (directive == "waves") {
    if (rest.getAsInteger(10, current.waves) || current.waves == 0 ||
        current.waves > 16)
      return fail("waves: takes a number from 1 to 16");
    return llvm::Error::success();
  }
  if (directive == "transcendental") {
    llvm::Expected<Transcendental> mode = parseTranscendental(rest);
    if (!mode)
      return fail(llvm::toString(mode.takeError()));
    current.transcendental = *mode;
    return llvm::Error::success();
  }
  return fail("unknown directive '" + directive + ":'");
}

llvm::Expected<std::vector<Case>> Parser::parse(StringRef text) {
  while (!text.empty()) {
    ++line;
    auto [current, rest] = text.split('\n');
    text = rest;
    if (llvm::Error error = parseLine(current))
      return error;
  }
  if (cases.empty())
    return llvm::createStringError(file + ": no case");
  for (const Case &current : cases) {
    line = current.line;
    if (current.code.empty())
      return fail("a case without asm:");
    if (current.error && !current.outputs.empty())
      return fail("a case with both out: and error:");
  }
  return std::move(cases);
}

namespace {

/// All that a case can observe, before or after the run.
struct Snapshot {
  std::vector<uint32_t> vectors;          // register * 64 + lane
  std::vector<uint32_t> vectorsUndefined; // likewise
  std::array<uint32_t, NumScalarRegisters> scalars;
  std::array<uint32_t, NumScalarRegisters> scalarsUndefined;
  bool scc, sccUndefined;
  uint32_t mode;
  std::vector<uint8_t> lds, memory;
};

class Runner {
public:
  Runner(StringRef file, llvm::raw_ostream &os) : file(file), os(os) {
    buffer.assign(MemorySize, 0);
  }
  uint64_t memoryAddress() const {
    return reinterpret_cast<uintptr_t>(buffer.data());
  }
  /// An error is one of the test file; failures of a case are printed.
  llvm::Expected<bool> run(const Case &current);

private:
  void set(Wave &wave, const Assignment &input, unsigned waveIndex);
  Snapshot takeSnapshot(const Wave &wave, const Workgroup &workgroup);
  bool compare(const Case &current, const Snapshot &before,
               const Snapshot &after);
  llvm::raw_ostream &report(const Case &current) {
    return os << file << ':' << current.line << ": case '" << current.name
              << "': ";
  }

  StringRef file;
  llvm::raw_ostream &os;
  std::vector<uint8_t> buffer;
};

} // namespace

void Runner::set(Wave &wave, const Assignment &input, unsigned waveIndex) {
  const Place &place = input.place;
  auto setScalar = [&](unsigned code, uint32_t value) {
    if (code == ExecLo || code == ExecHi) {
      unsigned shift = code == ExecHi ? 32 : 0;
      wave.exec = (wave.exec & ~(uint64_t(UINT32_MAX) << shift)) |
                  uint64_t(value) << shift;
      return;
    }
    wave.scalar[code] = value;
    wave.scalarUndefined[code] = 0;
  };
  switch (place.kind) {
  case Place::Vector:
    for (unsigned r = 0; r < place.count; ++r) {
      for (unsigned lane = 0; lane < WaveSize; ++lane)
        wave.lanes(place.first + r)[lane] =
            input.threadId               ? waveIndex * WaveSize + lane
            : lane < input.values.size() ? input.values[lane].dwords[r]
                                         : 0;
      wave.define(place.first + r, ~uint64_t(0));
    }
    break;
  case Place::Scalar:
    for (unsigned r = 0; r < place.count; ++r)
      setScalar(place.first + r, input.values[0].dwords[r]);
    break;
  case Place::Scc:
    wave.scc = input.values[0].dwords[0];
    wave.sccUndefined = false;
    break;
  case Place::Mode:
    wave.mode = input.values[0].dwords[0];
    break;
  case Place::Lds:
    for (size_t i = 0; i < input.values.size(); ++i)
      for (unsigned b = 0; b < 4; ++b)
        wave.workgroup->lds[place.first + 4 * i + b].value =
            input.values[i].dwords[0] >> 8 * b;
    break;
  case Place::Memory:
    for (size_t i = 0; i < input.values.size(); ++i)
      memcpy(&buffer[place.first + 4 * i], &input.values[i].dwords[0], 4);
    break;
  }
}

Snapshot Runner::takeSnapshot(const Wave &wave, const Workgroup &workgroup) {
  Snapshot result;
  result.vectors.resize(NumVectorRegisters * WaveSize);
  result.vectorsUndefined.resize(NumVectorRegisters * WaveSize);
  for (unsigned reg = 0; reg < NumVectorRegisters; ++reg)
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      result.vectors[reg * WaveSize + lane] = wave.lanes(reg)[lane];
      result.vectorsUndefined[reg * WaveSize + lane] =
          wave.undefinedBits(reg, lane);
    }
  result.scalars = wave.scalar;
  result.scalarsUndefined = wave.scalarUndefined;
  result.scalars[ExecLo] = wave.exec;
  result.scalars[ExecHi] = wave.exec >> 32;
  result.scalarsUndefined[ExecLo] = result.scalarsUndefined[ExecHi] = 0;
  result.scc = wave.scc;
  result.sccUndefined = wave.sccUndefined;
  result.mode = wave.mode;
  for (uint32_t i = 0; i < LdsSize; ++i)
    result.lds.push_back(workgroup.lds[i].value);
  result.memory = buffer;
  return result;
}

static bool matches(const Value &value, llvm::ArrayRef<uint32_t> actual) {
  switch (value.kind) {
  case Value::Any:
    return true;
  case Value::NaN16:
    return (actual[0] & 0x7e00) == 0x7e00;
  case Value::NaN32:
    return (actual[0] & 0x7fc00000) == 0x7fc00000;
  case Value::NaN64:
    return actual.size() == 2 && (actual[1] & 0x7ff80000) == 0x7ff80000;
  case Value::Exact:
    return actual == llvm::ArrayRef<uint32_t>(value.dwords);
  }
  return false;
}

static std::string printDwords(llvm::ArrayRef<uint32_t> dwords) {
  if (dwords.size() == 1)
    return llvm::formatv("{0:x8}", dwords[0]);
  if (dwords.size() == 2)
    return llvm::formatv("{0:x16}", dwords[0] | uint64_t(dwords[1]) << 32);
  std::string text = "{";
  for (uint32_t dword : dwords)
    text +=
        (text.size() > 1 ? ", " : "") + llvm::formatv("{0:x8}", dword).str();
  return text + "}";
}

static std::string printValue(const Value &value) {
  switch (value.kind) {
  case Value::Any:
    return "any";
  case Value::NaN16:
    return "an f16 NaN";
  case Value::NaN32:
    return "an f32 NaN";
  case Value::NaN64:
    return "an f64 NaN";
  case Value::Exact:
    return printDwords(value.dwords);
  }
  return "";
}

static std::string printRegister(char kind, unsigned first, unsigned count) {
  if (count == 1)
    return llvm::formatv("{0}{1}", kind, first);
  return llvm::formatv("{0}[{1}:{2}]", kind, first, first + count - 1);
}

static std::string printVector(unsigned first, unsigned count) {
  return first < FirstAccVgpr ? printRegister('v', first, count)
                              : printRegister('a', first - FirstAccVgpr, count);
}

static std::string printScalar(unsigned first, unsigned count) {
  switch (first) {
  case VccLo:
    return count == 2 ? "vcc" : "vcc_lo";
  case VccHi:
    return "vcc_hi";
  case ExecLo:
    return count == 2 ? "exec" : "exec_lo";
  case ExecHi:
    return "exec_hi";
  case M0:
    return "m0";
  default:
    return printRegister('s', first, count);
  }
}

bool Runner::compare(const Case &current, const Snapshot &before,
                     const Snapshot &after) {
  bool good = true;
  // What outputs name; the rest must not have changed.
  std::vector<bool> vectorNamed(NumVectorRegisters * WaveSize);
  std::array<bool, NumScalarRegisters> scalarNamed{};
  bool sccNamed = false;
  std::vector<bool> ldsNamed(LdsSize), memoryNamed(MemorySize);
  auto mismatch = [&](const std::string &where, const std::string &expected,
                      const std::string &actual) {
    good = false;
    report(current) << where << ": expected " << expected << ", got " << actual
                    << '\n';
  };

  for (const Assignment &output : current.outputs) {
    const Place &place = output.place;
    switch (place.kind) {
    case Place::Vector:
      for (unsigned lane = 0; lane < output.values.size(); ++lane) {
        llvm::SmallVector<uint32_t, 4> actual;
        uint32_t undefined = 0;
        for (unsigned r = 0; r < place.count; ++r) {
          unsigned index = (place.first + r) * WaveSize + lane;
          vectorNamed[index] = true;
          actual.push_back(after.vectors[index]);
          undefined |= after.vectorsUndefined[index];
        }
        const Value &value = output.values[lane];
        std::string where = llvm::formatv(
            "{0} lane {1}", printVector(place.first, place.count), lane);
        if (undefined && value.kind != Value::Any)
          mismatch(where, printValue(value), "an uninitialised value");
        else if (!matches(value, actual))
          mismatch(where, printValue(value), printDwords(actual));
      }
      break;
    case Place::Scalar: {
      llvm::SmallVector<uint32_t, 4> actual;
      uint32_t undefined = 0;
      for (unsigned r = 0; r < place.count; ++r) {
        scalarNamed[place.first + r] = true;
        actual.push_back(after.scalars[place.first + r]);
        undefined |= after.scalarsUndefined[place.first + r];
      }
      const Value &value = output.values[0];
      if (undefined && value.kind != Value::Any)
        mismatch(printScalar(place.first, place.count), printValue(value),
                 "an uninitialised value");
      else if (!matches(value, actual))
        mismatch(printScalar(place.first, place.count), printValue(value),
                 printDwords(actual));
      break;
    }
    case Place::Scc:
      sccNamed = true;
      if (after.sccUndefined)
        mismatch("scc", printValue(output.values[0]), "an uninitialised value");
      else if (!matches(output.values[0], {uint32_t(after.scc)}))
        mismatch("scc", printValue(output.values[0]), after.scc ? "1" : "0");
      break;
    case Place::Mode:
      if (!matches(output.values[0], {after.mode}))
        mismatch("mode", printValue(output.values[0]),
                 printDwords({after.mode}));
      break;
    case Place::Lds:
    case Place::Memory: {
      bool lds = place.kind == Place::Lds;
      for (size_t i = 0; i < output.values.size(); ++i) {
        unsigned address = place.first + 4 * i;
        uint32_t actual;
        memcpy(&actual, &(lds ? after.lds : after.memory)[address], 4);
        for (unsigned b = 0; b < 4; ++b)
          (lds ? ldsNamed : memoryNamed)[address + b] = true;
        if (!matches(output.values[i], {actual}))
          mismatch((lds ? "lds " : "mem ") + std::to_string(address),
                   printValue(output.values[i]), printDwords({actual}));
      }
      break;
    }
    }
  }

  auto changed = [&](const std::string &where, const std::string &actual) {
    good = false;
    report(current) << where << " changed, to " << actual
                    << ", and no out: names it\n";
  };
  for (unsigned index = 0; index < vectorNamed.size(); ++index) {
    if (vectorNamed[index])
      continue;
    bool same =
        before.vectorsUndefined[index] == after.vectorsUndefined[index] &&
        ((before.vectors[index] ^ after.vectors[index]) &
         ~before.vectorsUndefined[index]) == 0;
    if (!same)
      changed(llvm::formatv("{0} lane {1}", printVector(index / WaveSize, 1),
                            index % WaveSize),
              printDwords({after.vectors[index]}));
  }
  for (unsigned code = 0; code < NumScalarRegisters; ++code) {
    if (scalarNamed[code])
      continue;
    if (before.scalarsUndefined[code] != after.scalarsUndefined[code] ||
        (before.scalars[code] ^ after.scalars[code]) &
            ~before.scalarsUndefined[code])
      changed(printScalar(code, 1), printDwords({after.scalars[code]}));
  }
  if (!sccNamed && (before.sccUndefined != after.sccUndefined ||
                    (!before.sccUndefined && before.scc != after.scc)))
    changed("scc", after.scc ? "1" : "0");
  for (unsigned i = 0; i < LdsSize; ++i)
    if (!ldsNamed[i] && before.lds[i] != after.lds[i])
      changed("LDS byte " + std::to_string(i), std::to_string(after.lds[i]));
  for (unsigned i = 0; i < MemorySize; ++i)
    if (!memoryNamed[i] && before.memory[i] != after.memory[i])
      changed("memory byte " + std::to_string(i),
              std::to_string(after.memory[i]));
  return good;
}

/// An uninitialised value left in a register, for cases that expect an error.
static std::string findUndefinedResult(const Wave &wave,
                                       const Snapshot &before) {
  for (unsigned reg = 0; reg < NumVectorRegisters; ++reg)
    for (unsigned lane = 0; lane < WaveSize; ++lane) {
      unsigned index = reg * WaveSize + lane;
      if (wave.undefinedBits(reg, lane) &&
          (wave.undefinedBits(reg, lane) != before.vectorsUndefined[index] ||
           wave.lanes(reg)[lane] != before.vectors[index]))
        return "leaves the uninitialised value of " +
               wave.describeUndefined(reg, lane);
    }
  return "";
}

llvm::Expected<bool> Runner::run(const Case &current) {
  std::string text;
  for (const auto &[line, code] : current.code)
    text += code + "\n";
  text += "s_endpgm\n";
  std::vector<kimi::tools::AssemblyError> errors;
  std::vector<uint8_t> code = kimi::tools::assemble(text, errors);
  if (!errors.empty()) {
    unsigned index = std::min<size_t>(errors[0].line, current.code.size()) - 1;
    return llvm::createStringError(
        file + ":" + llvm::Twine(current.code[index].first) + ": '" +
        current.code[index].second + "': " + errors[0].message);
  }
  llvm::Expected<Program> program = Program::decode(code, {0});
  if (!program)
    return program.takeError();

  buffer.assign(MemorySize, 0);
  Memory memory;
  if (llvm::Error error =
          memory.map(buffer.data(), buffer.size(), Memory::Initialized, "mem"))
    return error;
  LaunchOptions options;
  options.transcendental = current.transcendental;
  options.instructionBudget = 1u << 20;
  ExecutionContext context{*program, memory, options, {}, {}, 0, 0, 0, 0, true};
  context.kernelName = current.name;
  // Any address will do for s_getpc; the code is not read as data.
  context.programAddress = reinterpret_cast<uintptr_t>(code.data());
  Workgroup workgroup(context);
  workgroup.lds.reset(LdsSize);
  for (uint32_t i = 0; i < LdsSize; ++i)
    workgroup.lds[i].initialized = true;

  size_t lanes = 1;
  for (const Assignment &input : current.inputs)
    if (input.place.kind == Place::Vector)
      lanes = std::max(lanes,
                       input.threadId ? size_t(WaveSize) : input.values.size());
  for (unsigned i = 0; i < current.waves; ++i) {
    auto wave = std::make_unique<Wave>(FirstAccVgpr, FirstAccVgpr, SgprLimit);
    wave->workgroup = &workgroup;
    wave->index = i;
    wave->exec = lanes == WaveSize ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1;
    // Round to nearest even, denormals kept.
    wave->mode = 0xf << ModeDenorm32Shift | ModeDX10Clamp | ModeIEEE;
    for (const Assignment &input : current.inputs)
      set(*wave, input, i);
    workgroup.waves.push_back(std::move(wave));
  }
  Wave &wave = *workgroup.waves[0];
  Snapshot before = takeSnapshot(wave, workgroup);
  std::string error = llvm::toString(workgroup.run());
  if (current.error) {
    if (error.empty())
      error = findUndefinedResult(wave, before);
    if (error.empty()) {
      report(current) << "expected an error with '" << *current.error
                      << "', the run succeeded\n";
      return false;
    }
    if (!StringRef(error).contains(*current.error)) {
      report(current) << "expected an error with '" << *current.error
                      << "', got: " << error << '\n';
      return false;
    }
    return true;
  }
  if (!error.empty()) {
    report(current) << error << '\n';
    return false;
  }
  return compare(current, before, takeSnapshot(wave, workgroup));
}

int main(int argc, char **argv) {
  auto fail = [](const llvm::Twine &message) {
    llvm::outs().flush();
    llvm::errs() << "gfx950-instruction-test: error: " << message << '\n';
    return 1;
  };
  if (argc != 2)
    return fail("expected one test file");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(argv[1]);
  if (!file)
    return fail(llvm::Twine(argv[1]) + ": " + file.getError().message());
  Runner runner(argv[1], llvm::outs());
  llvm::Expected<std::vector<Case>> cases =
      Parser(argv[1], runner.memoryAddress()).parse((*file)->getBuffer());
  if (!cases)
    return fail(llvm::toString(cases.takeError()));
  unsigned passed = 0, failed = 0;
  for (const Case &current : *cases) {
    llvm::Expected<bool> good = runner.run(current);
    if (!good)
      return fail(llvm::toString(good.takeError()));
    ++(*good ? passed : failed);
  }
  llvm::outs() << passed << " cases passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}
