//===- Check.h - Expectations of the unit tests ----------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TEST_UNIT_CHECK_H
#define KIMIMLAGATE_TEST_UNIT_CHECK_H

#include <cstdio>

namespace kimi::test {
inline int failures = 0;
/// The exit code of main.
inline int finish() {
  std::printf(failures ? "%d check(s) failed\n" : "all checks passed\n",
              failures);
  return failures ? 1 : 0;
}
} // namespace kimi::test

/// Reports a failed condition with printf-style details and goes on.
#define CHECK_THAT(condition, ...)                                             \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++kimi::test::failures;                                                  \
      std::printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);              \
      std::printf(__VA_ARGS__);                                                \
      std::printf("\n");                                                       \
    }                                                                          \
  } while (false)

#endif // KIMIMLAGATE_TEST_UNIT_CHECK_H
