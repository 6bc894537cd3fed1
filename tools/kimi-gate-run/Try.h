//===- Try.h - Early returns for Status and Result --------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GATERUN_TRY_H
#define KIMIMLAGATE_TOOLS_GATERUN_TRY_H

#include "KimiMlaGate/Support/Status.h"

/// Returns the error of a Status, if it is one.
#define KIMI_TRY(expression)                                                   \
  do {                                                                         \
    if (::kimi::Status status_ = (expression); !status_.ok())                  \
      return status_;                                                          \
  } while (false)

/// Assigns the value of a Result, or returns its error.
#define KIMI_ASSIGN(target, expression)                                        \
  do {                                                                         \
    auto result_ = (expression);                                               \
    if (!result_.ok())                                                         \
      return result_.status();                                                 \
    (target) = std::move(*result_);                                            \
  } while (false)

#endif // KIMIMLAGATE_TOOLS_GATERUN_TRY_H
