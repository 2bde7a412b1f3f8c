"""Kernels of Numba without a GPU: compiled for the types that a launch gives them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coequal._program import (
    DTYPE_SIZES,
    Argument,
    Immediate,
    Kernel,
    Launch,
    OwnLaunch,
    Recorder,
    Scalar,
    Tensor,
    TensorArgument,
)
from coequal._record import arch, argument, dimensions

_TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bool": "boolean",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


def numba(kernel: Any) -> NumbaKernel:
    """A kernel of Numba (@cuda.jit) for launch(), with grid= and block=. Python's integers are i64 there and its floats
    f64, as Numba has them."""
    if not hasattr(kernel, "py_func") or not hasattr(kernel, "targetoptions"):
        raise ValueError(f"numba: expected a function under @cuda.jit, found {kernel!r}")
    return NumbaKernel(kernel)


@dataclass(frozen=True)
class NumbaKernel(OwnLaunch):
    kernel: Any

    def launch(self, recorder: Recorder, args: Sequence[Any], grid: Any, block: Any, shared: int) -> None:
        label = self.kernel.py_func.__name__
        if grid is None or block is None:
            raise ValueError(f"{label}: a launch needs grid= and block=")
        passed = [_argument(a) for a in args]
        text = _compiled(self.kernel, tuple(_type(a) for a in passed), arch())
        entry = re.search(r"\.entry\s+([^\s(]+)", text)
        assert entry
        parameters = tuple(p for a in passed for p in _parameters(a, label))
        kernel = Kernel(entry[1], text=text, label=label)
        recorder.add(Launch(kernel, dimensions(grid), dimensions(block), parameters, shared))


def _argument(value: Any) -> Argument:
    if type(value) is int:
        return Immediate("i64", value)
    return Immediate("f64", value) if type(value) is float else argument(value)


def _type(passed: Argument) -> tuple[str, int, bool]:
    """Numba's name of a dtype, how many dimensions an array of it has (-1: a number), and whether it has holes."""
    source: Tensor | Scalar | Any = getattr(passed, "tensor", None) or getattr(passed, "scalar", passed)
    if source.dtype not in _TYPES:
        raise ValueError(f"Numba has no {source.dtype}")
    if not isinstance(source, Tensor):
        return _TYPES[source.dtype], -1, False
    return _TYPES[source.dtype], len(source.shape), source.strides not in (None, _contiguous(source.shape))


@functools.lru_cache(maxsize=256)
def _compiled(kernel: Any, given: tuple[tuple[str, int, bool], ...], target: str) -> str:
    from numba import cuda, types

    declared = [
        getattr(types, name) if rank < 0 else types.Array(getattr(types, name), rank, "A" if holes else "C")
        for name, rank, holes in given
    ]
    number = int(re.sub(r"\D", "", target))
    fast = bool(kernel.targetoptions.get("fastmath"))
    text, _ = cuda.compile_ptx(
        kernel.py_func, types.void(*declared), cc=divmod(number, 10), lineinfo=True, fastmath=fast
    )
    return text


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))


def _parameters(passed: Argument, label: str) -> list[Argument]:
    """An array is what Numba makes of one: owner, parent, counts, the data, extents, and strides in bytes."""
    if not isinstance(passed, TensorArgument):
        return [passed]
    if passed.offset:
        raise ValueError(f"{label}: arrays of Numba start where their tensor starts")
    tensor, size = passed.tensor, DTYPE_SIZES[passed.tensor.dtype]
    strides = tensor.strides or _contiguous(tensor.shape)
    numbers = [tensor.numel, size, *tensor.shape, *(size * stride for stride in strides)]
    counts, rest = numbers[:2], numbers[2:]
    nobody = Immediate("u64", 0)
    return [nobody, nobody, *(Immediate("i64", n) for n in counts), passed, *(Immediate("i64", n) for n in rest)]
