"""Results, sweeps, saved instances, and CUDA C++ from Python."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import coequal as cq
import numpy as np
import pytest
from kernels import DOUBLE, SHIFT, TRIPLE
from test_instance import Doubled


class Different(Doubled):
    expect = "inequivalent"

    def program_b(self):
        cq.launch(cq.ptx(TRIPLE, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
        return {"y": self.y}


def test_a_witness_is_numbers():
    result = cq.check(Different)
    witness = result.witness
    assert witness is not None and witness.cell.startswith("y[")
    x = witness.inputs["x"]
    assert x.shape == (40,) and x.dtype == np.float32
    assert ((x >= -1) & (x < 3)).all()
    i = int(witness.cell[2:-1])
    assert float(witness.a) == 2 * x[i] and float(witness.b) == 3 * x[i] and x[i] != 0
    assert witness.store_a.file and witness.store_a.file.startswith("scale-") and witness.store_a.line


def test_a_result_is_readable():
    result = cq.check(Different)
    assert ".ptx:24  st.global.f32 [%rd5], %f2;" in result.text
    assert repr(result).startswith("<inequivalent") and "y[" in repr(result)
    assert str(result).startswith("inequivalent") and "witness for y[" in str(result)
    assert "<pre>" in result._repr_html_() and "crimson" in result._repr_html_()
    assert result.statistics["seconds.execute"] >= 0 and result.statistics["cta_classes"] > 0
    same = cq.check(Doubled)
    assert same.verdict == "equivalent" and same.witness is None and same.defects == ()
    assert same.cells == {"total": 40, "proved_exact": 40, "proved_probabilistic": 0, "refuted": 0, "undecided": 0}


def test_a_defect_has_its_access():
    class Past(Doubled):
        def program_a(self):
            cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), 41, grid=2, block=32)
            return {"y": self.y}

    defect = next(d for d in cq.check(Past).defects if d.kind == "out-of-bounds-read")
    assert defect.program == "a" and defect.accesses[0].tensor == "x" and defect.accesses[0].index == "40"
    assert defect.accesses[0].block[0] == 1 and defect.accesses[0].thread[0] == 8


def test_free_scalars_are_shared():
    class Shifted(cq.Instance):
        def setup(self):
            self.x, self.y = cq.input(8), cq.empty(8)
            self.s = cq.scalar("f32", above=0)

        def program_a(self):
            cq.launch(cq.ptx(SHIFT, "shift"), cq.read(self.x), cq.write(self.y), self.s, grid=1, block=8)
            return {"y": self.y}

        def program_b(self):
            cq.launch(cq.ptx(SHIFT, "shift"), cq.read(self.x), cq.write(self.y), self.other(), grid=1, block=8)
            return {"y": self.y}

        def other(self):
            return self.s

    class Fixed(Shifted):
        def other(self):
            return 1.0

    assert cq.check(Shifted).verdict == "equivalent"
    result = cq.check(Fixed)
    assert result.verdict == "inequivalent" and result.witness is not None
    assert result.witness.inputs["s"] > 0 and result.witness.inputs["s"] != 1


def test_options_are_those_of_the_command():
    assert cq.check(Doubled, proof="exact", seed=3, jobs=1, budget=10).verdict == "equivalent"
    assert cq.check(Doubled, cells=1).verdict == "unknown"
    assert cq.check(Doubled, cells="all").verdict == "equivalent"
    with pytest.raises(ValueError, match="no assumption 'finite-input'.*did you mean 'finite-inputs'"):
        cq.check(Doubled, no_assume=["finite-input"])
    with pytest.raises(ValueError, match="proof"):
        cq.check(Doubled, proof="none")


def test_a_saved_instance_gives_the_command_the_same_verdict(tmp_path):
    path = cq.check(Different).save(tmp_path / "case")
    again = cq.check(path)
    assert again.verdict == "inequivalent" and again.witness is not None and again.witness.inputs["x"].any()
    assert again.report["witness"]["inputs"] == cq.check(Different).report["witness"]["inputs"]
    command = subprocess.run(
        [sys.executable, "-m", "coequal", "check", "-q", str(path)], capture_output=True, text=True
    )
    assert command.returncode == 1 and command.stdout.startswith("inequivalent")


def test_a_sweep_keeps_the_order():
    sweep = cq.sweep([Doubled, Different, Doubled], batch=2)
    assert [r.verdict for r in sweep] == ["equivalent", "inequivalent", "equivalent"]
    assert sweep.counts() == {"equivalent": 2, "inequivalent": 1} and not sweep.interrupted
    assert repr(sweep) == "<3 instances: 2 equivalent, 1 inequivalent>"
    table = [line.split()[:2] for line in str(sweep).split("\n")[1:3]]
    assert table == [["Doubled", "equivalent"], ["Different", "inequivalent"]]


def test_checks_run_on_threads():
    verdicts = []

    def check(case):
        verdicts.append(cq.check(case).verdict)

    threads = [threading.Thread(target=check, args=(case,)) for case in (Doubled, Different) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdicts) == ["equivalent"] * 3 + ["inequivalent"] * 3


def test_an_interrupted_sweep_returns_what_is_finished():
    def endless():
        for n in range(10**6):
            if n == 5:
                os.kill(os.getpid(), signal.SIGINT)
            yield Doubled

    sweep = cq.sweep(endless(), batch=2)
    assert sweep.interrupted and len(sweep) == 4
    assert all(r.verdict == "equivalent" for r in sweep)


def test_an_interrupted_check_raises(tmp_path):
    # The first of many blocks with its own value each keeps the executor busy for long.
    script = tmp_path / "long.py"
    script.write_text(
        f"""
import coequal as cq
class Long(cq.Instance):
    def setup(self):
        self.x, self.y = cq.input(3200000), cq.empty(3200000)
    def program_a(self):
        cq.launch(cq.ptx({DOUBLE!r}, "scale"), cq.read(self.x), cq.write(self.y), 3200000, grid=100000, block=32)
        return {{"y": self.y}}
    program_b = program_a
print("ready", flush=True)
cq.check(Long, whole_grid=True, budget=300)
"""
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors


def nvcc():
    found = shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", "/none"), "bin/nvcc")
    return os.path.exists(found)


CUDA = """
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
"""


@pytest.mark.skipif(not nvcc(), reason="no CUDA compiler")
def test_cuda_text_and_file(tmp_path):
    (tmp_path / "scale.cu").write_text(CUDA)

    class FromText(Doubled):
        def program_b(self):
            cq.launch(cq.cuda(CUDA, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
            return {"y": self.y}

    class FromFile(Doubled):
        def program_b(self):
            kernel = cq.cuda(tmp_path / "scale.cu", "scale", flags=["-use_fast_math"])
            cq.launch(kernel, cq.read(self.x), cq.write(self.y), 40, grid=1, block=64)
            return {"y": self.y}

    assert cq.check(FromText).verdict == "equivalent"
    assert cq.check(FromFile).verdict == "equivalent"


SYMBOLS = """
__constant__ float factor[1];
__device__ float result[40];
extern "C" __global__ void scale(const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) result[i] = factor[0] * x[i];
}
"""


@pytest.mark.skipif(not nvcc(), reason="no CUDA compiler")
@pytest.mark.parametrize(("factor", "verdict"), [(2.0, "equivalent"), (2.5, "inequivalent")])
def test_variables_of_module_scope(factor, verdict):
    class Scaled(Doubled):
        def program_b(self):
            cq.symbol("factor", self.factor)
            cq.symbol("result", self.y)
            cq.launch(cq.cuda(SYMBOLS, "scale"), cq.read(self.x), 40, grid=2, block=32)
            return {"y": self.y}

        def setup(self):
            super().setup()
            self.factor = cq.values([factor], "f32")

    assert cq.check(Scaled).verdict == verdict


def test_a_report_is_the_documented_json():
    result = cq.check(Different)
    assert json.loads(json.dumps(result.report))["verdict"] == "inequivalent"
