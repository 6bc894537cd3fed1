#!/usr/bin/env python3
"""Times the parts of the path on the production shape, on the host.

    benchmarks/path.py [--build=build] [--runs=21]

It prints minimum, median and maximum of
  * the pass kimi-mla-gate-fuse on examples/kimi_k3_tp8.mlir, as --mlir-timing
    reports it, and upstream's linalg-generalize-named-ops followed by
    linalg-fuse-elementwise-ops on the same file, which is what a compiler
    without the pass would run there;
  * one launch of the production kernel on the emulator, pinned to one processor;
  * compiling the kernel from its gpu.module to a code object.

None of these is a time on a GPU.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = SOURCE / "examples" / "kimi_k3_tp8.mlir"
KERNEL = "kimi_mla_gate_m1_n1536_k7168_sigmoid_f32"


def run(*command, one_processor=False):
    def pin():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    result = subprocess.run(
        [str(item) for item in command], capture_output=True, text=True,
        preexec_fn=pin if one_processor else None)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout + result.stderr


def pass_times(report, names):
    """The sum of the wall times of the passes, in milliseconds."""
    total = 0.0
    for name in names:
        match = re.search(rf"(?m)^ +([0-9.]+) \( *[0-9.]+%\) +{name}$", report)
        if not match:
            sys.exit(f"no time of {name} in:\n{report}")
        total += float(match.group(1)) * 1000
    return total


def row(what, times):
    print(f"{what:<52}{min(times):>9.1f}{statistics.median(times):>9.1f}{max(times):>9.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    parser.add_argument("--runs", type=int, default=21)
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    opt = arguments.build / "bin" / "kimi-opt"
    if not opt.exists():
        sys.exit(f"{opt} does not exist; build first (scripts/test.sh)")

    timing = ["--mlir-timing", "--mlir-timing-display=list", "-o", os.devnull]
    fuse, upstream, compile_kernel, launch = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        fused = pathlib.Path(folder) / "fused.mlir"
        run(opt, EXAMPLE, "--kimi-mla-gate-fuse", "-o", fused)
        for _ in range(arguments.runs):
            fuse.append(pass_times(run(opt, EXAMPLE, "--kimi-mla-gate-fuse", *timing), ["KimiMlaGateFuse"]))
            upstream.append(pass_times(
                run(opt, EXAMPLE, "--linalg-generalize-named-ops", "--linalg-fuse-elementwise-ops", *timing),
                ["LinalgGeneralizeNamedOpsPass", "LinalgElementwiseOpFusionPass"]))
            compile_kernel.append(pass_times(
                run(opt, fused, f"--kimi-mla-gate-to-rocdl=dump-dir={folder}", *timing), ["KimiMlaGateCompileKernels"]))
        for _ in range(arguments.runs):
            output = run(arguments.build / "bin" / "kimi-gate-run", f"{folder}/{KERNEL}.json", "--device=emulator",
                         "--bench", one_processor=True)
            launch.append(float(re.search(r"emulator time ([0-9.]+) ms", output).group(1)))

    print(f"{f'milliseconds on the host, {arguments.runs} runs':<52}{'min':>9}{'median':>9}{'max':>9}")
    row("kimi-mla-gate-fuse", fuse)
    row("linalg-generalize-named-ops, -fuse-elementwise-ops", upstream)
    row("kernel to code object", compile_kernel)
    row("one launch on the emulator, one processor", launch)


main()
