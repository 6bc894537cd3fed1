"""make-golden.py FOLDER: a small golden case (M=2 N=3 K=256, seed 3, ternary,
scales 1 0.125 1) as right.bf16, the same as foreign.bf16, and short.bf16, which
lacks a byte. Written from golden/README.md, apart from the C++ generator.
"""

import math
import os
import struct
import sys

M, N, K, SEED = 2, 3, 256, 3
MASK = (1 << 64) - 1


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def widen(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def element(tensor, i, ternary, scale):
    x = SEED * 0x9E3779B97F4A7C15 + tensor * 0xD1B54A32D192ED03 + i + 1
    x = x * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    x ^= x >> 31
    value = (x >> 40) % 3 - 1 if ternary else (x >> 40) * 2.0**-23 - 1
    return widen(bf16(value * scale))


hidden = [element(0, i, True, 1.0) for i in range(M * K)]
weight = [element(1, i, True, 0.125) for i in range(N * K)]
attention = [element(2, i, False, 1.0) for i in range(M * N)]
projection = [
    bf16(sum(hidden[m * K + k] * weight[n * K + k] for k in range(K)))
    for m in range(M)
    for n in range(N)
]
sigmoid = [bf16(1 / (1 + math.exp(-widen(p)))) for p in projection]
output = [bf16(widen(s) * a) for s, a in zip(sigmoid, attention)]
data = struct.pack(f"<{3 * M * N}H", *projection, *sigmoid, *output)
for name, content in (("right", data), ("foreign", data), ("short", data[:-1])):
    with open(os.path.join(sys.argv[1], name + ".bf16"), "wb") as file:
        file.write(content)
