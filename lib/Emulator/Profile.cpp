//===- Profile.cpp - What a launch did ------------------------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Emulator/Profile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

using namespace kimi::emulator;

const char *kimi::emulator::getInstructionClassName(InstructionClass cls) {
  switch (cls) {
  case InstructionClass::ScalarALU:
    return "scalar_alu";
  case InstructionClass::ScalarMemory:
    return "scalar_memory";
  case InstructionClass::VectorInteger:
    return "vector_integer";
  case InstructionClass::VectorFloat:
    return "vector_float";
  case InstructionClass::VectorTranscendental:
    return "vector_transcendental";
  case InstructionClass::VectorCompare:
    return "vector_compare";
  case InstructionClass::VectorCrossLane:
    return "vector_cross_lane";
  case InstructionClass::GlobalLoad:
    return "global_load";
  case InstructionClass::GlobalStore:
    return "global_store";
  case InstructionClass::LdsRead:
    return "lds_read";
  case InstructionClass::LdsWrite:
    return "lds_write";
  case InstructionClass::LdsPermute:
    return "lds_permute";
  case InstructionClass::Branch:
    return "branch";
  case InstructionClass::Wait:
    return "wait";
  case InstructionClass::Barrier:
    return "barrier";
  case InstructionClass::Nop:
    return "nop";
  case InstructionClass::Other:
    return "other";
  }
  return "other";
}

/// Calls `fn` for every figure, in the order in which they are printed.
static void visit(const Profile &profile,
                  llvm::function_ref<void(const llvm::Twine &, uint64_t)> fn) {
  fn("workgroups", profile.workgroups);
  fn("waves", profile.waves);
  fn("waves_per_workgroup", profile.wavesPerWorkgroup);
  fn("vgprs", profile.vgprs);
  fn("acc_vgprs", profile.accVgprs);
  fn("sgprs", profile.sgprs);
  fn("lds_bytes", profile.ldsBytes);
  fn("instructions", profile.instructions);
  for (unsigned i = 0; i < NumInstructionClasses; ++i)
    fn(llvm::Twine("instructions_") +
           getInstructionClassName(static_cast<InstructionClass>(i)),
       profile.byClass[i]);
  fn("instructions_dpp", profile.dppInstructions);
  fn("instructions_sdwa", profile.sdwaInstructions);
  fn("global_bytes_read", profile.globalBytesRead);
  fn("global_bytes_written", profile.globalBytesWritten);
  fn("kernarg_bytes_read", profile.kernargBytesRead);
  fn("scalar_bytes_read", profile.scalarBytesRead);
  fn("lds_bytes_read", profile.ldsBytesRead);
  fn("lds_bytes_written", profile.ldsBytesWritten);
  fn("lds_bank_conflicts", profile.ldsBankConflicts);
  fn("waits", profile.waits);
  fn("waits_that_stall", profile.waitsThatStall);
  fn("max_outstanding_vector_loads", profile.maxOutstandingVectorLoads);
  fn("loads_before_first_vector_wait", profile.loadsBeforeFirstVectorWait);
}

void Profile::print(llvm::raw_ostream &os) const {
  visit(*this, [&](const llvm::Twine &name, uint64_t value) {
    os << name << ": " << value << '\n';
  });
}

void Profile::printJSON(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    visit(*this, [&](const llvm::Twine &name, uint64_t value) {
      json.attribute(name.str(), value);
    });
  });
  os << '\n';
}
