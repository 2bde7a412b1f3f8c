#!/usr/bin/env python3
"""Runs the regression cases: each instance is checked and its report compared with what the case says.

A case is a .toml file below a given folder. What is expected stands in the case itself:
  [expect]                      verdict, defect and program, as users write them
  # expect-exit: 2              on one of the first lines: the run must end with this code instead
  # expect-message: TEXT        ... and print TEXT (may be repeated)
  # expect-exclusions: yes|no   the report lists excluded inputs, or none
  # expect-undecided: TEXT      a reason of the undecided cells contains TEXT
  # expect-vacuous: a b         the report names exactly these programs as vacuous
  # level: nightly              run with --level nightly only
  # order: REASON               which of its defects is found depends on the order of execution
  # open: REASON                not answered yet: only 'unknown' or 'refused' will do until it is as expected, and then
                                this line has to go; a wrong answer fails
and in its sources, above the line that a defect of this kind must name:
  // expect: shared-race @ next line

Testers: base (the above), identity (each program against itself), swap (the programs exchanged), whole-grid (the same
with --whole-grid), orders (the very same report on the terminal, and as JSON but for times and counters, whatever the
order of blocks and warps and the number of worker threads).
COEQUAL_CASES may name a further folder.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTERS = ["base", "identity", "swap", "whole-grid", "orders"]
# Generous guards against hangs: when one strikes, the case has failed.
ONE_SECONDS = 180
EACH_SECONDS = 15

SECTION = re.compile(r"^\[{1,2}\s*([A-Za-z_][\w.]*)\s*\]{1,2}\s*(#.*)?$")
DIRECTIVE = re.compile(r"^#\s*(expect-[a-z]+|level|open|order):\s*(.*?)\s*$")
TIED = re.compile(r"//\s*expect:\s*([a-z-]+)\s*@\s*next line\s*$")
# Of the report on the terminal: where an instance begins, and the line about all of them.
HEADLINE = re.compile(r"^(?=\S.*  \S+\.toml: )", re.MULTILINE)
SUMMARY = re.compile(r"^\d+ instances?: .*\n", re.MULTILINE)
KERNEL = re.compile(r"__global__[^;{(]*?(\w+)\s*\(|\.entry\s+([\w$]+)")


class Case:
    """One instance file: its sections as text, and what it says about the outcome."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.text = self.path.read_text(encoding="utf-8", errors="replace")
        # Pairs of a section's name and its lines, header included; the first has no name.
        self.sections = [["", []]]
        for line in self.text.splitlines():
            header = SECTION.match(line)
            if header:
                self.sections.append([header.group(1), []])
            self.sections[-1][1].append(line)
        self.directives = {}
        for line in self.text.splitlines():
            found = DIRECTIVE.match(line)
            if found:
                self.directives.setdefault(found.group(1), []).append(found.group(2))
        expect = "\n".join("\n".join(lines) for name, lines in self.sections if name == "expect")
        self.expect = dict(re.findall(r'^\s*(verdict|defect|program)\s*=\s*"([^"]*)"', expect, re.M))

    @property
    def is_instance(self):
        return "expect-exit" in self.directives or any(n.startswith("program_a") for n, _ in self.sections)

    @property
    def nightly(self):
        return "nightly" in self.directives.get("level", [])

    @property
    def open(self):
        return "open" in self.directives

    @property
    def exit_code(self):
        codes = self.directives.get("expect-exit")
        return int(codes[0]) if codes else None

    @property
    def has_expectation(self):
        return self.exit_code is not None or "verdict" in self.expect

    @property
    def has_b(self):
        return any(n == "program_b" or n.startswith("program_b.") for n, _ in self.sections)

    def program(self, letter):
        """The sections of one program."""
        name = "program_" + letter
        return [(n, lines) for n, lines in self.sections if n == name or n.startswith(name + ".")]

    def value(self, letter, key):
        return re.findall(
            r'^\s*%s\s*=\s*"([^"]*)"' % key, "\n".join("\n".join(lines) for _, lines in self.program(letter)), re.M)

    def tied_lines(self):
        """The places (file name, line) that a defect of the expected kind must name."""
        places = []
        for letter in self.expect.get("program", "ab"):
            kernels = set(self.value(letter, "kernel"))
            for source in self.value(letter, "source"):
                path = self.path.parent / source
                if not path.is_file():
                    continue
                kernel = None
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                    found = KERNEL.search(line)
                    if found:
                        kernel = found.group(1) or found.group(2)
                    tied = TIED.search(line)
                    if tied and tied.group(1) == self.expect.get("defect") and kernel in kernels:
                        places.append((path.name, number + 1))
        return places

    def rewritten(self, a, b):
        """The instance with these programs of this one as its first and second, sources by absolute path."""
        out = []
        for name, lines in self.sections:
            if not name.startswith("program_") and name != "expect":
                out += lines
        for new, old in (("a", a), ("b", b)):
            for _, lines in self.program(old):
                for i, line in enumerate(lines):
                    if i == 0:
                        line = line.replace("program_" + old, "program_" + new)
                    source = re.match(r'^(\s*source\s*=\s*)"([^"]*)"', line)
                    if source:
                        line = '%s"%s"' % (source.group(1), (self.path.parent / source.group(2)).resolve())
                    out.append(line)
        return "\n".join(out) + "\n"


def find_cases(folders):
    cases = []
    for folder in folders:
        paths = [folder] if folder.is_file() else sorted(folder.rglob("*.toml"))
        cases += [case for case in map(Case, paths) if case.is_instance]
    return cases


def run_one(coequal, path, options):
    """Exit code and everything printed."""
    try:
        done = subprocess.run([coequal, "check", str(path)] + options, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=ONE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, "no answer within %d s" % ONE_SECONDS
    return done.returncode, done.stdout.decode("utf-8", "replace")


def run_batch(coequal, paths, options):
    """Reports by path; a text instead of a report says why there is none.

    One process checks them all. When it dies or hangs the batch is halved, so that one instance cannot hide the others.
    """
    if not paths:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        limit = ONE_SECONDS + EACH_SECONDS * (len(paths) - 1)
        try:
            done = subprocess.run([coequal, "check", "--json", report] + options + [str(p) for p in paths],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
            said = done.stderr.decode("utf-8", "replace").strip()
            why = "exit code %d%s" % (done.returncode, ": " + said[-300:] if said else "")
            with open(report, encoding="utf-8") as file:
                instances = json.load(file)["instances"]
            texts = HEADLINE.split(done.stdout.decode("utf-8", "replace"))[1:]
            for instance, text in zip(instances, texts):
                instance["text"] = SUMMARY.sub("", text)
        except subprocess.TimeoutExpired:
            instances, why = [], "no answer within %d s" % limit
        except (OSError, ValueError, KeyError) as error:
            instances, why = [], "no report (%s)" % (error if isinstance(error, PermissionError) else why)
    if len(instances) == len(paths):
        return dict(zip(paths, instances))
    if len(paths) == 1:
        return {paths[0]: why}
    half = len(paths) // 2
    return {**run_batch(coequal, paths[:half], options), **run_batch(coequal, paths[half:], options)}


def defects_of(report, program=None):
    return sorted({(d["kind"], d["program"]) for d in report["defects"] if program in (None, d["program"])})


def why_undecided(report):
    """A few words on what kept a check from its verdict."""
    words = [r["reason"] for r in report["refusals"]] + [u["reason"] for u in report["undecided"]]
    words += [p["message"] for p in report["problems"]] + [d["message"] for d in report["defects"]]
    return "; ".join(dict.fromkeys(w for w in words if w))[:240]


def check_base(case, report):
    wrong = check_answer(case, report)
    if not case.open or isinstance(report, str):
        return wrong
    if not wrong:
        return ["is as expected: take out its line '# open'"]
    if report["verdict"] in ("unknown", "refused"):
        return []
    return wrong


def check_answer(case, report):
    if isinstance(report, str):
        return [report]
    wrong = []
    want = case.expect["verdict"]
    if report["verdict"] != want:
        more = why_undecided(report)
        wrong.append("verdict %s, expected %s%s" % (report["verdict"], want, " (%s)" % more if more else ""))
    elif "defect" in case.expect:
        kind, program = case.expect["defect"], case.expect.get("program")
        same = [d for d in report["defects"] if d["kind"] == kind and program in (None, d["program"])]
        if not same:
            wrong.append("defects %s, expected %s in %s" % (defects_of(report), kind, program or "a or b"))
        named = {(os.path.basename(a["file"] or ""), a["line"]) for d in same for a in d["accesses"]}
        for place in case.tied_lines() if same else []:
            if place not in named:
                wrong.append("no %s names %s:%d, but %s" % ((kind,) + place + (sorted(named, key=str),)))
    for text in case.directives.get("expect-exclusions", []):
        if (text == "yes") != bool(report["exclusions"]):
            wrong.append("exclusions: %s, expected %s" % ([e["condition"] for e in report["exclusions"]], text))
    for text in case.directives.get("expect-undecided", []):
        if not any(text in u["reason"] for u in report["undecided"]):
            wrong.append("no undecided cell because of '%s': %s" % (text, why_undecided(report)))
    for text in case.directives.get("expect-vacuous", []):
        if sorted(text.split()) != sorted(report["vacuous"]):
            wrong.append("vacuous programs: %s, expected %s" % (report["vacuous"], text.split()))
    return wrong


def check_identity(case, letter, base, report):
    if isinstance(report, str):
        return [report]
    if case.open and report["verdict"] in ("unknown", "refused"):
        return []
    known = {kind for kind, _ in defects_of(base, letter)}
    if case.expect.get("defect") and case.expect.get("program", letter) == letter:
        known.add(case.expect["defect"])
    for side in "ab":
        kinds = {kind for kind, _ in defects_of(report, side)}
        if kinds != known:
            return ["against itself %s has the defects %s, expected %s" % (side, sorted(kinds), sorted(known))]
    allowed = {"defect"} if known else {"equivalent"}
    # What is undecided or refused in the pair may stay so for either of its programs.
    if not known and case.expect["verdict"] in ("unknown", "refused"):
        allowed.add(case.expect["verdict"])
    if not known and letter in base["vacuous"]:
        allowed.add("unknown")
    if report["verdict"] not in allowed:
        return ["against itself: verdict %s (%s)" % (report["verdict"], why_undecided(report))]
    return []


def check_swap(base, report):
    if isinstance(report, str):
        return [report]
    wrong = []
    if report["verdict"] != base["verdict"]:
        wrong.append("exchanged: verdict %s, was %s (%s)" % (report["verdict"], base["verdict"], why_undecided(report)))
    mirrored = sorted((kind, "b" if program == "a" else "a") for kind, program in defects_of(report))
    if mirrored != defects_of(base):
        wrong.append("exchanged: defects %s, were %s" % (mirrored, defects_of(base)))
    return wrong


def check_whole_grid(base, report):
    if isinstance(report, str):
        return [report]
    wrong = []
    for key in ("verdict", "cells"):
        if report[key] != base[key]:
            wrong.append("whole grid: %s %s, by classes %s" % (key, report[key], base[key]))
    if defects_of(report) != defects_of(base):
        wrong.append("whole grid: defects %s, by classes %s" % (defects_of(report), defects_of(base)))
    return wrong


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k != "seconds"}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


def without_work(report):
    """All but times and how much work it was."""
    report = without_times(report)
    report.pop("counters", None)
    return report


def check_some_finding(*reports):
    return [r if isinstance(r, str) else "in another order the verdict is %s" % r["verdict"]
            for r in reports if isinstance(r, str) or r["verdict"] not in ("defect", "refused")]


def check_orders(*reports):
    for report in reports:
        if isinstance(report, str):
            return [report]
        if "text" not in report:
            return ["no report on the terminal"]
    forward, *others = map(without_work, reports)
    return ["another order of blocks and warps gives another %s" % k
            for other in others for k in sorted(set(forward) | set(other)) if forward.get(k) != other.get(k)]


class Runner:
    """Runs testers over cases and counts."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.passed = self.failed = 0

    def report(self, case, tester, wrong):
        if wrong:
            self.failed += 1
            for text in wrong:
                print("FAIL %s [%s] %s" % (os.path.relpath(case.path), tester, text), flush=True)
        else:
            self.passed += 1
            if self.arguments.verbose:
                print("pass %s [%s]" % (os.path.relpath(case.path), tester), flush=True)

    def batch(self, paths, *options):
        return run_batch(self.arguments.coequal, paths, list(options) + self.arguments.option)

    def exit_cases(self, cases):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            answers = pool.map(lambda c: run_one(self.arguments.coequal, c.path, self.arguments.option), cases)
            for case, (code, said) in zip(cases, answers):
                wrong = []
                if code != case.exit_code:
                    wrong.append("exit code %s, expected %d: %s" % (code, case.exit_code, said[-300:]))
                flat = " ".join(said.split())
                wrong += ["no message '%s' in: %s" % (text, flat[-300:])
                          for text in case.directives.get("expect-message", []) if text not in flat]
                self.report(case, "base", wrong)

    def rewritten(self, cases, variants, check):
        """Checks variants (letters of the first and second program) of each case, written to a temporary folder."""
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for number, case in enumerate(cases):
                for a, b in variants(case):
                    path = pathlib.Path(folder) / ("%d%s%s.toml" % (number, a, b))
                    path.write_text(case.rewritten(a, b), encoding="utf-8")
                    files[path] = (case, a)
            reports = self.batch(list(files))
            wrong = {}
            for path, (case, letter) in files.items():
                wrong.setdefault(id(case), []).extend(check(case, letter, reports[path]))
        return wrong

    def run(self, cases):
        testers = self.arguments.testers
        for case in [c for c in cases if not c.has_expectation]:
            self.report(case, "base", ["neither [expect] nor '# expect-exit' says what is right"])
        if "base" in testers:
            self.exit_cases([c for c in cases if c.exit_code is not None])
        cases = [c for c in cases if c.exit_code is None and c.has_expectation]
        paths = [c.path for c in cases]
        base = self.batch(paths)
        if "base" in testers:
            for case in cases:
                self.report(case, "base", check_base(case, base[case.path]))
        # The other testers compare with the first report, so they need one.
        told = [c for c in cases if not isinstance(base[c.path], str)]
        if "identity" in testers:
            wrong = self.rewritten(told, lambda c: [(p, p) for p in ("ab" if c.has_b else "a")],
                                   lambda c, p, r: check_identity(c, p, base[c.path], r))
            for case in told:
                self.report(case, "identity", wrong.get(id(case), []))
        if "swap" in testers:
            pairs = [c for c in told if c.has_b]
            wrong = self.rewritten(pairs, lambda c: [("b", "a")], lambda c, p, r: check_swap(base[c.path], r))
            for case in pairs:
                self.report(case, "swap", wrong.get(id(case), []))
        if "whole-grid" in testers:
            whole = self.batch([c.path for c in told], "--whole-grid")
            for case in told:
                self.report(case, "whole-grid", check_whole_grid(base[case.path], whole[case.path]))
        if "orders" in testers:
            paths = [c.path for c in told]
            backward = self.batch(paths, "--order", "backward", "--jobs", "1")
            mixed = self.batch(paths, "--order", "random", "--jobs", "2")
            for case in told:
                reports = (base[case.path], backward[case.path], mixed[case.path])
                check = check_some_finding if "order" in case.directives else check_orders
                self.report(case, "orders", check(*reports))


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs the regression cases below folders.")
    parser.add_argument("folders", nargs="*", type=pathlib.Path, help="folders or instances (default: all cases)")
    parser.add_argument("--coequal", default=str(HERE.parent.parent / "build/release/coequal"), metavar="PATH",
                        help="the command to test (default: build/release/coequal)")
    parser.add_argument("--testers", default="base", metavar="LIST",
                        help="comma-separated, of %s, or 'all' (default: base)" % ", ".join(TESTERS))
    parser.add_argument("--level", choices=["usual", "nightly"], default="usual", help="nightly: slow cases too")
    parser.add_argument("--option", action="append", default=[], metavar="OPTION",
                        help="a further option of 'coequal check' (may be repeated, as --option=--budget=5)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what passed as well")
    arguments = parser.parse_args()
    arguments.testers = TESTERS if arguments.testers == "all" else arguments.testers.split(",")
    for tester in arguments.testers:
        if tester not in TESTERS:
            parser.error("no tester '%s'; known are %s" % (tester, ", ".join(TESTERS)))
    if not arguments.folders:
        arguments.folders = [HERE]
        if os.environ.get("COEQUAL_CASES"):
            arguments.folders.append(pathlib.Path(os.environ["COEQUAL_CASES"]))
    for folder in arguments.folders:
        if not folder.exists():
            parser.error("no folder '%s'" % folder)
    if not os.access(arguments.coequal, os.X_OK):
        parser.error("'%s' cannot be run; build it first" % arguments.coequal)
    return arguments


def main():
    arguments = parse_arguments()
    cases = [c for c in find_cases(arguments.folders) if arguments.level == "nightly" or not c.nightly]
    if not cases:
        print("no cases found", file=sys.stderr)
        return 2
    runner = Runner(arguments)
    runner.run(cases)
    print("%d passed, %d failed" % (runner.passed, runner.failed))
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
