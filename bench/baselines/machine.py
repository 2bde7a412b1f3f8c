"""A small symbolic executor of PTX: every thread of every CTA, integers concrete, floats as the caller's expressions.

It knows what the softmax kernels of bench/instances compile to, and nothing more.
"""

import re
import struct

WARP = 32


def parse(text, kernel):
    """The body of one kernel: instructions as (guard, opcode, operands), and the instruction after each label."""
    body = re.search(r"\.entry %s\((.*?)\)\s*\{(.*?)\n\}" % kernel, text, re.S)
    parameters = re.findall(r"\.param \.\w+ (\S+?),?\n", body.group(1) + "\n")
    code, labels = [], {}
    for line in re.sub(r"//.*", "", body.group(2)).splitlines():
        line = line.strip()
        label = re.match(r"([\w$]+):$", line)
        if label:
            labels[label.group(1)] = len(code)
        if not line or label or line.startswith("."):
            continue
        guard, opcode, operands = re.match(r"(?:@(!?%\w+)\s+)?([\w.]+)\s*(.*?);$", line).groups()
        code.append((guard, opcode, [o.strip() for o in operands.split(",")] if operands else []))
    return parameters, code, labels


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Executor:
    """Executes one kernel; `algebra` gives add, sub, mul, div, maximum, exp2 and constant (of a float's bits)."""

    def __init__(self, text, kernel, algebra):
        self.parameters, self.code, self.labels = parse(text, kernel)
        self.algebra = algebra

    def run(self, grid, block, arguments, memory):
        """`memory` maps byte addresses to expressions and receives what is stored."""
        for cta in range(grid):
            for first in range(0, block, WARP):
                self.warp(cta, range(first, first + WARP), dict(zip(self.parameters, arguments)), memory)

    def warp(self, cta, threads, parameters, memory):
        lanes = [self.thread(cta, t, parameters, memory) for t in threads]
        asked = [next(lane, None) for lane in lanes]
        while any(a is not None for a in asked):
            # All lanes stand at the same shuffle: (value, partner's distance).
            answers = [asked[i ^ asked[i][1]][0] for i in range(WARP)]
            asked = [self.resume(lane, answer) for lane, answer in zip(lanes, answers)]

    @staticmethod
    def resume(lane, answer):
        try:
            return lane.send(answer)
        except StopIteration:
            return None

    def thread(self, cta, thread, parameters, memory):
        registers = {"%tid.x": thread, "%ctaid.x": cta}
        algebra = self.algebra

        def read(operand):
            if operand in registers:
                return registers[operand]
            if operand.startswith("0f"):
                return algebra.constant(struct.unpack("!f", bytes.fromhex(operand[2:]))[0])
            return int(operand, 0)

        def address(operand):
            base, _, offset = operand.strip("[]").partition("+")
            return registers[base] + (int(offset) if offset else 0)

        at = 0
        while True:
            guard, opcode, o = self.code[at]
            at += 1
            if guard and registers[guard.lstrip("!")] == guard.startswith("!"):
                continue
            name, *rest = opcode.split(".")
            bits = int(re.sub(r"\D", "", rest[-1]) or 0) if rest else 0
            if name == "ret":
                return
            if name == "bra":
                at = self.labels[o[0]]
            elif name == "ld" and rest[0] == "param":
                registers[o[0]] = parameters[o[1].strip("[]")]
            elif name == "ld":
                registers[o[0]] = memory[address(o[1])]
            elif name == "st":
                memory[address(o[0])] = read(o[1])
            elif name == "shfl":
                registers[o[0].split("|")[0]] = yield read(o[1]), read(o[2])
            elif name == "setp":
                a, b = (signed(read(v), bits) if rest[1][0] == "s" else read(v) & ((1 << bits) - 1) for v in o[1:])
                registers[o[0]] = {"eq": a == b, "ne": a != b, "lt": a < b, "ge": a >= b}[rest[0]]
            elif name in ("mov", "cvta"):
                registers[o[0]] = read(o[1])
            elif name == "cvt":
                value = read(o[1])
                registers[o[0]] = signed(value, int(rest[1][1:])) if rest[1][0] == "s" else value & ((1 << bits) - 1)
            elif rest[-1].startswith("f"):
                registers[o[0]] = self.real(name, [read(v) for v in o[1:]])
            else:
                registers[o[0]] = self.integer(name, rest, bits, [read(v) for v in o[1:]])

    def real(self, name, v):
        a = self.algebra
        if name == "fma":
            return a.add(a.mul(v[0], v[1]), v[2])
        return {"add": a.add, "sub": a.sub, "mul": a.mul, "div": a.div, "max": a.maximum, "ex2": a.exp2}[name](*v)

    @staticmethod
    def integer(name, rest, bits, v):
        if name == "mul" and rest[0] == "wide":
            return v[0] * v[1]
        result = {"add": lambda: v[0] + v[1], "mul": lambda: v[0] * v[1], "and": lambda: v[0] & v[1],
                  "not": lambda: ~v[0], "shl": lambda: v[0] << v[1],
                  "shr": lambda: (v[0] & ((1 << bits) - 1)) >> v[1]}[name]()
        return signed(result, bits) if rest[-1][0] in "sb" else result & ((1 << bits) - 1)
