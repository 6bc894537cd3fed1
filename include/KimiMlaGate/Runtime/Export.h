//===- Export.h - What libkimi_gpu_runtime.so shows ------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_RUNTIME_EXPORT_H
#define KIMIMLAGATE_RUNTIME_EXPORT_H

/// The library hides everything else: it is loaded into processes (mlir-runner)
/// whose symbols it must not meet.
#define KIMI_RUNTIME_EXPORT __attribute__((visibility("default")))

#endif // KIMIMLAGATE_RUNTIME_EXPORT_H
