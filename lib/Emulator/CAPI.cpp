//===- CAPI.cpp - C interface of the gfx950 emulator ----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/CAPI.h"

#include "KimiMlaGate/Emulator/Executor.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>
#include <memory>
#include <string>

#define KIMI_EXPORT __attribute__((visibility("default")))

using namespace kimi::emulator;

struct kimi_emulator {
  Memory memory;
};

struct kimi_emulator_code_object {
  kimi_emulator *emulator;
  std::unique_ptr<CodeObject> object;
};

static std::string &lastError() {
  thread_local std::string text;
  return text;
}

static int fail(const llvm::Twine &message) {
  // One line, whatever the cause had to say.
  std::string text = message.str();
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  lastError() = std::move(text);
  return -1;
}

static int fail(llvm::Error error) {
  return fail(llvm::Twine(llvm::toString(std::move(error))));
}

static int finish(llvm::Error error) {
  return error ? fail(std::move(error)) : 0;
}

extern "C" {

KIMI_EXPORT int kimi_emulator_abi_version(void) {
  return KIMI_EMULATOR_ABI_VERSION;
}

KIMI_EXPORT const char *kimi_emulator_last_error(void) {
  return lastError().c_str();
}

KIMI_EXPORT kimi_emulator *kimi_emulator_create(void) {
  return new kimi_emulator();
}

KIMI_EXPORT void kimi_emulator_destroy(kimi_emulator *emulator) {
  delete emulator;
}

KIMI_EXPORT int kimi_emulator_map_memory(kimi_emulator *emulator, void *host,
                                         size_t bytes, unsigned flags) {
  if (flags & ~unsigned(KIMI_EMULATOR_INITIALIZED | KIMI_EMULATOR_READ_ONLY))
    return fail("unknown mapping flags");
  unsigned mapped = 0;
  if (flags & KIMI_EMULATOR_INITIALIZED)
    mapped |= Memory::Initialized;
  if (flags & KIMI_EMULATOR_READ_ONLY)
    mapped |= Memory::ReadOnly;
  return finish(emulator->memory.map(host, bytes, mapped));
}

KIMI_EXPORT int kimi_emulator_unmap_memory(kimi_emulator *emulator,
                                           void *host) {
  return finish(emulator->memory.unmap(host));
}

KIMI_EXPORT int kimi_emulator_mark_initialized(kimi_emulator *emulator,
                                               const void *host, size_t bytes) {
  return finish(emulator->memory.markInitialized(host, bytes));
}

KIMI_EXPORT int kimi_emulator_check_range(kimi_emulator *emulator,
                                          const void *host, size_t bytes) {
  return finish(emulator->memory.checkRange(host, bytes));
}

KIMI_EXPORT kimi_emulator_code_object *
kimi_emulator_load(kimi_emulator *emulator, const void *image, size_t size) {
  llvm::Expected<std::unique_ptr<CodeObject>> object =
      CodeObject::load({static_cast<const uint8_t *>(image), size});
  if (!object) {
    fail(object.takeError());
    return nullptr;
  }
  return new kimi_emulator_code_object{emulator, std::move(*object)};
}

KIMI_EXPORT void kimi_emulator_unload(kimi_emulator_code_object *code_object) {
  delete code_object;
}

KIMI_EXPORT int
kimi_emulator_get_kernel_info(const kimi_emulator_code_object *code_object,
                              const char *kernel,
                              kimi_emulator_kernel_info *info) {
  llvm::Expected<const Kernel *> found =
      code_object->object->findKernel(kernel);
  if (!found)
    return fail(found.takeError());
  const Kernel &k = **found;
  *info = {};
  info->kernarg_size = k.kernargSize;
  info->lds_size = k.ldsSize;
  info->scratch_size = k.scratchSize;
  info->vgpr_count = k.vgprCount;
  info->sgpr_count = k.sgprCount;
  info->max_workgroup_size = k.maxWorkgroupSize;
  for (unsigned i = 0; i < 3; ++i)
    info->required_workgroup_size[i] = k.requiredWorkgroupSize[i];
  info->argument_count = k.explicitArguments();
  return 0;
}

KIMI_EXPORT int
kimi_emulator_get_argument_info(const kimi_emulator_code_object *code_object,
                                const char *kernel, uint32_t index,
                                kimi_emulator_argument_info *info) {
  llvm::Expected<const Kernel *> found =
      code_object->object->findKernel(kernel);
  if (!found)
    return fail(found.takeError());
  size_t count = (*found)->explicitArguments();
  if (index >= count)
    return fail(llvm::formatv("kernel '{0}' has {1} arguments, none has index "
                              "{2}",
                              kernel, count, index)
                    .str());
  const KernelArgument &argument = (*found)->arguments[index];
  info->offset = argument.offset;
  info->size = argument.size;
  return 0;
}

KIMI_EXPORT int kimi_emulator_launch(kimi_emulator_code_object *code_object,
                                     const char *kernel,
                                     const uint32_t workgroups[3],
                                     const uint32_t workgroup_size[3],
                                     uint32_t dynamic_lds_size,
                                     const void *kernarg, size_t kernarg_size) {
  Dispatch dispatch;
  for (unsigned i = 0; i < 3; ++i) {
    dispatch.workgroups[i] = workgroups[i];
    dispatch.workgroupSize[i] = workgroup_size[i];
  }
  dispatch.dynamicLdsSize = dynamic_lds_size;
  dispatch.kernarg = {static_cast<const uint8_t *>(kernarg), kernarg_size};
  LaunchOptions options;
  // A process that cannot reach LaunchOptions chooses by environment.
  if (const char *mode = std::getenv("KIMI_EMULATOR_TRANSCENDENTAL")) {
    llvm::Expected<Transcendental> parsed = parseTranscendental(mode);
    if (!parsed)
      return fail("KIMI_EMULATOR_TRANSCENDENTAL: " +
                  llvm::toString(parsed.takeError()));
    options.transcendental = *parsed;
  }
  llvm::Expected<Profile> profile =
      launch(*code_object->object, code_object->emulator->memory, kernel,
             dispatch, options);
  return profile ? 0 : fail(profile.takeError());
}

} // extern "C"
