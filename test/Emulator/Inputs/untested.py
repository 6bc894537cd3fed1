"""Prints which of the instructions on stdin no case of the test files runs."""
import re
import sys

tested = set()
for path in sys.argv[1:]:
    with open(path) as file:
        for mnemonic in re.findall(r"(?m)^asm: *([a-z]\w*)", file.read()):
            tested.add(re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", mnemonic))
known = sys.stdin.read().split()
untested = [name for name in known if name not in tested]
for name in untested:
    print(name)
print(f"{len(untested)} of {len(known)} instructions without a test")
