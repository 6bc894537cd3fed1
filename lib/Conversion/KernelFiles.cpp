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
    return module.emitOpError() << "'" << kernelDescriptionAttrName
                                << "' does not describe one kernel";
  gpu::GPUFuncOp kernel = kernels.front();
  auto arguments = description.getAs<ArrayAttr>("arguments");
  if (arguments.size() != kernel.getFunctionType().getNumInputs())
    return module.emitOpError()
           << "'" << kernelDescriptionAttrName << "' names " << arguments.size()
           << " arguments, the kernel has "
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
      for (auto [name, type] :
           llvm::zip_equal(arguments, kernel.getFunctionType().getInputs())) {
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
                                     ArrayRef<KernelFiles> kernels) {
  std::error_code error = llvm::sys::fs::create_directories(directory);
  if (!error && !llvm::sys::fs::is_directory(directory))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return mlir::emitError(loc) << "cannot make the folder '" << directory
                                << "': " << error.message();
  SmallVector<std::string> written;
  auto write = [&](StringRef name, StringRef contents) -> LogicalResult {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    llvm::Error error =
        llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
          stream << contents;
          return llvm::Error::success();
        });
    if (!error) {
      written.push_back(path.str().str());
      return success();
    }
    // Some of LLVM's errors name the file already.
    std::string named = ("'" + path + "': ").str();
    std::string message = llvm::toString(std::move(error));
    StringRef reason = message;
    reason.consume_front(named);
    return mlir::emitError(loc) << "cannot write " << named << reason;
  };
  for (const KernelFiles &kernel : kernels) {
    const SmallVector<char, 0> &code = kernel.compiled.codeObject;
    // The description comes last: whoever finds it finds the other files too.
    if (succeeded(write(kernel.name + ".s", kernel.compiled.assembly)) &&
        succeeded(write(kernel.name + ".hsaco",
                        StringRef(code.data(), code.size()))) &&
        succeeded(write(kernel.name + ".json", kernel.json)))
      continue;
    for (const std::string &path : written)
      llvm::sys::fs::remove(path);
    return failure();
  }
  return success();
}
