//===- StandInEmulator.cpp - A native stand-in for the emulator -----------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements KimiMlaGate/Emulator/CAPI.h for tests of what lies above it: a
// "kernel" is computed natively, as a code object of text says, faults
// included. One kernel a line:
//
//   stand-in
//   kernel NAME SIZE,SIZE,... X,Y,Z ACTION...
//
// with the sizes of the arguments (each aligned to its size) and the required
// workgroup size (0,0,0: none). Actions:
//
//   fill COUNT          stores the i32 of argument 1 COUNT times through
//                       argument 0
//   sum COUNT           adds COUNT i32 of argument 0 into the i32 of argument 1
//   gate M N K FORM FAULT...
//                       arguments hidden, weight, attention, out and, where
//                       there are six, projection and sigmoid; FORM is f32 or
//                       bf16; faults: flip:I (lowest bit of out[I]), skip:I
//                       (out[I] stays as it was), once:I (from the second
//                       launch on), nan:I, clobber (hidden[0]
//                       changes), naive (sigmoid as 1 / (1 + exp(-x)) in
//                       float), lanes (a float sum of 64 lanes)
//
// KIMI_STANDIN_ABI overrides the interface version.
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/CAPI.h"

#include "KimiMlaGate/Reference/BFloat16.h"
#include "KimiMlaGate/Reference/GateReference.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace kimi::reference;

namespace {

thread_local std::string lastError;

int error(const std::string &text) {
  lastError = text;
  return -1;
}

struct Kernel {
  std::vector<kimi_emulator_argument_info> arguments;
  uint32_t workgroup[3] = {};
  std::vector<std::string> action;
  mutable int launches = 0;
};

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

} // namespace

struct kimi_emulator {
  struct Range {
    size_t bytes;
    unsigned flags;
    std::vector<bool> initialized;
  };
  std::map<uintptr_t, Range> ranges;

  Range *find(const void *address, size_t bytes, size_t &offset) {
    auto base = reinterpret_cast<uintptr_t>(address);
    auto it = ranges.upper_bound(base);
    if (it == ranges.begin())
      return nullptr;
    --it;
    offset = base - it->first;
    return offset + bytes <= it->second.bytes ? &it->second : nullptr;
  }
  bool access(const void *address, size_t bytes, bool write) {
    size_t offset;
    Range *range = find(address, bytes, offset);
    if (!range)
      return !error("access outside mapped memory");
    if (write && range->flags & KIMI_EMULATOR_READ_ONLY)
      return !error("store to read-only memory");
    for (size_t i = offset; i < offset + bytes; ++i) {
      if (write)
        range->initialized[i] = true;
      else if (!range->initialized[i])
        return !error("load of memory that nobody wrote");
    }
    return true;
  }
};

struct kimi_emulator_code_object {
  kimi_emulator *emulator;
  std::map<std::string, Kernel> kernels;
};

namespace {

/// The arguments of a launch, and checked access through them.
struct Launch {
  kimi_emulator &emulator;
  const Kernel &kernel;
  const unsigned char *kernarg;

  template <typename T> T argument(size_t i) const {
    T value;
    std::memcpy(&value, kernarg + kernel.arguments[i].offset, sizeof(T));
    return value;
  }
  bool load(size_t i, size_t count, std::vector<uint16_t> &values) const {
    auto *pointer = argument<const uint16_t *>(i);
    values.resize(count);
    if (!emulator.access(pointer, count * 2, false))
      return false;
    std::memcpy(values.data(), pointer, count * 2);
    return true;
  }
  bool store(size_t i, size_t element, uint16_t value) const {
    auto *pointer = argument<uint16_t *>(i) + element;
    if (!emulator.access(pointer, 2, true))
      return false;
    *pointer = value;
    return true;
  }
};

int runFill(const Launch &launch, size_t count) {
  auto *pointer = launch.argument<int32_t *>(0);
  if (!launch.emulator.access(pointer, count * 4, true))
    return -1;
  std::fill_n(pointer, count, launch.argument<int32_t>(1));
  return 0;
}

int runSum(const Launch &launch, size_t count) {
  auto *in = launch.argument<int32_t *>(0);
  auto *out = launch.argument<int32_t *>(1);
  if (!launch.emulator.access(in, count * 4, false) ||
      !launch.emulator.access(out, 4, false))
    return -1;
  for (size_t i = 0; i < count; ++i)
    *out += in[i];
  return 0;
}

int runGate(const Launch &launch) {
  const std::vector<std::string> &action = launch.kernel.action;
  GateShape shape{std::stoul(action[1]), std::stoul(action[2]),
                  std::stoul(action[3])};
  GateInputs inputs;
  if (!launch.load(0, shape.m * shape.k, inputs.hidden) ||
      !launch.load(1, shape.n * shape.k, inputs.weight) ||
      !launch.load(2, shape.outputs(), inputs.attention))
    return -1;
  SigmoidTable table(action[4] == "f32"    ? SigmoidForm::F32
                     : action[4] == "bf16" ? SigmoidForm::BF16Operations
                                           : SigmoidForm::F32Unrounded);
  GateReference result =
      computeReference(shape, inputs, table, summationDepth(shape.k));
  std::vector<bool> skip(shape.outputs());
  bool first = launch.kernel.launches++ == 0;
  for (size_t i = 5; i < action.size(); ++i) {
    const std::string &fault = action[i];
    size_t colon = fault.find(':');
    size_t index =
        colon == std::string::npos ? 0 : std::stoul(fault.substr(colon + 1));
    if (fault.rfind("flip:", 0) == 0)
      result.output[index] ^= 1;
    else if (fault.rfind("skip:", 0) == 0)
      skip[index] = true;
    else if (fault.rfind("once:", 0) == 0)
      skip[index] = !first;
    else if (fault.rfind("nan:", 0) == 0)
      result.output[index] = 0x7fc0;
    else if (fault == "clobber")
      launch.store(0, 0, uint16_t(inputs.hidden[0] ^ 1));
    else if (fault == "naive" || fault == "lanes")
      for (size_t o = 0; o < shape.outputs(); ++o) {
        if (fault == "lanes") {
          const uint16_t *h = &inputs.hidden[o / shape.n * shape.k];
          const uint16_t *w = &inputs.weight[o % shape.n * shape.k];
          float lanes[64] = {}, sum = 0;
          for (size_t k = 0; k < shape.k; ++k)
            lanes[k % 64] += bf16ToFloat(h[k]) * bf16ToFloat(w[k]);
          for (float lane : lanes)
            sum += lane;
          result.projection[o] = floatToBF16(sum);
          result.sigmoid[o] = table.value(result.projection[o]);
        } else {
          float x = bf16ToFloat(result.projection[o]);
          result.sigmoid[o] = floatToBF16(1 / (1 + std::exp(-x)));
        }
        result.output[o] = gateProduct(result.sigmoid[o], inputs.attention[o]);
      }
    else
      return error("stand-in: unknown fault " + fault);
  }
  bool all = launch.kernel.arguments.size() == 6;
  for (size_t i = 0; i < shape.outputs(); ++i) {
    if (!skip[i] && !launch.store(3, i, result.output[i]))
      return -1;
    if (all && (!launch.store(4, i, result.projection[i]) ||
                !launch.store(5, i, result.sigmoid[i])))
      return -1;
  }
  return 0;
}

const Kernel *findKernel(const kimi_emulator_code_object *object,
                         const char *name) {
  auto it = object->kernels.find(name);
  if (it != object->kernels.end())
    return &it->second;
  std::string names;
  for (auto &[known, kernel] : object->kernels)
    names += (names.empty() ? "" : ", ") + known;
  error("no kernel '" + std::string(name) + "' in the code object, which has " +
        names);
  return nullptr;
}

} // namespace

extern "C" {

int kimi_emulator_abi_version(void) {
  const char *version = std::getenv("KIMI_STANDIN_ABI");
  return version ? std::atoi(version) : KIMI_EMULATOR_ABI_VERSION;
}

const char *kimi_emulator_last_error(void) { return lastError.c_str(); }

kimi_emulator *kimi_emulator_create(void) { return new kimi_emulator; }
void kimi_emulator_destroy(kimi_emulator *emulator) { delete emulator; }

int kimi_emulator_map_memory(kimi_emulator *emulator, void *host, size_t bytes,
                             unsigned flags) {
  auto base = reinterpret_cast<uintptr_t>(host);
  for (auto &[other, range] : emulator->ranges)
    if (base < other + range.bytes && other < base + bytes)
      return error("overlap with an existing mapping");
  bool initialized = flags & KIMI_EMULATOR_INITIALIZED;
  emulator->ranges[base] = {bytes, flags,
                            std::vector<bool>(bytes, initialized)};
  return 0;
}

int kimi_emulator_unmap_memory(kimi_emulator *emulator, void *host) {
  if (!emulator->ranges.erase(reinterpret_cast<uintptr_t>(host)))
    return error("unmapping what is not mapped");
  return 0;
}

int kimi_emulator_mark_initialized(kimi_emulator *emulator, const void *host,
                                   size_t bytes) {
  return emulator->access(host, bytes, true) ? 0 : -1;
}

int kimi_emulator_check_range(kimi_emulator *emulator, const void *host,
                              size_t bytes) {
  size_t offset;
  return emulator->find(host, bytes, offset) ? 0 : error("not mapped");
}

kimi_emulator_code_object *kimi_emulator_load(kimi_emulator *emulator,
                                              const void *image, size_t size) {
  std::istringstream text(std::string(static_cast<const char *>(image), size));
  std::string line;
  if (!std::getline(text, line) || line != "stand-in") {
    error("not a stand-in code object");
    return nullptr;
  }
  auto *object = new kimi_emulator_code_object{emulator, {}};
  while (std::getline(text, line)) {
    std::vector<std::string> words = split(line, ' ');
    if (words.size() < 5 || words[0] != "kernel")
      continue;
    Kernel kernel;
    uint32_t offset = 0;
    for (const std::string &word : split(words[2], ',')) {
      auto size = uint32_t(std::stoul(word));
      offset = (offset + size - 1) / size * size;
      kernel.arguments.push_back({offset, size});
      offset += size;
    }
    std::vector<std::string> group = split(words[3], ',');
    for (int i = 0; i < 3; ++i)
      kernel.workgroup[i] = uint32_t(std::stoul(group[i]));
    kernel.action.assign(words.begin() + 4, words.end());
    object->kernels[words[1]] = kernel;
  }
  return object;
}

void kimi_emulator_unload(kimi_emulator_code_object *object) { delete object; }

int kimi_emulator_get_kernel_info(const kimi_emulator_code_object *object,
                                  const char *name,
                                  kimi_emulator_kernel_info *info) {
  const Kernel *kernel = findKernel(object, name);
  if (!kernel)
    return -1;
  *info = {};
  info->lds_size = 336;
  info->vgpr_count = 41;
  info->max_workgroup_size = 1024;
  std::copy_n(kernel->workgroup, 3, info->required_workgroup_size);
  info->argument_count = uint32_t(kernel->arguments.size());
  return 0;
}

int kimi_emulator_get_argument_info(const kimi_emulator_code_object *object,
                                    const char *name, uint32_t index,
                                    kimi_emulator_argument_info *info) {
  const Kernel *kernel = findKernel(object, name);
  if (!kernel)
    return -1;
  *info = kernel->arguments[index];
  return 0;
}

int kimi_emulator_launch(kimi_emulator_code_object *object, const char *name,
                         const uint32_t[3], const uint32_t[3], uint32_t,
                         const void *kernarg, size_t) {
  const Kernel *kernel = findKernel(object, name);
  if (!kernel)
    return -1;
  Launch launch{*object->emulator, *kernel,
                static_cast<const unsigned char *>(kernarg)};
  const std::string &action = kernel->action[0];
  if (action == "fill")
    return runFill(launch, std::stoul(kernel->action[1]));
  if (action == "sum")
    return runSum(launch, std::stoul(kernel->action[1]));
  if (action == "gate")
    return runGate(launch);
  return error("stand-in: unknown action " + action);
}

} // extern "C"
