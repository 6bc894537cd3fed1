//===- Device.h - A device that runs kernels -------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface for everything that can run a code object: the gfx950 emulator
// and, in builds that have them, HIP and CUDA. It is the part of their driver
// APIs that this project uses, so that each call maps to one of theirs.
//
// Handles belong to the device that made them. They stay valid until they are
// destroyed (a kernel: until its code object is unloaded); what is left when
// the device is destroyed is released with it. A handle that the device does
// not know is an error, never undefined behaviour.
//
// A null Stream is the default stream. Work on a stream runs in order, and
// possibly after the call returned: an error in it may be reported by a later
// call, at the latest by a synchronize.
//
// A device may be used from several threads.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_RUNTIME_DEVICE_H
#define KIMIMLAGATE_RUNTIME_DEVICE_H

#include "KimiMlaGate/Runtime/Export.h"
#include "KimiMlaGate/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kimi::runtime {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// One explicit argument in the kernel's argument buffer, in bytes.
struct KernelArgument {
  uint32_t offset = 0, size = 0;
};

/// What the code object says of a kernel. Sizes are in bytes.
struct KernelInfo {
  std::string name;
  /// In order; nothing where the device's API does not tell.
  std::optional<std::vector<KernelArgument>> arguments;
  /// Local data share (CUDA: shared memory) of a workgroup, static part.
  uint32_t staticLds = 0;
  /// Per work-item.
  uint32_t scratch = 0;
  uint32_t vgprs = 0, sgprs = 0;
  /// In work-items.
  uint32_t maxWorkgroupSize = 0;
  /// All zero where the kernel takes any size.
  Dim3 requiredWorkgroupSize{0, 0, 0};
};

struct LaunchConfig {
  /// Counts workgroups, not work-items.
  Dim3 workgroups;
  /// In work-items.
  Dim3 workgroupSize;
  /// Bytes of local data share beyond the kernel's static part.
  uint32_t dynamicLds = 0;
};

/// What every device runs on: limits for checkLaunch.
struct DeviceLimits {
  /// Bytes of local data share that one workgroup can have.
  uint32_t maxLds = 0;
  /// In work-items.
  uint32_t maxWorkgroupSize = 0;
};

// Handles. A device derives its own from them.
struct CodeObject {};
struct Stream {};
struct Event {};
struct Graph {};
struct Kernel {
  KernelInfo info;
};

enum class MemoryKind {
  Device,
  /// The host may access it through the same pointer.
  HostShared
};

class KIMI_RUNTIME_EXPORT Device {
public:
  virtual ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// As KIMI_GPU_DEVICE spells it.
  virtual std::string name() const = 0;
  /// The chip that code objects must be for, as the compiler spells it.
  virtual std::string chip() const = 0;
  /// Event times are the host's time for the emulation and say nothing about
  /// the chip.
  virtual bool isEmulated() const = 0;
  virtual DeviceLimits limits() const = 0;

  /// The image is copied.
  virtual Result<CodeObject *> load(const void *image, size_t bytes) = 0;
  virtual Status unload(CodeObject *codeObject) = 0;
  /// The same pointer for the same name.
  virtual Result<Kernel *> findKernel(CodeObject *codeObject,
                                      const std::string &name) = 0;

  /// Aligned to 256 bytes; the contents are undefined. Null for 0 bytes.
  virtual Result<void *> allocate(size_t bytes,
                                  MemoryKind kind = MemoryKind::Device) = 0;
  /// Null is allowed.
  virtual Status free(void *memory) = 0;

  /// Lets kernels access [host, host + bytes), which stays the caller's. A
  /// range that is registered (or, a part of it, allocated) already is counted
  /// and must be unregistered as often.
  virtual Status registerHost(void *host, size_t bytes) = 0;
  virtual Status unregisterHost(void *host) = 0;
  /// Where kernels find memory that the host registered or allocated.
  virtual Result<void *> devicePointer(void *host) = 0;

  /// Between device and host memory in either direction, or within one. Host
  /// memory must stay as it is until the stream is synchronized.
  virtual Status copy(void *destination, const void *source, size_t bytes,
                      Stream *stream) = 0;
  /// Stores `pattern` (its lower 1, 2 or 4 bytes) `count` times.
  virtual Status fill(void *destination, uint32_t pattern, size_t patternBytes,
                      size_t count, Stream *stream) = 0;

  virtual Result<Stream *> createStream() = 0;
  virtual Status destroyStream(Stream *stream) = 0;
  virtual Status synchronize(Stream *stream) = 0;
  /// All streams.
  virtual Status synchronize() = 0;
  /// Later work on the stream waits for the event's last record, if any.
  virtual Status wait(Stream *stream, Event *event) = 0;

  virtual Result<Event *> createEvent() = 0;
  virtual Status destroyEvent(Event *event) = 0;
  virtual Status record(Event *event, Stream *stream) = 0;
  virtual Status synchronize(Event *event) = 0;
  /// Both must have been recorded.
  virtual Result<double> elapsedMilliseconds(Event *start, Event *end) = 0;

  /// `arguments` points to `argumentCount` pointers to the argument values, as
  /// HIP's kernelParams; values are copied before the call returns.
  virtual Status launch(Kernel *kernel, const LaunchConfig &config,
                        const void *const *arguments, size_t argumentCount,
                        Stream *stream) = 0;

  /// From here on copies, fills and launches on the stream are kept instead of
  /// run. Pointers and argument values are taken now, memory is accessed when
  /// the graph is replayed. The default stream cannot be captured, and a
  /// stream that is captured cannot be synchronized or record events.
  virtual Status beginCapture(Stream *stream) = 0;
  virtual Result<Graph *> endCapture(Stream *stream) = 0;
  virtual Status replay(Graph *graph, Stream *stream) = 0;
  virtual Status destroyGraph(Graph *graph) = 0;

protected:
  Device() = default;
};

/// The checks that hold on every device. The error names the kernel and the
/// limit.
KIMI_RUNTIME_EXPORT Status checkLaunch(const KernelInfo &kernel,
                                       const LaunchConfig &config,
                                       size_t argumentCount,
                                       const DeviceLimits &limits);

} // namespace kimi::runtime

#endif // KIMIMLAGATE_RUNTIME_DEVICE_H
