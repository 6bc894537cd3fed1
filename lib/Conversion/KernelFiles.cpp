//===- KernelFiles.cpp - Files of a compiled kernel -----------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFiles.h"
#include "KimiMlaGate/Transforms/Emit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace kimi;

FailureOr<std::string>
kimi::describeKernelAsJson(gpu::GPUModuleOp module,
                           ROCDL::ROCDLTargetAttr target) {
  auto description =
      module->getAttrOfType<DictionaryAttr>(kernelDescriptionAttrName);
  auto number = [&](StringRef key) {
    return description.getAs<IntegerAttr>(key);
  };
  auto text = [&](StringRef key) { return description.getAs<StringAttr>(key); };
  auto kernels = llvm::to_vector(module.getOps<gpu::GPUFuncOp>());
  if (!description || !number("m") || !number("n") || !number("k") ||
      !text("rounding") || !text("sigmoid") || !text("product") ||
      !description.getAs<ArrayAttr>("arguments") || kernels.size() != 1 ||
      !kernels.front().getKnownBlockSize() ||
      !kernels.front().getKnownGridSize())
    return module.emitError() << "'" << kernelDescriptionAttrName
                              << "' does not describe one kernel";
  gpu::GPUFuncOp kernel = kernels.front();
  auto arguments = description.getAs<ArrayAttr>("arguments");
  if (arguments.size() != kernel.getFunctionType().getNumInputs())
    return module.emitError()
           << "'" << kernelDescriptionAttrName << "' names "
           << arguments.size() << " arguments, the kernel has "
           << kernel.getFunctionType().getNumInputs();

  std::string result;
  llvm::raw_string_ostream stream(result);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("kernel", kernel.getName());
    json.attribute("chip", target.getChip());
    json.attribute("code_object", (module.getName() + ".hsaco").str());
    for (StringRef key : {"m", "n", "k"})
      json.attribute(key, number(key).getInt());
    auto dimensions = [&](StringRef key, ArrayRef<int32_t> sizes) {
      json.attributeArray(key, [&] {
        for (int32_t size : sizes)
          json.value(size);
      });
    };
    dimensions("grid", *kernel.getKnownGridSize());
    dimensions("block", *kernel.getKnownBlockSize());
    json.attributeArray("arguments", [&] {
      for (auto [name, type] : llvm::zip_equal(
               arguments, kernel.getFunctionType().getInputs())) {
        auto buffer = cast<MemRefType>(type);
        StringRef argument = cast<StringAttr>(name).getValue();
        json.object([&] {
          json.attribute("name", argument);
          std::string element;
          llvm::raw_string_ostream(element) << buffer.getElementType();
          json.attribute("type", element);
          json.attributeArray("shape", [&] {
            for (int64_t size : buffer.getShape())
              json.value(size);
          });
          json.attribute("access", argument == "out" ? "write" : "read");
        });
      }
    });
    for (StringRef key : {"rounding", "sigmoid", "product"})
      json.attribute(key, text(key).getValue());
  });
  stream << "\n";
  return result;
}

LogicalResult kimi::writeKernelFiles(Location loc, StringRef directory,
                                     StringRef name,
                                     const CompiledKernels &compiled,
                                     StringRef json) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return mlir::emitError(loc) << "cannot make the folder '" << directory
                                << "': " << error.message();
  // The description comes last: whoever finds it finds the other files too.
  std::pair<StringRef, StringRef> files[] = {
      {".s", compiled.assembly},
      {".hsaco",
       StringRef(compiled.codeObject.data(), compiled.codeObject.size())},
      {".json", json}};
  SmallVector<std::string> written;
  for (auto [suffix, contents] : files) {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, name + suffix);
    llvm::Error error =
        llvm::writeToOutput(path, [text = contents](llvm::raw_ostream &stream) {
          stream << text;
          return llvm::Error::success();
        });
    if (error) {
      for (const std::string &other : written)
        llvm::sys::fs::remove(other);
      return mlir::emitError(loc) << "cannot write '" << path
                                  << "': " << llvm::toString(std::move(error));
    }
    written.push_back(path.str().str());
  }
  return success();
}
