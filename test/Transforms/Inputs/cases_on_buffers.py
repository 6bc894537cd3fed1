"""Runs the cases after one-shot bufferization: cases_on_buffers.py CASE...

Prints one line for each case and function boundary layout: its launches, and the
reasons of its remarks. A case that is not fused must come out byte for byte as it
went in.
"""
import pathlib
import re
import subprocess
import sys


def opt(source, *passes):
    result = subprocess.run(["kimi-opt", "--remarks-filter=kimi-mla-gate-fuse", "-", *passes], input=source,
                            capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{passes}\n{result.stderr}")
    return result.stdout, result.stderr


for path in map(pathlib.Path, sys.argv[1:]):
    for layout in ("identity", "fully-dynamic"):
        # Bufferization knows no arith ops on tensors.
        buffers, _ = opt(path.read_text(), "--convert-elementwise-to-linalg",
                         "--one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops "
                         f"function-boundary-type-conversion={layout}-layout-map", "--canonicalize", "--cse")
        assert "bufferization." not in buffers and "tensor<" not in buffers, path
        fused, remarks = opt(buffers, "--kimi-mla-gate-fuse")
        launches = fused.count("gpu.launch_func")
        assert launches or fused == buffers, path
        assert not launches or "linalg." not in fused, path
        # What comes after the pass in a pipeline takes it.
        opt(fused, "--canonicalize", "--cse", "--ownership-based-buffer-deallocation", "--canonicalize",
            "--buffer-deallocation-simplification", "--bufferization-lower-deallocations")
        verdicts = re.findall(r'remark: \[(Passed|Missed)\].*?(?:Reason="([\w-]+):|$)', remarks, re.M)
        print(f"{path.stem} {layout} {launches} launches", *(reason or "fused" for _, reason in verdicts))
