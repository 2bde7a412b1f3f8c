#!/usr/bin/env python3
"""Random programs: symbolic execution against the interpreter, on inputs and operations that floats do exactly.

A program of 64 threads loads its inputs, computes at random (integer and float instructions, predicates, branches on
data and on the thread, shared memory, shuffles, votes) and stores its registers. What the interpreter computes on one
input is written into a second program as constants. With that input as known data, both must be equivalent; with one
constant changed, they must not be; with the inputs free, the original must be equivalent to itself and, unless it
ignores the input, never to the constants.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS = 64
MUTANTS = 4  # of each program
INPUTS = 3  # that they run on

HEADER = """.version 8.3
.target sm_80
.address_size 64
"""

# Destination class, template; {r}: a 32-bit register, {i}: it or a constant, {q}: 64-bit, {h}: 16-bit, {p}: predicate,
# {f}: float, {g}: it or a constant, {n}: a divisor, {s}: a shift count, {b}: a byte, {l}: a lane,
# {t}: a predicate on the thread alone.
INTEGER = [
    ("r", "add.s32 {d}, {r}, {i};"), ("r", "sub.s32 {d}, {r}, {i};"), ("r", "mul.lo.s32 {d}, {r}, {i};"),
    ("r", "mul.hi.s32 {d}, {r}, {i};"), ("r", "mul.hi.u32 {d}, {r}, {i};"), ("r", "mad.lo.s32 {d}, {r}, {i}, {r};"),
    ("r", "mad.hi.u32 {d}, {r}, {i}, {r};"), ("r", "mul24.lo.s32 {d}, {r}, {i};"),
    ("r", "sad.s32 {d}, {r}, {i}, {r};"), ("r", "sad.u32 {d}, {r}, {i}, {r};"), ("r", "div.s32 {d}, {r}, {n};"),
    ("r", "div.u32 {d}, {r}, {n};"), ("r", "rem.s32 {d}, {r}, {n};"), ("r", "rem.u32 {d}, {r}, {n};"),
    ("r", "abs.s32 {d}, {r};"), ("r", "neg.s32 {d}, {r};"), ("r", "min.s32 {d}, {r}, {i};"),
    ("r", "max.s32 {d}, {r}, {i};"), ("r", "min.u32 {d}, {r}, {i};"), ("r", "max.u32 {d}, {r}, {i};"),
    ("r", "popc.b32 {d}, {r};"), ("r", "clz.b32 {d}, {r};"), ("r", "brev.b32 {d}, {r};"),
    ("r", "bfind.u32 {d}, {r};"), ("r", "bfind.s32 {d}, {r};"), ("r", "bfe.u32 {d}, {r}, {s}, {s};"),
    ("r", "bfe.s32 {d}, {r}, {s}, {s};"), ("r", "bfi.b32 {d}, {r}, {r}, {s}, {s};"),
    ("r", "prmt.b32 {d}, {r}, {r}, {i};"), ("r", "and.b32 {d}, {r}, {i};"), ("r", "or.b32 {d}, {r}, {i};"),
    ("r", "xor.b32 {d}, {r}, {i};"), ("r", "not.b32 {d}, {r};"), ("r", "cnot.b32 {d}, {r};"),
    ("r", "lop3.b32 {d}, {r}, {r}, {r}, {b};"), ("r", "shl.b32 {d}, {r}, {s};"), ("r", "shr.u32 {d}, {r}, {s};"),
    ("r", "shr.s32 {d}, {r}, {s};"), ("r", "shf.l.wrap.b32 {d}, {r}, {r}, {i};"),
    ("r", "shf.r.clamp.b32 {d}, {r}, {r}, {s};"), ("r", "selp.b32 {d}, {r}, {i}, {p};"),
    ("r", "slct.s32.s32 {d}, {r}, {i}, {r};"), ("r", "set.lt.u32.s32 {d}, {r}, {i};"),
    ("r", "dp4a.u32.s32 {d}, {r}, {r}, {r};"), ("r", "cvt.s32.s8 {d}, {r};"), ("r", "cvt.u32.u16 {d}, {h};"),
    ("r", "cvt.sat.s8.s32 {d}, {r};"), ("r", "cvt.u32.u64 {d}, {q};"), ("r", "add.sat.s32 {d}, {r}, {i};"),
    ("q", "cvt.s64.s32 {d}, {r};"), ("q", "cvt.u64.u32 {d}, {r};"), ("q", "mul.wide.s32 {d}, {r}, {i};"),
    ("q", "mul.wide.u32 {d}, {r}, {i};"), ("q", "mad.wide.s32 {d}, {r}, {i}, {q};"), ("q", "add.s64 {d}, {q}, {q};"),
    ("q", "sub.s64 {d}, {q}, {q};"), ("q", "mul.lo.s64 {d}, {q}, {q};"), ("q", "mul.hi.u64 {d}, {q}, {q};"),
    ("q", "shl.b64 {d}, {q}, {s};"), ("q", "shr.s64 {d}, {q}, {s};"), ("q", "xor.b64 {d}, {q}, {q};"),
    ("q", "min.s64 {d}, {q}, {q};"), ("q", "mov.b64 {d}, {{{r}, {r}}};"), ("q", "bfe.u64 {d}, {q}, {s}, {s};"),
    ("r", "popc.b64 {d}, {q};"), ("h", "cvt.u16.u32 {d}, {r};"), ("h", "add.s16 {d}, {h}, {h};"),
    ("h", "mul.lo.u16 {d}, {h}, {h};"), ("h", "shr.s16 {d}, {h}, {s};"), ("r", "mul.wide.s16 {d}, {h}, {h};"),
    ("r", "mov.b32 {d}, {{{h}, {h}}};"), ("p", "setp.lt.s32 {d}, {r}, {i};"), ("p", "setp.ge.u32 {d}, {r}, {i};"),
    ("p", "setp.eq.s32 {d}, {r}, {i};"), ("p", "setp.ne.and.s32 {d}, {r}, {i}, {p};"),
    ("p", "setp.gt.s64 {d}, {q}, {q};"), ("p", "and.pred {d}, {p}, {p};"), ("p", "xor.pred {d}, {p}, {p};"),
    ("p", "not.pred {d}, {p};"), ("r", "activemask_free"),
]
FLOAT = [
    ("f", "add.f32 {d}, {f}, {g};"), ("f", "sub.f32 {d}, {f}, {g};"), ("f", "mul.f32 {d}, {f}, {g};"),
    ("f", "fma.rn.f32 {d}, {f}, {g}, {f};"), ("f", "min.f32 {d}, {f}, {g};"), ("f", "max.f32 {d}, {f}, {g};"),
    ("f", "neg.f32 {d}, {f};"), ("f", "abs.f32 {d}, {f};"), ("f", "selp.f32 {d}, {f}, {g}, {p};"),
    ("f", "add.sat.f32 {d}, {f}, {g};"), ("f", "cvt.rmi.f32.f32 {d}, {f};"), ("f", "cvt.rzi.f32.f32 {d}, {f};"),
    ("f", "cvt.rni.f32.f32 {d}, {f};"), ("p", "setp.lt.f32 {d}, {f}, {g};"), ("p", "setp.geu.f32 {d}, {f}, {g};"),
    ("p", "setp.eq.f32 {d}, {f}, {g};"), ("f", "mov.b32 {d}, {f};"), ("f", "xor_sign"),
    ("f", "slct.f32.s32 {d}, {f}, {g}, {r};"), ("f", "through_half"),
]
COLLECTIVE = [
    ("r", "shfl.sync.bfly.b32 {d}, {r}, {l}, 31, -1;"), ("r", "shfl.sync.down.b32 {d}, {r}, {l}, 31, -1;"),
    ("r", "shfl.sync.up.b32 {d}, {r}, {l}, 0, -1;"), ("r", "shfl.sync.idx.b32 {d}, {r}, {l}, 31, -1;"),
    ("f", "shfl.sync.bfly.b32 {d}, {f}, {l}, 31, -1;"), ("r", "shared_r"), ("f", "shared_f"),
]
DATA_FREE_COLLECTIVE = [("r", "vote.sync.ballot.b32 {d}, {t}, -1;"), ("p", "vote.sync.any.pred {d}, {t}, -1;")]
PREFIX = {"r": "%r", "q": "%rd", "f": "%f", "p": "%p", "h": "%h"}


class Program:
    """A random body. Registers are written once, so that every use is initialised on every path."""

    def __init__(self, rng, floats_only):
        self.rng, self.floats_only = rng, floats_only
        self.lines, self.count, self.known = [], {}, {c: [] for c in PREFIX}
        self.depth, self.labels, self.tid_only = 0, 0, ["%p1", "%p2"]
        # Values of floats stay small integers or halves: how many bits each may have grown to.
        self.bits = {}

    def new(self, kind):
        self.count[kind] = self.count.get(kind, 100) + 1
        return f"{PREFIX[kind]}{self.count[kind]}"

    def pick(self, kind):
        return self.rng.choice(self.known[kind][-12:] if self.rng.random() < 0.7 else self.known[kind])

    def emit(self, text):
        self.lines.append("  " * (1 + self.depth) + text)

    def fill(self, template, destination):
        text, width = template, []
        for letter in "rqfph":
            while "{" + letter + "}" in text:
                name = self.pick(letter)
                if letter == "f":
                    width.append(self.bits.get(name, 3))
                text = text.replace("{" + letter + "}", name, 1)
        rng = self.rng
        while "{i}" in text:
            constant = rng.choice([0, 1, -1, 2, 7, 31, 255, 65535, 0x7fffffff, -0x80000000, rng.randrange(-99, 99)])
            text = text.replace("{i}", rng.choice([self.pick("r"), str(constant)]), 1)
        text = text.replace("{n}", str(rng.choice([1, 2, 3, 7, 10, 64, 1000])))
        while "{s}" in text:
            text = text.replace("{s}", str(rng.randrange(0, 33)), 1)
        text = text.replace("{b}", str(rng.randrange(256))).replace("{t}", rng.choice(self.tid_only))
        text = text.replace("{l}", str(rng.choice([1, 2, 4, 8, 16, 3, 0])))
        while "{g}" in text:
            if rng.random() < 0.6:
                name = self.pick("f")
                width.append(self.bits.get(name, 3))
            else:
                value = rng.choice([0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, -4.0])
                name = "0f" + struct.pack(">f", value).hex().upper()
                width.append(3)
            text = text.replace("{g}", name, 1)
        if destination.startswith("%f"):
            grown = sum(width) + 1 if text.startswith(("mul", "fma")) else max(width, default=3) + 1
            if grown > 20:
                return None
            self.bits[destination] = grown
        return text.replace("{d}", destination).replace("{{", "{").replace("}}", "}")

    def statement(self, uniform):
        rng = self.rng
        tables = [FLOAT] if self.floats_only else [INTEGER, FLOAT]
        table = rng.choice(tables)
        if uniform and rng.random() < 0.15:
            table = COLLECTIVE + ([] if self.floats_only else DATA_FREE_COLLECTIVE)
        kind, template = rng.choice(table)
        if self.floats_only and kind == "r":
            return
        d = self.new(kind)
        if template == "activemask_free":
            self.emit(f"mov.u32 {d}, {rng.choice(['%tid.x', '%laneid', '%ntid.x', '%ctaid.x'])};")
        elif template == "xor_sign":
            source, t, u = self.pick("f"), self.new("r"), self.new("r")
            self.emit(f"mov.b32 {t}, {source};")
            self.emit(f"{rng.choice(['xor', 'or'])}.b32 {u}, {t}, -2147483648;")
            self.emit(f"mov.b32 {d}, {u};")
            self.bits[d] = self.bits.get(source, 3)
        elif template == "through_half":
            source, h = self.pick("f"), self.new("h")
            if self.bits.get(source, 3) > 8:
                return
            self.emit(f"cvt.rn.f16.f32 {h}, {source};")
            self.emit(f"cvt.f32.f16 {d}, {h};")
            self.bits[d] = self.bits.get(source, 3)
        elif template.startswith("shared"):
            source = self.pick(template[-1])
            self.emit(f"st.shared.b32 [%r10], {source};")
            self.emit("bar.sync 0;")
            self.emit(f"ld.shared.b32 {d}, [{rng.choice(['%r11', '%r10'])}];")
            self.emit("bar.sync 0;")
            if template[-1] == "f":
                self.bits[d] = self.bits.get(source, 3)
        else:
            text = self.fill(template, d)
            if text is None:
                return
            if kind == "f" and d not in self.bits:
                self.bits[d] = max(self.bits.values(), default=3)
            if "shfl" in text and kind == "f":
                self.bits[d] = max(self.bits.values(), default=3)
            self.emit(text)
        self.known[kind].append(d)

    def branch(self):
        """One side or two under a predicate; results meet in registers that both sides write."""
        rng = self.rng
        p, kind = self.pick("p"), rng.choice("f" if self.floats_only else "rf")
        d, base = self.new(kind), self.pick(kind)
        self.labels += 1
        label = f"$L{self.labels}"
        saved = {k: list(v) for k, v in self.known.items()}
        self.emit(f"mov.b32 {d}, {base};")
        width = self.bits.get(base, 3)
        self.emit(f"@{rng.choice(['', '!'])}{p} bra {label};")
        self.depth += 1
        for _ in range(rng.randrange(1, 5)):
            if self.depth < 3 and rng.random() < 0.15:
                self.branch()
            else:
                self.statement(False)
        inner = self.pick(kind)
        self.emit(f"mov.b32 {d}, {inner};")
        self.depth -= 1
        self.lines.append(f"{label}:")
        self.known = saved
        self.known[kind].append(d)
        if kind == "f":
            self.bits[d] = max(width, self.bits.get(inner, 3))

    def body(self):
        self.known = {"r": ["%r1", "%r20", "%r21"], "q": ["%rd20"], "f": ["%f1", "%f2"], "p": ["%p1", "%p2", "%p3"],
                      "h": ["%h1"]}
        for _ in range(self.rng.randrange(6, 26)):
            if self.rng.random() < 0.12:
                self.branch()
            else:
                self.statement(True)
        integers = [] if self.floats_only else self.known["r"][-6:]
        return self.lines, integers, self.known["f"][-5:]


DECLARATIONS = """{
  .reg .pred %p<400>;
  .reg .b16 %h<400>;
  .reg .b32 %r<400>;
  .reg .b64 %rd<400>;
  .reg .f32 %f<400>;
  .shared .align 4 .b8 buffer[256];
  ld.param.u64 %rd1, [pi];
  ld.param.u64 %rd2, [pf];
  ld.param.u64 %rd3, [po];
  ld.param.u64 %rd4, [pg];
  mov.u32 %r1, %tid.x;
"""
LOADS = """  mul.wide.u32 %rd5, %r1, 8;
  add.s64 %rd6, %rd1, %rd5;
  add.s64 %rd7, %rd2, %rd5;
  ld.global.v2.b32 {%r20, %r21}, [%rd6];
  ld.global.v2.f32 {%f1, %f2}, [%rd7];
  mov.u32 %r9, buffer;
  shl.b32 %r8, %r1, 2;
  add.s32 %r10, %r9, %r8;
  xor.b32 %r7, %r8, 20;
  add.s32 %r11, %r9, %r7;
  cvt.u64.u32 %rd20, %r20;
  cvt.u16.u32 %h1, %r21;
  setp.lt.u32 %p1, %r1, 13;
  and.b32 %r6, %r1, 1;
  setp.eq.s32 %p2, %r6, 0;
  setp.lt.f32 %p3, %f1, %f2;
"""
SIGNATURE = ".visible .entry k(.param .u64 pi, .param .u64 pf, .param .u64 po, .param .u64 pg)\n"


def program_text(lines, integers, floats):
    out = [HEADER + SIGNATURE + DECLARATIONS + LOADS, *lines]
    for tensor, registers, kind in (("%rd3", integers, "b32"), ("%rd4", floats, "f32")):
        for i, register in enumerate(registers):
            out += [f"  mad.wide.u32 %rd{10 + i}, %r1, {4 * len(registers)}, {tensor};",
                    f"  st.global.{kind} [%rd{10 + i}+{4 * i}], {register};"]
    return "\n".join([*out, "  ret;", "}", ""])


def constants_text(integers, floats):
    """Stores of constants: each output cell by the thread that owns it, chosen by a chain of predicates."""
    out = [HEADER + SIGNATURE + DECLARATIONS, "  setp.ne.s32 %p1, %r1, 0;", "  @%p1 ret;"]
    for tensor, words in (("%rd3", integers), ("%rd4", floats)):
        for i, word in enumerate(words):
            out += [f"  mov.u32 %r2, {word};", f"  st.global.b32 [{tensor}+{4 * i}], %r2;"]
    return "\n".join([*out, "  ret;", "}", ""])


def instance(known, integers, floats, count_i, count_f, source_a, source_b):
    values_i = f"values = {list(integers)}" if known else 'init = "input"'
    values_f = f"values = {[float(v) for v in floats]}" if known else 'init = "input"'
    out = [] if not count_i else ["o"]
    launch = """[program_{0}]
source = "{1}"
[[program_{0}.launch]]
kernel = "k"
grid = [1]
block = [64]
args = [{{ read = "i" }}, {{ read = "f" }}, {{ write = "o" }}, {{ write = "g" }}]
"""
    return (f"outputs = {json.dumps([*out, 'g'])}\n[tensors]\n"
            f'i = {{ dtype = "i32", shape = [64, 2], {values_i} }}\n'
            f'f = {{ dtype = "f32", shape = [64, 2], {values_f} }}\n'
            f'o = {{ dtype = "i32", shape = [64, {max(1, count_i)}], init = "{"empty" if count_i else "zeros"}" }}\n'
            f'g = {{ dtype = "f32", shape = [64, {count_f}], init = "empty" }}\n'
            + launch.format("a", source_a) + launch.format("b", source_b))


def write_npy(path, kind, shape, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    body = struct.pack(f"<{len(values)}{'i' if kind == '<i4' else 'f'}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body)


def random_integers(rng):
    return [rng.choice([0, 1, -1, 5, rng.randrange(-100, 100), rng.randrange(-2**31, 2**31)]) for _ in range(128)]


def random_floats(rng):
    return [rng.choice([0.0, 1.0, -1.0, 2.0, 0.5, -1.5, 3.0, -2.0]) for _ in range(128)]


def signatures():
    """Opcodes by what they take and give: those of one signature stand for one another. A mov may move integers."""
    groups = {}
    for kind, template in INTEGER + FLOAT + COLLECTIVE:
        if " " in template:
            opcode, operands = template.split(" ", 1)
            key = kind + operands.replace("{g}", "{f}").replace("{n}", "{i}").replace("{s}", "{i}")
            groups.setdefault(key, []).append(opcode)
    return {opcode: [o for o in group if o != opcode and not o.startswith(("div", "rem"))]
            for group in groups.values() for opcode in group if opcode != "mov.b32"}


SIGNATURES = signatures()


def mutate(lines, rng):
    """One instruction changed: its opcode, the order of its operands, a constant or its predicate."""
    for _ in range(100):
        at = rng.randrange(len(lines))
        text = lines[at]
        words = text.split()
        if len(words) < 2:
            continue
        change = rng.randrange(4)
        if change == 0 and SIGNATURES.get(words[0]):
            new = text.replace(words[0], rng.choice(SIGNATURES[words[0]]), 1)
        elif change == 1 and words[0].startswith("@"):
            new = text.replace("@!", "@") if "@!" in text else text.replace("@", "@!")
        elif change == 2 and words[0] in SIGNATURES and "{" not in text:
            head, operands = text.rstrip(";").split(words[0] + " ")
            operands = operands.split(", ")
            i, j = rng.sample(range(1, len(operands)), 2) if len(operands) > 2 else (0, 0)
            classes = {operands[k].rstrip("0123456789") for k in (i, j)}
            if len(classes) > 1 or not classes.pop().startswith("%"):
                continue
            operands[i], operands[j] = operands[j], operands[i]
            new = f"{head}{words[0]} {', '.join(operands)};"
        elif change == 3 and words[0] in SIGNATURES and "sync" not in text:
            last = words[-1].rstrip(";")
            if not last.lstrip("-").isdigit():
                continue
            value = int(last)
            # Shift counts, positions and tables stay small; divisors stay above zero.
            new = text[:text.rindex(" ")] + f" {max(1, value + 1)};"
        else:
            continue
        if new != text:
            return [*lines[:at], new, *lines[at + 1:]], f"{text.strip()} -> {new.strip()}"
    return None, ""


def words(path):
    data = path.read_bytes()
    body = data[10 + int.from_bytes(data[8:10], "little"):]
    return list(struct.unpack(f"<{len(body) // 4}i", body))


class Fuzz:
    def __init__(self, arguments):
        self.coequal, self.out, self.seed = str(arguments.coequal), arguments.out, arguments.seed

    def make(self, number):
        """Writes the files of one program; None when it cannot serve, a failure as text, or its expectations."""
        rng = random.Random(f"{self.seed} {number}")
        lines, integers, floats = Program(rng, number % 3 == 0).body()
        folder = self.out / f"p{number}"
        folder.mkdir(parents=True)
        given_i, given_f = random_integers(rng), random_floats(rng)
        (folder / "program.ptx").write_text(program_text(lines, integers, floats))
        shape = (given_i, given_f, len(integers), len(floats))
        (folder / "self.toml").write_text(instance(False, *shape, "program.ptx", "program.ptx"))
        (folder / "known.toml").write_text(instance(True, *shape, "program.ptx", "constants.ptx"))
        (folder / "constants.ptx").write_text(constants_text([], []))
        for i in range(MUTANTS):
            changed, what = mutate(lines, rng)
            if changed is None:
                continue
            (folder / f"mutant{i}.ptx").write_text(f"// {what}\n" + program_text(changed, integers, floats))
            (folder / f"mutant{i}.toml").write_text(instance(False, *shape, "program.ptx", f"mutant{i}.ptx"))
        for i in range(INPUTS):
            write_npy(folder / f"i{i}.npy", "<i4", "(64, 2)", random_integers(rng))
            write_npy(folder / f"f{i}.npy", "<f4", "(64, 2)", random_floats(rng))
        results = None
        for order in ("forward", "lanes"):
            done = subprocess.run([self.coequal, "run", folder / "known.toml", "--order", order, "--output",
                                   f"o={folder}/o.npy", "--output", f"g={folder}/g.npy"],
                                  capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                return folder, f"the interpreter: {done.stderr.strip()}"
            got = words(folder / "o.npy"), words(folder / "g.npy")
            if results is not None and got != results:
                return folder, "the interpreter's results depend on the order"
            results = got
        o, g = (results[0] if integers else []), results[1]
        (folder / "constants.ptx").write_text(constants_text(o, g))
        # A float of another sign of zero is equal to it: change something that is none.
        if o and rng.random() < 0.7:
            o[rng.randrange(len(o))] ^= 1 << rng.randrange(32)
        else:
            at = rng.randrange(len(g))
            g[at] = struct.unpack("<i", struct.pack("<f", struct.unpack("<f", struct.pack("<i", g[at]))[0] + 1.0))[0]
        (folder / "changed.ptx").write_text(constants_text(o, g))
        (folder / "changed.toml").write_text(instance(True, *shape, "program.ptx", "changed.ptx"))
        return folder, None

    def judge(self, folder):
        report = folder / "report.json"
        done = subprocess.run([self.coequal, "check", "-q", "--jobs", "1", "--budget", "4", "--json", report, folder],
                              capture_output=True, text=True, timeout=120)
        if not report.exists():
            return [f"the command crashed: {done.returncode}"], {}
        verdicts = {i["name"]: i["verdict"] for i in json.loads(report.read_text())["instances"]}
        broken = ("internal", "invalid", "defect", "missing")
        wrong = {"self": "inequivalent", "known": "inequivalent", "changed": "equivalent"}
        failures = [f"{name} is {verdict}" for name, bad in wrong.items()
                    if (verdict := verdicts.get(name, "missing")) in (bad, *broken)]
        for name, verdict in verdicts.items():
            if name.startswith("mutant"):
                if verdict == "equivalent" and (where := self.differs(folder, name)):
                    failures.append(f"{name} is equivalent, but {where}")
                if verdict in ("internal", "invalid"):
                    failures.append(f"{name} is {verdict}")
        return failures, verdicts

    def differs(self, folder, name):
        """Where a mutant and the original differ by more than rounding on one of the inputs."""
        for i in range(INPUTS):
            got = []
            for side in "ab":
                done = subprocess.run([self.coequal, "run", folder / f"{name}.toml", "--program", side,
                                       "--input", f"i={folder}/i{i}.npy", "--input", f"f={folder}/f{i}.npy",
                                       "--output", f"o={folder}/o.npy", "--output", f"g={folder}/g.npy"],
                                      capture_output=True, text=True, timeout=60)
                if done.returncode != 0:
                    return f"program {side}: {done.stderr.strip()}"
                floats = [struct.unpack("<f", struct.pack("<i", w))[0] for w in words(folder / "g.npy")]
                got.append((words(folder / "o.npy"), floats))
            for k, (x, y) in enumerate(zip(got[0][0], got[1][0])):
                if x != y:
                    return f"input {i}: o[{k}] (flat) is {x} and {y}"
            for k, (x, y) in enumerate(zip(got[0][1], got[1][1])):
                if x != y and not abs(x - y) <= 1e-4 * max(abs(x), abs(y)):
                    return f"input {i}: g[{k}] (flat) is {x} and {y}"
        return None

    def work(self, number):
        folder, failure = self.make(number)
        failures, verdicts = ([failure], {}) if failure else self.judge(folder)
        if not failures:
            shutil.rmtree(folder)
        return folder.name, failures, verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coequal", default=ROOT / "build/release/coequal", type=pathlib.Path)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/selfcheck-fuzz")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    fuzz = Fuzz(arguments)
    passed, failed, counts = 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, failures, verdicts in pool.map(fuzz.work, range(arguments.programs)):
            for case, verdict in verdicts.items():
                what = f"{case.rstrip('0123456789')} {verdict}"
                counts[what] = counts.get(what, 0) + 1
            if failures:
                failed += 1
                print(f"FAILED {name}: {'; '.join(failures)}", flush=True)
            else:
                passed += 1
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
