"""Runs the commands of a README's ```console blocks, in order, in one folder,
and compares what each prints with what the README says: check_readme.py README
"""
import pathlib
import re
import subprocess
import sys

text = pathlib.Path(sys.argv[1]).read_text()
checked = 0
for block in re.findall(r"(?ms)^```console\n(.*?)^```", text):
    for entry in re.split(r"(?m)^\$ ", block)[1:]:
        command, _, expected = entry.partition("\n")
        result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        checked += 1
        if result.returncode or result.stdout != expected:
            print(f"$ {command}\n--- README\n{expected}--- now, exit code {result.returncode}\n{result.stdout}")
            sys.exit(1)
print(f"{checked} commands print what the README says")
