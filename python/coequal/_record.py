"""The program that is being recorded, and what users write inside one: arguments, launches, operators."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from coequal import _core
from coequal._program import (
    Argument,
    Immediate,
    Kernel,
    Launch,
    Mode,
    Number,
    OwnLaunch,
    Recorder,
    Scalar,
    ScalarArgument,
    Tensor,
    TensorArgument,
    TensorMapArgument,
    contiguous,
)

_current: ContextVar[Recorder | None] = ContextVar("coequal_recorder", default=None)
_arch: ContextVar[str] = ContextVar("coequal_arch", default="sm_80")


@dataclass
class Notes:
    """What a sweep asks of the programs that are recorded, and what it learns from them."""

    config: int | None = None  # the number of the configuration that autotuners take; None: the first that fits
    configs: int = 0  # how many the tuner with the most of them has
    names: list[str] = field(default_factory=list)  # of those that were taken
    blocks: set[int] = field(default_factory=set)  # sizes that kernels were compiled with or launched with


_notes: ContextVar[Notes | None] = ContextVar("coequal_notes", default=None)


@contextmanager
def noting(notes: Notes) -> Iterator[None]:
    token = _notes.set(notes)
    try:
        yield
    finally:
        _notes.reset(token)


def notes() -> Notes:
    """Of the sweep that is going on; else ones that nobody reads."""
    return _notes.get() or Notes()


@contextmanager
def recording(recorder: Recorder, arch: str) -> Iterator[Recorder]:
    token, arch_token = _current.set(recorder), _arch.set(arch)
    try:
        yield recorder
    finally:
        _current.reset(token)
        _arch.reset(arch_token)


def current() -> Recorder:
    recorder = _current.get()
    if recorder is None:
        raise ValueError("launches and operators belong in a program: program_a, program_b or a function under test")
    return recorder


def arch() -> str:
    """The target of kernels that are compiled now ("sm_80")."""
    return _arch.get()


def read(tensor: Tensor, offset: int = 0) -> TensorArgument:
    """The tensor as an argument that the kernel only reads, `offset` elements into it."""
    return _tensor_argument(tensor, "read", offset)


def write(tensor: Tensor, offset: int = 0) -> TensorArgument:
    """The tensor as an argument that the kernel writes before it reads it, if it reads it at all."""
    return _tensor_argument(tensor, "write", offset)


def readwrite(tensor: Tensor, offset: int = 0) -> TensorArgument:
    """The tensor as an argument that the kernel reads and writes."""
    return _tensor_argument(tensor, "readwrite", offset)


def _tensor_argument(tensor: Tensor, mode: Mode, offset: int) -> TensorArgument:
    if not isinstance(tensor, Tensor):
        raise ValueError(f"{mode}: expected a tensor made by input, empty, zeros, full or values, found {tensor!r}")
    return TensorArgument(tensor, mode, offset)


def tensor_map(
    tensor: Tensor,
    box: Sequence[int],
    *,
    shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    offset: int = 0,
    element_strides: Sequence[int] = (),
    swizzle: str = "none",
    fill: str = "zeros",
) -> TensorMapArgument:
    """A tensor map of the tensor, or of a view of it, as an argument; a Triton launch takes it as a descriptor."""
    if not isinstance(tensor, Tensor):
        raise ValueError(f"tensor_map: expected a tensor made by input, empty, zeros, full or values, found {tensor!r}")
    view = tuple(tensor.shape if shape is None else shape)
    if strides is None:
        strides = tensor.strides if shape is None and tensor.strides is not None else contiguous(view)
    return TensorMapArgument(
        tensor, tuple(box), view, tuple(strides), offset, tuple(element_strides), swizzle, fill
    )


def symbol(name: str, tensor: Tensor) -> None:
    """Lets a `__constant__` or `__device__` variable of the program's sources hold a tensor from the first launch on.

    `name` as the source has it, with namespaces where needed. What launches leave in the variable is in the tensor
    afterwards, so it may be an output; it cannot be an argument as well.
    """
    if not isinstance(tensor, Tensor):
        raise ValueError(f"symbol: expected a tensor made by input, empty, zeros, full or values, found {tensor!r}")
    current().symbols[name] = tensor


def cuda(source: str | os.PathLike[str], name: str, flags: Sequence[str] = ()) -> Kernel:
    """A kernel of a CUDA C++ source, a path (also relative to the calling file) or the text itself."""
    if _is_text(source):
        return Kernel(name, path=source_file(str(source), name), kind="cu", flags=tuple(flags))
    return Kernel(name, path=_resolve(source), kind="cu", flags=tuple(flags))


def ptx(source: str | os.PathLike[str], name: str) -> Kernel:
    """A kernel of PTX, a path (also relative to the calling file) or the text itself."""
    if _is_text(source):
        return Kernel(name, text=str(source))
    return Kernel(name, path=_resolve(source))


def _is_text(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and ("\n" in source or "{" in source)


def _resolve(source: str | os.PathLike[str]) -> str:
    beside = Path(sys._getframe(2).f_globals.get("__file__", "")).parent / source
    path = beside if beside.is_file() else Path(source)
    if not path.is_file():
        raise ValueError(f"there is no file '{os.fspath(source)}'")
    return str(path.resolve())


def source_file(text: str, name: str) -> str:
    """CUDA C++ for the compiler: a file named by its contents, so that its PTX is found again."""
    folder = Path(_core.default_cache_dir() or ".coequal") / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.cu"
    if not path.exists():
        scratch = path.with_suffix(f".{os.getpid()}")
        scratch.write_text(text)
        scratch.replace(path)
    return str(path.resolve())


def launch(
    kernel: Any,
    *args: Any,
    grid: Any = None,
    block: int | Iterable[int] | None = None,
    shared: int = 0,
    cluster: int | Iterable[int] | None = None,
    cooperative: bool = False,
    **constexprs: Any,
) -> None:
    """Launches a kernel: a Triton function, `cuda(...)`, `ptx(...)`, `cupy(...)` or `numba(...)`.

    CUDA C++ and PTX take `block`, and `shared` bytes of dynamic shared memory; a plain number is an i32 or an f32, a
    number of another type is written `scalar("i64", value=4)` or as a numpy scalar. Triton takes its constexprs and
    `num_warps`, `num_stages`, `num_ctas` by name.
    """
    recorder = current()
    if isinstance(kernel, OwnLaunch):
        if constexprs or cluster is not None or cooperative:
            raise ValueError("cluster, cooperative and constants by name are for Triton, CUDA C++ and PTX")
        kernel.launch(recorder, args, grid, block, shared)
        return
    if grid is None:
        raise ValueError("a launch needs grid=")
    if not isinstance(kernel, Kernel):
        from coequal import _triton

        if block is not None or shared or cluster is not None or cooperative:
            raise ValueError("block, shared, cluster and cooperative are for CUDA C++ and PTX; Triton takes num_warps")
        _triton.launch(recorder, kernel, args, grid, constexprs, arch())
        return
    if constexprs:
        raise ValueError(f"{kernel.name}: no argument '{next(iter(constexprs))}' of a CUDA C++ or PTX launch")
    if block is None:
        raise ValueError(f"{kernel.name}: a CUDA C++ or PTX launch needs block=")
    recorder.add(
        Launch(
            kernel,
            dimensions(grid),
            dimensions(block),
            tuple(argument(a) for a in args),
            shared,
            None if cluster is None else dimensions(cluster),
            cooperative,
        )
    )


def dimensions(value: int | Iterable[int]) -> tuple[int, ...]:
    return (int(value),) if isinstance(value, int) else tuple(int(n) for n in value)


_NUMPY_DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bool": "bool",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)}, **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


def argument(value: Any) -> Argument:
    """What a user passes to a CUDA C++ or PTX launch."""
    if isinstance(value, TensorArgument | TensorMapArgument | Immediate | ScalarArgument):
        return value
    if isinstance(value, Tensor):
        return TensorArgument(value, "readwrite")
    if isinstance(value, Scalar):
        return ScalarArgument(value)
    if isinstance(value, bool):
        return Immediate("bool", value)
    if isinstance(value, int):
        return Immediate(integer_dtype(value), value)
    dtype = _NUMPY_DTYPES.get(str(getattr(value, "dtype", "")))
    if dtype and not getattr(value, "shape", ()):
        return Immediate(dtype, value.item())
    if isinstance(value, float):
        return Immediate("f32", value)
    raise ValueError(f"expected read(...), write(...), readwrite(...), a scalar or a number, found {value!r}")


def integer_dtype(value: int) -> str:
    """The first of i32, i64 and u64 that holds the value."""
    return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"


def torch(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a PyTorch function means on declared tensors: its operators become a part of the program.

    Returns the tensors that hold its results.
    """
    try:
        from coequal import _torch
    except ModuleNotFoundError as error:
        raise ValueError(f"torch(...) needs PyTorch, pip install 'coequal[torch]': {error}") from error
    return _torch.trace(current(), fn, args, kwargs)


def as_number(value: Any, what: str) -> Number:
    """A Python number; numpy scalars count."""
    if isinstance(value, int | float):
        return value
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return value.item()
    raise ValueError(f"{what}: expected a number, found {value!r}")


def load_module(path: str | os.PathLike[str]) -> ModuleType:
    """Runs a file as a module of its own, with its folder in the search path."""
    real = os.path.realpath(path)
    name = f"coequal_case_{hashlib.sha256(real.encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, real)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(real))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(os.path.dirname(real))
    return module


def kept_flags(flags: Iterable[str]) -> list[str]:
    """Flags that change what the device code means; the target and the optimisation are the check's."""
    kept, skip = [], False
    for flag in flags:
        if skip:
            skip = False
        elif flag in ("-gencode", "-arch", "-code", "-Xcompiler", "-Xptxas", "--compiler-options", "--threads", "-t"):
            skip = True
        elif re.match(r"-D|-I|-?-use_fast_math|-?-ftz|-?-prec-|-?-fmad|--expt-|--extended-lambda|-U", flag):
            kept.append(flag)
    return kept
