"""corrupt.py LIBRARY CODE_OBJECT: loads damaged copies of a code object."""

import ctypes
import random
import sys

library = ctypes.CDLL(sys.argv[1])
create, load, unload, last_error, get_kernel_info = (
    getattr(library, "kimi_emulator_" + name)
    for name in ("create", "load", "unload", "last_error", "get_kernel_info"))
create.restype = load.restype = ctypes.c_void_p
last_error.restype = ctypes.c_char_p
load.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
unload.argtypes = [ctypes.c_void_p]
get_kernel_info.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

emulator = create()
with open(sys.argv[2], "rb") as file:
    image = file.read()


def attempt(data):
    """1 if it loads, 0 if it is refused with a reason, -1 otherwise."""
    code = load(emulator, data, len(data))
    if not code:
        reason = last_error().decode(errors="replace")
        return 0 if reason and "\n" not in reason else -1
    get_kernel_info(code, b"first", ctypes.create_string_buffer(256))
    unload(code)
    return 1


# The file ends with the section headers: nothing can be missing.
results = [attempt(image[:size]) for size in range(0, len(image), 61)]
print(f"truncated: {results.count(0)} refused, {results.count(-1)} without a reason"
      + (f", {results.count(1)} loaded" if 1 in results else ""))

generator = random.Random(1)
results = []
for _ in range(500):
    data = bytearray(image)
    for _ in range(generator.randint(1, 4)):
        # The headers, the note and the symbols come first.
        limit = 0x600 if generator.random() < 0.7 else len(data)
        data[generator.randrange(limit)] = generator.choice((0, 255, generator.randrange(256)))
    results.append(attempt(bytes(data)))
print(f"corrupted: {results.count(1)} loaded, {results.count(0)} refused, "
      f"{results.count(-1)} without a reason")
