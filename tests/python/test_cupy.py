"""Kernels of CuPy, against PTX and against PyTorch's operators."""

import shutil

import coequal as cq
import pytest
from kernels import DOUBLE

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.skipif(not shutil.which("nvcc"), reason="no CUDA compiler")

SOURCE = """
template <class T> __device__ T scaled(T x) { return FACTOR * x; }
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scaled(x[i]);
}
template <int N> __global__ void times(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = N * x[threadIdx.x];
}
"""


class Doubled(cq.Instance):
    def kernel(self):
        return cq.cupy(cupy.RawKernel(SOURCE, "scale", options=("-DFACTOR=2", "--std=c++17")))

    def setup(self):
        self.x, self.y = cq.input(40), cq.empty(40)

    def program_a(self):
        cq.launch(self.kernel(), cq.read(self.x), cq.write(self.y), 40, grid=1, block=64)
        return {"y": self.y}

    def program_b(self):
        cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
        return {"y": self.y}


class OfModule(Doubled):
    def kernel(self):
        module = cupy.RawModule(code=SOURCE, options=("-DFACTOR=1",), name_expressions=["times<2>"])
        return cq.cupy(module, "times<2>")


class Wrong(Doubled):
    expect = "inequivalent"

    def kernel(self):
        return cq.cupy(cupy.RawKernel(SOURCE, "scale", options=("-DFACTOR=3",)))


@pytest.mark.parametrize("case", [Doubled, OfModule, Wrong])
def test_raw_kernels(case):
    assert cq.check(case).verdict == (case.expect or "equivalent")


def compared(kernel, fn, *tensors, out):
    class Case(cq.Instance):
        def setup(self):
            self.given, self.y = list(tensors), out

        def program_a(self):
            cq.launch(cq.cupy(kernel), *self.given, cq.write(self.y))
            return {"y": self.y}

        def program_b(self):
            return {"y": cq.torch(fn, *self.given)}

    return cq.check(Case).verdict


def test_elementwise_kernels():
    pytest.importorskip("torch")
    kernel = cupy.ElementwiseKernel("T x, raw T y, float32 a", "T z", "z = a * x + y[_n0 - 1 - i]", "axpy_flipped")
    x, y, z = cq.input((4, 50)), cq.input((4, 50)), cq.empty((4, 50))
    assert compared(kernel, lambda x, y, a: a * x + y.flip(0, 1), x, y, 2.0, out=z) == "equivalent"
    assert compared(kernel, lambda x, y, a: a * x + y, x, y, 2.0, out=z) == "inequivalent"


@pytest.mark.parametrize("identity", ["0", None])
def test_reduction_kernels(identity):
    torch = pytest.importorskip("torch")
    kernel = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", identity, "norm")
    x, y = cq.input((3, 7)), cq.empty(3)
    assert compared(kernel, lambda x: torch.linalg.vector_norm(x, dim=1), x, out=y) == "equivalent"
    assert compared(kernel, lambda x: torch.linalg.vector_norm(x, 1, dim=1), x, out=y) == "inequivalent"


def test_mistakes_are_value_errors():
    kernel = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x", "same")
    with pytest.raises(ValueError, match="tensors of different sizes are not broadcast"):
        compared(kernel, lambda x: x, cq.input(3), out=cq.empty(4))
    with pytest.raises(ValueError, match="'x': expected f32, found f64"):
        compared(kernel, lambda x: x, cq.input(3, "f64"), out=cq.empty(3))
    with pytest.raises(ValueError, match="needs the name of a kernel"):
        cq.cupy(cupy.RawModule(code=SOURCE))
    with pytest.raises(ValueError, match="expected a kernel of CuPy"):
        cq.cupy(len)
