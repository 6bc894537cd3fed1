//===- CodeObject.cpp - From a ROCDL module to a code object --------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KimiMlaGate/Conversion/CodeObject.h"
#include "lld/Common/Driver.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace kimi;

namespace {

/// Links one relocatable object in this process: upstream's linkObjectCode()
/// starts the linker of a ROCm installation.
FailureOr<SmallVector<char, 0>>
linkObject(ArrayRef<char> object,
           llvm::function_ref<InFlightDiagnostic()> emitError) {
  // lld reads and writes files only.
  SmallString<128> input, output;
  int inputFile;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "kimi-mla-gate", "o", inputFile, input))
    return emitError() << "cannot make a temporary file: " << error.message();
  llvm::FileRemover removeInput(input);
  {
    llvm::raw_fd_ostream stream(inputFile, /*shouldClose=*/true);
    stream.write(object.data(), object.size());
    stream.close();
    if (stream.has_error()) {
      std::error_code error = stream.error();
      stream.clear_error();
      return emitError() << "cannot write '" << input
                         << "': " << error.message();
    }
  }
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("kimi-mla-gate", "hsaco", output))
    return emitError() << "cannot make a temporary file: " << error.message();
  llvm::FileRemover removeOutput(output);

  // lld keeps its state in globals.
  static std::mutex linkerMutex;
  std::lock_guard<std::mutex> lock(linkerMutex);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const char *arguments[] = {"ld.lld",      "-shared", "--threads=1",
                             input.c_str(), "-o",      output.c_str()};
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError() << "the kernel cannot be linked: "
                       << StringRef(messages).trim();
  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError() << "cannot read '" << output
                       << "': " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  return SmallVector<char, 0>(bytes.begin(), bytes.end());
}

} // namespace

FailureOr<CompiledKernels> kimi::compileKernels(gpu::GPUModuleOp module,
                                                ROCDL::ROCDLTargetAttr target) {
  auto emitError = [&] { return module.emitError(); };
  gpu::TargetOptions options(
      /*toolkitPath=*/{}, /*librariesToLink=*/{}, /*cmdOptions=*/{},
      /*elfSection=*/{}, gpu::CompilationTarget::Assembly);
  auto interface = dyn_cast<gpu::TargetAttrInterface>(Attribute(target));
  if (!interface)
    return emitError() << "this compiler cannot translate for " << target;
  std::optional<SmallVector<char, 0>> assembly =
      interface.serializeToObject(module, options);
  if (!assembly)
    return emitError() << "the kernel cannot be compiled for "
                       << target.getChip();
  CompiledKernels result;
  result.assembly.assign(assembly->begin(), assembly->end());

  FailureOr<SmallVector<char, 0>> object =
      ROCDL::assembleIsa(result.assembly, target.getTriple(), target.getChip(),
                         target.getFeatures(), emitError);
  if (failed(object))
    return failure();
  FailureOr<SmallVector<char, 0>> linked = linkObject(*object, emitError);
  if (failed(linked))
    return failure();
  result.codeObject = std::move(*linked);
  return result;
}
