"""Compares what two runs of a program printed: compare.py [--bound] HOST FUSED.

Without --bound, all memrefs must be equal bit for bit.

With --bound the memrefs are: the gate with an f32 sigmoid, the gate with bf16
steps, the attention, the host's f32 projection p, and the host's f32 sum of the
magnitudes |hidden * weight|.

An f32 sum of products with at most d roundings in a row is off by at most
g(d) * S, where g(d) = d * u / (1 - d * u), u = 2^-24, and S is the exact sum of
the magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
The host adds 7168 products one after the other, each rounded: d = 7169; its S
is known up to the same factor. The kernel has at most 8 + 6 + 4 roundings in a
row. So the kernel's projection lies within (g(7169) + g(18)) * S of p, and its
output between the gates of both ends, since a sigmoid, a rounding and a product
with one attention are all monotonic.
"""
import math
import sys

import bf16

UNIT = 2.0**-24


def accumulated(roundings):
    return roundings * UNIT / (1 - roundings * UNIT)


def sigmoid_f32(x):
    return bf16.round_to_bf16(1 / (1 + math.exp(-x)))


def sigmoid_bf16(x):
    exponential = bf16.value(bf16.round_to_bf16(math.exp(-x)))
    denominator = bf16.value(bf16.round_to_bf16(exponential + 1))
    return bf16.round_to_bf16(1 / denominator)


def gate(sigmoid, projection, attention):
    rounded = bf16.value(bf16.round_to_bf16(projection))
    return bf16.value(bf16.round_to_bf16(bf16.value(sigmoid(rounded)) * attention))


arguments = sys.argv[1:]
bound = arguments[0] == "--bound"
if bound:
    del arguments[0]
host, fused = (bf16.read_memrefs(open(path).read()) for path in arguments)
assert len(host) == len(fused) == (5 if bound else 2)
assert all(len(row) == 1536 for row in host + fused)

equal = sum(a == b for left, right in zip(host[:2], fused[:2]) for a, b in zip(left, right))
assert len({bits for row in fused[:2] for bits in row}) > 500, "too few different outputs"
print(f"{equal} of 3072 equal")
if not bound:
    sys.exit(0 if equal == 3072 else 1)

assert host[2:] == fused[2:], "the host's own results differ"
attentions, projections, magnitudes = host[2:]
outside = 0
for sigmoid, outputs in zip((sigmoid_f32, sigmoid_bf16), fused):
    for output, attention, projection, magnitude in zip(outputs, attentions, projections, magnitudes):
        attention = bf16.value(attention)
        exact_magnitude = bf16.f32(magnitude) / (1 - accumulated(7169))
        distance = (accumulated(7169) + accumulated(18)) * exact_magnitude
        projection = bf16.f32(projection)
        ends = sorted(gate(sigmoid, projection + sign * distance, attention) for sign in (-1, 1))
        outside += not ends[0] <= bf16.value(output) <= ends[1]
print(f"{outside} of 3072 outside the bound")
sys.exit(1 if outside else 0)
