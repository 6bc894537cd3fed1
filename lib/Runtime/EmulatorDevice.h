//===- EmulatorDevice.h - The gfx950 emulator as a device ------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens libkimi_gfx950_emulator.so (KimiMlaGate/Emulator/CAPI.h), which needs
// LLVM, at run time: from the path in KIMI_GPU_EMULATOR, else from the folder
// of this library.
//
//  - Work runs when it is enqueued, on the calling thread. That is one of the
//    orders that streams allow, and errors surface at the call that caused
//    them.
//  - Device memory is host memory that is mapped into the emulator at its exact
//    size, uninitialised until a copy, a fill or a kernel writes it. It is
//    filled with a pattern that no kernel computes (0xcd in each byte), so that
//    an element that nobody wrote shows in results, and has guard bytes on both
//    sides that free() checks.
//  - Registered host memory counts as initialised: the host may have written
//    it, and there is no way to know.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_LIB_RUNTIME_EMULATORDEVICE_H
#define KIMIMLAGATE_LIB_RUNTIME_EMULATORDEVICE_H

#include "KimiMlaGate/Runtime/Device.h"

#include <memory>

namespace kimi::runtime {

/// There is one emulated device, ordinal 0.
Result<std::unique_ptr<Device>> createEmulatorDevice(int ordinal);

} // namespace kimi::runtime

#endif // KIMIMLAGATE_LIB_RUNTIME_EMULATORDEVICE_H
