#!/usr/bin/env python3
"""Checks kernels against mutants of themselves, and every verdict against running both on numbers.

Kernels are those of the regression cases and examples, as PTX. A mutant differs in one place: an opcode, an operand, a
constant, a comparison, a predicate, a barrier, an address or the launch. Both programs then run on small integers,
which float arithmetic keeps exact. A mutant whose outputs differ must not be called equivalent, nor one that faults; a
difference must come with a witness that was replayed; a kernel is equivalent to itself, and exchanging the programs
changes nothing. What fails stays in the folder of --keep, as PTX and TOML. The same seed makes the same mutants.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = [ROOT / "tests" / "regress" / "exec", ROOT / "tests" / "regress" / "soundness",
         ROOT / "tests" / "regress" / "idiom", ROOT / "examples"]
BATCH = 40
SECONDS = 5
# Outputs that differ by less than this part of the larger one may differ by rounding.
ROUNDING = {"<f8": 1e-2, "<f4": 1e-2, "<f2": 0.1}
MAX_CELLS = 1 << 16

SECTION = re.compile(r"^\[{1,2}\s*([A-Za-z_][\w.]*)\s*\]{1,2}\s*(#.*)?$")
TENSOR = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\}")
WRITTEN = re.compile(r"\b(?:write|readwrite)\s*=\s*\"(\w+)\"")
INSTRUCTION = re.compile(r"^\s*(@!?%\w+\s+)?([a-z][a-z0-9_]*(?:[.:][A-Za-z0-9_:]+)*)\s*([^;]*);")
REGISTER = re.compile(r"%[a-z]+\d+")
INTEGER = re.compile(r"(?<![\w%.])(-?\d+)(?![\w.])")
FLOAT = re.compile(r"0f[0-9A-Fa-f]{8}")

# Words of an opcode that may stand for one another.
SWAPS = [
    ("add.f32", "sub.f32", "mul.f32", "min.f32", "max.f32"), ("add.f64", "sub.f64", "mul.f64"),
    ("add.rn.f32", "sub.rn.f32", "mul.rn.f32"), ("add.s32", "sub.s32", "mul.lo.s32", "min.s32", "max.s32"),
    ("min.u32", "max.u32", "min.s32", "max.s32"), ("mul.lo.s32", "mul.hi.s32", "mul.hi.u32"),
    ("and.b32", "or.b32", "xor.b32"), ("and.pred", "or.pred", "xor.pred"), ("and.b16", "or.b16", "xor.b16"),
    ("shl.b32", "shr.u32", "shr.s32"), ("div.s32", "div.u32", "rem.s32", "rem.u32"), ("add.s64", "sub.s64"),
    ("mul.wide.s32", "mul.wide.u32"), ("cvt.rzi", "cvt.rni", "cvt.rmi", "cvt.rpi"),
    ("shfl.sync.down", "shfl.sync.up", "shfl.sync.bfly", "shfl.sync.idx"), ("min.f32", "max.f32"),
    ("abs.f32", "neg.f32"), ("ex2.approx", "sqrt.approx"), ("sqrt.rn.f32", "abs.f32"),
    ("clz.b32", "popc.b32", "brev.b32"), ("bfe.u32", "bfe.s32"), ("addc.u32", "add.u32"), ("subc.u32", "sub.u32"),
    ("vote.sync.any", "vote.sync.all"), ("add.f16", "sub.f16", "mul.f16"), ("add.f16x2", "sub.f16x2", "mul.f16x2"),
    ("mad.lo.s32", "mad.hi.s32"), ("div.rn.f32", "mul.rn.f32"), ("div.approx.f32", "mul.f32"),
    ("cvt.s64.s32", "cvt.u64.u32"), ("cvt.s32.s16", "cvt.u32.u16"), ("atom.global.add", "atom.global.max"),
    ("red.global.add", "red.global.max"), ("slct.f32", "selp.f32"), ("shf.l.wrap", "shf.r.wrap", "shf.l.clamp"),
    ("ld.global.u8", "ld.global.s8"), ("ld.global.u16", "ld.global.s16"), ("cvt.rn.f32.s32", "cvt.rn.f32.u32"),
]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class Base:
    """One program of a case: its instance's tensors and scalars, its launches, and its PTX."""

    def __init__(self, path, letter, head, program, ptx, outputs):
        self.path, self.letter, self.head, self.program, self.ptx = path, letter, head, program, ptx
        self.outputs = outputs
        self.name = "%s-%s" % ("-".join(path.relative_to(ROOT).with_suffix("").parts[-3:]), letter)


class Mutant:
    def __init__(self, base, number, what, ptx, program):
        self.base, self.number, self.what, self.ptx, self.program = base, number, what, ptx, program


def sections_of(text):
    parts = [["", []]]
    for line in text.splitlines():
        header = SECTION.match(line)
        if header:
            parts.append([header.group(1), []])
        parts[-1][1].append(line)
    return parts


def find_nvcc(asked):
    for candidate in (asked, os.environ.get("NVCC"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    for found in (ROOT / ".venv").glob("lib/*/site-packages/nvidia/**/bin/nvcc"):
        return str(found)
    sys.exit("campaign.py: no nvcc found; --nvcc names one")


def compiled(source, flags, nvcc, folder):
    """The PTX text of a source, from a folder of earlier ones; None if it does not compile."""
    text = source.read_text()
    if source.suffix == ".ptx":
        return text
    key = hashlib.sha256((text + repr(flags) + nvcc).encode()).hexdigest()[:24]
    path = folder / (key + ".ptx")
    if not path.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as own:
            new = pathlib.Path(own) / "new.ptx"
            done = subprocess.run([nvcc, "-ptx", "-arch=sm_80", *flags, "-o", str(new), str(source)],
                                  capture_output=True, check=False)
            if done.returncode != 0:
                return None
            os.replace(new, path)
    return path.read_text()


def bases_of(path, nvcc, folder):
    """The programs of a case that a mutant can be made of."""
    text = path.read_text()
    if "expect-exit" in text or 'verdict = "defect"' in text or "level: nightly" in text:
        return []
    parts = sections_of(text)
    head = [line for name, lines in parts if not name.startswith("program_") and name != "expect" for line in lines]
    tensors = {}
    for name, lines in parts:
        for line in lines if name == "tensors" else []:
            if found := TENSOR.match(line):
                tensors[found.group(1)] = found.group(2)
    cells = 0
    for body in tensors.values():
        shape = re.search(r"shape\s*=\s*\[([\d\s,_]*)\]", body)
        count = 1
        for extent in re.findall(r"[\d_]+", shape.group(1) if shape else ""):
            count *= int(extent)
        cells += count
    if cells > MAX_CELLS:
        return []
    bases = []
    for letter in "ab":
        own = "program_" + letter
        mine = [lines for name, lines in parts if name == own or name.startswith(own + ".")]
        if not mine:
            continue
        program = "\n".join("\n".join(lines) for lines in mine)
        source = re.search(r'^\s*source\s*=\s*"([^"]*)"', program, re.M)
        flags = re.search(r"^\s*flags\s*=\s*\[([^\]]*)\]", program, re.M)
        if not source or re.search(r"^\s*outputs\s*=", program, re.M):
            continue
        flags = re.findall(r'"([^"]*)"', flags.group(1)) if flags else []
        ptx = compiled(path.parent / source.group(1), flags, nvcc, folder)
        if ptx is None:
            continue
        program = re.sub(r"^\s*(source|flags)\s*=.*$", "", program, flags=re.M).replace(own, "program_X")
        listed = re.search(r"^outputs\s*=\s*\[([^\]]*)\]", text, re.M)
        outputs = re.findall(r'"(\w+)"', listed.group(1)) if listed else sorted(set(WRITTEN.findall(program)))
        bases.append(Base(path, letter, "\n".join(head), program, ptx, outputs))
    return bases


def instance_text(base, source_a, program_a, source_b, program_b):
    text = [base.head]
    for letter, source, program in (("a", source_a, program_a), ("b", source_b, program_b)):
        own = program.replace("program_X", "program_" + letter)
        first, rest = own.split("\n", 1)
        text.append('%s\nsource = "%s"\n%s' % (first, source, rest))
    return "\n".join(text) + "\n"


def kernel_lines(base):
    """Line numbers of instructions in the functions that the program launches or calls."""
    lines = base.ptx.splitlines()
    wanted = set(re.findall(r'kernel\s*=\s*"([^"]*)"', base.program))
    found, inside = [], False
    for i, line in enumerate(lines):
        entry = re.search(r"\.(entry|func)\b(?:\s*\([^)]*\))?\s*([\w$]+)", line)
        if entry:
            name = entry.group(2)
            inside = entry.group(1) == "func" or any(w == name or w in name for w in wanted)
        if inside and INSTRUCTION.match(line) and not re.match(r"^\s*(ret|exit)\b", line):
            found.append(i)
    return found


def replace_group(line, start, end, new):
    return line[:start] + new + line[end:]


def change_opcode(line, rng):
    options = []
    for group in SWAPS:
        for word in group:
            if re.search(r"\b%s(?=[.\s])" % re.escape(word), line):
                options += [(word, other) for other in group if other != word]
    if not options:
        return None
    word, other = rng.choice(options)
    return re.sub(r"\b%s(?=[.\s])" % re.escape(word), other, line, count=1)


def change_comparison(line, rng):
    found = re.search(r"\bsetp?\.(eq|ne|lt|le|gt|ge)(u?)\.", line)
    if not found:
        return None
    other = rng.choice([c for c in COMPARISONS if c != found.group(1)])
    return replace_group(line, found.start(1), found.end(1), other)


def change_sign(line, rng):
    found = re.search(r"\b(setp\.\w+|shr|div|rem|min|max|mul\.hi|mad\.hi|mul\.wide)\.([su])(16|32|64)\b", line)
    if not found or ".eq." in line or ".ne." in line:
        return None
    return replace_group(line, found.start(2), found.end(2), "u" if found.group(2) == "s" else "s")


def negate_predicate(line, rng):
    if found := re.match(r"^(\s*)@(!?)(%\w+\s)", line):
        return "%s@%s%s%s" % (found.group(1), "" if found.group(2) else "!", found.group(3), line[found.end():])
    if found := re.search(r"\bselp\.\w+\s+(%\w+),\s*([^,]+),\s*([^,]+),", line):
        return line[:found.start(2)] + found.group(3) + ", " + found.group(2) + line[found.end(3):]
    return None


def remove_barrier(line, rng):
    return "" if re.search(r"\b(bar\.sync|barrier\.sync|bar\.warp\.sync|membar|cp\.async\.wait)", line) else None


def shift_address(line, rng):
    found = re.search(r"\b(?:ld|st)\.(global|shared)[\w.:]*?\.?(v[24])?\.?[a-z](8|16|32|64)\b.*\[([^\]]*)\]", line)
    if not found:
        return None
    step = int(found.group(3)) // 8 * (int(found.group(2)[1]) if found.group(2) else 1) * rng.choice([1, -1, 1, 2])
    address = found.group(4)
    offset = re.search(r"\+(-?\d+)$", address)
    new = "%s+%d" % (address[:offset.start()] if offset else address, step + (int(offset.group(1)) if offset else 0))
    return replace_group(line, found.start(4), found.end(4), new)


def change_constant(line, rng):
    body = line.index(INSTRUCTION.match(line).group(2))
    body += len(INSTRUCTION.match(line).group(2))
    if "param" in line:
        return None
    choices = [("i", f) for f in INTEGER.finditer(line, body)] + [("f", f) for f in FLOAT.finditer(line, body)]
    if not choices:
        return None
    kind, found = rng.choice(choices)
    if kind == "i":
        value = int(found.group(1))
        new = str(rng.choice([value + 1, value - 1, *((value * 2, 0, -value) if value else (2, 1, -1))]))
    else:
        bits = int(found.group(0)[2:], 16)
        flipped = [bits ^ 0x80000000, bits ^ 0x00800000, bits ^ 0x00400000]
        new = "0f%08X" % rng.choice([*flipped, 0x3F800000, 0, 0x40000000])
    return None if new.lower() == found.group(0).lower() else replace_group(line, found.start(), found.end(), new)


def change_operand(line, rng, defined):
    """Another register of the same kind that has been written further up."""
    start = INSTRUCTION.match(line)
    registers = list(REGISTER.finditer(line, start.start(3)))
    if not re.match(r"^\s*(@!?%\w+\s+)?(st|red|bra|bar)\b", line):
        registers = registers[1:]
    rng.shuffle(registers)
    for found in registers:
        kind = re.match(r"%[a-z]+", found.group(0)).group(0)
        others = [r for r in defined.get(kind, []) if r != found.group(0)]
        if others:
            return replace_group(line, found.start(), found.end(), rng.choice(others))
    return None


def change_launch(program, rng):
    found = list(re.finditer(r"^(block|grid)\s*=\s*\[([\d, ]+)\]", program, re.M))
    literal = list(re.finditer(r"\{\s*[iu](?:32|64)\s*=\s*(\d+)\s*\}", program))
    if literal and rng.random() < 0.5:
        at = rng.choice(literal)
        value = int(at.group(1))
        return replace_group(program, at.start(1), at.end(1), str(max(0, value + rng.choice([-1, 1]))))
    if not found:
        return None
    at = rng.choice(found)
    extents = [int(x) for x in at.group(2).split(",")]
    i = rng.randrange(len(extents))
    extents[i] = max(1, rng.choice([extents[i] - 1, extents[i] + 1, extents[i] * 2, extents[i] // 2]))
    return replace_group(program, at.start(2), at.end(2), ", ".join(map(str, extents)))


def mutate(base, number, rng):
    """One mutant, or None if the dice chose a place that offers nothing."""
    if rng.random() < 0.06:
        program = change_launch(base.program, rng)
        if program is None or program == base.program:
            return None
        return Mutant(base, number, "launch", base.ptx, program)
    lines = base.ptx.splitlines()
    places = kernel_lines(base)
    if not places:
        return None
    at = rng.choice(places)
    defined = collections.defaultdict(list)
    for i in places:
        if i >= at:
            break
        match = INSTRUCTION.match(lines[i])
        if match and (register := REGISTER.match(match.group(3))):
            defined[re.match(r"%[a-z]+", register.group(0)).group(0)].append(register.group(0))
    kinds = [change_opcode, change_comparison, change_sign, negate_predicate, remove_barrier, shift_address,
             change_constant, lambda line, r: change_operand(line, r, defined)]
    names = ["opcode", "comparison", "sign", "predicate", "barrier", "address", "constant", "operand"]
    order = list(range(len(kinds)))
    rng.shuffle(order)
    for k in order:
        new = kinds[k](lines[at], rng)
        if new is not None and new != lines[at]:
            what = "%s, line %d: '%s' for '%s'" % (names[k], at + 1, new.strip(), lines[at].strip())
            return Mutant(base, number, what, "\n".join(lines[:at] + [new] + lines[at + 1:]) + "\n", base.program)
    return None


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    kind = re.search(rb"'descr': '([^']*)'", data[10:10 + length]).group(1).decode()
    code = {"f8": "d", "f4": "f", "f2": "e", "b1": "B", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i",
            "u4": "I", "i8": "q", "u8": "Q"}[kind[1:]]
    body = data[10 + length:]
    return kind, struct.unpack("<%d%s" % (len(body) // struct.calcsize(code), code), body)


class Campaign:
    def __init__(self, arguments):
        self.arguments = arguments
        self.passed = self.failed = 0
        self.counts = collections.Counter()
        self.keep = pathlib.Path(arguments.keep)
        self.known_runs = {}

    def coequal(self, *words, limit=600):
        return subprocess.run([self.arguments.coequal, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit, check=False, text=True, errors="replace")

    def check_batch(self, paths):
        """Reports by path; a text where there is none."""
        if not paths:
            return {}
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            try:
                done = self.coequal("check", "--quiet", "--jobs", 1, "--budget", SECONDS, "--json", file.name, *paths,
                                    limit=60 + 2 * SECONDS * min(len(paths), 10))
                why = "exit code %d: %s" % (done.returncode, done.stdout.strip()[-300:])
                instances = json.loads(pathlib.Path(file.name).read_text())["instances"]
            except subprocess.TimeoutExpired:
                instances, why = [], "no answer in time"
            except (OSError, ValueError, KeyError):
                instances = []
        if len(instances) == len(paths):
            return dict(zip(paths, instances))
        if len(paths) == 1:
            return {paths[0]: why}
        return {path: report for one in paths for path, report in self.check_batch([one]).items()}

    def check_all(self, paths):
        batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
        reports = {}
        with concurrent.futures.ThreadPoolExecutor(self.arguments.processes) as pool:
            for part in pool.map(self.check_batch, batches):
                reports.update(part)
        return reports

    def run_program(self, path, letter, outputs, seed, folder):
        """Outputs by name, or a word on why there are none."""
        words = []
        for name in outputs:
            words += ["--output", "%s=%s" % (name, folder / (name + ".npy"))]
        try:
            done = self.coequal("run", path, "--program", letter, "--integers", "--seed", seed, "--budget", SECONDS,
                                "--fill", 64, *words, limit=60)
        except subprocess.TimeoutExpired:
            return "no answer in time"
        if done.returncode != 0:
            fault = re.search(r": (out-of-bounds|misaligned|deadlock|trap|invalid): ", done.stdout)
            return "fault: " + done.stdout.strip()[-300:] if fault and done.returncode == 1 else "not run"
        return {name: read_npy(folder / (name + ".npy")) for name in outputs}

    def concrete(self, mutant, path):
        """'same', 'differs: ...', 'fault: ...' or 'not run' for the mutant, over some inputs."""
        said = "same"
        with tempfile.TemporaryDirectory() as folder:
            for seed in (1, 2):
                key = (mutant.base.name, seed)
                if key not in self.known_runs:
                    self.known_runs[key] = self.run_program(path, "a", mutant.base.outputs, seed, pathlib.Path(folder))
                ours = self.known_runs[key]
                theirs = self.run_program(path, "b", mutant.base.outputs, seed, pathlib.Path(folder))
                if isinstance(ours, str):
                    return "not run"
                if isinstance(theirs, str):
                    return theirs
                for name in mutant.base.outputs:
                    kind, a = ours[name]
                    b = theirs[name][1]
                    for i, (x, y) in enumerate(zip(a, b)):
                        if x == y or (x != x and y != y):
                            continue
                        part = ROUNDING.get(kind)
                        if part is None:
                            return "differs: %s cell %d, %s against %s, seed %d" % (name, i, x, y, seed)
                        if x - x != 0 or y - y != 0:
                            said = "not finite"
                        elif abs(x - y) > part * max(abs(x), abs(y), 1e-3):
                            return "differs: %s cell %d, %s against %s, seed %d" % (name, i, x, y, seed)
        return said

    def judge(self, report, concrete):
        """What is wrong with the verdict, or None."""
        if isinstance(report, str):
            return report
        verdict = report["verdict"]
        self.counts[verdict] += 1
        if verdict == "internal":
            return "internal error: %s" % "; ".join(p["message"] for p in report["problems"])
        if verdict == "equivalent" and concrete.startswith("differs"):
            return "called equivalent, but %s" % concrete
        if verdict == "equivalent" and concrete.startswith("fault"):
            return "called equivalent, but it ends with a %s" % concrete
        if verdict == "inequivalent":
            replay = (report["witness"] or {}).get("replay")
            if not replay or replay.startswith("not replayed"):
                return "a witness without replay: %s" % replay
            self.counts["visible in floats" if "(difference" in replay else "replayed, not visible"] += 1
        return None

    def fail(self, name, text, files):
        self.failed += 1
        folder = self.keep / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, folder / file.name)
        (folder / "why.txt").write_text(text + "\n")
        for toml in folder.glob("*.toml"):
            toml.write_text(re.sub(r'source = "[^"]*/([^"/]*)"', r'source = "\1"', toml.read_text()))
        print("FAIL %s: %s" % (os.path.relpath(folder), text), flush=True)

    def bases(self, work):
        """Kernels that the engine proves equal to themselves; the others say nothing about mutants."""
        ptx = self.keep / "ptx"
        ptx.mkdir(parents=True, exist_ok=True)
        nvcc = find_nvcc(self.arguments.nvcc)
        paths = sorted(path for folder in CASES for path in folder.rglob("*.toml"))
        seen, bases = set(), []
        with concurrent.futures.ThreadPoolExecutor(self.arguments.processes) as pool:
            for found in pool.map(lambda p: bases_of(p, nvcc, ptx), paths):
                for base in found:
                    key = (base.head, base.program, base.ptx)
                    if base.outputs and key not in seen:
                        seen.add(key)
                        bases.append(base)
        files = {}
        for base in bases:
            source, toml = work / (base.name + ".ptx"), work / (base.name + ".toml")
            source.write_text(base.ptx)
            toml.write_text(instance_text(base, source, base.program, source, base.program))
            files[toml] = base
        kept = []
        for toml, report in self.check_all(list(files)).items():
            verdict = report if isinstance(report, str) else report["verdict"]
            if verdict == "equivalent":
                self.passed += 1
                kept.append(files[toml])
            elif verdict in ("unknown", "refused", "invalid"):
                self.counts["base " + verdict] += 1
            elif verdict != "defect":
                self.fail("identity-" + files[toml].name, "against itself: %s" % verdict,
                          [toml, toml.with_suffix(".ptx")])
        return kept

    def run(self):
        rng = random.Random(self.arguments.seed)
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            bases = self.bases(work)
            print("%d kernels" % len(bases), flush=True)
            if len(bases) < 30:
                print("FAIL fewer than 30 kernels to start from")
                self.failed += 1
            left = self.arguments.count
            number = 0
            texts = set()
            for _ in range(50 * self.arguments.count):
                if left == 0 or not bases:
                    break
                group = []
                for _ in range(50 * BATCH):
                    if len(group) == min(left, 5 * BATCH):
                        break
                    base = rng.choice(bases)
                    mutant = mutate(base, number, rng)
                    key = mutant and (base.name, mutant.ptx, mutant.program)
                    if mutant and key not in texts:
                        texts.add(key)
                        number += 1
                        group.append(mutant)
                if not group:
                    break
                left -= len(group)
                self.round(group, work)
        print(", ".join("%s %d" % pair for pair in sorted(self.counts.items())))
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed else 0

    def round(self, mutants, work):
        files, swaps = {}, {}
        for m in mutants:
            name = "m%05d" % m.number
            original, source, toml = work / (m.base.name + ".ptx"), work / (name + ".ptx"), work / (name + ".toml")
            source.write_text(m.ptx)
            toml.write_text(instance_text(m.base, original, m.base.program, source, m.program))
            files[toml] = m
            if m.number % 4 == 0:
                swap = work / (name + "-swap.toml")
                swap.write_text(instance_text(m.base, source, m.program, original, m.base.program))
                swaps[toml] = swap
        reports = self.check_all(list(files) + list(swaps.values()))
        with concurrent.futures.ThreadPoolExecutor(self.arguments.processes) as pool:
            concrete = dict(zip(files, pool.map(lambda toml: self.concrete(files[toml], toml), files)))
        for toml, m in files.items():
            report = reports[toml]
            if not isinstance(report, str) and report["verdict"] == "invalid":
                self.counts["invalid"] += 1
                continue
            self.counts["concretely " + concrete[toml].split(":")[0]] += 1
            wrong = self.judge(report, concrete[toml])
            if not wrong and toml in swaps:
                other = reports[swaps[toml]]
                verdict = other if isinstance(other, str) else other["verdict"]
                if verdict != report["verdict"]:
                    wrong = "%s, and with the programs exchanged %s" % (report["verdict"], verdict)
            if wrong:
                self.fail("m%05d" % m.number, "%s\n%s: %s" % (wrong, m.base.name, m.what),
                          [toml, toml.with_suffix(".ptx"), work / (m.base.name + ".ptx")])
            else:
                self.passed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coequal", required=True, help="the coequal command")
    parser.add_argument("--count", type=int, default=2000, help="how many mutants (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutants (default 1)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (default 2)")
    parser.add_argument("--keep", default=str(ROOT / "build" / "selfcheck"), help="folder for what fails")
    parser.add_argument("--nvcc", default="", help="the CUDA compiler")
    return Campaign(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
