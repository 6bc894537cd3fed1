#!/usr/bin/env bash
# Sets up, builds, and shows the whole path on Kimi-K3's gate: the IR before and
# after, the kernel's key figures, its run on the gfx950 emulator, and how its
# output compares with what production PyTorch returned.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

kimi_install_packages
kimi_build_project

export PATH=$kimi_build/bin:$PATH
cd "$kimi_source"
example=examples/kimi_k3_tp8.mlir
goldens=test/Integration/Inputs/golden
kernel=kimi_mla_gate_m1_n1536_k7168_sigmoid_f32
output=$kimi_build/demo
rm -rf "$output"
mkdir -p "$output"

section() { printf '\n=== %s\n' "$1"; }
# Shows a command as it can be typed with build/bin in PATH; runs it.
show() { printf '$ %s\n' "${*//$kimi_source\//}"; }
run() { show "$@" && "$@"; }

section "Before: $example"
grep -v '^ *//' "$example" | cat -s

section "After --kimi-mla-gate-fuse: one kernel and its launch"
run kimi-opt "$example" --kimi-mla-gate-fuse --remarks-filter=kimi-mla-gate-fuse -o "$output/fused.mlir"
# The kernel is long: its head, its loads and its end tell what it is.
python3 - "$output/fused.mlir" <<'PYTHON'
import sys

inside = skipping = False
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    inside |= "gpu.func" in line
    shown = not inside or any(
        word in line
        for word in ("gpu.func", "gpu.return", "vector.load", "memref.load %arg2", "sched_barrier", "gpu.barrier", "memref.store")
    ) or line.strip() == "}"
    if shown:
        print(line if len(line) < 240 else line[:236] + " ...")
    elif not skipping and line:
        print("      ...")
    skipping = not shown
PYTHON

section "The kernel as gfx950 machine code"
run kimi-opt "$output/fused.mlir" --kimi-mla-gate-to-rocdl=dump-dir="$output" -o /dev/null
run ls "$output"
profile=(gfx950-run "$output/$kernel.hsaco" --kernel="$kernel" --grid=256 --block=896 --profile
  --arg=zero:14336 --arg=zero:22020096 --arg=zero:3072 --arg=out:/dev/null:3072)
show "${profile[@]}"
"${profile[@]}" >"$output/profile.txt"
python3 - "$output/$kernel.s" "$output/profile.txt" <<'PYTHON'
import re, sys

assembly = open(sys.argv[1]).read()
profile = dict(re.findall(r"(?m)^(\w+): (\d+)$", open(sys.argv[2]).read()))
metadata = lambda key: re.search(rf"\.{key}: +(\d+)", assembly).group(1)
loads = re.findall(r"global_load_dwordx4", assembly)
waits = re.findall(r"s_waitcnt vmcnt\((\d+)\)", assembly)
print(f"""
  workgroups                  {profile["workgroups"]} of {profile["waves_per_workgroup"]} waves
  vector registers            {metadata("vgpr_count")}, {metadata("vgpr_spill_count")} spilled
  scalar registers            {metadata("sgpr_count")}, {metadata("sgpr_spill_count")} spilled
  LDS                         {metadata("group_segment_fixed_size")} bytes
  scratch                     {metadata("private_segment_fixed_size")} bytes
  16-byte loads               {len(loads)} in each wave
  loads before the first wait {profile["loads_before_first_vector_wait"]}
  waits, outstanding loads    {", ".join(waits)}
  read from memory            {int(profile["global_bytes_read"]):,} bytes
""")
PYTHON

section "Its output on the gfx950 emulator, against production PyTorch's"
for golden in ternary uniform saturating; do
  run kimi-gate-run "$output/$kernel.json" --golden="$goldens/cases.json:kimi_k3_tp8_$golden"
  echo
done
cat <<'EOF'
"saturating" holds logits from -89 down, where PyTorch's exp(-x) overflows and
its sigmoid is 0; the kernel's is the subnormal that it should be.
EOF
