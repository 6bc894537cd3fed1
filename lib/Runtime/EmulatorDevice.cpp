//===- EmulatorDevice.cpp - The gfx950 emulator as a device ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatorDevice.h"

#include "KimiMlaGate/Emulator/CAPI.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

namespace kimi::runtime {
namespace {

/// The entry points of the emulator library.
struct EmulatorApi {
  decltype(&kimi_emulator_abi_version) abi_version;
  decltype(&kimi_emulator_last_error) last_error;
  decltype(&kimi_emulator_create) create;
  decltype(&kimi_emulator_destroy) destroy;
  decltype(&kimi_emulator_map_memory) map_memory;
  decltype(&kimi_emulator_unmap_memory) unmap_memory;
  decltype(&kimi_emulator_mark_initialized) mark_initialized;
  decltype(&kimi_emulator_load) load;
  decltype(&kimi_emulator_unload) unload;
  decltype(&kimi_emulator_get_kernel_info) get_kernel_info;
  decltype(&kimi_emulator_get_argument_info) get_argument_info;
  decltype(&kimi_emulator_launch) launch;

  Status error() const { return Status::error(last_error()); }
  Status check(int result) const {
    return result == 0 ? Status::success() : error();
  }
};

Result<std::string> emulatorPath() {
  if (const char *path = std::getenv("KIMI_GPU_EMULATOR")) {
    if (!*path)
      return Status::error("KIMI_GPU_EMULATOR is set but empty");
    return std::string(path);
  }
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&createEmulatorDevice), &info) ||
      !info.dli_fname)
    return Status::error("cannot find the folder of libkimi_gpu_runtime.so");
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  path.resize(slash == std::string::npos ? 0 : slash + 1);
  return (path.empty() ? "./" : path) + "libkimi_gfx950_emulator.so";
}

Result<EmulatorApi> openEmulator() {
  Result<std::string> path = emulatorPath();
  if (!path.ok())
    return path.status();
  // It is never closed: LLVM registers objects that outlive any one device.
  void *library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Status::error("cannot open the emulator: " + std::string(dlerror()));

  EmulatorApi api;
  std::string missing;
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, name));
    if (!function && missing.empty())
      missing = name;
  };
  find("kimi_emulator_abi_version", api.abi_version);
  if (missing.empty() && api.abi_version() != KIMI_EMULATOR_ABI_VERSION) {
    return Status::error("emulator '" + *path + "' has interface version " +
                         std::to_string(api.abi_version()) +
                         ", this runtime needs version " +
                         std::to_string(KIMI_EMULATOR_ABI_VERSION));
  }
  find("kimi_emulator_last_error", api.last_error);
  find("kimi_emulator_create", api.create);
  find("kimi_emulator_destroy", api.destroy);
  find("kimi_emulator_map_memory", api.map_memory);
  find("kimi_emulator_unmap_memory", api.unmap_memory);
  find("kimi_emulator_mark_initialized", api.mark_initialized);
  find("kimi_emulator_load", api.load);
  find("kimi_emulator_unload", api.unload);
  find("kimi_emulator_get_kernel_info", api.get_kernel_info);
  find("kimi_emulator_get_argument_info", api.get_argument_info);
  find("kimi_emulator_launch", api.launch);
  if (!missing.empty())
    return Status::error("emulator '" + *path + "' lacks " + missing);
  return api;
}

struct EmulatorKernel;

struct EmulatorCodeObject : CodeObject {
  EmulatorCodeObject(const EmulatorApi &api, kimi_emulator_code_object *handle)
      : api(api), handle(handle) {}
  ~EmulatorCodeObject() { api.unload(handle); }

  const EmulatorApi &api;
  kimi_emulator_code_object *handle;
  std::map<std::string, std::unique_ptr<EmulatorKernel>> kernels;
};

struct EmulatorKernel : Kernel {
  EmulatorCodeObject *codeObject = nullptr;
  /// The bytes that the explicit arguments span.
  size_t kernargBytes = 0;
};

/// Graphs share the code objects whose kernels they launch.
using CodeObjectRef = std::shared_ptr<EmulatorCodeObject>;
using Work = std::function<Status()>;

struct EmulatorGraph : Graph {
  std::vector<Work> work;
};

struct EmulatorStream : Stream {
  /// While the stream is captured.
  std::unique_ptr<EmulatorGraph> capture;
};

struct EmulatorEvent : Event {
  std::optional<std::chrono::steady_clock::time_point> time;
};

std::string rangeText(uintptr_t base, size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof(text), "[%#zx, %#zx)", size_t(base),
                size_t(base + bytes));
  return text;
}

/// A range that kernels can access.
struct Mapping {
  size_t bytes = 0;
  /// Made by allocate(); else by registerHost().
  bool allocated = false;
  /// Registrations of the whole or of a part.
  size_t registrations = 0;

  std::string text(uintptr_t base) const {
    return (allocated ? "the allocation " : "the registered range ") +
           rangeText(base, bytes);
  }
};

class EmulatorDevice final : public Device {
public:
  EmulatorDevice(const EmulatorApi &api, kimi_emulator *emulator)
      : api(api), emulator(emulator) {}
  ~EmulatorDevice() override;

  std::string name() const override { return "emulator"; }
  std::string chip() const override { return "gfx950"; }
  bool isEmulated() const override { return true; }
  DeviceLimits limits() const override { return {160 * 1024, 1024}; }

  Result<CodeObject *> load(const void *image, size_t bytes) override;
  Status unload(CodeObject *codeObject) override;
  Result<Kernel *> findKernel(CodeObject *codeObject,
                              const std::string &name) override;
  Result<void *> allocate(size_t bytes, MemoryKind kind) override;
  Status free(void *memory) override;
  Status registerHost(void *host, size_t bytes) override;
  Status unregisterHost(void *host) override;
  Result<void *> devicePointer(void *host) override;
  Status copy(void *destination, const void *source, size_t bytes,
              Stream *stream) override;
  Status fill(void *destination, uint32_t pattern, size_t patternBytes,
              size_t count, Stream *stream) override;
  Result<Stream *> createStream() override;
  Status destroyStream(Stream *stream) override;
  Status synchronize(Stream *stream) override;
  Status synchronize() override;
  Status wait(Stream *stream, Event *event) override;
  Result<Event *> createEvent() override;
  Status destroyEvent(Event *event) override;
  Status record(Event *event, Stream *stream) override;
  Status synchronize(Event *event) override;
  Result<double> elapsedMilliseconds(Event *start, Event *end) override;
  Status launch(Kernel *kernel, const LaunchConfig &config,
                const void *const *arguments, size_t argumentCount,
                Stream *stream) override;
  Status beginCapture(Stream *stream) override;
  Result<Graph *> endCapture(Stream *stream) override;
  Status replay(Graph *graph, Stream *stream) override;
  Status destroyGraph(Graph *graph) override;

private:
  using Mappings = std::map<uintptr_t, Mapping>;

  /// Guards a device allocation on both sides. Also the alignment.
  static constexpr size_t guardBytes = 256;
  static constexpr unsigned char guardPattern = 0xa5;
  static constexpr unsigned char freshPattern = 0xcd;
  static size_t paddedBytes(size_t bytes) {
    return guardBytes + (bytes + guardBytes - 1) / guardBytes * guardBytes +
           guardBytes;
  }
  static unsigned char *block(uintptr_t base) {
    return reinterpret_cast<unsigned char *>(base) - guardBytes;
  }

  template <typename T, typename Base>
  Result<T *> find(const std::map<Base *, std::shared_ptr<T>> &handles,
                   Base *handle, const char *what) {
    auto it = handles.find(handle);
    if (it == handles.end())
      return Status::error(std::string("unknown or destroyed ") + what);
    return it->second.get();
  }
  /// Null for the default stream.
  Result<EmulatorStream *> findStream(Stream *stream) {
    if (!stream)
      return static_cast<EmulatorStream *>(nullptr);
    return find(streams, stream, "stream");
  }
  Status notCaptured(Stream *stream, const char *what);
  Status enqueue(Stream *stream, Work work);

  /// The mapping that overlaps [base, base + bytes) first, or end().
  Mappings::iterator firstOverlap(uintptr_t base, size_t bytes);
  static bool contains(Mappings::iterator mapping, uintptr_t base,
                       size_t bytes) {
    return mapping->first <= base &&
           base + bytes <= mapping->first + mapping->second.bytes;
  }
  /// Memory in no mapping is the host's own business; memory in one must lie
  /// in it entirely.
  Status checkAccess(const void *memory, size_t bytes, const char *what);
  Status runCopy(void *destination, const void *source, size_t bytes);
  Status runFill(void *destination, uint32_t pattern, size_t patternBytes,
                 size_t count);
  Status markWritten(void *memory, size_t bytes);

  const EmulatorApi api;
  kimi_emulator *const emulator;
  std::mutex mutex;
  std::map<CodeObject *, std::shared_ptr<EmulatorCodeObject>> codeObjects;
  std::map<Stream *, std::shared_ptr<EmulatorStream>> streams;
  std::map<Event *, std::shared_ptr<EmulatorEvent>> events;
  std::map<Graph *, std::shared_ptr<EmulatorGraph>> graphs;
  Mappings mappings;
  /// Address and size of each registration, to tell an unregister that has no
  /// partner. Those of 0 bytes have no mapping.
  std::multimap<uintptr_t, size_t> registrations;
};

EmulatorDevice::~EmulatorDevice() {
  // Graphs and captures hold code objects, which must go before the emulator.
  graphs.clear();
  streams.clear();
  codeObjects.clear();
  api.destroy(emulator);
  for (auto &[base, mapping] : mappings)
    if (mapping.allocated)
      std::free(block(base));
}

//===----------------------------------------------------------------------===//
// Code objects and kernels
//===----------------------------------------------------------------------===//

Result<CodeObject *> EmulatorDevice::load(const void *image, size_t bytes) {
  std::lock_guard lock(mutex);
  kimi_emulator_code_object *handle = api.load(emulator, image, bytes);
  if (!handle)
    return api.error();
  auto codeObject = std::make_shared<EmulatorCodeObject>(api, handle);
  CodeObject *result = codeObject.get();
  codeObjects.emplace(result, std::move(codeObject));
  return result;
}

Status EmulatorDevice::unload(CodeObject *codeObject) {
  std::lock_guard lock(mutex);
  if (!codeObjects.erase(codeObject))
    return Status::error("unknown or destroyed code object");
  return Status::success();
}

Result<Kernel *> EmulatorDevice::findKernel(CodeObject *codeObject,
                                            const std::string &name) {
  std::lock_guard lock(mutex);
  Result<EmulatorCodeObject *> owner =
      find(codeObjects, codeObject, "code object");
  if (!owner.ok())
    return owner.status();
  auto known = (*owner)->kernels.find(name);
  if (known != (*owner)->kernels.end())
    return static_cast<Kernel *>(known->second.get());

  kimi_emulator_kernel_info info;
  if (api.get_kernel_info((*owner)->handle, name.c_str(), &info) != 0)
    return api.error();
  auto kernel = std::make_unique<EmulatorKernel>();
  kernel->codeObject = *owner;
  kernel->info.name = name;
  kernel->info.staticLds = info.lds_size;
  kernel->info.scratch = info.scratch_size;
  kernel->info.vgprs = info.vgpr_count;
  kernel->info.sgprs = info.sgpr_count;
  kernel->info.maxWorkgroupSize = info.max_workgroup_size;
  kernel->info.requiredWorkgroupSize = {info.required_workgroup_size[0],
                                        info.required_workgroup_size[1],
                                        info.required_workgroup_size[2]};
  std::vector<KernelArgument> arguments;
  for (uint32_t i = 0; i < info.argument_count; ++i) {
    kimi_emulator_argument_info argument;
    if (api.get_argument_info((*owner)->handle, name.c_str(), i, &argument) !=
        0)
      return api.error();
    arguments.push_back({argument.offset, argument.size});
    kernel->kernargBytes = std::max<size_t>(
        kernel->kernargBytes, size_t(argument.offset) + argument.size);
  }
  kernel->info.arguments = std::move(arguments);
  Kernel *result = kernel.get();
  (*owner)->kernels.emplace(name, std::move(kernel));
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EmulatorDevice::Mappings::iterator EmulatorDevice::firstOverlap(uintptr_t base,
                                                                size_t bytes) {
  auto it = mappings.upper_bound(base);
  if (it != mappings.begin()) {
    auto before = std::prev(it);
    if (before->first + before->second.bytes > base)
      return before;
  }
  return it != mappings.end() && it->first < base + bytes ? it : mappings.end();
}

Result<void *> EmulatorDevice::allocate(size_t bytes, MemoryKind) {
  std::lock_guard lock(mutex);
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  auto fail = [&] {
    return Status::error("cannot allocate " + std::to_string(bytes) +
                         " bytes of device memory");
  };
  if (bytes > SIZE_MAX / 2)
    return fail();
  size_t padded = paddedBytes(bytes);
  auto *memory =
      static_cast<unsigned char *>(std::aligned_alloc(guardBytes, padded));
  if (!memory)
    return fail();
  std::memset(memory, guardPattern, guardBytes);
  std::memset(memory + guardBytes, freshPattern, bytes);
  std::memset(memory + guardBytes + bytes, guardPattern,
              padded - guardBytes - bytes);
  void *base = memory + guardBytes;
  if (api.map_memory(emulator, base, bytes, 0) != 0) {
    Status status = api.error();
    std::free(memory);
    return status;
  }
  Mapping mapping;
  mapping.bytes = bytes;
  mapping.allocated = true;
  mappings.emplace(reinterpret_cast<uintptr_t>(base), mapping);
  return base;
}

Status EmulatorDevice::free(void *memory) {
  std::lock_guard lock(mutex);
  if (!memory)
    return Status::success();
  auto base = reinterpret_cast<uintptr_t>(memory);
  auto it = mappings.find(base);
  if (it == mappings.end() || !it->second.allocated)
    return Status::error("free of memory that the device did not allocate");
  const Mapping &mapping = it->second;
  if (mapping.registrations)
    return Status::error("free of " + mapping.text(base) +
                         ", which is still registered");
  if (Status status = api.check(api.unmap_memory(emulator, memory));
      !status.ok())
    return status;
  const unsigned char *begin = block(base);
  const unsigned char *end = begin + paddedBytes(mapping.bytes);
  const unsigned char *after = begin + guardBytes + mapping.bytes;
  auto intact = [](unsigned char byte) { return byte == guardPattern; };
  bool before = std::all_of(begin, begin + guardBytes, intact);
  bool behind = std::all_of(after, end, intact);
  std::string name = mapping.text(base);
  std::free(block(base));
  mappings.erase(it);
  if (!before || !behind)
    return Status::error(std::string("the host wrote ") +
                         (before ? "behind " : "in front of ") + name);
  return Status::success();
}

Status EmulatorDevice::registerHost(void *host, size_t bytes) {
  std::lock_guard lock(mutex);
  auto base = reinterpret_cast<uintptr_t>(host);
  if (!host && bytes)
    return Status::error("registering a null pointer");
  if (bytes == 0) {
    registrations.emplace(base, 0);
    return Status::success();
  }
  auto it = firstOverlap(base, bytes);
  if (it != mappings.end() && contains(it, base, bytes)) {
    ++it->second.registrations;
    registrations.emplace(base, bytes);
    return Status::success();
  }
  // What the range covers entirely becomes part of its mapping; anything else
  // that it touches is a mistake.
  std::vector<Mappings::iterator> covered;
  for (; it != mappings.end() && it->first < base + bytes; ++it) {
    bool within =
        base <= it->first && it->first + it->second.bytes <= base + bytes;
    if (!within || it->second.allocated)
      return Status::error("registering " + rangeText(base, bytes) +
                           " overlaps " + it->second.text(it->first) +
                           " in part");
    covered.push_back(it);
  }
  Mapping mapping;
  mapping.bytes = bytes;
  mapping.registrations = 1;
  for (Mappings::iterator part : covered) {
    if (Status status = api.check(
            api.unmap_memory(emulator, reinterpret_cast<void *>(part->first)));
        !status.ok())
      return status;
    mapping.registrations += part->second.registrations;
    mappings.erase(part);
  }
  if (Status status = api.check(
          api.map_memory(emulator, host, bytes, KIMI_EMULATOR_INITIALIZED));
      !status.ok())
    return status;
  mappings.emplace(base, mapping);
  registrations.emplace(base, bytes);
  return Status::success();
}

Status EmulatorDevice::unregisterHost(void *host) {
  std::lock_guard lock(mutex);
  auto base = reinterpret_cast<uintptr_t>(host);
  auto registration = registrations.find(base);
  if (registration == registrations.end()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%#zx", size_t(base));
    return Status::error("unregistering " + std::string(text) +
                         ", which is not registered");
  }
  // Among registrations of one address it does not matter which one ends: they
  // lie in the same mapping.
  auto it = registration->second ? firstOverlap(base, 1) : mappings.end();
  if (it != mappings.end()) {
    if (--it->second.registrations == 0 && !it->second.allocated) {
      if (Status status = api.check(
              api.unmap_memory(emulator, reinterpret_cast<void *>(it->first)));
          !status.ok())
        return status;
      mappings.erase(it);
    }
  }
  registrations.erase(registration);
  return Status::success();
}

Result<void *> EmulatorDevice::devicePointer(void *host) {
  std::lock_guard lock(mutex);
  if (firstOverlap(reinterpret_cast<uintptr_t>(host), 1) == mappings.end())
    return Status::error(
        "the device pointer of memory that is not registered was asked for");
  return host;
}

Status EmulatorDevice::checkAccess(const void *memory, size_t bytes,
                                   const char *what) {
  auto base = reinterpret_cast<uintptr_t>(memory);
  if (!memory)
    return Status::error(std::string(what) + " a null pointer");
  auto it = firstOverlap(base, bytes);
  if (it == mappings.end() || contains(it, base, bytes))
    return Status::success();
  return Status::error(std::string(what) + " " + rangeText(base, bytes) +
                       " reaches outside " + it->second.text(it->first));
}

Status EmulatorDevice::markWritten(void *memory, size_t bytes) {
  if (firstOverlap(reinterpret_cast<uintptr_t>(memory), 1) == mappings.end())
    return Status::success();
  return api.check(api.mark_initialized(emulator, memory, bytes));
}

Status EmulatorDevice::runCopy(void *destination, const void *source,
                               size_t bytes) {
  if (bytes == 0)
    return Status::success();
  for (auto [memory, what] :
       {std::pair<const void *, const char *>(destination, "a copy to"),
        std::pair<const void *, const char *>(source, "a copy from")})
    if (Status status = checkAccess(memory, bytes, what); !status.ok())
      return status;
  std::memmove(destination, source, bytes);
  return markWritten(destination, bytes);
}

Status EmulatorDevice::runFill(void *destination, uint32_t pattern,
                               size_t patternBytes, size_t count) {
  if (count == 0)
    return Status::success();
  size_t bytes = patternBytes * count;
  if (Status status = checkAccess(destination, bytes, "a fill of");
      !status.ok())
    return status;
  // The pattern's lower bytes come first, on the device as on this host.
  auto *out = static_cast<unsigned char *>(destination);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(out + i * patternBytes, &pattern, patternBytes);
  return markWritten(destination, bytes);
}

Status EmulatorDevice::copy(void *destination, const void *source, size_t bytes,
                            Stream *stream) {
  std::lock_guard lock(mutex);
  return enqueue(stream, [=] { return runCopy(destination, source, bytes); });
}

Status EmulatorDevice::fill(void *destination, uint32_t pattern,
                            size_t patternBytes, size_t count, Stream *stream) {
  std::lock_guard lock(mutex);
  if (patternBytes != 1 && patternBytes != 2 && patternBytes != 4)
    return Status::error("a fill with a pattern of " +
                         std::to_string(patternBytes) + " bytes");
  if (count > SIZE_MAX / 4)
    return Status::error("a fill of " + std::to_string(count) + " elements");
  return enqueue(stream, [=] {
    return runFill(destination, pattern, patternBytes, count);
  });
}

//===----------------------------------------------------------------------===//
// Streams, events, launches, graphs
//===----------------------------------------------------------------------===//

Status EmulatorDevice::enqueue(Stream *stream, Work work) {
  Result<EmulatorStream *> target = findStream(stream);
  if (!target.ok())
    return target.status();
  if (!*target || !(*target)->capture)
    return work();
  (*target)->capture->work.push_back(std::move(work));
  return Status::success();
}

Status EmulatorDevice::notCaptured(Stream *stream, const char *what) {
  Result<EmulatorStream *> target = findStream(stream);
  if (!target.ok())
    return target.status();
  if (*target && (*target)->capture)
    return Status::error(std::string(what) +
                         " a stream that is being captured");
  return Status::success();
}

Result<Stream *> EmulatorDevice::createStream() {
  std::lock_guard lock(mutex);
  auto stream = std::make_shared<EmulatorStream>();
  Stream *result = stream.get();
  streams.emplace(result, std::move(stream));
  return result;
}

Status EmulatorDevice::destroyStream(Stream *stream) {
  std::lock_guard lock(mutex);
  if (!streams.erase(stream))
    return Status::error("unknown or destroyed stream");
  return Status::success();
}

// Enqueued work has run already.
Status EmulatorDevice::synchronize(Stream *stream) {
  std::lock_guard lock(mutex);
  return notCaptured(stream, "synchronizing");
}
Status EmulatorDevice::synchronize() { return Status::success(); }

Status EmulatorDevice::wait(Stream *stream, Event *event) {
  std::lock_guard lock(mutex);
  if (Status status = find(events, event, "event").status(); !status.ok())
    return status;
  return notCaptured(stream, "waiting for an event on");
}

Result<Event *> EmulatorDevice::createEvent() {
  std::lock_guard lock(mutex);
  auto event = std::make_shared<EmulatorEvent>();
  Event *result = event.get();
  events.emplace(result, std::move(event));
  return result;
}

Status EmulatorDevice::destroyEvent(Event *event) {
  std::lock_guard lock(mutex);
  if (!events.erase(event))
    return Status::error("unknown or destroyed event");
  return Status::success();
}

Status EmulatorDevice::record(Event *event, Stream *stream) {
  std::lock_guard lock(mutex);
  Result<EmulatorEvent *> target = find(events, event, "event");
  if (!target.ok())
    return target.status();
  if (Status status = notCaptured(stream, "recording an event on");
      !status.ok())
    return status;
  (*target)->time = std::chrono::steady_clock::now();
  return Status::success();
}

Status EmulatorDevice::synchronize(Event *event) {
  std::lock_guard lock(mutex);
  return find(events, event, "event").status();
}

Result<double> EmulatorDevice::elapsedMilliseconds(Event *start, Event *end) {
  std::lock_guard lock(mutex);
  Result<EmulatorEvent *> first = find(events, start, "event");
  Result<EmulatorEvent *> last = find(events, end, "event");
  if (!first.ok() || !last.ok())
    return first.ok() ? last.status() : first.status();
  if (!(*first)->time || !(*last)->time)
    return Status::error("the time of an event that was never recorded was "
                         "asked for");
  return std::chrono::duration<double, std::milli>(*(*last)->time -
                                                   *(*first)->time)
      .count();
}

Status EmulatorDevice::launch(Kernel *kernel, const LaunchConfig &config,
                              const void *const *arguments,
                              size_t argumentCount, Stream *stream) {
  std::lock_guard lock(mutex);
  // Kernel handles are found among the code objects, so that one of an unloaded
  // code object is an error.
  CodeObjectRef owner;
  EmulatorKernel *target = nullptr;
  for (auto &[handle, codeObject] : codeObjects)
    for (auto &[name, candidate] : codeObject->kernels)
      if (candidate.get() == kernel) {
        owner = codeObject;
        target = candidate.get();
      }
  if (!target)
    return Status::error("unknown kernel, or its code object was unloaded");
  if (Status status =
          checkLaunch(target->info, config, argumentCount, limits());
      !status.ok())
    return status;

  std::vector<unsigned char> kernarg(target->kernargBytes);
  for (size_t i = 0; i < argumentCount; ++i) {
    const KernelArgument &argument = (*target->info.arguments)[i];
    if (!arguments[i])
      return Status::error("kernel '" + target->info.name +
                           "': the pointer to argument " + std::to_string(i) +
                           " is null");
    std::memcpy(kernarg.data() + argument.offset, arguments[i], argument.size);
  }
  return enqueue(stream, [this, owner, target, config,
                          kernarg = std::move(kernarg)] {
    const uint32_t grid[3] = {config.workgroups.x, config.workgroups.y,
                              config.workgroups.z};
    const uint32_t block[3] = {config.workgroupSize.x, config.workgroupSize.y,
                               config.workgroupSize.z};
    return api.check(api.launch(owner->handle, target->info.name.c_str(), grid,
                                block, config.dynamicLds, kernarg.data(),
                                kernarg.size()));
  });
}

Status EmulatorDevice::beginCapture(Stream *stream) {
  std::lock_guard lock(mutex);
  Result<EmulatorStream *> target = findStream(stream);
  if (!target.ok())
    return target.status();
  if (!*target)
    return Status::error("the default stream cannot be captured");
  if ((*target)->capture)
    return Status::error("the stream is being captured already");
  (*target)->capture = std::make_unique<EmulatorGraph>();
  return Status::success();
}

Result<Graph *> EmulatorDevice::endCapture(Stream *stream) {
  std::lock_guard lock(mutex);
  Result<EmulatorStream *> target = findStream(stream);
  if (!target.ok())
    return target.status();
  if (!*target || !(*target)->capture)
    return Status::error("the stream is not being captured");
  std::shared_ptr<EmulatorGraph> graph = std::move((*target)->capture);
  Graph *result = graph.get();
  graphs.emplace(result, std::move(graph));
  return result;
}

Status EmulatorDevice::replay(Graph *graph, Stream *stream) {
  std::lock_guard lock(mutex);
  Result<EmulatorGraph *> target = find(graphs, graph, "graph");
  if (!target.ok())
    return target.status();
  if (Status status = notCaptured(stream, "replaying a graph on"); !status.ok())
    return status;
  for (const Work &work : (*target)->work)
    if (Status status = work(); !status.ok())
      return status;
  return Status::success();
}

Status EmulatorDevice::destroyGraph(Graph *graph) {
  std::lock_guard lock(mutex);
  if (!graphs.erase(graph))
    return Status::error("unknown or destroyed graph");
  return Status::success();
}

} // namespace

Result<std::unique_ptr<Device>> createEmulatorDevice(int ordinal) {
  if (ordinal != 0)
    return Status::error("there is no emulator " + std::to_string(ordinal) +
                         ", only emulator 0");
  Result<EmulatorApi> api = openEmulator();
  if (!api.ok())
    return api.status();
  kimi_emulator *emulator = api->create();
  if (!emulator)
    return api->error();
  return std::unique_ptr<Device>(new EmulatorDevice(*api, emulator));
}

} // namespace kimi::runtime
