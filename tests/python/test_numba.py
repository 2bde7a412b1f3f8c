"""Kernels of Numba, against PTX and against themselves changed."""

import coequal as cq
import numpy as np
import pytest
from kernels import DOUBLE

cuda = pytest.importorskip("numba.cuda")


@cuda.jit
def scale(x, y, factor):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * factor


@cuda.jit
def row_sums(x, y):
    row = cuda.blockIdx.x
    shared = cuda.shared.array(32, dtype="float32")
    lane = cuda.threadIdx.x
    total = np.float32(0)
    for column in range(lane, x.shape[1], 32):
        total += x[row, column]
    shared[lane] = total
    cuda.syncthreads()
    if lane == 0:
        total = np.float32(0)
        for other in range(32):
            total += shared[other]
        y[row] = total


class Doubled(cq.Instance):
    n, factor = 40, 2

    def setup(self):
        self.x, self.y = cq.input(self.n), cq.empty(self.n)

    def program_a(self):
        cq.launch(cq.numba(scale), cq.read(self.x), cq.write(self.y), np.float32(self.factor), grid=2, block=32)
        return {"y": self.y}

    def program_b(self):
        cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), self.n, grid=2, block=32)
        return {"y": self.y}


def test_a_kernel_is_what_it_computes():
    assert cq.check(Doubled).verdict == "equivalent"
    wrong = Doubled()
    wrong.factor = 3
    result = cq.check(wrong)
    assert result.verdict == "inequivalent" and "test_numba.py" in result.text


@pytest.mark.parametrize("strides", [None, (60, 1)])
def test_arrays_have_shapes_and_strides(strides):
    torch = pytest.importorskip("torch")

    class Sums(cq.Instance):
        def setup(self):
            self.x, self.y = cq.input((3, 50), strides=strides), cq.empty(3)

        def program_a(self):
            cq.launch(cq.numba(row_sums), cq.read(self.x), cq.write(self.y), grid=3, block=32)
            return {"y": self.y}

        def program_b(self):
            return {"y": cq.torch(torch.sum, self.x, 1)}

    assert cq.check(Sums).verdict == "equivalent"


def test_numbers_have_the_types_that_numba_gives_them():
    from coequal._program import Immediate, Recorder
    from coequal._record import recording

    recorder = Recorder()
    with recording(recorder, "sm_90"):
        x, y = cq.input(8), cq.empty(8)
        cq.launch(cq.numba(scale), cq.read(x), cq.write(y), 2.0, grid=1, block=(8, 1))
    (launch,) = recorder.launches
    assert launch.args[-1] == Immediate("f64", 2.0) and len(launch.args) == 15
    assert launch.args[2:4] == (Immediate("i64", 8), Immediate("i64", 4)) and launch.block == (8, 1)
    assert ".target sm_90" in launch.kernel.text and launch.kernel.label == "scale"


def test_mistakes_are_value_errors():
    with pytest.raises(ValueError, match="expected a function under @cuda.jit"):
        cq.numba(len)

    class NoBlock(Doubled):
        def program_a(self):
            cq.launch(cq.numba(scale), cq.read(self.x), cq.write(self.y), 1.0, grid=1)

    with pytest.raises(ValueError, match="scale: a launch needs grid= and block="):
        cq.check(NoBlock)
