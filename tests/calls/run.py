#!/usr/bin/env python3
"""Calls of library functions that the compiler merges with what stands around them, against the same kept apart.

Each case is a pair of expressions over x and z. KEPT(v) hides the value v from the compiler, so the code of a call with
such arguments and results is the function's own. Equal are the two sides of a substitution, of a symmetry of the
function or of an identity of real numbers; the last table holds expressions that differ.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ONE = (
    "exp exp2 exp10 expm1 log log2 log10 log1p tanh sinh cosh asinh acosh atanh sin cos tan sinpi cospi asin acos atan "
    "erf erfc erfinv normcdf lgamma tgamma cbrt"
).split()
ODD = "tanh sinh sin tan sinpi asin atan erf erfinv cbrt".split()
# Not read in double precision: `coequal list idioms` says why.
NOT_READ = {"sin", "cos", "tan"}
EVEN = "cosh cos cospi".split()
# f is a literal's suffix and a function's: expf, 1.0f; empty in double precision.
ARGUMENTS = {
    "negated": "-x",
    "scaled": "-0.7{f} * x",
    "shifted": "1.0{f} - x",
    "fma": "2.5{f} * x + 0.5{f}",
    "size": "fabs{f}(x)",
    "square": "x * x",
    "sum": "-(x + z)",
}
RESULTS = {"less": "{v} - 1.0{f}", "fma": "{v} * 0.5{f} + 0.5{f}", "factor": "x * {v}", "negated": "-{v}"}
EQUAL = {
    "erf": ("erf{f}(x)", "1.0{f} - erfc{f}(x)"),
    "erfcinv": ("erfcinv{f}(x)", "erfinv{f}(1.0{f} - x)"),
    "rcbrt": ("rcbrt{f}(x)", "1.0{f} / cbrt{f}(x)"),
    "rhypot": ("rhypot{f}(x, z)", "1.0{f} / hypot{f}(-x, z)"),
    "pow-of-two": ("pow{f}(2.0{f}, x)", "exp2{f}(x)"),
    "pow-of-ten": ("pow{f}(10.0{f}, -x)", "exp10{f}(-x)"),
    "erf-of-minus": ("erf{f}(x)", "erfc{f}(-x) - 1.0{f}"),
    "erfc-of-minus": ("erfc{f}(-x)", "2.0{f} - erfc{f}(x)"),
    "normcdf-of-minus": ("normcdf{f}(-x)", "1.0{f} - normcdf{f}(x)"),
    "expm1": ("expm1{f}(x)", "exp{f}(x) - 1.0{f}"),
    "log1p": ("log1p{f}(x)", "log{f}(1.0{f} + x)"),
    "exp-of-minus": ("exp{f}(-x)", "1.0{f} / exp{f}(x)"),
    "tan": ("tan{f}(x)", "sin{f}(x) / cos{f}(x)"),
    "pow-two": ("pow{f}(x, 2.0{f})", "x * x"),
    "two-calls": ("sinh{f}(x) * sinh{f}(-x)", "-(KEPT(sinh{f}(KEPT(x))) * KEPT(sinh{f}(KEPT(x))))"),
}
DIFFERENT = {
    "erf": ("erf{f}(-x)", "erf{f}(x)"),
    "cbrt": ("cbrt{f}(-x)", "cbrt{f}(x)"),
    "erfc": ("erfc{f}(-x)", "1.0{f} - erfc{f}(x)"),
    "acos": ("acos{f}(-x)", "-acos{f}(x)"),
    "scaled": ("tanh{f}(0.3{f} * x)", "tanh{f}(0.3001{f} * x)"),
    "shifted": ("exp{f}(x) - 1.0{f}", "exp{f}(x - 1.0{f})"),
}

SOURCE = """__device__ __forceinline__ {t} KEPT({t} v) {{ asm("" : "+{r}"(v)); return v; }}
"""
KERNEL = """extern "C" __global__ void {name}(const {t}* px, const {t}* pz, {t}* py) {{
  const {t} x = px[threadIdx.x];
  [[maybe_unused]] const {t} z = pz[threadIdx.x];
  py[threadIdx.x] = {value};
}}
"""
PROGRAM = """
[program_{side}]
source = "kernels.cu"
flags = {flags}
[[program_{side}.launch]]
kernel = "{name}_{side}"
grid = [1]
block = [2]
args = [{{ read = "x" }}, {{ read = "z" }}, {{ write = "y" }}]
"""


def cases(f: str) -> dict[str, tuple[str, str, str]]:
    """Name -> what is expected, the two expressions."""
    all_cases = {}

    def add(name: str, a: str, b: str, verdict: str = "equivalent") -> None:
        all_cases[name.replace("-", "_")] = (verdict, a.format(f=f), b.format(f=f))

    for function in ONE:
        for name, argument in ARGUMENTS.items():
            call, kept = "%s{f}(%s)" % (function, argument), "KEPT(%s{f}(KEPT(%s)))" % (function, argument)
            add("%s_of_%s" % (function, name), call, kept)
        call, kept = "%s{f}(-x)" % function, "KEPT(%s{f}(KEPT(-x)))" % function
        for name, result in RESULTS.items():
            add("%s_then_%s" % (function, name), result.replace("{v}", call), result.replace("{v}", kept))
    for function in ODD:
        add("odd_" + function, "%s{f}(-x)" % function, "-%s{f}(x)" % function)
    for function in EVEN:
        add("even_" + function, "%s{f}(-x)" % function, "%s{f}(x)" % function)
    for name, (a, b) in EQUAL.items():
        add("equal_" + name, a, b)
    for name, (a, b) in DIFFERENT.items():
        add("different_" + name, a, b, "inequivalent")
    return all_cases


def is_read(name: str, dtype: str) -> bool:
    return dtype == "f32" or not NOT_READ.intersection(name.split("_"))


def write(folder: pathlib.Path, dtype: str, flags: list[str]) -> None:
    t, r, f = ("float", "f", "f") if dtype == "f32" else ("double", "d", "")
    all_cases = cases(f)
    source = SOURCE.format(t=t, r=r)
    for name, (verdict, a, b) in all_cases.items():
        if not is_read(name, dtype):
            continue
        source += KERNEL.format(name=name + "_a", t=t, value=a) + KERNEL.format(name=name + "_b", t=t, value=b)
        text = 'outputs = ["y"]\n[tensors]\n'
        for tensor, init in (("x", "input"), ("z", "input"), ("y", "empty")):
            text += '%s = { dtype = "%s", shape = [2], init = "%s" }\n' % (tensor, dtype, init)
        text += "".join(PROGRAM.format(side=side, name=name, flags=json.dumps(flags)) for side in "ab")
        (folder / (name + ".toml")).write_text(text + '\n[expect]\nverdict = "%s"\n' % verdict)
    (folder / "kernels.cu").write_text(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coequal", default="build/release/coequal")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--fast", action="store_true", help="with -use_fast_math")
    parser.add_argument("--keep", help="folder for the instances")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, options.dtype, ["-use_fast_math"] if options.fast else [])
        command = [options.coequal, "check", "--expect", "--quiet", "--budget", "20", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
        # Each verdict is followed by whether it was expected; the last line counts.
        lines = done.stdout.splitlines()
        for verdict, judgement in zip(lines, lines[1:]):
            if not verdict.startswith(" ") and judgement.startswith(" ") and judgement.strip() != "as expected":
                print(verdict, judgement.strip())
        print("\n".join(lines[-1:]))
        print(done.stderr, end="", file=sys.stderr)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
