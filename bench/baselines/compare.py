"""Compares the two kernels of the small softmax with a general-purpose tool: `compare.py sympy|z3 FILE.ptx`.

Executes both kernels thread by thread, then asks the tool for each output cell whether the two expressions are equal.
Prints one JSON object; stops after 600 s.
"""

import json
import signal
import sys
import time

import machine

ROWS, COLUMNS, LIMIT = 4, 64, 600
IN, OUT = 1 << 32, 2 << 32


class Timeout(Exception):
    pass


class SymPy:
    def __init__(self):
        import sympy
        self.sympy = sympy
        self.version = "sympy " + sympy.__version__

    def constant(self, value):
        # log2(e) as the exact number, which is what the other side of the ratio does too.
        if abs(value - 1.4426950408889634) < 1e-7:
            return 1 / self.sympy.log(2)
        return -self.sympy.oo if value == float("-inf") else self.sympy.Rational(value)

    def variable(self, name):
        return self.sympy.Symbol(name, real=True)

    def add(self, a, b): return a + b
    def sub(self, a, b): return a - b
    def mul(self, a, b): return a * b
    def div(self, a, b): return a / b
    def maximum(self, a, b): return self.sympy.Max(a, b)
    def exp2(self, a): return self.sympy.exp(a * self.sympy.log(2))

    def equal(self, a, b, _):
        return self.sympy.simplify(a - b) == 0


class Z3:
    def __init__(self):
        import z3
        self.z3 = z3
        self.version = "z3 " + z3.get_version_string()
        self.exp = z3.Function("exp", z3.RealSort(), z3.RealSort())
        self.log2e = object()
        self.infinity = object()

    def constant(self, value):
        if abs(value - 1.4426950408889634) < 1e-7:
            return self.log2e
        return self.infinity if value == float("-inf") else self.z3.RealVal(value)

    def variable(self, name):
        return self.z3.Real(name)

    def add(self, a, b): return a + b
    def sub(self, a, b): return a - b
    def div(self, a, b): return a / b

    def mul(self, a, b):
        # The factor log2(e) belongs to the exp2 that follows: together they are exp.
        return a if b is self.log2e else a * b

    def maximum(self, a, b):
        return b if a is self.infinity else self.z3.If(a >= b, a, b)

    def exp2(self, a): return self.exp(a)

    def equal(self, a, b, seconds):
        z3 = self.z3
        u, v = z3.Reals("u v")
        solver = z3.Solver()
        solver.set("timeout", max(1, int(seconds * 1000)))
        solver.add(z3.ForAll([u], self.exp(u) > 0), z3.ForAll([u, v], self.exp(u + v) == self.exp(u) * self.exp(v)))
        solver.add(a != b)
        answer = solver.check()
        return None if answer == z3.unknown else answer == z3.unsat


def main():
    tool = {"sympy": SymPy, "z3": Z3}[sys.argv[1]]()
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    sys.setrecursionlimit(100_000)
    start = time.perf_counter()
    record = {"tool": tool.version, "cells": ROWS * COLUMNS, "cells_done": 0, "cells_equal": 0, "execute_seconds": None}

    def strike(*_):
        raise Timeout

    signal.signal(signal.SIGALRM, strike)
    signal.alarm(LIMIT)
    try:
        outputs = []
        for kernel in ("softmax_two_pass", "softmax_online"):
            memory = {IN + 4 * i: tool.variable("x%d" % i) for i in range(ROWS * COLUMNS)}
            machine.Executor(text, kernel, tool).run(ROWS, machine.WARP, [IN, OUT, COLUMNS], memory)
            outputs.append([memory[OUT + 4 * i] for i in range(ROWS * COLUMNS)])
        record["execute_seconds"] = time.perf_counter() - start
        for a, b in zip(*outputs):
            equal = tool.equal(a, b, LIMIT - (time.perf_counter() - start))
            if equal is None:
                break
            record["cells_done"] += 1
            record["cells_equal"] += bool(equal)
    except Timeout:
        pass
    signal.alarm(0)
    record["seconds"] = min(time.perf_counter() - start, LIMIT)
    # Giving up counts as the limit: the question was not answered.
    record["timed_out"] = record["cells_done"] < record["cells"]
    if record["timed_out"]:
        record["seconds"] = LIMIT
    print(json.dumps(record))


if __name__ == "__main__":
    main()
