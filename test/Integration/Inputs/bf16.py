"""bf16 bit patterns as numbers, and what a program printed."""
import math
import re
import struct


def value(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def f32(bits):
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def is_nan(bits):
    return bits & 0x7FFF > 0x7F80


def round_to_bf16(x):
    """The bits of the nearest bf16, ties to even; exact for any double."""
    if math.isnan(x):
        return 0x7FC0
    sign = 0x8000 if math.copysign(1, x) < 0 else 0
    x = abs(x)
    if x == 0:
        return sign
    if math.isinf(x):
        return sign | 0x7F80
    # The weight of the last of 8 significant bits, subnormals included.
    exponent = max(math.frexp(x)[1] - 8, -133)
    scaled = math.ldexp(x, -exponent)
    whole = math.floor(scaled)
    rest = scaled - whole
    if rest > 0.5 or (rest == 0.5 and whole % 2):
        whole += 1
    rounded = math.ldexp(whole, exponent)
    if rounded >= 2.0**128:
        return sign | 0x7F80
    return sign | struct.unpack("<I", struct.pack("<f", rounded))[0] >> 16


def read_memrefs(text):
    """The lists of integers that printMemrefI32 printed."""
    return [
        [int(item) for item in row.split(",")]
        for row in re.findall(r"\[\[([^\]]*)\]\]", text)
    ]
