//===- gfx950-run.cpp - Runs a gfx950 code object on the emulator ---------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Executor.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace kimi::emulator;
namespace cl = llvm::cl;

static cl::OptionCategory category("gfx950-run options");
static cl::opt<std::string> inputName(cl::Positional, cl::desc("CODE_OBJECT"),
                                      cl::cat(category));
static cl::opt<std::string> kernelName("kernel", cl::desc("The kernel to run"),
                                       cl::value_desc("NAME"),
                                       cl::cat(category));
static cl::opt<std::string> gridText("grid", cl::desc("Workgroups"),
                                     cl::value_desc("X[,Y,Z]"), cl::init("1"),
                                     cl::cat(category));
static cl::opt<std::string> blockText("block",
                                      cl::desc("Work-items of a workgroup"),
                                      cl::value_desc("X[,Y,Z]"), cl::init("1"),
                                      cl::cat(category));
static cl::list<std::string> argumentTexts(
    "arg",
    cl::desc("An argument, in order: in:FILE, out:FILE:BYTES, inout:FILE, "
             "zero:BYTES, u32:N, i32:N, u64:N, f32:X, f64:X"),
    cl::value_desc("KIND:VALUE"), cl::cat(category));
static cl::opt<unsigned> dynamicLds("dynamic-lds",
                                    cl::desc("Dynamic LDS, in bytes"),
                                    cl::init(0), cl::cat(category));

namespace {
enum class ProfileFormat { None, Text, JSON };
} // namespace
static cl::opt<ProfileFormat> profileFormat(
    "profile", cl::desc("Print what the launch did"), cl::ValueOptional,
    cl::init(ProfileFormat::None),
    cl::values(clEnumValN(ProfileFormat::Text, "", "name: value lines"),
               clEnumValN(ProfileFormat::Text, "text", "name: value lines"),
               clEnumValN(ProfileFormat::JSON, "json", "a JSON object")),
    cl::cat(category));
static cl::opt<bool> trace("trace", cl::desc("Print every instruction"),
                           cl::cat(category));
static cl::opt<bool> list("list", cl::desc("Print the kernels and stop"),
                          cl::cat(category));
static cl::opt<bool>
    listInstructions("list-instructions",
                     cl::desc("Print the instructions that the emulator "
                              "executes and stop"),
                     cl::cat(category));
static cl::opt<std::string> transcendental(
    "transcendental",
    cl::desc("How instructions specified to 1 ULP round: nearest, up, down"),
    cl::init("nearest"), cl::cat(category));
static cl::opt<uint64_t>
    instructionBudget("instruction-budget",
                      cl::desc("Instructions that one wave may execute"),
                      cl::init(uint64_t(1) << 32), cl::cat(category));
static cl::opt<bool>
    hazards("hazards", cl::desc("Check for missing wait states (default)"),
            cl::init(true), cl::cat(category));
static cl::opt<bool>
    globalRaces("global-races",
                cl::desc("Check for races in global memory (default)"),
                cl::init(true), cl::cat(category));

namespace {

/// One --arg: bytes of the argument segment, and for buffers their memory.
struct Argument {
  std::string text;
  std::unique_ptr<llvm::WritableMemoryBuffer> buffer;
  llvm::SmallVector<uint8_t, 8> value;
  std::string outputName; // empty: nothing to write
};

} // namespace

static llvm::Error parseTriple(const char *option, llvm::StringRef text,
                               uint32_t (&values)[3]) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ',');
  for (uint32_t &value : values)
    value = 1;
  if (parts.size() > 3)
    return llvm::createStringError("--" + llvm::Twine(option) + "=" + text +
                                   ": more than three numbers");
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].getAsInteger(10, values[i]))
      return llvm::createStringError("--" + llvm::Twine(option) + "=" + text +
                                     ": '" + parts[i] + "' is not a number");
  return llvm::Error::success();
}

template <typename T> static void setValue(Argument &argument, T value) {
  argument.value.resize(sizeof(T));
  std::memcpy(argument.value.data(), &value, sizeof(T));
}

static llvm::Error parseArgument(llvm::StringRef text, Memory &memory,
                                 Argument &argument) {
  argument.text = text.str();
  llvm::StringRef kind = text.split(':').first;
  llvm::StringRef rest = text.split(':').second;
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError("--arg=" + text + ": " + message);
  };
  auto mapBuffer = [&](unsigned flags) -> llvm::Error {
    setValue(argument, uint64_t(reinterpret_cast<uintptr_t>(
                           argument.buffer->getBufferStart())));
    if (llvm::Error error =
            memory.map(argument.buffer->getBufferStart(),
                       argument.buffer->getBufferSize(), flags, text.str()))
      return fail(llvm::toString(std::move(error)));
    return llvm::Error::success();
  };
  auto readFile = [&](llvm::StringRef name) -> llvm::Error {
    llvm::ErrorOr<std::unique_ptr<llvm::WritableMemoryBuffer>> file =
        llvm::WritableMemoryBuffer::getFile(name);
    if (!file)
      return fail(llvm::Twine(name) + ": " + file.getError().message());
    if ((*file)->getBufferSize() == 0)
      return fail(llvm::Twine(name) + ": the file is empty");
    argument.buffer = std::move(*file);
    return llvm::Error::success();
  };
  auto parseInteger = [&](auto value) -> llvm::Error {
    if (rest.getAsInteger(0, value))
      return fail("'" + rest + "' is not a number that fits");
    setValue(argument, value);
    return llvm::Error::success();
  };
  auto parseBytes = [&](llvm::StringRef number) -> llvm::Error {
    uint64_t bytes;
    if (number.getAsInteger(10, bytes) || bytes == 0 ||
        bytes > (uint64_t(1) << 40))
      return fail("'" + number + "' is not a size in bytes");
    argument.buffer = llvm::WritableMemoryBuffer::getNewMemBuffer(bytes);
    if (!argument.buffer)
      return fail("cannot allocate " + llvm::Twine(bytes) + " bytes");
    return llvm::Error::success();
  };

  if (kind == "in" || kind == "inout") {
    if (llvm::Error error = readFile(rest))
      return error;
    bool writable = kind == "inout";
    if (writable)
      argument.outputName = rest.str();
    return mapBuffer(Memory::Initialized |
                     (writable ? 0 : unsigned(Memory::ReadOnly)));
  }
  if (kind == "out") {
    auto [name, bytes] = rest.rsplit(':');
    if (name.empty() || bytes.empty())
      return fail("expected out:FILE:BYTES");
    if (llvm::Error error = parseBytes(bytes))
      return error;
    argument.outputName = name.str();
    return mapBuffer(0);
  }
  if (kind == "zero") {
    if (llvm::Error error = parseBytes(rest))
      return error;
    return mapBuffer(Memory::Initialized);
  }
  if (kind == "u32")
    return parseInteger(uint32_t());
  if (kind == "i32")
    return parseInteger(int32_t());
  if (kind == "u64")
    return parseInteger(uint64_t());
  if (kind == "f32" || kind == "f64") {
    double value;
    if (rest.getAsDouble(value))
      return fail("'" + rest + "' is not a number");
    if (kind == "f32")
      setValue(argument, float(value));
    else
      setValue(argument, value);
    return llvm::Error::success();
  }
  return fail("'" + kind +
              "' is none of in, out, inout, zero, u32, i32, u64, f32, f64");
}

/// Lays the arguments out as the metadata says.
static llvm::Error layOut(const Kernel &kernel,
                          llvm::ArrayRef<Argument> arguments,
                          std::vector<uint8_t> &kernarg) {
  size_t expected = kernel.explicitArguments();
  if (arguments.size() != expected)
    return llvm::createStringError(
        llvm::formatv("kernel '{0}' takes {1} arguments, {2} were given",
                      kernel.name, expected, arguments.size()));
  for (size_t i = 0; i < expected; ++i) {
    const KernelArgument &wanted = kernel.arguments[i];
    if (arguments[i].value.size() != wanted.size)
      return llvm::createStringError(llvm::formatv(
          "--arg={0}: argument {1} of kernel '{2}' has {3} bytes, not {4}",
          arguments[i].text, i, kernel.name, wanted.size,
          arguments[i].value.size()));
    if (kernarg.size() < wanted.offset + wanted.size)
      kernarg.resize(wanted.offset + wanted.size);
    std::copy(arguments[i].value.begin(), arguments[i].value.end(),
              kernarg.begin() + wanted.offset);
  }
  return llvm::Error::success();
}

/// Whether `name` is something that must not be replaced, such as /dev/null.
static bool isSpecialFile(llvm::StringRef name) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(name, status) &&
         !llvm::sys::fs::is_regular_file(status) &&
         !llvm::sys::fs::is_directory(status);
}

/// Every output is written in full to a temporary file first; only then do
/// they get their names. Devices and pipes come last, since what they took
/// cannot be taken back.
static llvm::Error writeOutputs(llvm::ArrayRef<Argument> arguments,
                                const Memory &memory) {
  struct Pending {
    llvm::sys::fs::TempFile file;
    llvm::StringRef name;
  };
  std::vector<Pending> pending;
  struct Special {
    llvm::StringRef name, contents;
  };
  std::vector<Special> specials;
  auto discard = [&] {
    for (Pending &p : pending)
      llvm::consumeError(p.file.discard());
  };
  for (const Argument &argument : arguments) {
    if (argument.outputName.empty())
      continue;
    const char *begin = argument.buffer->getBufferStart();
    uint64_t size = argument.buffer->getBufferSize();
    uint64_t address = reinterpret_cast<uintptr_t>(begin);
    const Memory::Range *range = memory.find(address, size);
    uint64_t missing = range->firstUninitialized(address, size);
    if (missing != size) {
      discard();
      return llvm::createStringError(
          "--arg=" + argument.text + ": the kernel never wrote byte " +
          llvm::Twine(missing) + " of " + llvm::Twine(size));
    }
    if (isSpecialFile(argument.outputName)) {
      specials.push_back({argument.outputName, {begin, size}});
      continue;
    }
    llvm::Expected<llvm::sys::fs::TempFile> file =
        llvm::sys::fs::TempFile::create(argument.outputName + ".tmp%%%%%%");
    if (!file) {
      discard();
      return llvm::createStringError("--arg=" + argument.text + ": " +
                                     llvm::toString(file.takeError()));
    }
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    os.write(begin, size);
    os.flush();
    pending.push_back({std::move(*file), argument.outputName});
    if (os.has_error()) {
      std::error_code code = os.error();
      os.clear_error();
      discard();
      return llvm::createStringError("--arg=" + argument.text + ": " +
                                     code.message());
    }
  }
  for (Pending &p : pending)
    if (llvm::Error error = p.file.keep(p.name)) {
      discard();
      return llvm::createStringError(p.name + ": " +
                                     llvm::toString(std::move(error)));
    }
  for (const Special &special : specials) {
    std::error_code code;
    llvm::raw_fd_ostream os(special.name, code, llvm::sys::fs::CD_OpenExisting);
    if (!code) {
      os << special.contents;
      os.flush();
      code = os.error();
      os.clear_error();
    }
    if (code)
      return llvm::createStringError(special.name + ": " + code.message());
  }
  return llvm::Error::success();
}

static llvm::Error run() {
  if (listInstructions) {
    for (llvm::StringRef name : getKnownInstructions())
      llvm::outs() << name << '\n';
    return llvm::Error::success();
  }
  if (inputName.empty())
    return llvm::createStringError("the code object is missing");
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(inputName);
  if (!file)
    return llvm::createStringError(inputName + ": " +
                                   file.getError().message());
  llvm::StringRef bytes = (*file)->getBuffer();
  llvm::Expected<std::unique_ptr<CodeObject>> codeObject = CodeObject::load(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  if (!codeObject)
    return llvm::createStringError(inputName + ": " +
                                   llvm::toString(codeObject.takeError()));
  if (list) {
    (*codeObject)->print(llvm::outs());
    return llvm::Error::success();
  }
  if (kernelName.empty()) {
    std::vector<llvm::StringRef> names;
    for (const Kernel &kernel : (*codeObject)->getKernels())
      names.push_back(kernel.name);
    return llvm::createStringError("--kernel is missing; " + inputName +
                                   " has: " + llvm::join(names, ", "));
  }
  llvm::Expected<const Kernel *> kernel = (*codeObject)->findKernel(kernelName);
  if (!kernel)
    return llvm::createStringError(inputName + ": " +
                                   llvm::toString(kernel.takeError()));

  Dispatch dispatch;
  if (llvm::Error error = parseTriple("grid", gridText, dispatch.workgroups))
    return error;
  if (llvm::Error error =
          parseTriple("block", blockText, dispatch.workgroupSize))
    return error;
  dispatch.dynamicLdsSize = dynamicLds;
  LaunchOptions options;
  llvm::Expected<Transcendental> mode = parseTranscendental(transcendental);
  if (!mode)
    return llvm::createStringError("--transcendental: " +
                                   llvm::toString(mode.takeError()));
  options.transcendental = *mode;
  options.instructionBudget = instructionBudget;
  options.detectHazards = hazards;
  options.detectGlobalRaces = globalRaces;
  if (trace)
    options.trace = &llvm::outs();

  Memory memory;
  std::vector<Argument> arguments(argumentTexts.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (llvm::Error error =
            parseArgument(argumentTexts[i], memory, arguments[i]))
      return error;
  std::vector<uint8_t> kernarg;
  if (llvm::Error error = layOut(**kernel, arguments, kernarg))
    return error;
  dispatch.kernarg = kernarg;

  llvm::Expected<Profile> profile =
      launch(**codeObject, memory, kernelName, dispatch, options);
  if (!profile)
    return profile.takeError();
  if (llvm::Error error = writeOutputs(arguments, memory))
    return error;
  if (profileFormat == ProfileFormat::Text)
    profile->print(llvm::outs());
  else if (profileFormat == ProfileFormat::JSON)
    profile->printJSON(llvm::outs());
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Runs a kernel of a gfx950 code object on the emulator\n");
  if (llvm::Error error = run()) {
    llvm::outs().flush();
    llvm::errs() << "gfx950-run: error: " << llvm::toString(std::move(error))
                 << '\n';
    return 1;
  }
  return 0;
}
