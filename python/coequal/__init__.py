"""Decides whether two GPU programs compute the same function.

    import coequal as cq

    class Softmax(cq.Instance):
        def setup(self):
            self.x = cq.input((64, 1000), "f32")
            self.y = cq.empty((64, 1000), "f32")
        def program_a(self):
            cq.launch(softmax_kernel, cq.read(self.x), cq.write(self.y), 1000, BLOCK=1024, grid=(64,))
            return {"y": self.y}
        def program_b(self):
            return {"y": cq.torch(torch.softmax, self.x, 1)}

    print(cq.check(Softmax))
"""

from coequal._capture import capture, extensions, module_state
from coequal._check import NotEquivalent, assert_equivalent, check, spec
from coequal._core import version as __version__
from coequal._cupy import cupy
from coequal._functions import Modules, Spec
from coequal._numba import numba
from coequal._program import Refused, Scalar, Tensor
from coequal._record import cuda, launch, ptx, read, readwrite, symbol, tensor_map, torch, write
from coequal._sweep import Sweep, sweep
from coequal.instance import Defect, Instance, empty, full, input, scalar, values, zeros
from coequal.result import Result, Witness

__all__ = [
    "Defect", "Instance", "Modules", "NotEquivalent", "Refused", "Result", "Scalar", "Spec", "Sweep", "Tensor",
    "Witness", "__version__", "assert_equivalent", "capture", "check", "cuda", "cupy", "empty", "extensions", "full",
    "input", "launch", "module_state", "numba", "ptx", "read", "readwrite", "scalar", "spec", "sweep", "symbol",
    "tensor_map", "torch", "values", "write", "zeros",
]  # fmt: skip
