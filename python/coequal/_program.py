"""Programs as data: the launches that a function records, over declared tensors and scalars.

Everything that makes programs (Triton, CUDA C++, PTX, PyTorch operators) meets here; `_lower` turns two of them into an
instance. No imports beyond the standard library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

DTYPE_SIZES: dict[str, int] = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "tf32": 4, "f8e4m3": 1, "f8e5m2": 1,
    "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8, "u32": 4, "u16": 2, "u8": 1, "bool": 1,
}  # fmt: skip
FLOAT_DTYPES = frozenset({"f64", "f32", "f16", "bf16", "tf32", "f8e4m3", "f8e5m2"})

Number: TypeAlias = int | float | bool
Init: TypeAlias = Literal["input", "empty", "zeros", "full", "values"]
Mode: TypeAlias = Literal["read", "write", "readwrite"]


@dataclass(frozen=True)
class Bounds:
    """The range of a free variable; `above` and `below` are exclusive."""

    min: Number | None = None
    max: Number | None = None
    above: Number | None = None
    below: Number | None = None
    sorted: bool = False  # the cells of a tensor do not decrease, in row-major order


@dataclass(frozen=True, eq=False)
class Tensor:
    """One storage. Tensors are told apart by identity; an empty name is filled in when programs are lowered."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None  # elements; None: contiguous, row-major
    init: Init = "input"
    value: Number | None = None  # of "full"
    values: tuple[Number, ...] | None = None  # of "values": flat, row-major
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        if self.dtype not in DTYPE_SIZES:
            raise ValueError(f"no dtype {self.dtype!r}; known are {', '.join(DTYPE_SIZES)}")

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Scalar:
    """A number that both programs share; free without a value."""

    name: str
    dtype: str
    value: Number | None = None
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        if self.dtype not in DTYPE_SIZES:
            raise ValueError(f"no dtype {self.dtype!r}; known are {', '.join(DTYPE_SIZES)}")


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class Kernel:
    """A kernel by its name in a source: a text in memory or a file, in PTX or CUDA C++."""

    name: str
    text: str | None = None
    path: str | None = None
    kind: Literal["ptx", "cu"] = "ptx"
    flags: tuple[str, ...] = ()  # of the CUDA compiler
    label: str = ""  # what reports call a text ("softmax", "aten.add"); default: the name


@dataclass(frozen=True)
class TensorArgument:
    tensor: Tensor
    mode: Mode
    offset: int = 0  # elements


@dataclass(frozen=True)
class TensorMapArgument:
    """A descriptor by which bulk copies find the boxes of a tensor, or of a view of it."""

    tensor: Tensor
    box: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    offset: int = 0  # elements
    element_strides: tuple[int, ...] = ()
    swizzle: str = "none"
    fill: str = "zeros"


@dataclass(frozen=True)
class ScalarArgument:
    scalar: Scalar


@dataclass(frozen=True)
class Immediate:
    dtype: str
    value: Number


@dataclass(frozen=True)
class Bytes:
    """A struct, as it lies in memory."""

    value: bytes


Argument: TypeAlias = TensorArgument | TensorMapArgument | ScalarArgument | Immediate | Bytes


@dataclass(frozen=True)
class Launch:
    kernel: Kernel
    grid: tuple[int, ...]  # x, y, z
    block: tuple[int, ...]
    args: tuple[Argument, ...]
    shared: int = 0  # dynamic shared memory in bytes
    cluster: tuple[int, ...] | None = None
    cooperative: bool = False


class OwnLaunch:
    """A kernel of another front end, which makes its launches itself."""

    def launch(self, recorder: Recorder, args: Sequence[object], grid: object, block: object, shared: int) -> None:
        raise NotImplementedError


class Recorder:
    """One program while it is recorded: its launches in order, and the tensors that it alone uses."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.temporaries: list[Tensor] = []
        self.symbols: dict[str, Tensor] = {}  # variables of module scope by name
        self.written: set[Tensor] = set()  # that some launch may have written so far

    def new_temporary(self, dtype: str, shape: Sequence[int], init: Init = "empty", **declared: object) -> Tensor:
        """A tensor of this program alone. It is compared only where the program returns it as an output."""
        tensor = Tensor("", dtype, tuple(int(n) for n in shape), init=init, **declared)  # type: ignore[arg-type]
        self.temporaries.append(tensor)
        return tensor

    def add(self, launch: Launch) -> None:
        self.launches.append(launch)
        passed = (a for a in launch.args if isinstance(a, TensorArgument) and a.mode != "read")
        self.written.update(a.tensor for a in passed)


class Refused(Exception):
    """Something outside the model, met while a program was recorded: a verdict, not a mistake of the caller."""

    def __init__(self, construct: str, reason: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(f"{construct}: {reason}" if construct else reason)
        self.construct = construct  # an operator's or instruction's name, or ""
        self.reason = reason
        self.file = file
        self.line = line
