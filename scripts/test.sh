#!/usr/bin/env bash
# Sets up, builds, and runs every test. Arguments go to lit.
# The last line is "N passed, N failed", counted from lit's own report.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

kimi_install_packages
kimi_build_project

report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
/usr/lib/llvm-22/bin/lit --verbose --order=lexical --output="$report" "$@" \
  "$kimi_build/test" || status=$?

python3 - "$report" "$status" <<'PYTHON'
import collections, json, sys

with open(sys.argv[1]) as file:
    tests = json.load(file)["tests"]
counts = collections.Counter(test["code"] for test in tests)
passed = counts["PASS"] + counts["FLAKYPASS"] + counts["XFAIL"]
failed = sum(counts[code] for code in ("FAIL", "XPASS", "UNRESOLVED", "TIMEOUT"))
skipped = sum(counts[code] for code in ("UNSUPPORTED", "SKIPPED"))
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(0 if failed == 0 and passed > 0 and sys.argv[2] == "0" else 1)
PYTHON
