//===- Status.h - Errors without exceptions or LLVM ------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a call that can fail returns, in the libraries that must not depend on
// LLVM (the runtime and its devices). An error is one line of text for a
// person: it names the file, the kernel or the value at fault.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_SUPPORT_STATUS_H
#define KIMIMLAGATE_SUPPORT_STATUS_H

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kimi {

/// Success, or an error with its message.
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status error(std::string message) {
    Status status;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return !text; }
  /// The error's text; empty on success.
  std::string message() const { return text.value_or(std::string()); }

private:
  std::optional<std::string> text;
};

/// A value, or an error with its message.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  /// From a failed status only.
  Result(Status status) : state(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(state); }
  Status status() const {
    return ok() ? Status::success() : std::get<Status>(state);
  }
  std::string message() const { return status().message(); }

  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }

private:
  std::variant<T, Status> state;
};

} // namespace kimi

#endif // KIMIMLAGATE_SUPPORT_STATUS_H
