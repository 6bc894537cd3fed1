//===- KernelDescription.h - NAME.json beside a dumped kernel ---*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file's keys, all of them required unless it says otherwise:
//
//   kernel       the kernel's name in the code object
//   chip         such as "gfx950"
//   code_object  the code object's file, relative to the description
//   m, n, k      the gate's shape
//   grid, block  [x, y, z] in workgroups and in work-items
//   arguments    in the kernel's order, each {name, type, shape, access}:
//                hidden [m,k], weight [n,k], attention [m,n] with access
//                "read"; out [m,n] and, optionally, projection [m,n] and
//                sigmoid [m,n] with access "write"; type is "bf16"
//   rounding     "ir" or "production" (float sigmoid, rounded once)
//   sigmoid      "f32" (in float, rounded once) or "bf16" (bfloat16 operations,
//                each rounded): what the IR says
//   product      "bf16": rounded once
//   summation_depth  optional: the number of roundings between a product and
//                the row's sum, when it exceeds reference::summationDepth
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_TOOLS_GATERUN_KERNELDESCRIPTION_H
#define KIMIMLAGATE_TOOLS_GATERUN_KERNELDESCRIPTION_H

#include "KimiMlaGate/Reference/GateReference.h"
#include "KimiMlaGate/Runtime/Device.h"
#include "KimiMlaGate/Support/Status.h"

#include <string>
#include <vector>

namespace kimi::gaterun {

enum class Role { Hidden, Weight, Attention, Out, Projection, Sigmoid };

struct Argument {
  std::string name;
  Role role;
  size_t elements = 0;
  bool isInput() const {
    return role == Role::Hidden || role == Role::Weight ||
           role == Role::Attention;
  }
};

struct KernelDescription {
  std::string kernel, chip;
  /// Path to the code object.
  std::string codeObject;
  reference::GateShape shape;
  runtime::LaunchConfig launch;
  std::vector<Argument> arguments;
  bool productionRounding = false;
  /// What the kernel computes, rounding taken into account.
  reference::SigmoidForm sigmoid = reference::SigmoidForm::F32;
  size_t summationDepth = 0;
};

Result<KernelDescription> readKernelDescription(const std::string &path);

} // namespace kimi::gaterun

#endif // KIMIMLAGATE_TOOLS_GATERUN_KERNELDESCRIPTION_H
