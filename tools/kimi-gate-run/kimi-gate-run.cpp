//===- kimi-gate-run.cpp - Runs and checks a dumped gate kernel -----------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds no LLVM, so that it can run beside HIP, which brings its own. What is
// accepted, and why, is in KimiMlaGate/Reference/GateReference.h.
//
//===----------------------------------------------------------------------===//

#include "Golden.h"
#include "Json.h"
#include "KernelDescription.h"
#include "Options.h"
#include "Try.h"

#include "KimiMlaGate/Reference/BFloat16.h"
#include "KimiMlaGate/Reference/GateReference.h"
#include "KimiMlaGate/Reference/Inputs.h"
#include "KimiMlaGate/Runtime/DeviceRegistry.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

using namespace kimi;
using namespace kimi::gaterun;
using namespace kimi::reference;

namespace {

/// Nobody's result: stands in outputs that a kernel fails to write.
constexpr uint16_t unwritten = 0xcdcd;

/// One kernel on one device.
class GateRun {
public:
  GateRun(const Options &options, const KernelDescription &kernel,
          runtime::Device &device)
      : options(options), kernel(kernel), device(device),
        table(kernel.sigmoid, /*allowOverflow=*/options.golden.has_value()) {}

  Status prepare();
  /// Whether every element of every run was within the bound.
  Result<bool> check();
  Status bench();

private:
  struct Buffer {
    const Argument *argument;
    void *memory = nullptr;
    size_t bytes() const { return argument->elements * sizeof(uint16_t); }
  };

  Status capture();
  Status launch();
  Status upload(const GateInputs &inputs, bool clearOutputs);
  Status checkInputsUnchanged(const GateInputs &inputs);
  Result<bool> checkRun(uint64_t index);
  bool report(const GateReference &reference, const GateInputs &inputs,
              GateTensor which, const std::string &name,
              const std::vector<uint16_t> &expected,
              const std::vector<uint16_t> &actual);
  const std::vector<uint16_t> *input(const GateInputs &inputs, Role role);

  const Options &options;
  const KernelDescription &kernel;
  runtime::Device &device;
  SigmoidTable table;
  std::optional<GoldenCase> golden;
  InputSpec spec;
  std::vector<Buffer> buffers;
  std::vector<const void *> launchArguments;
  runtime::Kernel *function = nullptr;
  runtime::Stream *stream = nullptr;
  runtime::Graph *graph = nullptr;
};

const char *text(InputKind kind) {
  return kind == InputKind::Uniform ? "uniform" : "ternary";
}

const char *text(SigmoidForm form) {
  switch (form) {
  case SigmoidForm::F32:
    return "f32";
  case SigmoidForm::F32Unrounded:
    return "unrounded f32";
  case SigmoidForm::BF16Operations:
    return "bf16";
  }
  return "unknown";
}

Status GateRun::prepare() {
  if (kernel.chip != device.chip())
    return Status::error("kernel '" + kernel.kernel + "' is for " +
                         kernel.chip + ", device '" + device.name() +
                         "' runs " + device.chip());
  spec = options.inputs;
  if (options.golden) {
    // PyTorch evaluates the sigmoid in float and rounds it.
    if (kernel.sigmoid != SigmoidForm::F32)
      return Status::error(
          "kernel '" + kernel.kernel + "' " +
          (kernel.sigmoid == SigmoidForm::BF16Operations
               ? "computes its sigmoid in bfloat16 operations"
               : "does not round its sigmoid") +
          ", which a golden case (PyTorch, float sigmoid, rounded) is no "
          "reference for; compile it with rounding=production, or run it "
          "without --golden");
    KIMI_ASSIGN(golden, readGolden(*options.golden, kernel.shape));
    spec = golden->inputs;
  }

  std::string image;
  KIMI_ASSIGN(image, readFile(kernel.codeObject));
  Result<runtime::CodeObject *> codeObject =
      device.load(image.data(), image.size());
  if (!codeObject.ok())
    return Status::error("'" + kernel.codeObject +
                         "': " + codeObject.message());
  KIMI_ASSIGN(function, device.findKernel(*codeObject, kernel.kernel));
  if (const auto &arguments = function->info.arguments)
    for (size_t i = 0; i < arguments->size(); ++i)
      if ((*arguments)[i].size != sizeof(void *))
        return Status::error("kernel '" + kernel.kernel + "': argument " +
                             std::to_string(i) + " has " +
                             std::to_string((*arguments)[i].size) +
                             " bytes, expected a pointer");

  KIMI_ASSIGN(stream, device.createStream());
  for (const Argument &argument : kernel.arguments) {
    Buffer buffer{&argument};
    if (!(options.aliasOutput && argument.role == Role::Out))
      KIMI_ASSIGN(buffer.memory, device.allocate(buffer.bytes()));
    buffers.push_back(buffer);
  }
  if (options.aliasOutput)
    for (Buffer &out : buffers)
      for (const Buffer &buffer : buffers)
        if (out.argument->role == Role::Out &&
            buffer.argument->role == Role::Attention)
          out.memory = buffer.memory;
  for (Buffer &buffer : buffers)
    launchArguments.push_back(&buffer.memory);

  std::printf("kernel: %s, M=%zu N=%zu K=%zu, %s sigmoid\n",
              kernel.kernel.c_str(), kernel.shape.m, kernel.shape.n,
              kernel.shape.k, text(kernel.sigmoid));
  std::printf("device: %s (%s)\n", device.name().c_str(),
              device.chip().c_str());
  std::printf("inputs: %s, seed %" PRIu64 ", scales %g %g %g%s\n",
              text(spec.kind), spec.seed, spec.hiddenScale, spec.weightScale,
              spec.attentionScale,
              options.aliasOutput ? ", output over attention" : "");
  return Status::success();
}

const std::vector<uint16_t> *GateRun::input(const GateInputs &inputs,
                                            Role role) {
  switch (role) {
  case Role::Hidden:
    return &inputs.hidden;
  case Role::Weight:
    return &inputs.weight;
  case Role::Attention:
    return &inputs.attention;
  default:
    return nullptr;
  }
}

Status GateRun::upload(const GateInputs &inputs, bool clearOutputs) {
  for (const Buffer &buffer : buffers) {
    if (auto *values = input(inputs, buffer.argument->role)) {
      KIMI_TRY(
          device.copy(buffer.memory, values->data(), buffer.bytes(), stream));
      continue;
    }
    bool aliased = options.aliasOutput && buffer.argument->role == Role::Out;
    if (clearOutputs && !aliased)
      KIMI_TRY(device.fill(buffer.memory, unwritten, 2,
                           buffer.argument->elements, stream));
  }
  // The host's copies end with the caller.
  return device.synchronize(stream);
}

Status GateRun::launch() {
  return device.launch(function, kernel.launch, launchArguments.data(),
                       launchArguments.size(), stream);
}

Status GateRun::capture() {
  if (graph)
    return Status::success();
  KIMI_TRY(device.beginCapture(stream));
  KIMI_TRY(launch());
  KIMI_ASSIGN(graph, device.endCapture(stream));
  return Status::success();
}

Status GateRun::checkInputsUnchanged(const GateInputs &inputs) {
  for (const Buffer &buffer : buffers) {
    auto *values = input(inputs, buffer.argument->role);
    if (!values ||
        (options.aliasOutput && buffer.argument->role == Role::Attention))
      continue;
    std::vector<uint16_t> now(buffer.argument->elements);
    KIMI_TRY(device.copy(now.data(), buffer.memory, buffer.bytes(), stream));
    KIMI_TRY(device.synchronize(stream));
    auto changed = std::mismatch(now.begin(), now.end(), values->begin()).first;
    if (changed != now.end())
      return Status::error("kernel '" + kernel.kernel +
                           "' changed its input '" + buffer.argument->name +
                           "' at element " +
                           std::to_string(changed - now.begin()));
  }
  return Status::success();
}

bool GateRun::report(const GateReference &reference, const GateInputs &inputs,
                     GateTensor which, const std::string &name,
                     const std::vector<uint16_t> &expected,
                     const std::vector<uint16_t> &actual) {
  Comparison result =
      compare(reference, table, inputs.attention, which, expected, actual);
  std::printf("%s: %zu of %zu equal bit for bit, %zu more within the bound, "
              "%zu outside; largest distance %d bf16 steps, relative RMSE "
              "%.3g\n",
              name.c_str(), result.equal, result.count, result.withinBound,
              result.wrong.size(), result.largestDistance, result.relativeRMSE);
  for (size_t i = 0; i < std::min<size_t>(result.wrong.size(), 5); ++i) {
    size_t element = result.wrong[i];
    std::printf("  %s[%zu,%zu] = 0x%04x (%g), expected 0x%04x (%g)%s\n",
                name.c_str(), element / kernel.shape.n,
                element % kernel.shape.n, actual[element],
                bf16ToFloat(actual[element]), expected[element],
                bf16ToFloat(expected[element]),
                actual[element] == unwritten ? ", never written" : "");
  }
  return result.wrong.empty();
}

Result<bool> GateRun::checkRun(uint64_t index) {
  InputSpec runSpec = spec;
  runSpec.seed += index;
  bool againstGolden = golden && index == 0;
  if (options.replays)
    std::printf("replay %" PRIu64 ": seed %" PRIu64 "\n", index, runSpec.seed);

  const GateShape &shape = kernel.shape;
  GateInputs inputs;
  inputs.hidden =
      generateInput(runSpec, InputTensor::Hidden, shape.m * shape.k);
  inputs.weight =
      generateInput(runSpec, InputTensor::Weight, shape.n * shape.k);
  inputs.attention =
      generateInput(runSpec, InputTensor::Attention, shape.outputs());
  GateReference reference =
      computeReference(shape, inputs, table, kernel.summationDepth);
  if (!reference.inRange)
    return Status::error("the scales let a float sum overflow");
  if (againstGolden)
    for (GateTensor which :
         {GateTensor::Projection, GateTensor::Sigmoid, GateTensor::Output}) {
      Comparison own =
          compare(reference, table, inputs.attention, which,
                  reference.tensor(which), golden->tensors[int(which)]);
      if (!own.wrong.empty())
        return Status::error("golden case '" + options.golden->caseName +
                             "' does not belong to its inputs: " +
                             std::to_string(own.wrong.size()) +
                             " of the values in block " +
                             std::to_string(int(which)) +
                             " are out of the bound, the first at " +
                             std::to_string(own.wrong.front()));
    }

  // The first run finds its outputs as allocation left them, so that the
  // emulator sees a kernel that reads them.
  KIMI_TRY(upload(inputs, index > 0 || !device.isEmulated()));
  if (options.replays) {
    KIMI_TRY(capture());
    KIMI_TRY(device.replay(graph, stream));
  } else {
    KIMI_TRY(launch());
  }
  KIMI_TRY(device.synchronize(stream));
  KIMI_TRY(checkInputsUnchanged(inputs));

  bool right = true;
  for (const Buffer &buffer : buffers) {
    if (buffer.argument->isInput())
      continue;
    std::vector<uint16_t> actual(buffer.argument->elements);
    KIMI_TRY(device.copy(actual.data(), buffer.memory, buffer.bytes(), stream));
    KIMI_TRY(device.synchronize(stream));
    GateTensor which =
        buffer.argument->role == Role::Projection ? GateTensor::Projection
        : buffer.argument->role == Role::Sigmoid  ? GateTensor::Sigmoid
                                                  : GateTensor::Output;
    right &= report(reference, inputs, which, buffer.argument->name,
                    againstGolden ? golden->tensors[int(which)]
                                  : reference.tensor(which),
                    actual);
  }
  if (reference.exactSums)
    std::printf("bound: identical bits; every partial sum is exact%s\n",
                golden ? " (or PyTorch's, where it differs)" : "");
  else
    std::printf("bound: exactly rounded functions of a projection that a float "
                "sum with at most %zu roundings in a row can give%s\n",
                kernel.summationDepth, golden ? " (or PyTorch's values)" : "");
  return right;
}

Result<bool> GateRun::check() {
  bool right = true;
  for (uint64_t i = 0; i < std::max<uint64_t>(options.replays, 1); ++i) {
    Result<bool> run = checkRun(i);
    if (!run.ok())
      return run;
    right &= *run;
  }
  std::printf("verdict: %s\n",
              right ? "within the bound" : "OUTSIDE THE BOUND");
  return right;
}

Status GateRun::bench() {
  // A device needs warming up and enough samples for a median.
  const int warmup = device.isEmulated() ? 0 : 20;
  const int samples = device.isEmulated() ? 3 : 101;
  KIMI_TRY(capture());
  runtime::Event *start, *end;
  KIMI_ASSIGN(start, device.createEvent());
  KIMI_ASSIGN(end, device.createEvent());
  std::vector<double> times;
  for (int i = -warmup; i < samples; ++i) {
    KIMI_TRY(device.record(start, stream));
    KIMI_TRY(device.replay(graph, stream));
    KIMI_TRY(device.record(end, stream));
    KIMI_TRY(device.synchronize(end));
    double milliseconds;
    KIMI_ASSIGN(milliseconds, device.elapsedMilliseconds(start, end));
    if (i >= 0)
      times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  double median = times[times.size() / 2];
  if (device.isEmulated())
    std::printf("bench: emulator time %.3f ms a launch, median of %d (the "
                "host's wall clock; not device time)\n",
                median, samples);
  else
    std::printf("bench: device time %.3f us a launch, median of %d graph "
                "replays (event times; the weight may stay in caches)\n",
                median * 1000, samples);
  return Status::success();
}

Result<bool> run(const Options &options) {
  KernelDescription kernel;
  KIMI_ASSIGN(kernel, readKernelDescription(options.description));
  std::unique_ptr<runtime::Device> device;
  KIMI_ASSIGN(device, runtime::createDevice(options.device));
  GateRun gate(options, kernel, *device);
  KIMI_TRY(gate.prepare());
  Result<bool> right = gate.check();
  if (right.ok() && *right && options.bench)
    KIMI_TRY(gate.bench());
  return right;
}

} // namespace

int main(int argc, char **argv) {
  Result<Options> options = parseOptions(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr,
                 "kimi-gate-run: error: %s\n"
                 "See kimi-gate-run --help.\n",
                 options.message().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(usage, stdout);
    return 0;
  }
  Result<bool> right = run(*options);
  if (!right.ok()) {
    std::fflush(stdout);
    std::fprintf(stderr, "kimi-gate-run: error: %s\n", right.message().c_str());
    return 1;
  }
  return *right ? 0 : 1;
}
