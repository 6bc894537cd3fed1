#!/usr/bin/env python3
"""Checks kimi-mla-gate-fuse on random gates.

    check_gates.py --build=BUILD [--first=SEED] [--count=N] [--mutate=P] [--no-execution]

For each gate that generate_gates.py draws:
  * a valid one is fused, into one launch (a function of two gates into two);
  * one that is not fused is left byte for byte as it was;
  * each gate gets exactly one remark;
  * one that is fused, mutated or not, gives the same bits on the emulator as the
    unfused function on the host, for inputs whose sums are exact in f32;
  * with rounding=production, all valid gates of one execution give the bits of
    those whose sigmoid is in f32 and rounded, as PyTorch's is;
  * a second run of the pass changes nothing;
  * all of that holds for the same gate after one-shot bufferization, with function
    boundaries of static layout (even batches) or of unknown layout (odd ones).

A failure prints the seed, and the command that prints the gate. To run one seed:
--first=SEED --count=1.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Integration" / "Inputs")]

import bf16
import generate_gates

SUPPORT = HERE.parent / "Integration" / "Inputs" / "gates.mlir"
LLVM_LIB = pathlib.Path("/usr/lib/llvm-22/lib")

MAIN = """
func.func @main() {{
  %seed = arith.constant {seed} : i32
  %range = arith.constant 17 : i32
  %hidden_scale = arith.constant 1.0 : f32
  %hidden_offset = arith.constant -8.0 : f32
  %weight_scale = arith.constant 0.0009765625 : f32
  %weight_offset = arith.constant -0.0078125 : f32
  %attention = call @random_attention(%seed) : (i32) -> tensor<1x1536xbf16>
  %hidden = call @random_hidden(%seed, %range, %hidden_scale, %hidden_offset) : (i32, i32, f32, f32) -> tensor<1x7168xbf16>
  %weight = call @random_weight(%seed, %range, %weight_scale, %weight_offset) : (i32, i32, f32, f32) -> tensor<1536x7168xbf16>
{calls}
  return
}}
"""
CALL = """  %g{0} = call @gate_{0}(%attention, %hidden, %weight) : (tensor<1x1536xbf16>, tensor<1x7168xbf16>, tensor<1536x7168xbf16>) -> tensor<1x1536xbf16>
  call @print_bf16(%g{0}) : (tensor<1x1536xbf16>) -> ()"""


class Checker:
    def __init__(self, build, llvm_lib, execute):
        self.build, self.llvm_lib, self.executes = build, llvm_lib, execute
        self.failures = []
        self.counts = dict.fromkeys(
            ("valid", "mutated", "fused", "mutated and fused", "compared with production"), 0)

    def fail(self, form, seed, mutate, message):
        self.failures.append(seed)
        print(f"seed {seed}, {form}: {message}\n  generate_gates.py {seed} 1 --mutate={mutate}", flush=True)

    def run(self, *command):
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stderr[-2000:]}")
        return result

    def opt(self, source, *passes, remarks=False):
        options = ["--remarks-filter=kimi-mla-gate-fuse"] if remarks else []
        return self.run(self.build / "bin" / "kimi-opt", source, "--mlir-print-local-scope", *options,
                        f"--pass-pipeline=builtin.module({','.join(passes)})")

    @staticmethod
    def functions(text):
        return {match.group(1): match.group(0)
                for match in re.finditer(r"(?ms)^  func\.func @gate_(\d+)\(.*?^  }$", text)}

    def check(self, seeds, mutate, layout, folder):
        gates = {seed: generate_gates.Gate(seed, mutate) for seed in seeds}
        texts = {seed: gate.emit() for seed, gate in gates.items()}
        for gate in gates.values():
            self.counts["mutated" if gate.mutation else "valid"] += 1
        bufferize = ["convert-elementwise-to-linalg",
                     "one-shot-bufferize{bufferize-function-boundaries=true allow-return-allocs-from-loops=true function-boundary-type-conversion=%s}" % layout,
                     "canonicalize", "cse"]
        tensors, buffers = folder / "tensors.mlir", folder / "buffers.mlir"
        tensors.write_text("\n".join(texts.values()))
        buffers.write_text(self.opt(tensors, *bufferize).stdout)
        forms = {"tensors": (tensors, ["kimi-mla-gate-fuse"]), "buffers": (buffers, bufferize + ["kimi-mla-gate-fuse"])}
        launched = {form: self.check_structure(form, gates, source, mutate, folder)
                    for form, (source, _) in forms.items()}
        self.counts["fused"] += len(launched["tensors"])
        self.counts["mutated and fused"] += sum(gates[seed].mutation is not None for seed in launched["tensors"])
        executed = [seed for seed in seeds if any(seed in fused for fused in launched.values())]
        if not executed or not self.executes:
            return

        calls = "\n".join(CALL.format(seed) for seed in executed)
        program = folder / "program.mlir"
        text = SUPPORT.read_text() + "\n".join(texts[s] for s in executed) + MAIN.format(seed=seeds[0], calls=calls)
        # The host must not use what fast-math flags permit.
        program.write_text(re.sub(r" fastmath<[^>]*>", "", text))
        host = self.execute(program, [], folder)
        program.write_text(text)
        for form, (_, passes) in forms.items():
            fused = self.execute(program, passes, folder)
            if not len(host) == len(fused) == len(executed):
                raise RuntimeError(f"{len(host)} and {len(fused)} results for {len(executed)} gates")
            for seed, expected, result in zip(executed, host, fused):
                different = sum(a != b for a, b in zip(expected, result))
                if different or len(result) != 1536:
                    self.fail(form, seed, mutate,
                              f"{different} of {len(result)} outputs differ from the unfused program's")
        self.check_production(gates, dict(zip(executed, host)), program, mutate, folder)

    def check_production(self, gates, host, program, mutate, folder):
        valid = {seed: gates[seed] for seed in host if not gates[seed].mutation and gates[seed].gates == 1}
        expected = next((host[seed] for seed, gate in valid.items() if gate.arithmetic == "f32"), None)
        if expected is None:
            return
        results = dict(zip(host, self.execute(program, ["kimi-mla-gate-fuse{rounding=production}"], folder)))
        for seed in valid:
            self.counts["compared with production"] += 1
            if results[seed] != expected:
                self.fail("production", seed, mutate, "outputs differ from those of an f32 sigmoid")

    def check_structure(self, form, gates, source, mutate, folder):
        """Returns the seeds that were fused."""
        plain = self.functions(self.opt(source).stdout)
        result = self.opt(source, "kimi-mla-gate-fuse", remarks=True)
        fused = self.functions(result.stdout)
        remarks = {}
        for verdict, seed in re.findall(r"remark: \[(Passed|Missed)\].*Function=gate_(\d+)", result.stderr):
            remarks.setdefault(seed, []).append(verdict)
        launched = []
        for seed, gate in gates.items():
            key = str(seed)
            launches = fused[key].count("gpu.launch_func")
            verdicts = remarks.get(key, [])
            if launches:
                launched.append(seed)
            if launches > gate.gates:
                self.fail(form, seed, mutate, f"{launches} launches")
            if not gate.mutation and launches < gate.gates:
                self.fail(form, seed, mutate, f"valid, but {launches} of {gate.gates} fused")
            if not launches and fused[key] != plain[key]:
                self.fail(form, seed, mutate, "not fused, but changed")
            if sorted(verdicts) != ["Missed"] * (gate.gates - launches) + ["Passed"] * launches:
                self.fail(form, seed, mutate, f"remarks {verdicts} with {launches} launches")
        again = folder / "again.mlir"
        again.write_text(result.stdout)
        if self.opt(again, "kimi-mla-gate-fuse").stdout != self.opt(again).stdout:
            self.fail(form, min(gates), mutate, f"a second run changes the module of seeds {list(gates)}")
        return launched

    def execute(self, program, passes, folder):
        """Lowers with `passes` in front of the pipeline, without its fusion, and
        returns what the program prints."""
        lowered = folder / "lowered.mlir"
        self.run(self.build / "bin" / "kimi-opt", program, "-o", lowered,
                 f"--pass-pipeline=builtin.module({','.join(passes + ['kimi-mla-gate-pipeline{fuse=false}'])})")
        libraries = [self.build / "lib" / "libkimi_gpu_runtime.so", self.llvm_lib / "libmlir_runner_utils.so",
                     self.llvm_lib / "libmlir_c_runner_utils.so"]
        output = self.run(self.llvm_lib.parent / "bin" / "mlir-runner", "-O2", lowered, "-e", "main",
                          "--entry-point-result=void", "--shared-libs=" + ",".join(map(str, libraries)))
        return bf16.read_memrefs(output.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--llvm-lib", type=pathlib.Path, default=LLVM_LIB)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--mutate", type=float, default=0.4)
    parser.add_argument("--no-execution", action="store_true", help="leave out the comparison of results")
    parser.add_argument("--batch", type=int, default=25, help="gates in one module")
    arguments = parser.parse_args()
    checker = Checker(arguments.build, arguments.llvm_lib, not arguments.no_execution)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(arguments.first, arguments.first + arguments.count, arguments.batch):
            last = min(first + arguments.batch, arguments.first + arguments.count)
            seeds = list(range(first, last))
            layouts = ("identity-layout-map", "fully-dynamic-layout-map")
            layout = layouts[(first - arguments.first) // arguments.batch % 2]
            try:
                checker.check(seeds, arguments.mutate, layout, pathlib.Path(folder))
            except RuntimeError as error:
                print(f"seeds {seeds[0]} to {seeds[-1]}: {error}")
                checker.failures.append(seeds[0])
    counts = ", ".join(f"{count} {what}" for what, count in checker.counts.items())
    print(f"{arguments.count} gates from seed {arguments.first}: {counts}; {len(checker.failures)} failures")
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
