"""Prints what PROGRAM FILE answers to mistaken options, one line each."""

import sys

from command_errors import first_error

MISTAKES = """
other.json
--sead=1
--seed
--seed=
--seed=-1
--seed=1x
--seed=18446744073709551616
--replays=0
--kind=normal
--hidden-scale=0
--weight-scale=nan
--weight-scale=1e39
--attention-scale=1e-50
--attention-scale=two
--bench=3
--device=metal
--golden=cases.json
--golden=a.json:b --seed=2
"""

for mistake in MISTAKES.split("\n"):
    if mistake:
        code, text = first_error(sys.argv[1:] + mistake.split())
        print(f"{mistake}: {code}: {text}")
