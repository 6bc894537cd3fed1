#!/usr/bin/env python3
"""Times kimi-mla-gate-fuse on modules of many gated layers.

    benchmarks/compile_time.py [--build=build] [--layers=10,100,1000] [--runs=5]

Each layer is a gate among attention-like ops (normalization, projections, a
rotation, scores, softmax, values), in linalg on tensors as frontends leave it.
A module holds one function per layer, or one function of all layers; on tensors,
or after one-shot bufferization. For each it prints, in milliseconds and as the
median of the runs without threading,
  * the pass on the module, and divided by the module's ops;
  * upstream's linalg-fuse-elementwise-ops on the same module, and the ratio
    (it does nothing on buffers);
  * both of them on the same module without its gates, beside upstream's
    print-op-stats, which does nothing but walk over the ops.

With --print=LAYERS[:no-gates][:one-function] it writes such a module instead.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
K, N, HEADS, HEAD, CONTEXT = 7168, 1536, 12, 128, 1024

MAPS = {
    "#id1": "(i) -> (i)",
    "#id2": "(i, j) -> (i, j)",
    "#rows": "(i, j) -> (i)",
    "#columns": "(i, j) -> (j)",
    "#mk": "(m, n, k) -> (m, k)",
    "#nk": "(m, n, k) -> (n, k)",
    "#kn": "(m, n, k) -> (k, n)",
    "#mn": "(m, n, k) -> (m, n)",
}


def tensor(shape, element="bf16"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Layer:
    """Writes the ops of one layer."""

    def __init__(self, number):
        self.number, self.lines, self.count, self.types = number, [], 0, {}

    def line(self, text):
        self.lines.append("  " + text)

    def define(self, shape, element, text):
        self.count += 1
        name = f"%l{self.number}_{self.count}"
        self.types[name] = (shape, element)
        self.line(f"{name} = {text}")
        return name

    def type(self, name):
        return tensor(*self.types[name])

    def argument(self, name, shape, element="bf16"):
        self.types[name] = (shape, element)
        return name

    def empty(self, shape, element):
        return self.define(shape, element, f"tensor.empty() : {tensor(shape, element)}")

    def fill(self, value, shape, element):
        constant = self.define((), element, f"arith.constant {value} : {element}")
        destination = self.empty(shape, element)
        return self.define(shape, element, f"linalg.fill ins({constant} : {element}) outs({destination} : "
                           f"{self.type(destination)}) -> {self.type(destination)}")

    def generic(self, inputs, maps, output, body, shape, element, iterators=None):
        """body: scalar ops on %0, %1, ... (the inputs) and %o, the last of which
        defines %r."""
        iterators = iterators or ["parallel"] * len(shape)
        names = ", ".join(inputs)
        types = ", ".join(self.type(i) for i in inputs)
        ins = f"ins({names} : {types}) " if inputs else ""
        arguments = ", ".join([f"%a{i}: {self.types[n][1]}" for i, n in enumerate(inputs)] + [f"%o: {element}"])
        quoted = ", ".join(f'"{i}"' for i in iterators)
        result = self.define(shape, element,
                             f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{quoted}]}} "
                             f"{ins}outs({output} : {self.type(output)}) {{")
        self.line(f"^bb0({arguments}):")
        for text in body:
            self.line("  " + text)
        self.line(f"  linalg.yield %r : {element}")
        self.line(f"}} -> {tensor(shape, element)}")
        return result

    def elementwise(self, inputs, body, element="bf16", maps=None):
        shape = self.types[inputs[0]][0]
        identity = f"#id{len(shape)}"
        return self.generic(inputs, (maps or [identity] * len(inputs)) + [identity], self.empty(shape, element),
                            body, shape, element)

    def reduce(self, value, start, op):
        shape, element = self.types[value]
        init = self.fill(start, shape[:1], element)
        return self.generic([value], ["#id2", "#rows"], init, [f"%r = {op} %a0, %o : {element}"], shape[:1], element,
                            ["parallel", "reduction"])

    def matmul(self, lhs, rhs, rhs_map):
        rows = self.types[lhs][0][0]
        columns = self.types[rhs][0][0 if rhs_map == "#nk" else 1]
        sums = self.fill("0.0", (rows, columns), "f32")
        wide = self.define((rows, columns), "f32",
                           f"linalg.matmul indexing_maps = [#mk, {rhs_map}, #mn] ins({lhs}, {rhs} : {self.type(lhs)}, "
                           f"{self.type(rhs)}) outs({sums} : {self.type(sums)}) -> {self.type(sums)}")
        return self.elementwise([wide], ["%r = arith.truncf %a0 : f32 to bf16"])

    def normalize(self, value):
        wide = self.elementwise([value], ["%r = arith.extf %a0 : bf16 to f32"], "f32")
        squares = self.elementwise([wide], ["%r = arith.mulf %a0, %a0 : f32"], "f32")
        total = self.reduce(squares, "0.0", "arith.addf")
        root = self.elementwise([total], ["%r = math.rsqrt %a0 : f32"], "f32")
        scaled = self.elementwise([wide, root], ["%r = arith.mulf %a0, %a1 : f32"], "f32", ["#id2", "#rows"])
        return self.elementwise([scaled], ["%r = arith.truncf %a0 : f32 to bf16"])

    def rotate(self, value):
        cosine = self.elementwise([value], ["%r = math.cos %a0 : bf16"])
        sine = self.elementwise([value], ["%r = math.sin %a0 : bf16"])
        left = self.elementwise([value, cosine], ["%r = arith.mulf %a0, %a1 : bf16"])
        right = self.elementwise([value, sine], ["%r = arith.mulf %a0, %a1 : bf16"])
        return self.elementwise([left, right], ["%r = arith.addf %a0, %a1 : bf16"])

    def softmax(self, value):
        wide = self.elementwise([value], ["%r = arith.extf %a0 : bf16 to f32"], "f32")
        largest = self.reduce(wide, "0xFF800000", "arith.maximumf")
        shifted = self.elementwise([wide, largest], ["%r = arith.subf %a0, %a1 : f32"], "f32", ["#id2", "#rows"])
        power = self.elementwise([shifted], ["%r = math.exp %a0 : f32"], "f32")
        total = self.reduce(power, "0.0", "arith.addf")
        quotient = self.elementwise([power, total], ["%r = arith.divf %a0, %a1 : f32"], "f32", ["#id2", "#rows"])
        return self.elementwise([quotient], ["%r = arith.truncf %a0 : f32 to bf16"])

    def gate(self, attention, hidden, weight):
        projection = self.matmul(hidden, weight, "#nk")
        one = self.define((), "bf16", "arith.constant 1.0 : bf16")
        negated = self.elementwise([projection], ["%r = arith.negf %a0 : bf16"])
        power = self.elementwise([negated], ["%r = math.exp %a0 : bf16"])
        total = self.elementwise([power], [f"%r = arith.addf %a0, {one} : bf16"])
        sigmoid = self.elementwise([total], [f"%r = arith.divf {one}, %a0 : bf16"])
        return self.elementwise([attention, sigmoid], ["%r = arith.mulf %a0, %a1 : bf16"])

    def emit(self, hidden, arguments, has_gate):
        query_weight, gate_weight, keys, values, out_weight = arguments
        normal = self.normalize(hidden)
        query = self.rotate(self.matmul(normal, query_weight, "#nk"))
        heads = self.define((HEADS, HEAD), "bf16",
                            f"tensor.expand_shape {query} [[0], [1, 2]] output_shape [1, {HEADS}, {HEAD}] : "
                            f"{self.type(query)} into {tensor((1, HEADS, HEAD))}")
        self.types[heads] = ((1, HEADS, HEAD), "bf16")
        rows = self.define((HEADS, HEAD), "bf16", f"tensor.collapse_shape {heads} [[0, 1], [2]] : "
                           f"{self.type(heads)} into {tensor((HEADS, HEAD))}")
        scores = self.matmul(rows, keys, "#nk")
        attended = self.matmul(self.softmax(scores), values, "#kn")
        flat = self.define((HEADS * HEAD,), "bf16", f"tensor.collapse_shape {attended} [[0, 1]] : "
                           f"{self.type(attended)} into {tensor((N,))}")
        attention = self.define((1, N), "bf16", f"tensor.expand_shape {flat} [[0, 1]] output_shape [1, {N}] : "
                                f"{self.type(flat)} into {tensor((1, N))}")
        if has_gate:
            attention = self.gate(attention, normal, gate_weight)
        projected = self.matmul(attention, out_weight, "#nk")
        return self.elementwise([hidden, projected], ["%r = arith.addf %a0, %a1 : bf16"])


SHAPES = [(N, K), (N, K), (CONTEXT, HEAD), (CONTEXT, HEAD), (K, N)]


def module(layers, has_gates=True, one_function=False):
    lines = [f"{name} = affine_map<{text}>" for name, text in MAPS.items()]
    names = ["%query_weight", "%gate_weight", "%keys", "%values", "%out_weight"]
    signature = ", ".join(f"{n}: {tensor(s)}" for n, s in zip(names, SHAPES))
    hidden = "%hidden"
    for number in range(layers):
        layer = Layer(number)
        if not one_function or number == 0:
            hidden = "%hidden"
            lines.append(f"func.func @layer_{number}({hidden}: {tensor((1, K))}, {signature}) -> {tensor((1, K))} {{")
        layer.argument(hidden, (1, K))
        for name, shape in zip(names, SHAPES):
            layer.argument(name, shape)
        hidden = layer.emit(hidden, names, has_gates)
        lines += layer.lines
        if not one_function or number == layers - 1:
            lines += [f"  return {hidden} : {tensor((1, K))}", "}"]
    return "\n".join(lines) + "\n"


class Bench:
    def __init__(self, build, runs, folder):
        self.opt, self.runs, self.folder = build / "bin" / "kimi-opt", runs, folder

    def ops(self, path):
        result = self.run("--print-op-stats", path, "-o", "/dev/null")
        return sum(int(n) for n in re.findall(r"(?m)^ +\S+ +, +(\d+)$", result))

    def run(self, *arguments):
        result = subprocess.run([str(self.opt), "--mlir-disable-threading", *map(str, arguments)],
                                capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr[-2000:])
        return result.stderr

    def time(self, path, flag, name):
        """The median wall time of a pass in milliseconds."""
        times = []
        for _ in range(self.runs):
            report = self.run("--mlir-timing", "--mlir-timing-display=list", flag, path, "-o", "/dev/null")
            match = re.search(rf"(?m)^ +([0-9.]+) \( *[0-9.]+%\) +{name}$", report)
            if not match:
                sys.exit(f"no time of {name} in:\n{report}")
            times.append(float(match.group(1)) * 1000)
        return statistics.median(times)

    def write(self, name, layers, has_gates, one_function, on_buffers):
        path = self.folder / name
        path.write_text(module(layers, has_gates, one_function))
        if not on_buffers:
            return path
        bufferized = path.with_suffix(".buffers.mlir")
        self.run(path, "--one-shot-bufferize=bufferize-function-boundaries", "--canonicalize", "--cse",
                 "-o", bufferized)
        return bufferized

    def measure(self, layers, one_function, on_buffers):
        gated = self.write("gated.mlir", layers, True, one_function, on_buffers)
        plain = self.write("plain.mlir", layers, False, one_function, on_buffers)
        ops = self.ops(gated)
        fuse = ("--kimi-mla-gate-fuse", "KimiMlaGateFuse")
        upstream = ("--linalg-fuse-elementwise-ops", "LinalgElementwiseOpFusionPass")
        walk = ("--print-op-stats", "PrintOpStats")
        own = self.time(gated, *fuse)
        row = [layers, "one" if one_function else "each", "buffers" if on_buffers else "tensors", ops, f"{own:.1f}",
               f"{own * 1000 / ops:.3f}"]
        if on_buffers:
            row += ["-", "-"]
        else:
            other = self.time(gated, *upstream)
            row += [f"{other:.1f}", f"{own / other:.2f}"]
        row += ["-" if on_buffers and p is upstream else f"{self.time(plain, *p):.1f}" for p in (fuse, upstream, walk)]
        print("".join(f"{str(cell):>10}" for cell in row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    parser.add_argument("--layers", default="10,100,1000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--print", metavar="LAYERS[:no-gates][:one-function]")
    arguments = parser.parse_args()
    if arguments.print:
        layers, *options = arguments.print.split(":")
        print(module(int(layers), "no-gates" not in options, "one-function" in options), end="")
        return
    print("pass: kimi-mla-gate-fuse; upstream: linalg-fuse-elementwise-ops; walk: print-op-stats; times in ms")
    print("".join(f"{cell:>10}" for cell in ("layers", "functions", "on", "ops", "pass", "us per op", "upstream", "ratio",
                                             "no gate:", "upstream", "walk")))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.build, arguments.runs, pathlib.Path(folder))
        for on_buffers in (False, True):
            for one_function in (False, True):
                for layers in map(int, arguments.layers.split(",")):
                    bench.measure(layers, one_function, on_buffers)


if __name__ == "__main__":
    main()
