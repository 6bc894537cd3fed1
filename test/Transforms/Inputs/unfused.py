"""Compares the functions of two printed modules that have no launch in the
second: unfused.py PLAIN FUSED"""
import re
import sys


def functions(path):
    with open(path) as file:
        return dict(re.findall(r"(?ms)^  func\.func @(\w+)(\(.*?^  }$)", file.read()))


plain, fused = (functions(path) for path in sys.argv[1:])
unfused = [name for name, text in fused.items() if "gpu.launch_func" not in text]
changed = [name for name in unfused if plain[name] != fused[name]]
for name in changed:
    print(f"@{name} was changed")
print(f"{len(unfused)} functions without a launch, {len(changed)} of them changed")
