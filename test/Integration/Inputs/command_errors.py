"""What a command says when it is expected to fail."""

import subprocess


def first_error(command):
    """The exit code and the first line of stderr."""
    result = subprocess.run(command, capture_output=True, text=True)
    lines = result.stderr.splitlines()
    return result.returncode, lines[0] if lines else "(no error text)"
