#!/usr/bin/env python3
"""Writes random spellings of an MLA output gate as MLIR.

    generate_gates.py SEED COUNT [--mutate=P] >gates.mlir

Function @gate_S, for S from SEED to SEED + COUNT - 1, is a gate drawn with seed
S: what it looks like depends on S alone. It maps attention (1x1536), hidden
(1x7168) and weight (1536x7168), bf16 tensors, to a 1x1536 bf16 tensor. With
probability P one semantic mutation is applied. A comment before each function
says `valid` or names the mutation, and lists the choices.

Every valid gate is one that kimi-mla-gate-fuse must fuse by default. A function
may hold two: the output of the first is the attention of the second.
"""
import argparse
import random

M, N, K = 1, 1536, 7168

ELEMENTWISE_SPELLINGS = ("generic", "map", "tensor", "named", "elementwise")
NAMED = {
    "arith.negf": "negf", "math.exp": "exp", "arith.addf": "add",
    "arith.divf": "div", "arith.mulf": "mul", "arith.subf": "sub",
}
FASTMATH = ("", "", "", " fastmath<contract>", " fastmath<fast>", " fastmath<nnan,ninf>", " fastmath<reassoc>")

MUTATIONS = (
    "numerator 2", "addend 2", "addend one ulp above 1", "no negation", "doubled negation", "scaled logit", "biased logit",
    "projection not rounded", "sigmoid rounded twice", "products rounded", "accumulator 1", "accumulator bf16",
    "tanh", "exp over exp", "scaled gate", "attention twice", "gate squared", "product in f32",
    "weight rows reversed", "gate shifted", "extra use of the projection", "extra use of the sigmoid",
    "truncation toward zero", "hidden scaled", "exp2", "one minus sigmoid", "accumulator attention",
    "exponential rounded", "product toward zero",
)


def shape_text(shape):
    return "x".join(map(str, shape))


class Tensor:
    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        return f"tensor<{shape_text(self.shape)}x{self.element}>"


class Gate:
    """Emits one function."""

    def __init__(self, seed, mutate):
        self.seed = seed
        self.random = random.Random(seed)
        self.lines, self.notes, self.counter = [], [], 0
        self.mutation = None
        self.gates = 1
        self.indent = "  "
        if self.random.random() < mutate:
            self.mutation = self.random.choice(MUTATIONS)

    # Text.

    def value(self, prefix="v"):
        self.counter += 1
        return f"%{prefix}{self.counter}"

    def line(self, text):
        self.lines.append(self.indent + text)

    def choose(self, what, options):
        option = self.random.choice(options)
        self.notes.append(f"{what}={option}")
        return option

    def chance(self, probability):
        return self.random.random() < probability

    def fastmath(self):
        return self.random.choice(FASTMATH)

    def attributes(self, text=" {{tag = {} : i64}}"):
        """Discardable attributes, which nobody may mind."""
        return text.format(self.random.randrange(100)) if self.chance(0.15) else ""

    # Pieces.

    def scalar(self, value, element):
        name = self.value("c")
        self.line(f"{name} = arith.constant {value} : {element}")
        return name

    def empty(self, shape, element):
        name = self.value("e")
        tensor = Tensor(name, shape, element)
        self.line(f"{name} = tensor.empty() : {tensor.type}")
        return tensor

    def reshape(self, tensor, shape):
        """To `shape`, which has the same dimensions but for those of extent 1."""
        shape = tuple(shape)
        if tensor.shape == shape:
            return tensor
        result = Tensor(self.value("r"), shape, tensor.element)
        core = [i for i in tensor.shape if i != 1]
        assert core == [i for i in shape if i != 1], (tensor.shape, shape)
        grows = len(shape) > len(tensor.shape)
        # Dropping dimensions also works as a slice.
        if not grows and self.chance(0.3):
            offsets = ", ".join("0" for _ in tensor.shape)
            strides = ", ".join("1" for _ in tensor.shape)
            self.line(f"{result.name} = tensor.extract_slice {tensor.name}[{offsets}] "
                      f"[{', '.join(map(str, tensor.shape))}] [{strides}] : {tensor.type} to {result.type}")
            return result
        longer, shorter = (shape, tensor.shape) if grows else (tensor.shape, shape)
        groups, rest = [], list(range(len(longer)))
        for extent in shorter:
            group = [rest.pop(0)]
            while longer[group[-1]] != extent and rest and longer[group[-1]] == 1:
                group.append(rest.pop(0))
            groups.append(group)
        groups[-1] += rest
        reassociation = "[" + ", ".join("[" + ", ".join(map(str, g)) + "]" for g in groups) + "]"
        if grows:
            sizes = ", ".join(map(str, shape))
            self.line(f"{result.name} = tensor.expand_shape {tensor.name} {reassociation} output_shape [{sizes}] : "
                      f"{tensor.type} into {result.type}")
        else:
            self.line(f"{result.name} = tensor.collapse_shape {tensor.name} {reassociation} : "
                      f"{tensor.type} into {result.type}")
        return result

    def maybe_cast(self, tensor):
        if not self.chance(0.1):
            return tensor
        wide = self.value("d")
        dynamic = f"tensor<{'x'.join('?' for _ in tensor.shape)}x{tensor.element}>"
        self.line(f"{wide} = tensor.cast {tensor.name} : {tensor.type} to {dynamic}")
        result = Tensor(self.value("d"), tensor.shape, tensor.element)
        self.line(f"{result.name} = tensor.cast {wide} : {dynamic} to {tensor.type}")
        return result

    def splat(self, value, shape, element):
        """A tensor of one value, by any of the ways there are."""
        kind = self.random.choice(("dense", "fill", "generic", "captured", "splat"))
        if kind == "dense":
            result = Tensor(self.value("s"), shape, element)
            self.line(f"{result.name} = arith.constant dense<{value}> : {result.type}")
            return result
        constant = self.scalar(value, element)
        if kind == "splat":
            result = Tensor(self.value("s"), shape, element)
            self.line(f"{result.name} = tensor.splat {constant} : {result.type}")
            return result
        destination = self.empty(shape, element)
        result = Tensor(self.value("s"), shape, element)
        if kind == "fill":
            self.line(f"{result.name} = linalg.fill ins({constant} : {element}) outs({destination.name} : "
                      f"{destination.type}) -> {result.type}")
            return result
        rank = len(shape)
        identity = self.identity(rank)
        maps = f"[{identity}]" if kind == "captured" else f"[affine_map<({self.dims(rank)}) -> ()>, {identity}]"
        inputs = "" if kind == "captured" else f"ins({constant} : {element}) "
        arguments = f"%o: {element}" if kind == "captured" else f"%i: {element}, %o: {element}"
        yielded = constant if kind == "captured" else "%i"
        self.line(f"{result.name} = linalg.generic {{indexing_maps = {maps}, iterator_types = "
                  f"[{self.parallel(rank)}]}} {inputs}outs({destination.name} : {destination.type}) {{")
        self.line(f"^bb0({arguments}):")
        self.line(f"  linalg.yield {yielded} : {element}")
        self.line(f"}} -> {result.type}")
        return result

    @staticmethod
    def dims(rank):
        return ", ".join(f"d{i}" for i in range(rank))

    def identity(self, rank):
        return f"affine_map<({self.dims(rank)}) -> ({self.dims(rank)})>"

    @staticmethod
    def parallel(rank):
        return ", ".join(['"parallel"'] * rank)

    # Elementwise ops.

    def body_op(self, result, op, operands, element, source=None, extra=""):
        """One scalar or tensor op as text."""
        if op in ("arith.truncf", "arith.extf"):
            return f"{result} = {op} {operands[0]}{extra} : {source} to {element}"
        return f"{result} = {op} {', '.join(operands)}{self.fastmath()}{self.attributes()} : {element}"

    def apply(self, op, operands, element, extra=""):
        """`op` on tensors of one shape; a number among the operands stands for
        the constant. Returns the tensor."""
        tensors = [o for o in operands if isinstance(o, Tensor)]
        shape, source = tensors[0].shape, tensors[0].element
        result = Tensor(self.value(), shape, element)
        spellings = list(ELEMENTWISE_SPELLINGS)
        if op not in NAMED or extra:
            spellings = ["generic", "map", "tensor"]
        if op == "arith.subf" and "elementwise" in spellings:
            spellings.remove("elementwise")
        spelling = self.random.choice(spellings)
        self.notes.append(f"{op.split('.')[1]}={spelling}")
        if spelling in ("tensor", "named", "elementwise"):
            operands = [o if isinstance(o, Tensor) else self.splat(o, shape, source) for o in operands]
        if spelling == "tensor":
            # arith.truncf and friends take tensors too.
            if op in ("arith.truncf", "arith.extf"):
                self.line(f"{result.name} = {op} {operands[0].name}{extra} : {operands[0].type} to {result.type}")
            else:
                names = ", ".join(o.name for o in operands)
                self.line(f"{result.name} = {op} {names}{self.fastmath()} : {result.type}")
            return result
        destination = self.empty(shape, element)
        tensors = [o for o in operands if isinstance(o, Tensor)]
        inputs = f"ins({', '.join(t.name for t in tensors)} : {', '.join(t.type for t in tensors)})"
        outputs = f"outs({destination.name} : {destination.type})"
        if spelling == "named":
            self.line(f"{result.name} = linalg.{NAMED[op]} {inputs} {outputs} -> {result.type}")
            return result
        if spelling == "elementwise":
            self.line(f"{result.name} = linalg.elementwise kind=#linalg.elementwise_kind<{NAMED[op]}> "
                      f"{inputs} {outputs} -> {result.type}")
            return result
        self.generic(result, destination, tensors, lambda names: self.single_body(op, operands, names, element, extra),
                     as_map=spelling == "map")
        return result

    def constant_for_body(self, value, element, lines):
        """A constant of the body, in whose lines it goes, or a captured one."""
        if not self.chance(0.5):
            return self.scalar(value, element)
        name = self.value("c")
        lines.append(f"{name} = arith.constant {value} : {element}")
        return name

    def single_body(self, op, operands, names, element, extra):
        names = list(names)
        source = next(o for o in operands if isinstance(o, Tensor)).element
        texts, lines = [], []
        for operand in operands:
            if isinstance(operand, Tensor):
                texts.append(names.pop(0))
            else:
                texts.append(self.constant_for_body(operand, source, lines))
        result = self.value("b")
        lines.append(self.body_op(result, op, texts, element, source, extra))
        return lines, result

    def generic(self, result, destination, tensors, body, as_map=False):
        """body(names) returns the lines of the body and the yielded name."""
        names = [self.value("x") for _ in tensors]
        lines, yielded = body(names)
        arguments = ", ".join(f"{n}: {t.element}" for n, t in zip(names, tensors))
        init = self.value("x")
        operands = (f"ins({', '.join(t.name for t in tensors)} : {', '.join(t.type for t in tensors)}) "
                    f"outs({destination.name} : {destination.type})")
        if as_map:
            self.line(f"{result.name} = linalg.map {operands}")
            self.line(f"({arguments}, {init}: {destination.element}) {{")
        else:
            rank = len(result.shape)
            order = list(range(rank))
            self.random.shuffle(order)
            one = f"affine_map<({self.dims(rank)}) -> ({', '.join(f'd{i}' for i in order)})>"
            self.line(f"{result.name} = linalg.generic {{indexing_maps = [{', '.join([one] * (len(tensors) + 1))}], "
                      f"iterator_types = [{self.parallel(rank)}]}} {operands}"
                      f"{self.attributes(' attrs = {{tag = {} : i64}}')} {{")
            self.line(f"^bb0({arguments}, {init}: {destination.element}):")
        for text in lines:
            self.line("  " + text)
        self.line(f"  linalg.yield {yielded} : {result.element}")
        self.line("}" if as_map else f"}} -> {result.type}")

    # The contraction.

    def transpose_weight(self, weight):
        result = Tensor(self.value("t"), (K, N), weight.element)
        destination = self.empty((K, N), weight.element)
        if self.chance(0.5):
            self.line(f"{result.name} = linalg.transpose ins({weight.name} : {weight.type}) "
                      f"outs({destination.name} : {destination.type}) permutation = [1, 0]")
            return result
        maps = "[affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>]"
        if self.chance(0.5):
            maps = "[affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]"
        self.line(f"{result.name} = linalg.generic {{indexing_maps = {maps}, iterator_types = [{self.parallel(2)}]}} "
                  f"ins({weight.name} : {weight.type}) outs({destination.name} : {destination.type}) {{")
        self.line(f"^bb0(%i: {weight.element}, %o: {weight.element}):")
        self.line(f"  linalg.yield %i : {weight.element}")
        self.line(f"}} -> {result.type}")
        return result

    def reverse_rows(self, weight):
        """Not the weight: rows in another order."""
        result = Tensor(self.value("t"), (N, K), weight.element)
        destination = self.empty((N, K), weight.element)
        self.line(f"{result.name} = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], "
                  f"iterator_types = [{self.parallel(2)}]}} outs({destination.name} : {destination.type}) {{")
        self.line(f"^bb0(%o: {weight.element}):")
        self.line("  %row = linalg.index 0 : index")
        self.line("  %column = linalg.index 1 : index")
        self.line(f"  %last = arith.constant {N - 1} : index")
        self.line("  %other = arith.subi %last, %row : index")
        self.line(f"  %w = tensor.extract {weight.name}[%other, %column] : {weight.type}")
        self.line(f"  linalg.yield %w : {weight.element}")
        self.line(f"}} -> {result.type}")
        return result

    def widen(self, tensor):
        return self.apply("arith.extf", [tensor], "f32")

    def contraction(self, attention, hidden, weight):
        if self.mutation == "weight rows reversed":
            weight = self.reverse_rows(weight)
        if self.mutation == "hidden scaled":
            hidden = self.apply("arith.mulf", [hidden, "2.0"], "bf16")
        accumulate = "bf16" if self.mutation == "accumulator bf16" else "f32"
        start = self.choose("init", ("0.0", "0.0", "-0.0"))
        if self.mutation == "accumulator 1":
            start = "1.0"
        form = self.choose("contraction", (
            "matmul maps", "matmul transposed", "matvec", "vecmat", "batch_matmul", "batch_matvec", "contract",
            "generic", "generic", "broadcast", "two loops over K"))
        if self.mutation == "products rounded":
            form = "rounding generic"
        if accumulate == "f32" and form != "rounding generic" and self.chance(0.25):
            self.notes.append("extended first")
            hidden, weight = self.widen(hidden), self.widen(weight)
        shape = {"matvec": (N,), "vecmat": (N,), "batch_matmul": (1, 1, N), "broadcast": (1, N)}.get(form, (1, N))
        if self.mutation == "accumulator attention":
            init = self.reshape(self.widen(attention), shape)
        else:
            init = self.splat(start, shape, accumulate)
        init = self.maybe_cast(init)
        if form == "two loops over K":
            outer = self.random.choice((2, 7, 1024))
            hidden = self.split_last(hidden, outer)
            weight = self.split_last(weight, outer)
        sums = Tensor(self.value("p"), shape, accumulate)

        def named(op, lhs, rhs, attributes=""):
            self.line(f"{sums.name} = linalg.{op}{attributes} ins({lhs.name}, {rhs.name} : {lhs.type}, {rhs.type}) "
                      f"outs({init.name} : {init.type}) -> {sums.type}")

        hk = "affine_map<(d0, d1, d2) -> (d0, d2)>"
        nk = "affine_map<(d0, d1, d2) -> (d1, d2)>"
        mn = "affine_map<(d0, d1, d2) -> (d0, d1)>"
        if form == "matmul maps":
            named("matmul", hidden, weight, f" indexing_maps = [{hk}, {nk}, {mn}]")
        elif form == "matmul transposed":
            named("matmul", hidden, self.transpose_weight(weight))
        elif form == "matvec":
            named("matvec", weight, self.reshape(hidden, (K,)))
        elif form == "vecmat":
            named("vecmat", self.reshape(hidden, (K,)), self.transpose_weight(weight))
        elif form == "batch_matmul":
            named("batch_matmul", self.reshape(hidden, (1, 1, K)),
                  self.reshape(self.transpose_weight(weight), (1, K, N)))
        elif form in ("batch_matvec", "broadcast"):
            if form == "broadcast":
                wide = Tensor(self.value("t"), (1, N, K), weight.element)
                destination = self.empty((1, N, K), weight.element)
                self.line(f"{wide.name} = linalg.broadcast ins({weight.name} : {weight.type}) "
                          f"outs({destination.name} : {destination.type}) dimensions = [0]")
            else:
                wide = self.reshape(weight, (1, N, K))
            named("batch_matvec", wide, hidden)
        else:
            k = "k, l" if form == "two loops over K" else "k"
            names = ["m", "n"] + k.split(", ")
            self.random.shuffle(names)
            loops = ", ".join(names)
            maps = {"h": f"affine_map<({loops}) -> (m, {k})>", "w": f"affine_map<({loops}) -> (n, {k})>",
                    "o": f"affine_map<({loops}) -> (m, n)>"}
            first, second = ("h", "w") if self.chance(0.5) else ("w", "h")
            operands = {"h": hidden, "w": weight}
            lhs, rhs = operands[first], operands[second]
            if form == "contract":
                named("contract", lhs, rhs, f" indexing_maps = [{maps[first]}, {maps[second]}, {maps['o']}]")
            else:
                self.contraction_generic(sums, init, lhs, rhs, [maps[first], maps[second], maps["o"]], names,
                                         form == "rounding generic")
        return sums

    def split_last(self, tensor, outer):
        rows, columns = tensor.shape
        result = Tensor(self.value("r"), (rows, outer, columns // outer), tensor.element)
        self.line(f"{result.name} = tensor.expand_shape {tensor.name} [[0], [1, 2]] output_shape "
                  f"[{', '.join(map(str, result.shape))}] : {tensor.type} into {result.type}")
        return result

    def contraction_generic(self, sums, init, lhs, rhs, maps, names, round_products):
        iterators = ", ".join('"reduction"' if n in "kl" else '"parallel"' for n in names)
        element = sums.element
        self.line(f"{sums.name} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
                  f"[{iterators}]}} ins({lhs.name}, {rhs.name} : {lhs.type}, {rhs.type}) outs({init.name} : "
                  f"{init.type}) {{")
        self.line(f"^bb0(%a: {lhs.element}, %b: {rhs.element}, %s: {element}):")
        factors = ["%a", "%b"]
        if round_products:
            self.line("  %q = arith.mulf %a, %b : bf16")
            self.line("  %p = arith.extf %q : bf16 to f32")
        else:
            if lhs.element != element:
                for i, name in enumerate(factors):
                    self.line(f"  %f{i} = arith.extf {name}{self.fastmath()} : bf16 to {element}")
                factors = ["%f0", "%f1"]
            if self.chance(0.5):
                factors.reverse()
            if self.chance(0.3):
                self.notes.append("fma")
                self.line(f"  %t = math.fma {factors[0]}, {factors[1]}, %s{self.fastmath()} : {element}")
                self.line(f"  linalg.yield %t : {element}")
                self.line(f"}} -> {sums.type}")
                return
            self.line(f"  %p = arith.mulf {factors[0]}, {factors[1]}{self.fastmath()} : {element}")
        addends = ["%s", "%p"]
        if self.chance(0.5):
            addends.reverse()
        self.line(f"  %t = arith.addf {addends[0]}, {addends[1]}{self.fastmath()} : {element}")
        self.line(f"  linalg.yield %t : {element}")
        self.line(f"}} -> {sums.type}")

    # The sigmoid and the product.

    def sigmoid_steps(self, arithmetic):
        """The ops from the rounded projection to the gate, as (op, operands,
        element); an operand is "x" (the value before), or a constant. The gate
        is bf16, or f32 for arithmetic "f32 unrounded"."""
        element = arithmetic.split()[0]
        mutation = self.mutation
        steps = []
        if mutation == "scaled logit":
            steps.append(("arith.mulf", ["x", "2.0"], element))
        if mutation == "biased logit":
            steps.append(("arith.addf", ["x", "1.0"], element))
        if mutation == "tanh":
            steps += [("arith.mulf", ["x", "0.5"], element), ("math.tanh", ["x"], element),
                      ("arith.mulf", ["x", "0.5"], element), ("arith.addf", ["x", "0.5"], element)]
        else:
            negation = self.choose("negation", ("negf", "negf", "0 - x", "-0 - x", "x * -1"))
            if mutation == "doubled negation":
                steps.append(("arith.mulf", ["x", "-2.0"], element))
            elif mutation != "no negation":
                steps.append({"negf": ("arith.negf", ["x"], element),
                              "0 - x": ("arith.subf", ["0.0", "x"], element),
                              "-0 - x": ("arith.subf", ["-0.0", "x"], element),
                              "x * -1": ("arith.mulf", ["x", "-1.0"], element)}[negation])
            steps.append(("math.exp2" if mutation == "exp2" else "math.exp", ["x"], element))
            if mutation == "exponential rounded" and element == "f32":
                steps += [("arith.truncf", ["x"], "bf16"), ("arith.extf", ["x"], "f32")]
            addend = {"addend 2": "2.0", "addend one ulp above 1":
                      "1.0078125" if element == "bf16" else "1.00000012"}.get(mutation, "1.0")
            operands = ["x", addend]
            self.random.shuffle(operands)
            steps.append(("arith.addf", operands, element))
            numerator = "2.0" if mutation == "numerator 2" else "1.0"
            steps.append(("arith.divf", [numerator, "x"], element))
        if mutation == "one minus sigmoid":
            steps.append(("arith.subf", ["1.0", "x"], element))
        if mutation == "scaled gate":
            steps.append(("arith.mulf", ["x", "2.0"], element))
        if element == "bf16":
            steps = self.promote(steps)
        else:
            # The negation is exact in bf16 as well.
            if not mutation and self.chance(0.2):
                self.notes.append("bf16 negation")
                op, operands, _ = steps[0]
                steps[:1] = [(op, operands, "bf16"), ("arith.extf", ["x"], "f32")]
            else:
                steps.insert(0, ("arith.extf", ["x"], "f32"))
            if arithmetic == "f32":
                steps.append(("arith.truncf", ["x"], "bf16"))
        if mutation == "sigmoid rounded twice":
            if arithmetic != "f32 unrounded":
                steps.append(("arith.extf", ["x"], "f32"))
            steps += [("arith.mulf", ["x", "1.001"], "f32"), ("arith.truncf", ["x"], "bf16")]
        return steps

    def promote(self, steps):
        """Some bf16 ops as f32 ops that are rounded."""
        result, probability = [], self.random.choice((0, 0, 0.3, 1))
        for op, operands, element in steps:
            if self.chance(probability):
                self.notes.append(f"promoted {op}")
                result += [("arith.extf", ["x"], "f32"), (op, operands, "f32"), ("arith.truncf", ["x"], "bf16")]
            else:
                result.append((op, operands, element))
        return result

    def run_steps(self, value, steps):
        """Applies the steps, some of them together in one body."""
        while steps:
            length = min(len(steps), self.random.choice((1, 1, 1, 2, 3, 8)))
            group, steps = steps[:length], steps[length:]
            value = self.maybe_cast(self.maybe_rank(value))
            if length == 1:
                op, operands, element = group[0]
                value = self.apply(op, [value if o == "x" else o for o in operands], element)
                continue
            self.notes.append(f"{length} ops in a body")
            result = Tensor(self.value(), value.shape, group[-1][2])
            destination = self.empty(value.shape, result.element)

            def body(names, group=group, source=value.element):
                lines, current, element_before = [], names[0], source
                for op, operands, element in group:
                    texts = []
                    for operand in operands:
                        if operand == "x":
                            texts.append(current)
                        else:
                            texts.append(self.constant_for_body(operand, element_before, lines))
                    current = self.value("b")
                    lines.append(self.body_op(current, op, texts, element, element_before))
                    element_before = element
                return lines, current

            self.generic(result, destination, [value], body, as_map=self.chance(0.3))
            value = result
        return value

    def maybe_rank(self, value):
        if not self.chance(0.2):
            return value
        return self.reshape(value, self.random.choice(((N,), (1, N), (1, 1, N))))

    def emit(self):
        attention = Tensor("%attention", (M, N), "bf16")
        hidden = Tensor("%hidden", (M, K), "bf16")
        weight = Tensor("%weight", (N, K), "bf16")
        arguments = ", ".join(f"{t.name}: {t.type}" for t in (attention, hidden, weight))
        if self.chance(0.1):
            self.gates = 2
        self.notes.append(f"{self.gates} gates")
        for _ in range(self.gates):
            attention = self.place(attention, hidden, weight)
        verdict = self.mutation or "valid"
        return "\n".join([
            f"// seed {self.seed}: {verdict}; {', '.join(self.notes)}",
            f"func.func @gate_{self.seed}({arguments}) -> tensor<1x1536xbf16> {{",
            *self.lines,
            f"  return {attention.name} : {attention.type}",
            "}", ""])

    def place(self, attention, hidden, weight):
        """A gate in the function's block, in a branch, or in a loop."""
        place = self.choose("place", ("block",) * 6 + ("scf.if", "scf.for"))
        if place == "block":
            return self.gate(attention, hidden, weight)
        result = Tensor(self.value("o"), (M, N), "bf16")
        if place == "scf.if":
            condition = self.value("c")
            self.line(f"{condition} = arith.constant true")
            self.line(f"{result.name} = scf.if {condition} -> ({result.type}) {{")
        else:
            bounds = [self.value("c") for _ in range(2)]
            for value, name in enumerate(bounds):
                self.line(f"{name} = arith.constant {value} : index")
            carried = Tensor(self.value("l"), (M, N), "bf16")
            self.line(f"{result.name} = scf.for %index = {bounds[0]} to {bounds[1]} step {bounds[1]} "
                      f"iter_args({carried.name} = {attention.name}) -> ({result.type}) {{")
            attention = carried
        self.indent = "    "
        inner = self.gate(attention, hidden, weight)
        self.line(f"scf.yield {inner.name} : {inner.type}")
        self.indent = "  "
        if place == "scf.if":
            self.line("} else {")
            self.line(f"  scf.yield {attention.name} : {attention.type}")
        self.line("}")
        return result

    def gate(self, attention, hidden, weight):
        sums = self.contraction(attention, hidden, weight)
        self.arithmetic = self.choose("sigmoid", ("f32", "bf16", "f32", "bf16", "f32 unrounded"))
        if self.mutation == "exp over exp":
            self.arithmetic = "f32"
        steps = []
        sigmoid = self.sigmoid_steps(self.arithmetic)
        if sums.element == "f32":
            if self.mutation == "projection not rounded" and self.arithmetic.startswith("f32"):
                # The extension has nothing to extend.
                sigmoid = sigmoid[1:]
            elif self.mutation == "truncation toward zero":
                sums = self.apply("arith.truncf", [sums], "bf16", extra=" toward_zero")
            else:
                steps.append(("arith.truncf", ["x"], "bf16"))
        extra = None
        if self.mutation == "extra use of the projection":
            sums = self.run_steps(sums, steps)
            steps = []
            extra = sums
        gate = self.run_steps(sums, steps + sigmoid)
        if self.mutation == "exp over exp":
            gate = self.exp_over_exp(sums)
        if self.mutation == "gate squared":
            gate = self.apply("arith.mulf", [gate, gate], gate.element)
        if self.mutation == "extra use of the sigmoid":
            extra = gate
        if self.mutation == "gate shifted":
            gate = self.shifted(gate)
        gate = self.maybe_cast(self.maybe_rank(gate))
        attention = self.reshape(attention, gate.shape)
        if self.mutation == "attention twice":
            attention = self.apply("arith.mulf", [attention, attention], "bf16")
        result = self.product(attention, gate)
        if extra is not None:
            # A use that matters: the result depends on it.
            if extra.element == "f32":
                extra = self.apply("arith.truncf", [extra], "bf16")
            result = self.apply("arith.addf", [result, self.reshape(extra, result.shape)], "bf16")
        return self.reshape(result, (M, N))

    def product(self, attention, gate):
        operands = [attention, gate]
        if self.chance(0.5):
            operands.reverse()
        in_f32 = gate.element == "f32" or self.mutation in ("product in f32", "product toward zero")
        if not in_f32 and not self.chance(0.25):
            return self.apply("arith.mulf", operands, "bf16")
        extra = " toward_zero" if self.mutation == "product toward zero" else ""
        if self.mutation != "product in f32" and self.chance(0.4):
            self.notes.append("product in f32, in one body")
            result = Tensor(self.value(), gate.shape, "bf16")
            destination = self.empty(gate.shape, "bf16")

            def body(names):
                lines, factors = [], []
                for name, operand in zip(names, operands):
                    factors.append(name)
                    if operand.element == "bf16":
                        factors[-1] = self.value("b")
                        lines.append(f"{factors[-1]} = arith.extf {name}{self.fastmath()} : bf16 to f32")
                wide, narrow = self.value("b"), self.value("b")
                lines.append(f"{wide} = arith.mulf {', '.join(factors)}{self.fastmath()} : f32")
                lines.append(f"{narrow} = arith.truncf {wide}{extra} : f32 to bf16")
                return lines, narrow

            self.generic(result, destination, operands, body, as_map=self.chance(0.3))
            return result
        self.notes.append("product in f32")
        operands = [self.widen(o) if o.element == "bf16" else o for o in operands]
        result = self.apply("arith.mulf", operands, "f32")
        if self.mutation == "product in f32":
            result = self.apply("arith.mulf", [result, "1.5"], "f32")
        return self.apply("arith.truncf", [self.maybe_rank(result)], "bf16", extra=extra)

    def exp_over_exp(self, sums):
        rounded = sums if sums.element == "bf16" else self.apply("arith.truncf", [sums], "bf16")
        wide = self.widen(rounded)
        numerator = self.apply("math.exp", [wide], "f32")
        denominator = self.apply("arith.addf", [numerator, "1.0"], "f32")
        return self.apply("arith.truncf", [self.apply("arith.divf", [numerator, denominator], "f32")], "bf16")

    def shifted(self, gate):
        """Element n of the gate becomes element n / 2."""
        flat = self.reshape(gate, (N,))
        result = Tensor(self.value("t"), (N,), gate.element)
        destination = self.empty((N,), gate.element)
        self.line(f"{result.name} = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0 floordiv 2)>, "
                  f"affine_map<(d0) -> (d0)>], iterator_types = [\"parallel\"]}} ins({flat.name} : {flat.type}) "
                  f"outs({destination.name} : {destination.type}) {{")
        self.line(f"^bb0(%i: {gate.element}, %o: {gate.element}):")
        self.line(f"  linalg.yield %i : {gate.element}")
        self.line(f"}} -> {result.type}")
        return self.reshape(result, gate.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--mutate", type=float, default=0.4)
    arguments = parser.parse_args()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        print(Gate(seed, arguments.mutate).emit())


if __name__ == "__main__":
    main()
