/*===- MgpuABI.h - What MLIR's GPU host code calls ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The entry points that MLIR 22's gpu-to-llvm lowering and its translation   *|
|* of gpu.binary emit calls to, as its LLVM IR declares them                  *|
|* (test/Integration/mgpu-abi.mlir compares), and the helpers of upstream's   *|
|* ROCm wrapper library that its examples call. They act on one device per    *|
|* process, made on first use: the one that KIMI_GPU_DEVICE names (see        *|
|* DeviceRegistry.h).                                                         *|
|*                                                                            *|
|* An error prints one line "kimi-gpu-runtime: ..." to stderr and ends the    *|
|* process with exit code 1. Static destructors do not run: the caller may be *|
|* code that a JIT is about to unload.                                        *|
|*                                                                            *|
|* Modules, functions, streams and events are opaque. A null stream is the    *|
|* default stream.                                                            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef KIMIMLAGATE_RUNTIME_MGPUABI_H
#define KIMIMLAGATE_RUNTIME_MGPUABI_H

#include "KimiMlaGate/Runtime/Export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `image` holds `bytes` bytes of a code object and is copied. */
KIMI_RUNTIME_EXPORT void *mgpuModuleLoad(void *image, size_t bytes);
/* For gpu.binary with format=isa: always an error, nothing here assembles. */
KIMI_RUNTIME_EXPORT void *mgpuModuleLoadJIT(void *assembly, int32_t optLevel);
KIMI_RUNTIME_EXPORT void mgpuModuleUnload(void *module);
KIMI_RUNTIME_EXPORT void *mgpuModuleGetFunction(void *module, const char *name);

/* The grid counts workgroups, the block work-items; `dynamicLds` in bytes.
   `params` points to `paramsCount` pointers to the values of the arguments.
   `extra` must be null. */
KIMI_RUNTIME_EXPORT void mgpuLaunchKernel(void *function, intptr_t gridX,
                                          intptr_t gridY, intptr_t gridZ,
                                          intptr_t blockX, intptr_t blockY,
                                          intptr_t blockZ, int32_t dynamicLds,
                                          void *stream, void **params,
                                          void **extra, size_t paramsCount);
/* Always an error: no device here has clusters. */
KIMI_RUNTIME_EXPORT void
mgpuLaunchClusterKernel(void *function, intptr_t clusterX, intptr_t clusterY,
                        intptr_t clusterZ, intptr_t gridX, intptr_t gridY,
                        intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                        intptr_t blockZ, int32_t dynamicLds, void *stream,
                        void **params, void **extra, size_t paramsCount);

KIMI_RUNTIME_EXPORT void *mgpuStreamCreate(void);
KIMI_RUNTIME_EXPORT void mgpuStreamDestroy(void *stream);
KIMI_RUNTIME_EXPORT void mgpuStreamSynchronize(void *stream);
KIMI_RUNTIME_EXPORT void mgpuStreamWaitEvent(void *stream, void *event);

KIMI_RUNTIME_EXPORT void *mgpuEventCreate(void);
KIMI_RUNTIME_EXPORT void mgpuEventDestroy(void *event);
KIMI_RUNTIME_EXPORT void mgpuEventSynchronize(void *event);
KIMI_RUNTIME_EXPORT void mgpuEventRecord(void *event, void *stream);

KIMI_RUNTIME_EXPORT void *mgpuMemAlloc(uint64_t bytes, void *stream,
                                       bool isHostShared);
KIMI_RUNTIME_EXPORT void mgpuMemFree(void *memory, void *stream);
KIMI_RUNTIME_EXPORT void mgpuMemcpy(void *destination, void *source,
                                    size_t bytes, void *stream);
/* `count` elements of 32 or 16 bits. */
KIMI_RUNTIME_EXPORT void mgpuMemset32(void *destination, uint32_t value,
                                      size_t count, void *stream);
KIMI_RUNTIME_EXPORT void mgpuMemset16(void *destination, uint16_t value,
                                      size_t count, void *stream);

/* A memref descriptor of rank N: the struct below with N sizes and N strides,
   counted in elements. */
typedef struct {
  char *allocated;
  char *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
} MgpuMemRef;

KIMI_RUNTIME_EXPORT void mgpuMemHostRegister(void *host, uint64_t bytes);
KIMI_RUNTIME_EXPORT void mgpuMemHostUnregister(void *host);
/* The memref must be dense and row-major; dimensions of size 1 may have any
   stride. Rank 0 is one element. */
KIMI_RUNTIME_EXPORT void mgpuMemHostRegisterMemRef(int64_t rank,
                                                   MgpuMemRef *descriptor,
                                                   int64_t elementBytes);
KIMI_RUNTIME_EXPORT void mgpuMemHostUnregisterMemRef(int64_t rank,
                                                     MgpuMemRef *descriptor,
                                                     int64_t elementBytes);

/* The device's view of registered memory, as a memref of rank 1. */
typedef struct {
  void *allocated;
  void *aligned;
  int64_t offset, size, stride;
} MgpuMemRef1D;
KIMI_RUNTIME_EXPORT MgpuMemRef1D mgpuMemGetDeviceMemRef1dFloat(void *allocated,
                                                               void *aligned,
                                                               int64_t offset,
                                                               int64_t size,
                                                               int64_t stride);
KIMI_RUNTIME_EXPORT MgpuMemRef1D mgpuMemGetDeviceMemRef1dInt32(void *allocated,
                                                               void *aligned,
                                                               int64_t offset,
                                                               int64_t size,
                                                               int64_t stride);

/* Which of several devices of one kind. Must come before the first use. */
KIMI_RUNTIME_EXPORT void mgpuSetDefaultDevice(int32_t device);

#ifdef __cplusplus
}
#endif

#endif /* KIMIMLAGATE_RUNTIME_MGPUABI_H */
