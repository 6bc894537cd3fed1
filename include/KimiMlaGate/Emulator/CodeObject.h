//===- CodeObject.h - gfx950 ELF code objects -------------------*- C++ -*-===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ELF code object for gfx950: its loaded image, its decoded machine code and
// its kernels, each with what the kernel descriptor and the metadata note say
// (LLVM's AMDGPUUsage, sections "Code Object" and "Kernel Descriptor").
// Whatever is malformed is an llvm::Error; nothing in the file is trusted.
//
//===----------------------------------------------------------------------===//

#ifndef KIMIMLAGATE_EMULATOR_CODEOBJECT_H
#define KIMIMLAGATE_EMULATOR_CODEOBJECT_H

#include "KimiMlaGate/Emulator/Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kimi::emulator {

struct KernelArgument {
  uint32_t offset = 0; // bytes, in the kernarg segment
  uint32_t size = 0;   // bytes
  std::string valueKind;
  bool isHidden() const {
    return llvm::StringRef(valueKind).starts_with("hidden_");
  }
};

struct Kernel {
  std::string name;
  uint32_t entryOffset = 0; // of the first instruction, in the program
  uint32_t codeSize = 0;    // bytes, 0: unknown
  // Kernel descriptor.
  uint32_t ldsSize = 0;     // bytes, static
  uint32_t scratchSize = 0; // bytes per work-item
  uint32_t kernargSize = 0; // bytes
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint16_t properties = 0;
  uint16_t kernargPreload = 0;
  // Derived from the descriptor: registers that a wave owns.
  uint32_t allocatedVgprs = 0;
  uint32_t allocatedAccVgprs = 0;
  uint32_t allocatedSgprs = 0;
  // Metadata.
  uint32_t vgprCount = 0;
  uint32_t accVgprCount = 0;
  uint32_t sgprCount = 0;
  uint32_t maxWorkgroupSize = 0; // work-items
  uint32_t requiredWorkgroupSize[3] = {0, 0, 0};
  std::vector<KernelArgument> arguments; // explicit ones first, in order

  size_t explicitArguments() const;
};

class CodeObject {
public:
  /// Parses and decodes an image, which is copied.
  static llvm::Expected<std::unique_ptr<CodeObject>>
  load(llvm::ArrayRef<uint8_t> image);

  llvm::ArrayRef<Kernel> getKernels() const { return kernels; }
  /// The error lists the kernels that there are.
  llvm::Expected<const Kernel *> findKernel(llvm::StringRef name) const;

  const Program &getProgram() const { return *program; }
  /// The host address of the program's first byte.
  uint64_t getProgramAddress() const;
  /// The loaded segments, at their final addresses.
  llvm::ArrayRef<uint8_t> getImage() const { return image; }
  /// False if 16-bit loads clobber the other half of their register: with
  /// SRAM ECC, which the code object says may be on.
  bool d16LoadsPreserve() const { return d16Preserves; }

  /// The kernels with their descriptors, for a person.
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<Kernel> kernels;
  std::unique_ptr<Program> program;
  std::vector<uint8_t> image;
  uint64_t programOffset = 0; // in the image
  bool d16Preserves = false;
};

} // namespace kimi::emulator

#endif // KIMIMLAGATE_EMULATOR_CODEOBJECT_H
