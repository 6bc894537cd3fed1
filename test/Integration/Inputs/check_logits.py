"""Checks the sigmoids of the bf16 logits 0x0000, 0x0001, ... on stdin."""
import decimal
import math
import sys

import bf16

decimal.getcontext().prec = 50


def sigmoid_f32(bits):
    """The correctly rounded sigmoid, from one of 50 digits."""
    x = bf16.value(bits)
    if math.isnan(x):
        return 0x7FC0
    if abs(x) > 200:
        return 0x3F80 if x > 0 else 0
    exact = 1 / (1 + (-decimal.Decimal(x)).exp())
    rounded = bf16.round_to_bf16(float(exact))
    # float() rounds as well. That does no harm unless the exact value lies within
    # its error of the middle of two bf16.
    neighbours = [bf16.round_to_bf16(float(exact) * (1 + sign * 2.0**-51)) for sign in (-1, 1)]
    assert rounded == neighbours[0] == neighbours[1], hex(bits)
    return rounded


def sigmoid_bf16(bits):
    """Four operations, each rounded to bf16."""
    x = bf16.value(bits)
    if math.isnan(x):
        return 0x7FC0
    try:
        exponential = bf16.round_to_bf16(math.exp(-x))
    except OverflowError:
        exponential = 0x7F80
    denominator = bf16.round_to_bf16(bf16.value(exponential) + 1.0)
    return bf16.round_to_bf16(1.0 / bf16.value(denominator))


def product_of_unrounded(bits):
    """1.1015625 / (1 + exp(-x)) in f32 operations, rounded once. Their errors, a
    unit in the last place of exp and half a unit of the sum and of the quotient,
    make up to 2^-22, and the product may lie that near to where two bf16 meet:
    any that an error of that size gives is right."""
    x = bf16.value(bits)
    if math.isnan(x):
        return [0x7FC0]
    exponential = float("inf") if x < -88.8 else math.exp(-x)
    sigmoid = 1 / (1 + exponential)
    return [bf16.round_to_bf16(1.1015625 * sigmoid * (1 + error)) for error in (0, -(2.0**-22), 2.0**-22)]


expected = {
    "f32": lambda bits: [sigmoid_f32(bits)],
    "bf16": lambda bits: [sigmoid_bf16(bits)],
    "f32_unrounded": product_of_unrounded,
}[sys.argv[1]]
results = [bits for row in bf16.read_memrefs(sys.stdin.read()) for bits in row][:65536]
if len(results) != 65536:
    sys.exit(f"{len(results)} results")
right = 0
for logit, result in enumerate(results):
    wanted = expected(logit)
    if result in wanted or bf16.is_nan(result) and bf16.is_nan(wanted[0]):
        right += 1
    else:
        print(f"logit {logit:#06x}: {result:#06x}, expected {wanted[0]:#06x}")
print(f"{right} of 65536 logits right")
