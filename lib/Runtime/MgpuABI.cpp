//===- MgpuABI.cpp - What MLIR's GPU host code calls ----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Runtime/MgpuABI.h"

#include "KimiMlaGate/Runtime/DeviceRegistry.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

using namespace kimi;
using namespace kimi::runtime;

namespace {

[[noreturn]] void fail(const std::string &message) {
  // What the program printed so far must not be lost.
  std::fflush(nullptr);
  std::fprintf(stderr, "kimi-gpu-runtime: %s\n", message.c_str());
  std::_Exit(1);
}

void check(const char *entry, const Status &status) {
  if (!status.ok())
    fail(std::string(entry) + ": " + status.message());
}

template <typename T> T check(const char *entry, Result<T> result) {
  check(entry, result.status());
  return *result;
}

/// Shared by all entry points. The device is never destroyed: generated code
/// unloads its modules in destructors that run after this library's.
struct Process {
  std::mutex mutex;
  Device *device = nullptr;
  int ordinal = 0;
};

Process &process() {
  static Process *instance = new Process;
  return *instance;
}

Device &device(const char *entry) {
  Process &state = process();
  std::lock_guard lock(state.mutex);
  if (!state.device) {
    Result<std::unique_ptr<Device>> made = createDevice("", state.ordinal);
    check(entry, made.status());
    state.device = made->release();
  }
  return *state.device;
}

template <typename T> T *handle(void *opaque) {
  return static_cast<T *>(opaque);
}

uint32_t dimension(intptr_t value) {
  if (value < 0 || value > intptr_t(UINT32_MAX))
    fail("mgpuLaunchKernel: a dimension of " + std::to_string(value));
  return uint32_t(value);
}

char *begin(MgpuMemRef *descriptor, int64_t elementBytes) {
  return descriptor->aligned + descriptor->offset * elementBytes;
}

MgpuMemRef1D deviceMemRef(const char *entry, void *aligned, int64_t offset,
                          int64_t size, int64_t stride) {
  void *pointer = check(entry, device(entry).devicePointer(aligned));
  return {pointer, pointer, offset, size, stride};
}

} // namespace

void *mgpuModuleLoad(void *image, size_t bytes) {
  return check(__func__, device(__func__).load(image, bytes));
}

void *mgpuModuleLoadJIT(void *, int32_t) {
  fail("mgpuModuleLoadJIT: the module holds assembly; lower it with "
       "gpu-module-to-binary{format=binary}");
}

void mgpuModuleUnload(void *module) {
  check(__func__, device(__func__).unload(handle<CodeObject>(module)));
}

void *mgpuModuleGetFunction(void *module, const char *name) {
  return check(__func__,
               device(__func__).findKernel(handle<CodeObject>(module), name));
}

void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t dynamicLds, void *stream,
                      void **params, void **extra, size_t paramsCount) {
  if (extra)
    fail("mgpuLaunchKernel: packed arguments ('extra') are not supported");
  if (dynamicLds < 0)
    fail("mgpuLaunchKernel: " + std::to_string(dynamicLds) +
         " bytes of dynamic local data share");
  LaunchConfig config;
  config.workgroups = {dimension(gridX), dimension(gridY), dimension(gridZ)};
  config.workgroupSize = {dimension(blockX), dimension(blockY),
                          dimension(blockZ)};
  config.dynamicLds = uint32_t(dynamicLds);
  check(__func__,
        device(__func__).launch(handle<Kernel>(function), config, params,
                                paramsCount, handle<Stream>(stream)));
}

void mgpuLaunchClusterKernel(void *, intptr_t, intptr_t, intptr_t, intptr_t,
                             intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                             int32_t, void *, void **, void **, size_t) {
  fail("mgpuLaunchClusterKernel: clusters are not supported");
}

void *mgpuStreamCreate() {
  return check(__func__, device(__func__).createStream());
}
void mgpuStreamDestroy(void *stream) {
  check(__func__, device(__func__).destroyStream(handle<Stream>(stream)));
}
void mgpuStreamSynchronize(void *stream) {
  check(__func__, device(__func__).synchronize(handle<Stream>(stream)));
}
void mgpuStreamWaitEvent(void *stream, void *event) {
  check(__func__,
        device(__func__).wait(handle<Stream>(stream), handle<Event>(event)));
}

void *mgpuEventCreate() {
  return check(__func__, device(__func__).createEvent());
}
void mgpuEventDestroy(void *event) {
  check(__func__, device(__func__).destroyEvent(handle<Event>(event)));
}
void mgpuEventSynchronize(void *event) {
  check(__func__, device(__func__).synchronize(handle<Event>(event)));
}
void mgpuEventRecord(void *event, void *stream) {
  check(__func__,
        device(__func__).record(handle<Event>(event), handle<Stream>(stream)));
}

void *mgpuMemAlloc(uint64_t bytes, void *, bool isHostShared) {
  return check(__func__, device(__func__).allocate(
                             bytes, isHostShared ? MemoryKind::HostShared
                                                 : MemoryKind::Device));
}
void mgpuMemFree(void *memory, void *stream) {
  // The stream's work may still use the memory.
  check(__func__, device(__func__).synchronize(handle<Stream>(stream)));
  check(__func__, device(__func__).free(memory));
}
void mgpuMemcpy(void *destination, void *source, size_t bytes, void *stream) {
  check(__func__, device(__func__).copy(destination, source, bytes,
                                        handle<Stream>(stream)));
}
void mgpuMemset32(void *destination, uint32_t value, size_t count,
                  void *stream) {
  check(__func__, device(__func__).fill(destination, value, 4, count,
                                        handle<Stream>(stream)));
}
void mgpuMemset16(void *destination, uint16_t value, size_t count,
                  void *stream) {
  check(__func__, device(__func__).fill(destination, value, 2, count,
                                        handle<Stream>(stream)));
}

void mgpuMemHostRegister(void *host, uint64_t bytes) {
  check(__func__, device(__func__).registerHost(host, bytes));
}
void mgpuMemHostUnregister(void *host) {
  check(__func__, device(__func__).unregisterHost(host));
}

void mgpuMemHostRegisterMemRef(int64_t rank, MgpuMemRef *descriptor,
                               int64_t elementBytes) {
  const int64_t *sizes = descriptor->sizesAndStrides;
  const int64_t *strides = sizes + rank;
  int64_t elements = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (sizes[i] > 1 && elements != 0 && strides[i] != elements)
      fail("mgpuMemHostRegisterMemRef: dimension " + std::to_string(i) +
           " of the memref has stride " + std::to_string(strides[i]) +
           ", a dense one has " + std::to_string(elements));
    elements *= sizes[i];
  }
  check(__func__,
        device(__func__).registerHost(begin(descriptor, elementBytes),
                                      size_t(elements * elementBytes)));
}
void mgpuMemHostUnregisterMemRef(int64_t, MgpuMemRef *descriptor,
                                 int64_t elementBytes) {
  check(__func__,
        device(__func__).unregisterHost(begin(descriptor, elementBytes)));
}

MgpuMemRef1D mgpuMemGetDeviceMemRef1dFloat(void *, void *aligned,
                                           int64_t offset, int64_t size,
                                           int64_t stride) {
  return deviceMemRef(__func__, aligned, offset, size, stride);
}
MgpuMemRef1D mgpuMemGetDeviceMemRef1dInt32(void *, void *aligned,
                                           int64_t offset, int64_t size,
                                           int64_t stride) {
  return deviceMemRef(__func__, aligned, offset, size, stride);
}

void mgpuSetDefaultDevice(int32_t ordinal) {
  Process &state = process();
  std::lock_guard lock(state.mutex);
  if (state.device && ordinal != state.ordinal)
    fail("mgpuSetDefaultDevice: device " + std::to_string(state.ordinal) +
         " is in use already");
  state.ordinal = ordinal;
}
