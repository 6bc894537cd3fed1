/*===- CAPI.h - C interface of the gfx950 emulator ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The interface of libkimi_gfx950_emulator.so, which a program that must not *|
|* link LLVM opens at run time.                                               *|
|*                                                                            *|
|* Addresses: the emulated device has the address space of this process. A    *|
|* kernel may touch only memory that was mapped with                          *|
|* kimi_emulator_map_memory, at the very addresses that the host uses.        *|
|*                                                                            *|
|* Errors: a call that can fail returns 0 (or a pointer) on success and -1    *|
|* (or NULL) on error; kimi_emulator_last_error() then holds one line of text *|
|* for this thread until its next failing call. An error changes nothing,     *|
|* except that a failing launch may have written to mapped memory already.    *|
|*                                                                            *|
|* Threads: calls on different emulators are independent. Calls on one        *|
|* emulator must not overlap.                                                 *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef KIMIMLAGATE_EMULATOR_CAPI_H
#define KIMIMLAGATE_EMULATOR_CAPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KIMI_EMULATOR_ABI_VERSION 1

typedef struct kimi_emulator kimi_emulator;
typedef struct kimi_emulator_code_object kimi_emulator_code_object;

/* The KIMI_EMULATOR_ABI_VERSION that the library was built with. */
int kimi_emulator_abi_version(void);

/* The text of this thread's last error; never NULL. */
const char *kimi_emulator_last_error(void);

kimi_emulator *kimi_emulator_create(void);
/* Unmaps all memory; code objects loaded into it must be unloaded before. */
void kimi_emulator_destroy(kimi_emulator *emulator);

enum {
  /* The bytes hold values; without it, reading one that no kernel and no
     kimi_emulator_mark_initialized has written is an error. */
  KIMI_EMULATOR_INITIALIZED = 1,
  /* A store by a kernel is an error. */
  KIMI_EMULATOR_READ_ONLY = 2
};

/* Lets kernels access [host, host+bytes). The memory stays the caller's and
   must outlive the mapping. Overlap with an existing mapping is an error. */
int kimi_emulator_map_memory(kimi_emulator *emulator, void *host, size_t bytes,
                             unsigned flags);
/* `host` is the address that was mapped. */
int kimi_emulator_unmap_memory(kimi_emulator *emulator, void *host);
/* Says that the host has written to a range inside one mapping. */
int kimi_emulator_mark_initialized(kimi_emulator *emulator, const void *host,
                                   size_t bytes);
/* Fails unless [host, host+bytes) lies inside one mapping. */
int kimi_emulator_check_range(kimi_emulator *emulator, const void *host,
                              size_t bytes);

/* Loads an ELF code object for gfx950 (copied). */
kimi_emulator_code_object *kimi_emulator_load(kimi_emulator *emulator,
                                              const void *image, size_t size);
void kimi_emulator_unload(kimi_emulator_code_object *code_object);

/* What the kernel descriptor and the metadata note say of a kernel. */
typedef struct {
  uint32_t kernarg_size; /* bytes */
  uint32_t lds_size;     /* bytes, static */
  uint32_t scratch_size; /* bytes per work-item */
  uint32_t vgpr_count;   /* as the metadata gives it */
  uint32_t sgpr_count;
  uint32_t max_workgroup_size;         /* work-items */
  uint32_t required_workgroup_size[3]; /* zeros: none required */
  uint32_t argument_count;             /* explicit (not hidden) arguments */
} kimi_emulator_kernel_info;

typedef struct {
  uint32_t offset; /* bytes, in the kernarg segment */
  uint32_t size;   /* bytes */
} kimi_emulator_argument_info;

/* The error names the kernels that the code object has. */
int kimi_emulator_get_kernel_info(const kimi_emulator_code_object *code_object,
                                  const char *kernel,
                                  kimi_emulator_kernel_info *info);
int kimi_emulator_get_argument_info(
    const kimi_emulator_code_object *code_object, const char *kernel,
    uint32_t index, kimi_emulator_argument_info *info);

/* Runs a kernel to its end. `workgroups` counts workgroups, `workgroup_size`
   work-items. `kernarg` holds the explicit arguments, laid out as
   kimi_emulator_get_argument_info says; hidden arguments that the kernel
   declares are filled in. The error names the instruction, its address, the
   workgroup, the wave and the lane. */
int kimi_emulator_launch(kimi_emulator_code_object *code_object,
                         const char *kernel, const uint32_t workgroups[3],
                         const uint32_t workgroup_size[3],
                         uint32_t dynamic_lds_size, const void *kernarg,
                         size_t kernarg_size);

#ifdef __cplusplus
}
#endif

#endif /* KIMIMLAGATE_EMULATOR_CAPI_H */
