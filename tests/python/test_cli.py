"""The coequal command of the package, on instances in Python."""

import json
import subprocess
import sys

import pytest
from kernels import DOUBLE, TRIPLE

CASES = f'''
import coequal as cq

double, triple = cq.ptx({DOUBLE!r}, "scale"), cq.ptx({TRIPLE!r}, "scale")

class Base:
    other = double
    def setup(self):
        self.x, self.y = cq.input(40), cq.empty(40)
    def program_a(self):
        cq.launch(double, cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
        return {{"y": self.y}}
    def program_b(self):
        cq.launch(self.other, cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
        return {{"y": self.y}}

class Same(Base, cq.Instance):
    """Twice against twice."""
    expect = "equivalent"

class Unlike(Base, cq.Instance):
    """Twice against three times."""
    expect = "inequivalent"
    other = triple
'''


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "coequal", *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )


@pytest.fixture
def cases(tmp_path):
    (tmp_path / "cases.py").write_text(CASES)
    return tmp_path


def test_a_file_is_all_its_instances(cases):
    done = run("check", "cases.py", cwd=cases)
    assert done.returncode == 1
    assert "equivalent  cases.py::Same: 40 of 40 cells proved\n  Twice against twice." in done.stdout
    assert "inequivalent  cases.py::Unlike: y[0] differs" in done.stdout
    assert done.stdout.endswith("2 instances: 1 inequivalent, 1 equivalent\n")


def test_one_class_by_its_name(cases):
    done = run("check", "-q", "cases.py::Same", cwd=cases)
    assert (done.returncode, done.stdout) == (0, "equivalent  cases.py::Same: 40 of 40 cells proved\n")


def test_a_folder_holds_both_forms(cases):
    (cases / "k.ptx").write_text(DOUBLE)
    (cases / "a.toml").write_text(
        """
[tensors]
x = { dtype = "f32", shape = [40] }
y = { dtype = "f32", shape = [40], init = "empty" }
[program_a]
source = "k.ptx"
[[program_a.launch]]
kernel = "scale"
grid = [2]
block = [32]
args = [{ read = "x" }, { write = "y" }, { i32 = 40 }]
"""
    )
    (cases / "helper.py").write_text("raise SystemExit('not an instance file, never run')\n")
    done = run("check", "-q", "--json", cases / "r.json", cases)
    assert done.returncode == 1
    files = [i["file"].rsplit("/", 1)[1] for i in json.loads((cases / "r.json").read_text())["instances"]]
    assert files == ["a.toml", "cases.py::Same", "cases.py::Unlike"]


def test_a_filter_keeps_names_that_contain_it(cases):
    done = run("check", "-q", "-k", "Unl", cases)
    assert done.returncode == 1 and "Same" not in done.stdout
    done = run("check", "-k", "absent", cases)
    assert done.returncode == 2 and "no instance has 'absent' in its name" in done.stderr


def test_expectations_and_the_report(cases):
    done = run("check", "--expect", "--quiet", "--jobs", "2", "--json", cases / "r.json", cases)
    assert done.returncode == 0
    report = json.loads((cases / "r.json").read_text())
    assert [(i["name"], i["verdict"], i["as_expected"]) for i in report["instances"]] == [
        ("Same", "equivalent", True),
        ("Unlike", "inequivalent", True),
    ]


@pytest.mark.parametrize(
    ("text", "argument", "message"),
    [
        ("import coequal as cq\n1 / 0\n", "bad.py", "ZeroDivisionError: division by zero (line 2)"),
        ("import coequal as cq\n", "bad.py", "no subclass of coequal.Instance in this file"),
        (CASES, "bad.py::Sane", "no instance 'Sane' in this file; it has: Same, Unlike"),
        (CASES.replace("cq.input(40)", "cq.input(-1)"), "bad.py::Same", "shape: expected integers of 0 or more"),
        (CASES.replace("block=32", "block=2048"), "bad.py::Same", "expected"),
        (None, "bad.py", "no such file"),
    ],
)
def test_a_wrong_file_exits_with_2(tmp_path, text, argument, message):
    if text is not None:
        (tmp_path / "bad.py").write_text(text)
    done = run("check", argument, cwd=tmp_path)
    assert done.returncode == 2, done
    assert message in done.stderr + done.stdout


def test_one_broken_instance_stops_no_other(cases):
    (cases / "cases.py").write_text(CASES + "\nclass Broken(Base, cq.Instance):\n    program_a = lambda self: 3 + ''\n")
    done = run("check", "-q", "cases.py", cwd=cases)
    assert done.returncode == 2
    assert "equivalent  cases.py::Same" in done.stdout and "cases.py::Unlike" in done.stdout
    assert "TypeError: unsupported operand" in done.stderr


def test_the_rest_is_the_same_command(root):
    assert run("--version").stdout.startswith("coequal ")
    assert "constant-snap" in run("list", "assumptions").stdout
    assert run("chek").returncode == 2
    assert run("check", "nowhere.toml").returncode == 2
