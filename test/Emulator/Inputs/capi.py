"""capi.py LIBRARY CODE_OBJECT: drives the emulator's C interface (capi.test)."""

import ctypes
import os
import sys


class KernelInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "kernarg_size", "lds_size", "scratch_size", "vgpr_count", "sgpr_count",
        "max_workgroup_size")] + [
        ("required_workgroup_size", ctypes.c_uint32 * 3),
        ("argument_count", ctypes.c_uint32)]


class ArgumentInfo(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint32), ("size", ctypes.c_uint32)]


library = ctypes.CDLL(sys.argv[1])
pointer, size_t = ctypes.c_void_p, ctypes.c_size_t
for name, result, arguments in (
        ("abi_version", ctypes.c_int, []),
        ("last_error", ctypes.c_char_p, []),
        ("create", pointer, []),
        ("destroy", None, [pointer]),
        ("map_memory", ctypes.c_int, [pointer, pointer, size_t, ctypes.c_uint]),
        ("unmap_memory", ctypes.c_int, [pointer, pointer]),
        ("mark_initialized", ctypes.c_int, [pointer, pointer, size_t]),
        ("check_range", ctypes.c_int, [pointer, pointer, size_t]),
        ("load", pointer, [pointer, ctypes.c_char_p, size_t]),
        ("unload", None, [pointer]),
        ("get_kernel_info", ctypes.c_int, [pointer, ctypes.c_char_p, pointer]),
        ("get_argument_info", ctypes.c_int,
         [pointer, ctypes.c_char_p, ctypes.c_uint32, pointer]),
        ("launch", ctypes.c_int,
         [pointer, ctypes.c_char_p, pointer, pointer, ctypes.c_uint32, pointer,
          size_t])):
    function = getattr(library, "kimi_emulator_" + name)
    function.restype, function.argtypes = result, arguments
    globals()[name] = function


def report(what, result):
    text = f"{what}: {result}"
    if result in (None, -1):
        text += ": " + last_error().decode()
    print(text)


print("abi", abi_version())
emulator = create()
report("load", load(emulator, b"no code", 7))
with open(sys.argv[2], "rb") as file:
    image = file.read()
code = load(emulator, image, len(image))
info = KernelInfo()
result = get_kernel_info(code, b"add", ctypes.byref(info))
report("info", f"{result}: kernarg {info.kernarg_size} lds {info.lds_size} "
       f"scratch {info.scratch_size} vgprs {info.vgpr_count} sgprs {info.sgpr_count} "
       f"max {info.max_workgroup_size} required "
       f"{' '.join(map(str, info.required_workgroup_size))} arguments {info.argument_count}")
argument = ArgumentInfo()
result = get_argument_info(code, b"add", 1, ctypes.byref(argument))
report("argument 1", f"{result}: {argument.offset} {argument.size}")
report("argument 2", get_argument_info(code, b"add", 2, ctypes.byref(argument)))
report("info of none", get_kernel_info(code, b"none", ctypes.byref(info)))

INITIALIZED, READ_ONLY = 1, 2
source = (ctypes.c_uint32 * 64)(*range(64))
destination = (ctypes.c_uint32 * 64)()
kernarg = (ctypes.c_uint64 * 2)(ctypes.addressof(source), ctypes.addressof(destination))
one = (ctypes.c_uint32 * 3)(1, 1, 1)
items = (ctypes.c_uint32 * 3)(64, 1, 1)


def run(size=16):
    return launch(code, b"add", one, items, 0, kernarg, size)


map_memory(emulator, source, 256, INITIALIZED | READ_ONLY)
report("map twice", map_memory(emulator, source, 256, 0))
report("launch unmapped", run())
map_memory(emulator, destination, 256, 0)
report("launch read-only", run())
print("result:", [destination[i] for i in (0, 1, 2, 63)])
unmap_memory(emulator, source)
map_memory(emulator, source, 256, 0)
report("launch uninitialised", run())
mark_initialized(emulator, source, 256)
report("launch marked", run())
# The library reads its own C environment.
os.environ["KIMI_EMULATOR_TRANSCENDENTAL"] = "odd"
report("launch bad mode", run())
del os.environ["KIMI_EMULATOR_TRANSCENDENTAL"]
report("launch too few arguments", run(8))
report("check inside", check_range(emulator, ctypes.addressof(source) + 4, 252))
report("check outside", check_range(emulator, source, 257))
report("unmap", unmap_memory(emulator, source))
report("unmap twice", unmap_memory(emulator, source))
report("bad flags", map_memory(emulator, source, 256, 8))
unload(code)
destroy(emulator)
