#!/usr/bin/env python3
"""Checks pairs of kernels, one with a defect and one repaired, made from table.py.

Of each pair the defective twin must be reported with its kind and with every access that the table names; the repaired
one must be free of defects and equivalent to its reference. On numbers the defective twin's results must differ between
two orders or two fillings of memory (or it must fault), wherever the table says that this can be seen, and the repaired
one's may not.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from pair import Pair
from table import pairs

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Kernels in one source: a call of the compiler each.
BATCH = 24
# What a legal schedule may look like: order, filling of unwritten memory, copies at their wait.
RUNS = [["--order", "forward", "--fill", "255"], ["--order", "lanes-backward", "--fill", "0", "--late-copies"],
        ["--order", "lanes", "--fill", "1", "--late-copies"], ["--order", "random", "--fill", "255"]]
# A defect that needs luck gets more: as many seeds, each of which makes inputs and schedules.
SEEDS = range(2, 10)
# Guards against hangs.
CHECK_SECONDS, RUN_SECONDS = 600, 60


class Twin:
    def __init__(self, pair: Pair, which: str, path: pathlib.Path, named: list[int]):
        self.pair, self.which, self.path, self.named = pair, which, path, named


def write(all_pairs: list[Pair], folder: pathlib.Path) -> list[Twin]:
    twins = []
    batches = [pairs_of[first:first + BATCH] for pairs_of in ([p for p in all_pairs if p.cluster == 1],
                                                               [p for p in all_pairs if p.cluster > 1])
               for first in range(0, len(pairs_of), BATCH)]
    for number, batch in enumerate(batches):
        source = folder / ("batch%d.cu" % number)
        text, line = "", 0
        for pair in batch:
            for which in ("bad", "good", "ref"):
                if which == "ref" and not pair.reference:
                    continue
                kernel, named = pair.kernel(which, pair.reference if which == "ref" else pair.body)
                if which != "ref":
                    path = folder / ("%s_%s.toml" % (pair.name, which))
                    path.write_text(pair.instance(source.name, which), encoding="utf-8")
                    twins.append(Twin(pair, which, path, [line + at for at in named]))
                text += kernel
                line += kernel.count("\n")
        source.write_text(text, encoding="utf-8")
    return twins


def reports(coequal: str, twins: list[Twin], folder: pathlib.Path, options: list[str]) -> dict[pathlib.Path, dict]:
    out = folder / "report.json"
    done = subprocess.run([coequal, "check", "--quiet", "--json", str(out), *options, *(str(t.path) for t in twins)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=CHECK_SECONDS, check=False)
    if not out.is_file():
        sys.exit("no report: %s" % done.stdout.decode("utf-8", "replace")[-2000:])
    instances = json.loads(out.read_text(encoding="utf-8"))["instances"]
    return {twin.path: report for twin, report in zip(twins, instances)}


def judge(twin: Twin, report: dict) -> list[str]:
    found = sorted({d["kind"] for d in report["defects"]})
    if twin.which == "good":
        if report["verdict"] == "equivalent" and not found:
            return []
        why = [d["message"] for d in report["defects"]] + [r["reason"] for r in report["refusals"]]
        why += [u["reason"] for u in report["undecided"]] + [p["message"] for p in report["problems"]]
        return ["the repaired twin is %s %s: %s" % (report["verdict"], found, "; ".join(why)[:300])]
    if report["verdict"] != "defect" or twin.pair.kind not in found:
        why = [r["reason"] for r in report["refusals"]] + [u["reason"] for u in report["undecided"]]
        return ["verdict %s with %s, expected %s (%s)" % (
            report["verdict"], found, twin.pair.kind, "; ".join(why)[:300])]
    named = {a["line"] for d in report["defects"] if d["kind"] == twin.pair.kind for a in d["accesses"]}
    return ["no %s names line %d, but %s" % (twin.pair.kind, line, sorted(named)) for line in twin.named
            if line not in named]


def outcome(coequal: str, twin: Twin, options: list[str], folder: pathlib.Path) -> str:
    prints = [part for t in twin.pair.tensors if t.access != "read" for part in ("--print", t.name)]
    try:
        done = subprocess.run([coequal, "run", str(twin.path), "--integers", *prints, *options], capture_output=True,
                              timeout=RUN_SECONDS, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return "no end within %d s" % RUN_SECONDS
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    if done.returncode != 1:
        sys.exit("exit code %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace")))
    return "fault: " + done.stderr.decode("utf-8", "replace")


def run_on_numbers(coequal: str, twin: Twin, folder: pathlib.Path) -> list[str]:
    seen = [outcome(coequal, twin, options, folder) for options in RUNS]
    faults = [text for text in seen if text.startswith(("fault", "no end"))]
    if twin.which == "good":
        if faults:
            return ["the repaired twin faults: %s" % faults[0][:300]]
        return ["the repaired twin gives different results"] if len(set(seen)) > 1 else []
    shown = bool(faults) or len(set(seen)) > 1
    for seed in SEEDS if twin.pair.shows else []:
        if shown:
            break
        shown = len({outcome(coequal, twin, ["--order", order, "--seed", str(seed)], folder)
                     for order in ("forward", "random", "lanes-random")}) > 1
    if shown != twin.pair.shows:
        return ["on numbers the defect %s" % ("shows" if shown else "does not show")]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks pairs of defective and repaired kernels.")
    parser.add_argument("--coequal", default=str(ROOT / "build/release/coequal"), metavar="PATH")
    parser.add_argument("--only", default="", metavar="TEXT", help="pairs whose names contain it")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="write the pairs there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    chosen = [p for p in pairs() if arguments.only in p.name]
    twice = [name for name, count in collections.Counter(p.name for p in chosen).items() if count > 1]
    if twice or not chosen:
        sys.exit("names used twice: %s" % ", ".join(twice) if twice else "no such pair")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        twins = write(chosen, folder)
        answers = reports(arguments.coequal, twins, folder, [])
        wrong = {twin.path: judge(twin, answers[twin.path]) for twin in twins}
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            ran = pool.map(lambda twin: run_on_numbers(arguments.coequal, twin, folder), twins)
            for twin, texts in zip(twins, ran):
                wrong[twin.path] += texts
    failed = 0
    for twin in twins:
        failed += bool(wrong[twin.path])
        for text in wrong[twin.path]:
            print("FAIL %s (%s): %s" % (twin.pair.name, twin.which, text))
    print("%d pairs, %d of %d twins failed" % (len(chosen), failed, len(twins)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
