//===- RuntimeTest.cpp - The device interface over a stand-in emulator ----===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kimi-runtime-test SCRATCH-FOLDER, with KIMI_GPU_EMULATOR set to the stand-in.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "KimiMlaGate/Runtime/DeviceRegistry.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace kimi;
using namespace kimi::runtime;

namespace {

const char image[] = "stand-in\n"
                     "kernel fill 8,4 64,1,1 fill 16\n"
                     "kernel big 2,8 0,0,0 fill 16\n"
                     "kernel sum 8,8 0,0,0 sum 16\n";

#define CHECK_OK(call)                                                         \
  do {                                                                         \
    Status status = (call);                                                    \
    CHECK_THAT(status.ok(), "%s", status.message().c_str());                   \
  } while (false)

#define CHECK_ERROR(call, part)                                                \
  do {                                                                         \
    std::string text = (call).message();                                       \
    CHECK_THAT(text.find(part) != std::string::npos, "'%s' lacks '%s'",        \
               text.c_str(), part);                                            \
  } while (false)

struct Fixture {
  std::unique_ptr<Device> device;
  CodeObject *code = nullptr;
  Kernel *fill = nullptr, *sum = nullptr;

  Fixture() {
    Result<std::unique_ptr<Device>> made = createDevice("emulator");
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.message().c_str());
      std::exit(1);
    }
    device = std::move(*made);
    code = *device->load(image, sizeof(image) - 1);
    fill = *device->findKernel(code, "fill");
    sum = *device->findKernel(code, "sum");
  }
  Status launchFill(void *pointer, int32_t value, Stream *stream = nullptr) {
    const void *arguments[] = {&pointer, &value};
    return device->launch(fill, {{2, 1, 1}, {64, 1, 1}, 0}, arguments, 2,
                          stream);
  }
  Status launchSum(void *in, void *out, Stream *stream = nullptr) {
    const void *arguments[] = {&in, &out};
    return device->launch(sum, {}, arguments, 2, stream);
  }
  int32_t *allocate(size_t bytes) {
    return static_cast<int32_t *>(*device->allocate(bytes));
  }
};

void testKernels() {
  Fixture f;
  CHECK_THAT(f.fill->info.arguments->size() == 2 &&
                 (*f.fill->info.arguments)[1].offset == 8 &&
                 (*f.fill->info.arguments)[1].size == 4,
             "layout");
  CHECK_THAT(*f.device->findKernel(f.code, "fill") == f.fill, "same handle");
  CHECK_ERROR(f.device->findKernel(f.code, "gone"),
              "no kernel 'gone' in the code object, which has big, fill, sum");
  CHECK_ERROR(f.device->load("ELF", 3), "not a stand-in code object");

  int32_t *memory = f.allocate(64);
  int32_t value = 7;
  const void *arguments[] = {&memory, &value};
  auto launch = [&](LaunchConfig config, size_t count = 2) {
    return f.device->launch(f.fill, config, arguments, count, nullptr);
  };
  CHECK_ERROR(launch({{1, 1, 1}, {64, 1, 1}, 0}, 3),
              "kernel 'fill': launched with 3 arguments, takes 2");
  CHECK_ERROR(launch({{0, 1, 1}, {64, 1, 1}, 0}), "0x1x1 workgroups is empty");
  CHECK_ERROR(launch({{1, 1, 1}, {64, 0, 1}, 0}), "64x0x1 work-items is empty");
  CHECK_ERROR(launch({{1, 1, 1}, {32, 1, 1}, 0}),
              "workgroup of 32x1x1 work-items, requires 64x1x1");
  CHECK_ERROR(launch({{1u << 26, 1, 1}, {64, 1, 1}, 0}), "exceeds 2^32 - 1");
  CHECK_ERROR(launch({{1, 1, 1}, {64, 1, 1}, 160 * 1024 - 335}),
              "336 + 163505 bytes of local data share, the device has 163840");
  CHECK_OK(launch({{1, 1, 1}, {64, 1, 1}, 160 * 1024 - 336}));
  Kernel *big = *f.device->findKernel(f.code, "big");
  CHECK_ERROR(
      f.device->launch(big, {{1, 1, 1}, {33, 32, 1}, 0}, arguments, 2, nullptr),
      "33x32x1 work-items exceeds the limit of 1024");
  arguments[1] = nullptr;
  CHECK_ERROR(launch({{1, 1, 1}, {64, 1, 1}, 0}), "argument 1 is null");

  CHECK_OK(f.device->unload(f.code));
  CHECK_ERROR(f.device->unload(f.code), "unknown or destroyed code object");
  CHECK_ERROR(f.launchFill(memory, 1), "its code object was unloaded");
}

void testMemory() {
  Fixture f;
  Device &device = *f.device;
  int32_t *memory = f.allocate(64);
  CHECK_THAT(reinterpret_cast<uintptr_t>(memory) % 256 == 0, "alignment");
  int32_t *result = f.allocate(4);
  CHECK_OK(device.fill(result, 0, 4, 1, nullptr));
  CHECK_ERROR(f.launchSum(memory, result), "memory that nobody wrote");
  CHECK_OK(f.launchFill(memory, 3));
  CHECK_OK(f.launchSum(memory, result));
  int32_t host[16] = {};
  CHECK_OK(device.copy(host, result, 4, nullptr));
  CHECK_THAT(host[0] == 48, "%d", host[0]);
  CHECK_OK(device.fill(memory, 0x12345678, 2, 32, nullptr));
  CHECK_OK(device.copy(host, memory, 64, nullptr));
  CHECK_THAT(host[0] == 0x56785678 && host[15] == 0x56785678, "fill");

  // Exact bounds, for kernels and for copies.
  int32_t *shorter = f.allocate(60);
  CHECK_ERROR(f.launchFill(shorter, 1), "outside mapped memory");
  CHECK_ERROR(device.copy(shorter, host, 64, nullptr),
              "reaches outside the allocation [");
  CHECK_ERROR(device.copy(host, shorter + 1, 60, nullptr), "a copy from [");
  CHECK_ERROR(device.fill(shorter - 1, 0, 4, 2, nullptr), "a fill of [");
  CHECK_ERROR(f.launchFill(host, 1), "outside mapped memory");
  shorter[15] = 1;
  CHECK_ERROR(device.free(shorter), "the host wrote behind the allocation");
  shorter = f.allocate(60);
  shorter[-1] = 1;
  CHECK_ERROR(device.free(shorter), "the host wrote in front of the alloc");

  CHECK_ERROR(device.free(memory + 1), "did not allocate");
  CHECK_OK(device.free(memory));
  CHECK_ERROR(f.launchFill(memory, 1), "outside mapped memory");
  CHECK_OK(device.free(nullptr));
  CHECK_THAT(*device.allocate(0) == nullptr, "nothing");
  CHECK_ERROR(device.allocate(SIZE_MAX - 100), "cannot allocate");
}

void testRegistration() {
  Fixture f;
  Device &device = *f.device;
  alignas(64) static int32_t host[64] = {};
  // The same buffer twice, as hidden and as attention.
  CHECK_OK(device.registerHost(host, 64));
  CHECK_OK(device.registerHost(host, 64));
  CHECK_OK(device.unregisterHost(host));
  CHECK_OK(f.launchFill(host, 5));
  CHECK_THAT(host[15] == 5, "stored");
  CHECK_THAT(*device.devicePointer(host + 3) == host + 3, "pointer");
  CHECK_OK(device.unregisterHost(host));
  CHECK_ERROR(f.launchFill(host, 5), "outside mapped memory");
  CHECK_ERROR(device.unregisterHost(host), "which is not registered");
  CHECK_ERROR(device.devicePointer(host), "not registered");

  // A part of a range, then the other way round.
  CHECK_OK(device.registerHost(host, 256));
  CHECK_OK(device.registerHost(host + 16, 64));
  CHECK_OK(device.unregisterHost(host));
  CHECK_OK(f.launchFill(host + 16, 6));
  CHECK_OK(device.unregisterHost(host + 16));
  CHECK_ERROR(f.launchFill(host + 16, 6), "outside mapped memory");
  CHECK_OK(device.registerHost(host + 16, 64));
  CHECK_OK(device.registerHost(host + 48, 64));
  CHECK_OK(device.registerHost(host, 256));
  CHECK_OK(f.launchFill(host + 30, 7));
  CHECK_OK(device.unregisterHost(host + 16));
  CHECK_OK(device.unregisterHost(host));
  CHECK_OK(f.launchFill(host + 48, 7));
  CHECK_OK(device.unregisterHost(host + 48));
  CHECK_ERROR(f.launchFill(host + 48, 7), "outside mapped memory");

  // Neighbours do not overlap; ranges that overlap in part are refused.
  CHECK_OK(device.registerHost(host, 64));
  CHECK_OK(device.registerHost(host + 16, 64));
  CHECK_ERROR(device.registerHost(host + 8, 64),
              "overlaps the registered range [");
  CHECK_OK(device.unregisterHost(host + 16));
  CHECK_OK(device.unregisterHost(host));
  CHECK_OK(device.registerHost(host, 0));
  CHECK_OK(device.unregisterHost(host));
  CHECK_ERROR(device.registerHost(nullptr, 4), "null pointer");

  // A part of an allocation is counted and stays uninitialised.
  int32_t *memory = f.allocate(128);
  CHECK_OK(device.registerHost(memory + 4, 64));
  CHECK_ERROR(device.registerHost(memory - 4, 64), "overlaps the allocation [");
  CHECK_ERROR(f.launchSum(memory + 4, memory), "memory that nobody wrote");
  CHECK_ERROR(device.free(memory), "still registered");
  CHECK_OK(device.unregisterHost(memory + 4));
  CHECK_OK(device.free(memory));
}

void testStreamsAndGraphs() {
  Fixture f;
  Device &device = *f.device;
  Stream *stream = *device.createStream();
  Event *start = *device.createEvent(), *end = *device.createEvent();
  CHECK_ERROR(device.elapsedMilliseconds(start, end), "never recorded");
  CHECK_OK(device.wait(stream, start));
  CHECK_OK(device.record(start, stream));

  int32_t *memory = f.allocate(64), *total = f.allocate(4);
  int32_t zero = 0, host = -1, value = 2;
  CHECK_OK(device.beginCapture(stream));
  CHECK_OK(device.copy(total, &zero, 4, stream));
  {
    // Argument values are taken at capture.
    int32_t gone = value;
    CHECK_OK(f.launchFill(memory, gone, stream));
    gone = 99;
  }
  CHECK_OK(f.launchSum(memory, total, stream));
  CHECK_OK(device.copy(&host, total, 4, stream));
  CHECK_THAT(host == -1, "captured work must not run");
  CHECK_ERROR(device.synchronize(stream), "being captured");
  CHECK_ERROR(device.record(end, stream), "being captured");
  CHECK_ERROR(device.beginCapture(stream), "captured already");
  Result<Graph *> graph = device.endCapture(stream);
  CHECK_OK(graph.status());
  CHECK_ERROR(device.endCapture(stream), "not being captured");
  CHECK_ERROR(device.beginCapture(nullptr), "default stream");

  CHECK_OK(device.replay(*graph, stream));
  CHECK_OK(device.synchronize(stream));
  CHECK_THAT(host == 32, "%d", host);
  // Memory is read at replay. The graph keeps its kernels.
  CHECK_OK(device.unload(f.code));
  zero = 100;
  for (int i = 0; i < 3; ++i)
    CHECK_OK(device.replay(*graph, stream));
  CHECK_THAT(host == 132, "%d", host);
  CHECK_OK(device.free(memory));
  CHECK_ERROR(device.replay(*graph, stream), "outside mapped memory");
  CHECK_OK(device.destroyGraph(*graph));
  CHECK_ERROR(device.replay(*graph, stream), "unknown or destroyed graph");

  CHECK_OK(device.record(end, stream));
  CHECK_OK(device.synchronize(end));
  Result<double> elapsed = device.elapsedMilliseconds(start, end);
  CHECK_THAT(elapsed.ok() && *elapsed > 0, "time");
  CHECK_OK(device.destroyEvent(start));
  CHECK_ERROR(device.record(start, stream), "unknown or destroyed event");
  CHECK_OK(device.destroyStream(stream));
  CHECK_ERROR(device.copy(&host, total, 4, stream), "destroyed stream");
  CHECK_OK(device.synchronize());
}

void testRegistry(const std::string &folder) {
  CHECK_ERROR(createDevice("hip"), "device 'hip' is not part of this build");
  CHECK_ERROR(createDevice("cuda"), "device 'cuda' is not part of this build");
  CHECK_ERROR(createDevice("metal"), "unknown device 'metal'; known devices: "
                                     "hip, emulator, cuda");
  CHECK_ERROR(createDevice("emulator", 1), "no emulator 1");
  setenv("KIMI_GPU_DEVICE", "hip", 1);
  CHECK_ERROR(createDevice(),
              "device 'hip' (from KIMI_GPU_DEVICE) is not part of this build");
  CHECK_THAT((*createDevice("emulator"))->name() == "emulator",
             "a name given goes before the environment");
  setenv("KIMI_GPU_DEVICE", "", 1);
  CHECK_ERROR(createDevice(), "KIMI_GPU_DEVICE is set but empty");
  unsetenv("KIMI_GPU_DEVICE");
  CHECK_OK(createDevice().status());

  namespace fs = std::filesystem;
  fs::remove_all(folder);
  CHECK_THAT(!gfx950IsPresent(folder), "no driver");
  fs::create_directories(folder + "/0");
  fs::create_directories(folder + "/1");
  std::ofstream(folder + "/0/properties")
      << "cpu_cores_count 64\ngfx_target_version 0\n";
  CHECK_THAT(!gfx950IsPresent(folder), "a CPU");
  std::ofstream(folder + "/1/properties") << "gfx_target_version 90402\n";
  CHECK_THAT(!gfx950IsPresent(folder), "gfx942");
  std::ofstream(folder + "/1/properties")
      << "simd_count 1024\ngfx_target_version 90500\n";
  CHECK_THAT(gfx950IsPresent(folder), "gfx950");

  std::string emulator = std::getenv("KIMI_GPU_EMULATOR");
  setenv("KIMI_STANDIN_ABI", "7", 1);
  CHECK_ERROR(createDevice("emulator"),
              "has interface version 7, this runtime needs version 1");
  unsetenv("KIMI_STANDIN_ABI");
  setenv("KIMI_GPU_EMULATOR", (folder + "/none.so").c_str(), 1);
  CHECK_ERROR(createDevice("emulator"), "cannot open the emulator: ");
  setenv("KIMI_GPU_EMULATOR", "libm.so.6", 1);
  CHECK_ERROR(createDevice("emulator"),
              "emulator 'libm.so.6' lacks kimi_emulator_abi_version");
  setenv("KIMI_GPU_EMULATOR", emulator.c_str(), 1);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 || !std::getenv("KIMI_GPU_EMULATOR")) {
    std::fprintf(stderr, "usage: kimi-runtime-test SCRATCH-FOLDER, with "
                         "KIMI_GPU_EMULATOR set\n");
    return 2;
  }
  testKernels();
  testMemory();
  testRegistration();
  testStreamsAndGraphs();
  testRegistry(argv[1]);
  return kimi::test::finish();
}
