//===- ReferenceTest.cpp - The reference against PyTorch's outputs --------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kimi-reference-test GOLDEN-FOLDER
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "KimiMlaGate/Reference/BFloat16.h"
#include "KimiMlaGate/Reference/GateReference.h"
#include "KimiMlaGate/Reference/Inputs.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace kimi::reference;

namespace {

std::vector<uint16_t> readPatterns(const std::string &path, size_t count) {
  std::vector<uint16_t> patterns(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char *>(patterns.data()),
            std::streamsize(count * 2));
  CHECK_THAT(file.good() && file.peek() == EOF, "%s", path.c_str());
  return patterns;
}

void testConversions() {
  // Every pattern survives both conversions.
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = bf16ToFloat(uint16_t(bits));
    if (isBF16NaN(uint16_t(bits))) {
      CHECK_THAT(isBF16NaN(floatToBF16(value)), "%04x", bits);
      continue;
    }
    CHECK_THAT(floatToBF16(value) == bits, "%04x", bits);
    CHECK_THAT(doubleToBF16(value) == bits, "%04x", bits);
    // Half way to the next value: ties go to the even pattern; a hair more or
    // less decides. A float cannot hold that hair.
    uint16_t next = uint16_t(bits + 1);
    if ((bits & 0x7fff) >= 0x7f7f)
      continue;
    double middle = (double(value) + double(bf16ToFloat(next))) / 2;
    uint16_t even = bits & 1 ? next : uint16_t(bits);
    CHECK_THAT(doubleToBF16(middle) == even, "%04x", bits);
    CHECK_THAT(floatToBF16(float(middle)) == even, "%04x", bits);
    CHECK_THAT(doubleToBF16(middle * (1 + 0x1p-50)) == next, "%04x", bits);
    CHECK_THAT(doubleToBF16(middle * (1 - 0x1p-50)) == bits, "%04x", bits);
  }
  CHECK_THAT(doubleToBF16(0x1.fep127) == 0x7f7f, "largest");
  CHECK_THAT(doubleToBF16(0x1.ffp127) == 0x7f80, "rounds to infinity");
  CHECK_THAT(doubleToBF16(-0.0) == 0x8000, "sign of zero");
  CHECK_THAT(bf16Order(0x8000) == 0 && bf16Order(0x0000) == 0, "zeros");
  CHECK_THAT(bf16Order(0x8001) == -1 && bf16Order(0x3f81) == 0x3f81, "order");
  for (int32_t order = -0x7f80; order <= 0x7f80; ++order)
    CHECK_THAT(bf16Order(bf16FromOrder(order)) == order, "%d", order);
}

void testSigmoid(const std::string &folder) {
  SigmoidTable table(SigmoidForm::F32, /*allowOverflow=*/true);
  std::vector<uint16_t> torch =
      readPatterns(folder + "/sigmoid_all_bf16.bf16", 65536);
  size_t different = 0;
  for (uint32_t logit = 0; logit < 65536; ++logit) {
    if (isBF16NaN(uint16_t(logit)))
      continue;
    bool overflows = logit >= 0xc2b2 && logit <= 0xc2b9;
    different += table.value(uint16_t(logit)) != torch[logit];
    CHECK_THAT((table.value(uint16_t(logit)) != torch[logit]) == overflows,
               "logit %04x: %04x, PyTorch %04x", logit,
               table.value(uint16_t(logit)), torch[logit]);
    CHECK_THAT(table.isValue(uint16_t(logit), torch[logit]), "logit %04x",
               logit);
  }
  CHECK_THAT(different == 8, "%zu", different);
}

void testSigmoidInBF16Operations() {
  SigmoidTable table(SigmoidForm::BF16Operations);
  SigmoidTable single(SigmoidForm::F32);
  CHECK_THAT(table.value(0x0000) == 0x3f00, "0");
  CHECK_THAT(table.value(0xc2b2) == 0x0000, "-89: 1/inf");
  CHECK_THAT(table.value(0x7f80) == 0x3f80, "infinity");
  // x = 1: exp(-1) = 0.36788 -> 0x3ebc (0.3671875); 1.3671875 -> 0x3faf;
  // 1/1.3671875 = 0.731429 -> 0x3f3b.
  CHECK_THAT(table.value(0x3f80) == 0x3f3b, "1: %04x", table.value(0x3f80));
  size_t different = 0, open = 0;
  for (uint32_t logit = 0; logit < 65536; ++logit) {
    different += table.value(uint16_t(logit)) != single.value(uint16_t(logit));
    uint16_t value = table.value(uint16_t(logit));
    open += table.isValue(uint16_t(logit), uint16_t(value + 1)) ||
            table.isValue(uint16_t(logit), uint16_t(value - 1));
  }
  CHECK_THAT(different > 500, "the forms must differ: %zu", different);
  CHECK_THAT(open < 20, "%zu logits with two right values", open);
}

void testUnroundedSigmoid() {
  SigmoidTable table(SigmoidForm::F32Unrounded);
  SigmoidTable rounded(SigmoidForm::F32);
  // sigmoid(1) = 0.7310586, times 3 = 2.1931758 -> 0x400c (2.1875); rounded
  // first, it is 0.73046875, times 3 = 2.19140625 -> 0x400c as well. Times
  // 1.1015625 (0x3f8d): 0.805307 -> 0x3f4e, but 0.804657 -> 0x3f4e.
  CHECK_THAT(table.output(0x3f80, 0x4040) == 0x400c, "1");
  // exp(89) overflows, so -89 gives 0 as written, 2.2e-39 when evaluated well.
  CHECK_THAT(table.output(0xc2b2, 0x7f00) == 0x0000, "-89");
  CHECK_THAT(rounded.output(0xc2b2, 0x7f00) != 0x0000, "-89, rounded");
  CHECK_THAT(isBF16NaN(table.output(0x7fc0, 0x3f80)), "NaN");
  size_t different = 0, open = 0;
  for (uint32_t logit = 0; logit < 65536; ++logit) {
    uint16_t value = table.output(uint16_t(logit), 0x3f8d);
    different += value != rounded.output(uint16_t(logit), 0x3f8d);
    open += table.isOutput(uint16_t(logit), 0x3f8d, uint16_t(value + 1)) ||
            table.isOutput(uint16_t(logit), 0x3f8d, uint16_t(value - 1));
  }
  CHECK_THAT(different > 500, "the forms must differ: %zu", different);
  CHECK_THAT(open < 20, "%zu logits with two right outputs", open);
}

struct Case {
  const char *name;
  GateShape shape;
  InputSpec spec;
  bool exact;
  /// proj_vs_f64_mismatches and sigmoid_vs_f64_mismatches of cases.json.
  size_t projections, sigmoids;
};

void testCase(const std::string &folder, const Case &test) {
  const GateShape &shape = test.shape;
  GateInputs inputs;
  inputs.hidden =
      generateInput(test.spec, InputTensor::Hidden, shape.m * shape.k);
  inputs.weight =
      generateInput(test.spec, InputTensor::Weight, shape.n * shape.k);
  inputs.attention =
      generateInput(test.spec, InputTensor::Attention, shape.outputs());
  SigmoidTable table(SigmoidForm::F32, /*allowOverflow=*/true);
  GateReference reference =
      computeReference(shape, inputs, table, summationDepth(shape.k));
  CHECK_THAT(reference.exactSums == test.exact, "%s", test.name);
  CHECK_THAT(reference.inRange, "%s", test.name);

  if (test.exact)
    CHECK_THAT(reference.lowestProjection == reference.projection &&
                   reference.highestProjection == reference.projection,
               "%s", test.name);

  size_t count = shape.outputs();
  std::vector<uint16_t> golden =
      readPatterns(folder + "/" + test.name + ".bf16", 3 * count);
  size_t unequal[3] = {};
  for (GateTensor which :
       {GateTensor::Projection, GateTensor::Sigmoid, GateTensor::Output}) {
    auto begin = golden.begin() + std::ptrdiff_t(int(which) * count);
    std::vector<uint16_t> torch(begin, begin + std::ptrdiff_t(count));
    Comparison result = compare(reference, table, inputs.attention, which,
                                reference.tensor(which), torch);
    CHECK_THAT(result.wrong.empty(), "%s: %zu of tensor %d", test.name,
               result.wrong.size(), int(which));
    unequal[int(which)] = count - result.equal;
    std::printf("%s tensor %d: %zu of %zu equal, distance %d, RMSE %g\n",
                test.name, int(which), result.equal, count,
                result.largestDistance, result.relativeRMSE);

    // A value one step away from the only right one is wrong.
    std::vector<uint16_t> off = reference.tensor(which);
    size_t victim = count;
    for (size_t i = 0; i < count && victim == count; ++i)
      if (reference.lowestProjection[i] == reference.highestProjection[i] &&
          (off[i] & 0x7fff) > 0x3d00)
        victim = i;
    if (victim == count)
      continue;
    off[victim] ^= 1;
    result = compare(reference, table, inputs.attention, which,
                     reference.tensor(which), off);
    CHECK_THAT(result.wrong == std::vector<size_t>{victim} &&
                   result.largestDistance == 1,
               "%s: tensor %d, element %zu", test.name, int(which), victim);
  }
  CHECK_THAT(unequal[0] == test.projections, "%s: %zu", test.name, unequal[0]);
  CHECK_THAT(unequal[1] >= test.sigmoids, "%s: %zu", test.name, unequal[1]);
}

/// The bound must notice a projection that is truncated instead of rounded, and
/// must accept another order of summation.
void testBound() {
  GateShape shape{1, 512, 7168};
  GateInputs inputs;
  InputSpec spec;
  spec.seed = 7;
  inputs.hidden = generateInput(spec, InputTensor::Hidden, shape.k);
  inputs.weight = generateInput(spec, InputTensor::Weight, shape.n * shape.k);
  inputs.attention = generateInput(spec, InputTensor::Attention, shape.n);
  SigmoidTable table(SigmoidForm::F32);
  GateReference reference =
      computeReference(shape, inputs, table, summationDepth(shape.k));
  std::vector<uint16_t> lanes(shape.n), truncated(shape.n), lost(shape.n);
  for (size_t n = 0; n < shape.n; ++n) {
    float partial[64] = {};
    for (size_t k = 0; k < shape.k; ++k)
      partial[k % 64] += bf16ToFloat(inputs.hidden[k]) *
                         bf16ToFloat(inputs.weight[n * shape.k + k]);
    float sum = 0;
    for (float value : partial)
      sum += value;
    uint32_t bits;
    std::memcpy(&bits, &sum, 4);
    lanes[n] = floatToBF16(sum);
    truncated[n] = uint16_t(bits >> 16);
    lost[n] =
        floatToBF16(sum - bf16ToFloat(inputs.hidden[99]) *
                              bf16ToFloat(inputs.weight[n * shape.k + 99]));
  }
  auto wrong = [&](const std::vector<uint16_t> &actual) {
    return compare(reference, table, inputs.attention, GateTensor::Projection,
                   reference.projection, actual)
        .wrong.size();
  };
  CHECK_THAT(wrong(lanes) == 0, "%zu", wrong(lanes));
  CHECK_THAT(wrong(truncated) > shape.n / 4, "%zu", wrong(truncated));
  CHECK_THAT(wrong(lost) > shape.n / 4, "%zu", wrong(lost));

  // The same through the whole epilogue.
  std::vector<uint16_t> output(shape.n);
  for (size_t n = 0; n < shape.n; ++n)
    output[n] = gateProduct(table.value(truncated[n]), inputs.attention[n]);
  Comparison result = compare(reference, table, inputs.attention,
                              GateTensor::Output, reference.output, output);
  CHECK_THAT(result.wrong.size() > shape.n / 16, "%zu", result.wrong.size());

  output = reference.output;
  output[5] = 0x7fc0;
  result = compare(reference, table, inputs.attention, GateTensor::Output,
                   reference.output, output);
  CHECK_THAT(result.wrong == std::vector<size_t>{5} &&
                 result.largestDistance == 65536,
             "NaN");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: kimi-reference-test GOLDEN-FOLDER\n");
    return 2;
  }
  std::string folder = argv[1];
  testConversions();
  testSigmoid(folder);
  testSigmoidInBF16Operations();
  testUnroundedSigmoid();
  auto uniform = InputKind::Uniform, ternary = InputKind::Ternary;
  const Case cases[] = {
      {"kimi_k3_tp8_uniform",
       {1, 1536, 7168},
       {1, uniform, 1, 0.05, 1},
       false,
       0,
       0},
      {"kimi_k3_tp8_ternary",
       {1, 1536, 7168},
       {2, ternary, 0.125, 0.0625, 1},
       true,
       0,
       0},
      {"kimi_k3_tp8_saturating",
       {1, 1536, 7168},
       {3, uniform, 1, 2, 1},
       false,
       0,
       19},
      {"kimi_k3_tp8_m4_ternary",
       {4, 1536, 7168},
       {4, ternary, 0.125, 0.0625, 1},
       true,
       0,
       0},
      {"kimi_k3_tp4_uniform",
       {1, 3072, 7168},
       {5, uniform, 1, 0.05, 1},
       false,
       5,
       0},
  };
  for (const Case &test : cases)
    testCase(folder, test);
  testBound();
  return kimi::test::finish();
}
