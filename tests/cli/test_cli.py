"""The coequal command from outside: exit codes, messages, --expect, --json. Usage: test_cli.py PATH-OF-COEQUAL."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

import jsonschema

COEQUAL = sys.argv.pop(1)
SCHEMA = pathlib.Path(__file__).parents[2] / "docs" / "report.schema.json"

# y[i] = x[i] * FACTOR for i in 0..7, one thread a cell; EXTRA goes before the store, %f2 being the value.
KERNEL = """.version 7.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 p_x, .param .u64 p_y)
{{
  .reg .b32 %r<4>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [p_x];
  ld.param.u64 %rd2, [p_y];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd3, %rd5;
  add.s64 %rd7, %rd4, %rd5;
  ld.global.f32 %f1, [%rd6];
  {body}
  st.global.f32 [%rd7], %f2;
  ret;
}}
"""
DOUBLE = "add.f32 %f2, %f1, %f1;"
TWICE = "mul.f32 %f2, %f1, 0f40000000;"
THRICE = "mul.f32 %f2, %f1, 0f40400000;"
REFUSED = "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd1, {%r1}];"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, a, b=None, expect="", cells=8, y_cells=8, extra=""):
        """An instance of two bodies; returns its path."""
        programs = ""
        for side, body in (("a", a), ("b", b)):
            if body is None:
                continue
            (self.folder / f"{name}_{side}.ptx").write_text(KERNEL.format(name="f", body=body))
            programs += (
                f'[program_{side}]\nsource = "{name}_{side}.ptx"\n[[program_{side}.launch]]\nkernel = "f"\n'
                f'grid = [1]\nblock = [8]\nargs = [{{ read = "x" }}, {{ write = "y" }}]\n'
            )
        path = self.folder / f"{name}.toml"
        path.write_text(
            f'title = "{name}"\n[tensors]\nx = {{ dtype = "f32", shape = [{cells}] }}\n'
            f'y = {{ dtype = "f32", shape = [{y_cells}], init = "empty" }}\n{programs}{extra}'
            + (f"[expect]\n{expect}\n" if expect else "")
        )
        return str(path)

    def run_coequal(self, *arguments):
        return subprocess.run([COEQUAL, *map(str, arguments)], capture_output=True, text=True, timeout=600)

    def check(self, code, *arguments):
        done = self.run_coequal("check", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Usage(Case):
    def test_no_arguments(self):
        done = self.run_coequal()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("coequal: "))

    def test_version_and_help(self):
        done = self.run_coequal("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^coequal \d+\.\d+\.\d+\n$")
        done = self.run_coequal("check", "--help")
        self.assertEqual(done.returncode, 0)
        for flag in ("--json", "--expect", "--quiet", "--jobs", "--budget", "--cells", "--proof", "--nvcc", "--arch",
                     "--assume", "--no-assume", "--no-snap", "--whole-grid", "--seed", "--verbose"):
            self.assertIn(flag, done.stdout)

    def test_wrong_options(self):
        path = self.write("same", DOUBLE, DOUBLE)
        for arguments in (["--no-such"], ["--cells", "some"], ["--cells", "0"], ["--cells", "3x"], ["--proof", "fast"],
                          ["--budget", "-1"], ["--jobs", "many"], ["--assume", "warp-lokstep"],
                          ["--assume", "constant-snap", "--no-snap"]):
            with self.subTest(arguments):
                done = self.check(2, path, *arguments)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = self.check(2, path, "--assume", "warp-lokstep")
        self.assertIn("did you mean 'warp-lockstep'?", done.stderr)

    def test_paths(self):
        done = self.check(2, self.folder / "none.toml")
        self.assertIn("none.toml", done.stderr)
        (self.folder / "empty").mkdir()
        (self.folder / "empty" / "pyproject.toml").write_text("[project]\n")
        done = self.check(2, self.folder / "empty")
        self.assertIn("no instance found", done.stderr)

    def test_json_that_cannot_be_written_is_said_before_checking(self):
        done = self.check(2, self.write("same", DOUBLE, DOUBLE), "--json", self.folder / "no" / "such.json")
        self.assertEqual(done.stdout, "")
        self.assertIn("cannot write", done.stderr)

    def test_lists(self):
        done = self.run_coequal("list", "options")
        self.assertEqual(done.returncode, 0)
        self.assertIn("budget.seconds", done.stdout)
        done = self.run_coequal("list", "diagnostics")
        self.assertEqual(done.returncode, 0)
        self.assertIn("CompilerMissing", done.stdout)
        done = self.run_coequal("list", "defects")
        self.assertEqual(done.returncode, 0)
        self.assertIn("shared-race", done.stdout)
        done = self.run_coequal("list", "isa")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("add", done.stdout)
        self.assertEqual(self.run_coequal("list", "nothing").returncode, 2)


class Invalid(Case):
    def test_an_invalid_instance_names_its_line(self):
        path = self.folder / "bad.toml"
        path.write_text('[tensors]\nx = { dtype = "f32", shape = ["8"] }\n[program_a]\n')
        done = self.check(2, path)
        self.assertEqual(done.stdout, "")
        self.assertIn(f"{path}:2:31: shape: expected an array of integers, found a string in it", done.stderr)
        self.assertIn('x = { dtype = "f32", shape = ["8"] }', done.stderr)

    def test_it_stops_no_other(self):
        self.write("good", DOUBLE, DOUBLE)
        (self.folder / "bad.toml").write_text("[program_a]\n")
        report = self.folder / "report.json"
        self.check(2, self.folder, "--json", report)
        verdicts = {i["name"]: i["verdict"] for i in json.loads(report.read_text())["instances"]}
        self.assertEqual(set(verdicts), {"bad", "good"})
        self.assertEqual(verdicts["bad"], "invalid")
        self.assertNotEqual(verdicts["good"], "invalid")

    def test_expect_does_not_hide_it(self):
        (self.folder / "bad.toml").write_text("[program_a]\n")
        self.check(2, "--expect", self.folder / "bad.toml")

    def test_a_source_that_is_no_ptx(self):
        path = self.write("broken", DOUBLE, DOUBLE)
        (self.folder / "broken_b.ptx").write_text("this is no PTX")
        self.check(2, path)


class Verdicts(Case):
    def test_equivalent_is_0(self):
        done = self.check(0, self.write("same", DOUBLE, TWICE))
        self.assertTrue(done.stdout.startswith("equivalent  "), done.stdout)
        self.assertEqual(done.stderr, "")

    def test_inequivalent_is_1(self):
        done = self.check(1, self.write("other", DOUBLE, THRICE))
        self.assertTrue(done.stdout.startswith("inequivalent  "), done.stdout)
        self.assertIn("witness for y[", done.stdout)

    def test_defect_is_1(self):
        done = self.check(1, self.write("short", DOUBLE, DOUBLE, y_cells=7))
        self.assertTrue(done.stdout.startswith("defect  "), done.stdout)
        self.assertIn("out-of-bounds-write", done.stdout)

    def test_a_program_alone_is_checked_for_defects(self):
        done = self.check(0, self.write("alone", DOUBLE))
        self.assertTrue(done.stdout.startswith("no defect  "), done.stdout)

    def test_unknown_is_3(self):
        done = self.check(3, self.write("part", DOUBLE, TWICE), "--cells", "1")
        self.assertTrue(done.stdout.startswith("unknown  "), done.stdout)

    def test_refused_is_4(self):
        done = self.check(4, self.write("clock", REFUSED, REFUSED))
        self.assertTrue(done.stdout.startswith("refused  "), done.stdout)
        self.assertIn("tex.1d", done.stdout)

    def test_the_worst_counts(self):
        self.write("a", DOUBLE, TWICE)
        self.write("b", REFUSED, REFUSED)
        self.check(4, self.folder)
        self.write("c", DOUBLE, THRICE)
        done = self.check(1, self.folder, "--quiet")
        self.assertEqual(len(done.stdout.splitlines()), 4, done.stdout)
        self.assertIn("3 instances: 1 inequivalent, 1 refused, 1 equivalent", done.stdout)

    def test_the_format_does_not_change_the_code(self):
        path = self.write("other", DOUBLE, THRICE)
        for arguments in ([], ["--quiet"], ["-v"], ["--json", str(self.folder / "r.json")]):
            self.check(1, path, *arguments)


class Expectations(Case):
    def test_as_expected_is_0(self):
        self.check(0, "--expect", self.write("other", DOUBLE, THRICE, 'verdict = "inequivalent"'))
        self.check(0, "--expect", self.write("short", DOUBLE, DOUBLE, 'verdict = "defect"\ndefect = '
                                             '"out-of-bounds-write"\nprogram = "b"', y_cells=7))
        self.check(0, "--expect", self.write("clock", REFUSED, REFUSED, 'verdict = "refused"'))

    def test_not_as_expected_is_1(self):
        done = self.check(1, "--expect", self.write("same", DOUBLE, TWICE, 'verdict = "inequivalent"'))
        self.assertIn("not as expected: expected inequivalent", done.stdout)
        self.check(1, "--expect", self.write("clock", REFUSED, REFUSED, 'verdict = "equivalent"'))
        self.check(1, "--expect", self.write("short", DOUBLE, DOUBLE, 'verdict = "defect"\ndefect = "global-race"',
                                             y_cells=7))

    def test_nothing_expected_is_1(self):
        self.check(1, "--expect", self.write("same", DOUBLE, TWICE))


class Json(Case):
    def test_every_verdict_is_valid_under_the_schema(self):
        self.write("same", DOUBLE, TWICE, 'verdict = "equivalent"')
        self.write("other", DOUBLE, THRICE)
        self.write("short", DOUBLE, DOUBLE, y_cells=7)
        self.write("clock", REFUSED, REFUSED)
        (self.folder / "bad.toml").write_text("[program_a]\n")
        report = self.folder / "report.json"
        self.check(2, self.folder, "--json", report)
        document = json.loads(report.read_text())
        jsonschema.validate(document, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
        verdicts = {i["name"]: i["verdict"] for i in document["instances"]}
        self.assertEqual(verdicts, {"same": "equivalent", "other": "inequivalent", "short": "defect",
                                    "clock": "refused", "bad": "invalid"})
        self.assertEqual([i["name"] for i in document["instances"]], sorted(verdicts))
        self.assertEqual(document["verdict"], "invalid")

    def test_the_number_of_workers_changes_nothing(self):
        for i in range(6):
            self.write(f"case{i}", DOUBLE, (TWICE, THRICE)[i % 2])
        texts = []
        for jobs in (1, 4):
            report = self.folder / f"report{jobs}.json"
            self.check(1, self.folder, "--json", report, "--jobs", jobs)
            document = json.loads(report.read_text())
            for instance in document["instances"]:
                instance["seconds"] = {}
            texts.append(json.dumps(document))
        self.assertEqual(texts[0], texts[1])


class Run(Case):
    def npy(self, name, values, kind="<f4", version=1):
        """An .npy file as NumPy writes it."""
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
        size = struct.pack("<H" if version == 1 else "<I", len(header) + 1)
        path = self.folder / name
        path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + header + b"\n"
                         + struct.pack(f"<{len(values)}{'f' if kind == '<f4' else 'd'}", *values))
        return path

    def run_instance(self, code, *arguments):
        done = self.run_coequal("run", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_files_in_and_out(self):
        path = self.write("other", DOUBLE, THRICE)
        x = [0.5, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1024.25]
        for version in (1, 2):
            given = self.npy("x.npy", x, version=version)
            for program, factor in (("a", 2), ("b", 3)):
                out = self.folder / f"y{program}.npy"
                done = self.run_instance(0, path, "--program", program, "--input", f"x={given}",
                                         "--output", f"y={out}")
                self.assertIn("y f32 [8]", done.stdout)
                data = out.read_bytes()
                self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
                length = struct.unpack("<H", data[8:10])[0]
                self.assertEqual((10 + length) % 64, 0)
                self.assertIn(b"'descr': '<f4', 'fortran_order': False, 'shape': (8,)", data[10:10 + length])
                self.assertEqual(list(struct.unpack("<8f", data[10 + length:])), [factor * v for v in x])

    def test_numbers_and_print(self):
        path = self.write("same", DOUBLE)
        done = self.run_instance(0, path, "--input", "x=1.25", "--print", "y")
        self.assertEqual(done.stdout, "y = 2.5 2.5 2.5 2.5 2.5 2.5 2.5 2.5\n")

    def test_random_inputs_follow_the_seed(self):
        path = self.write("same", DOUBLE)
        first, again, other = (self.run_instance(0, path, "--seed", s, "--print", "x").stdout for s in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        for order in ("backward", "random", "interleaved", "lanes"):
            self.assertEqual(self.run_instance(0, path, "--order", order, "--print", "x").stdout, first)

    def test_uninitialised_memory_holds_the_fill(self):
        path = self.write("longer", DOUBLE, y_cells=9)
        for fill, value in ((0, "0"), (64, "3.0039215")):  # 0x40404040
            done = self.run_instance(0, path, "--input", "x=1", "--print", "y", "--fill", fill)
            self.assertEqual(done.stdout, "y =" + " 2" * 8 + f" {value}\n")

    def test_a_fault_is_1_and_names_its_line(self):
        done = self.run_instance(1, self.write("short", DOUBLE, y_cells=7))
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"short_a.ptx:19: out-of-bounds: .*thread 7,0,0")

    def test_bad_usage_is_2(self):
        path = self.write("same", DOUBLE)
        wide = self.npy("wide.npy", [1.0] * 8, kind="<f8")
        short = self.npy("short.npy", [1.0] * 7)
        (self.folder / "text.npy").write_text("no array")
        for arguments in (["--program", "b"], ["--input", "z=1"], ["--input", "x"], ["--input", "x=one"],
                          ["--print", "z"], ["--output", "z=f.npy"], ["--order", "sideways"], ["--fill", "256"],
                          ["--input", f"x={wide}"],
                          ["--input", f"x={short}"], ["--input", f"x={self.folder}/text.npy"],
                          ["--input", f"x={self.folder}/none.npy"], ["--output", f"y={self.folder}/no/such.npy"]):
            with self.subTest(arguments):
                done = self.run_instance(2, path, *arguments)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("coequal: "), done.stderr)


class Init(Case):
    def test_it_is_valid_as_it_stands(self):
        kernels = KERNEL.format(name="f", body=DOUBLE) + KERNEL.format(name="g", body=TWICE).partition("64\n")[2]
        (self.folder / "k.ptx").write_text(kernels)
        done = self.run_coequal("init", self.folder / "k.ptx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.folder / "k.toml").read_text()
        self.assertIn('kernel = "f"', text)
        self.assertIn('kernel = "g"', text)
        self.assertIn('source = "k.ptx"', text)
        # PTX does not tell what is read, and these kernels are of one block.
        for guessed, right in (
            ('{ write = "p0" }', '{ read = "p0" }'),
            ('p0 = { dtype = "f32", shape = [1024], init = "empty" }', 'p0 = { dtype = "f32", shape = [256] }'),
            ("[1024]", "[256]"),
            ("grid = [4]", "grid = [1]"),
        ):
            self.assertIn(guessed, text)
            text = text.replace(guessed, right)
        (self.folder / "k.toml").write_text(text)
        self.check(0, self.folder / "k.toml")

    def test_kernels_by_name_and_a_file_of_another_name(self):
        (self.folder / "k.ptx").write_text(KERNEL.format(name="_Z5scaleIfEvPKT_PT_", body=DOUBLE))
        (self.folder / "below").mkdir()
        done = self.run_coequal("init", self.folder / "k.ptx", "scale", "-o", self.folder / "below/first.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "below/first.toml").read_text()
        self.assertIn('source = "../k.ptx"', text)
        self.assertIn('{ read = "p0" }', text)  # const in the mangled name
        self.assertIn('{ write = "p1" }', text)
        self.assertNotIn("[program_b]\n", text)
        self.check(1, self.folder / "below/first.toml")  # valid, and 256 of 1,024 cells written

    def test_bad_usage_is_2(self):
        (self.folder / "k.ptx").write_text(KERNEL.format(name="f", body=DOUBLE))
        (self.folder / "there.toml").write_text("")
        (self.folder / "empty.ptx").write_text(".version 7.0\n.target sm_80\n.address_size 64\n")
        for arguments, message in (
            (("none.cu",), "no such file or folder"),
            (("k.ptx", "-o", self.folder / "there.toml"), "it exists already"),
            (("k.ptx", "missing", "-o", self.folder / "new.toml"), "no kernel 'missing'"),
            (("empty.ptx",), "empty.ptx has no kernel"),
        ):
            done = self.run_coequal("init", self.folder / arguments[0], *arguments[1:])
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


class Interruption(Case):
    def test_an_interrupted_run_reports_and_is_130(self):
        """The instance comes through a pipe, so the signal arrives while coequal waits for it."""
        text = pathlib.Path(self.write("same", DOUBLE, DOUBLE)).read_text()
        pipe = self.folder / "pipe.toml"
        os.mkfifo(pipe)
        report = self.folder / "report.json"
        process = subprocess.Popen([COEQUAL, "check", str(pipe), "--json", str(report)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        with open(pipe, "w") as stream:  # opens when coequal does
            process.send_signal(signal.SIGINT)
            stream.write(text)
        out, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(out.startswith("interrupted  "), out)
        document = json.loads(report.read_text())
        jsonschema.validate(document, json.loads(SCHEMA.read_text()), jsonschema.Draft202012Validator)
        self.assertTrue(document["interrupted"])
        self.assertEqual(document["instances"][0]["verdict"], "interrupted")


if __name__ == "__main__":
    unittest.main()
