//===- Disassembler.cpp - LLVM's MC disassembler for gfx950 ---------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Disassembler.h"

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace kimi::emulator;

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

struct Disassembler::Impl {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Disassembler::Disassembler() : impl(std::make_unique<Impl>()) {}
Disassembler::~Disassembler() = default;

llvm::Expected<std::unique_ptr<Disassembler>> Disassembler::create() {
  static const bool initialized = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  (void)initialized;

  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError("LLVM lacks the AMDGPU target: " + message);
  std::unique_ptr<Disassembler> result(new Disassembler());
  Impl &impl = *result->impl;
  impl.registers.reset(target->createMCRegInfo(triple));
  impl.asmInfo.reset(
      target->createMCAsmInfo(*impl.registers, triple, impl.options));
  impl.instructions.reset(target->createMCInstrInfo());
  impl.subtarget.reset(target->createMCSubtargetInfo(triple, "gfx950", ""));
  impl.context = std::make_unique<llvm::MCContext>(
      triple, impl.asmInfo.get(), impl.registers.get(), impl.subtarget.get());
  impl.disassembler.reset(
      target->createMCDisassembler(*impl.subtarget, *impl.context));
  impl.printer.reset(target->createMCInstPrinter(
      triple, impl.asmInfo->getAssemblerDialect(), *impl.asmInfo,
      *impl.instructions, *impl.registers));
  if (!impl.disassembler || !impl.printer)
    return llvm::createStringError("LLVM lacks the AMDGPU disassembler");
  return result;
}

unsigned Disassembler::decode(llvm::ArrayRef<uint8_t> bytes, uint64_t address,
                              std::string &text) {
  llvm::MCInst inst;
  uint64_t size = 0;
  auto status = impl->disassembler->getInstruction(inst, size, bytes, address,
                                                   llvm::nulls());
  // A soft failure is an encoding that the hardware need not accept.
  if (status != llvm::MCDisassembler::Success || size == 0)
    return 0;
  text.clear();
  llvm::raw_string_ostream os(text);
  impl->printer->printInst(&inst, address, "", *impl->subtarget, os);
  llvm::StringRef trimmed = llvm::StringRef(text).trim();
  text = trimmed.str();
  for (char &c : text)
    if (c == '\t' || c == '\n')
      c = ' ';
  return size;
}
