"""edit-errors.py FILE EDITS COMMAND...: applies each edit ("old -> new", the
first occurrence) to a copy of FILE beside it, and prints what COMMAND COPY says.
"""

import os
import sys

from command_errors import first_error

source, edits, command = sys.argv[1], sys.argv[2], sys.argv[3:]
copy = os.path.join(os.path.dirname(source), "edited.json")
with open(source) as file:
    text = file.read()
with open(edits) as file:
    for line in file.read().splitlines():
        old, new = line.split(" -> ")
        assert old in text, line
        with open(copy, "w") as out:
            out.write(text.replace(old, new, 1))
        code, error = first_error(command + [copy])
        print(f"{line}: {code}: {error.removeprefix('kimi-gate-run: error: ')}")
