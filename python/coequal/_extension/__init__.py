"""CUDA extensions of PyTorch without a GPU: stand-ins for `load` and `load_inline` of torch.utils.cpp_extension.

Host code is compiled and runs as it is, on PyTorch's stand-in tensors; where it launches a kernel, the launch is
recorded with the kernel's source. The device code is compiled by the check, like any CUDA C++.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode_temporarily
from torch.utils._pytree import tree_leaves, tree_map_only

from coequal._extension import _build, _source
from coequal._program import Argument, Bytes, Immediate, Kernel, Launch, Refused, TensorArgument
from coequal._record import kept_flags, source_file

# What PyTorch gives nvcc by itself.
_FLAGS = (
    "-std=c++20", "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr",
)  # fmt: skip
_HOST_MEMORY = "host code uses the memory of a tensor on the CPU"
# Not in host.h: it takes long to compile, and few use it.
_FURTHER = "#include <torch/nn.h>\n"
_FORMATS = {
    "f32": "f", "f64": "d", "bool": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I",
    "i64": "q", "u64": "Q",
}  # fmt: skip


@contextmanager
def stand_ins() -> Iterator[None]:
    """While this lasts, load and load_inline give modules that can be captured."""
    import torch.utils.cpp_extension as real

    with mock.patch.object(real, "load_inline", load_inline), mock.patch.object(real, "load", load):
        yield


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str] = (),
    cuda_sources: str | Sequence[str] = (),
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    **_: Any,
) -> ModuleType:
    """As torch.utils.cpp_extension.load_inline, of which it ignores how and where things are built."""
    cpp, cuda = ([s] if isinstance(s, str) else list(s) for s in (cpp_sources, cuda_sources))
    asked = [functions] if isinstance(functions, str) else list(functions or [])
    bindings = "".join(f'  m.def("{f}", &{f});\n' for f in asked)
    bound = f"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bindings}}}\n" if asked else ""
    frame = inspect.currentframe()
    caller = frame.f_back.f_code.co_filename if frame and frame.f_back else ""
    units = [_located(text, caller) for text in cuda]
    declarations = [_located(text, caller) for text in cpp]
    if units and not any("{" in source.text for source in declarations):
        # What is only declared there is defined in the last CUDA source.
        units[-1] = _Unit(units[-1].source, bound)
    else:
        units += [_Unit(source.source, "") for source in declarations[:-1]]
        units.append(_Unit(declarations[-1].source, bound) if declarations else _Unit(_source.Source("", name), bound))
    return _Extension(name, units, extra_cflags, extra_cuda_cflags, extra_include_paths)


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    **_: Any,
) -> ModuleType:
    """As torch.utils.cpp_extension.load."""
    paths = [Path(s).resolve() for s in ([sources] if isinstance(sources, str) else sources)]
    units = [_Unit(_source.Source(path.read_text(), str(path))) for path in paths]
    return _Extension(name, units, extra_cflags, extra_cuda_cflags, extra_include_paths)


@dataclass(frozen=True)
class _Unit:
    """A source and what is compiled behind its host half."""

    source: _source.Source
    bindings: str = ""

    @property
    def text(self) -> str:
        return self.source.text


def _located(text: str, caller: str) -> _Unit:
    """A text in the file that holds it, so that reports cite that; else in a file of its own."""
    try:
        before, found, _ = Path(caller).read_text().partition(text)
    except (OSError, UnicodeDecodeError):
        before, found = "", ""
    if found and text.strip():
        return _Unit(_source.Source(text, str(Path(caller).resolve()), before.count("\n") + 1))
    return _Unit(_source.Source(text, source_file(text, "extension")))


class _Extension(ModuleType):
    """A module whose functions are compiled when one is first asked for."""

    def __init__(
        self,
        name: str,
        units: Sequence[_Unit],
        cflags: Sequence[str] | None,
        cuda_flags: Sequence[str] | None,
        includes: Sequence[str] | None,
    ) -> None:
        super().__init__(name)
        self._units = units
        self._cflags = [f for f in (*(cflags or ()), *(cuda_flags or ())) if f.startswith(("-D", "-U"))]
        self._includes = [Path(folder) for folder in includes or ()]
        self._cuda_flags = (*_FLAGS, *kept_flags(cuda_flags or ()), *(f"-I{folder}" for folder in self._includes))
        self._built: tuple[Any, list[_DeviceCode]] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Function(self, name)

    def built(self) -> tuple[Any, list[_DeviceCode]]:
        if self._built is None:
            halves = [self._split(unit) for unit in self._units]
            name = re.sub(r"\W", "_", self.__name__)
            sources = [
                f"#include <host.h>\n{_FURTHER if 'torch::nn' in half.host else ''}"
                f"#define TORCH_EXTENSION_NAME {name}\n#define COEQUAL_UNIT {i}\n{half.host}\n{unit.bindings}"
                for i, (unit, half) in enumerate(zip(self._units, halves))
            ]
            includes = [f"-I{folder}" for folder in self._includes]
            module = _build.build(name, sources, [*includes, *self._cflags])
            self._built = module, [_DeviceCode(half.device, self._cuda_flags) for half in halves]
        return self._built

    def _split(self, unit: _Unit) -> _source.Halves:
        try:
            return _source.split(unit.source, self._includes)
        except _source.SourceError as error:
            raise Refused("", f"not understood as CUDA C++: {error}", unit.source.file, unit.source.line) from error


@dataclass(frozen=True)
class _Struct:
    """A struct among the arguments of a launch, with the tensors whose addresses are in it, by their places."""

    value: bytes
    addresses: tuple[tuple[int, TensorArgument], ...]

    def apart(self) -> tuple[Argument, ...]:
        return Bytes(self.value), *(tensor for _, tensor in self.addresses)


@dataclass(frozen=True, eq=False)
class _DeviceCode:
    """The device half of a source."""

    text: str
    flags: tuple[str, ...]

    def kernel(self, symbol: str, instances: Iterable[str]) -> Kernel:
        """A kernel of the source together with the instances of its templates."""
        return self._of_text(symbol, "\n".join([self.text, *sorted(instances), ""]))

    def struct_kernel(self, signature: str, structs: Mapping[int, _Struct]) -> Kernel:
        """In place of a kernel that is given structs with addresses, one that is given both apart."""
        layouts = {i: (len(s.value), [at for at, _ in s.addresses]) for i, s in structs.items()}
        return self._of_text(_source.STRUCT_ENTRY, _source.with_struct_entry(self.text, signature, layouts), signature)

    def _of_text(self, symbol: str, text: str, label: str = "") -> Kernel:
        headers = _source.headers(text)
        folder = (f"-I{Path(torch.__file__).parent / 'include'}",) if re.search("<(?:c10|ATen)/", headers) else ()
        path = source_file(headers + text, "extension")
        return Kernel(symbol, path=path, kind="cu", flags=(*self.flags, *folder), label=label)


@dataclass(frozen=True)
class _Function:
    """A function of an extension; calling it builds the extension."""

    extension: _Extension
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        session = _session.get()
        if session is None:
            raise ValueError(f"{self.name}: without a GPU, functions of CUDA extensions run in captured code only")
        return session.call(self, args, kwargs)


_session: ContextVar[Session | None] = ContextVar("coequal_extensions", default=None)


def _told(tell: Callable[..., None]) -> Callable[..., None]:
    """What host.cpp tells happens where the tensors are; C++ may tell its caller less than the whole exception."""

    @functools.wraps(tell)
    def told(self: Session, *args: Any) -> None:
        try:
            with _pop_mode_temporarily():
                tell(self, *args)
        except Exception as error:
            self.failed(error)
            raise

    return told


class Session:
    """Extensions while host code is captured. `launched` is given each launch, with tensors by `argument`."""

    def __init__(
        self,
        addresses: Any,
        launched: Callable[[Launch], None],
        argument: Callable[[torch.Tensor, int], TensorArgument],
    ) -> None:
        self.addresses = addresses
        self._launched = launched
        self._argument = argument
        self._codes: list[_DeviceCode] = []  # of the extension that runs
        self._instances: dict[_DeviceCode, set[str]] = {}
        self._kernels: dict[str, tuple[str, _DeviceCode]] = {}  # by the name in a launch
        self._placed: set[int] = set()
        self._on_host: dict[int, torch.Tensor] = {}  # of each storage that host code has on the CPU, one tensor
        self._pending: Exception | None = None

    @contextmanager
    def active(self) -> Iterator[None]:
        token = _session.set(self)
        try:
            yield
        finally:
            _session.reset(token)

    def call(self, function: _Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        module, codes = function.extension.built()
        native = getattr(module, function.name, None)
        if native is None:
            raise AttributeError(f"module '{function.extension.__name__}' has no function '{function.name}'")
        host = _build.import_host()
        host.listen(self)
        outer, self._codes = self._codes, codes
        # A tensor with data claims to be where it is; a view of it is a stand-in.
        given = tree_map_only(torch.Tensor, lambda t: torch.ops.aten.alias(t), (tuple(args), dict(kwargs)))
        for tensor in tree_leaves(given):
            self.place(tensor, host)
        try:
            with _HostCode(self, host):
                return native(*given[0], **given[1])
        except Exception as error:
            pending, self._pending = self._pending, None
            if _HOST_MEMORY in str(error):
                raise Refused(function.name, _HOST_MEMORY) from error
            if pending is None or pending is error:
                raise
            raise pending from error
        finally:
            self._codes = outer

    def finished(self, launch: Launch) -> Launch:
        """The launch with its kernel's source, once all launches are known."""
        if launch.kernel.name not in self._kernels:
            return launch
        symbol, code = self._kernels[launch.kernel.name]
        return dataclasses.replace(launch, kernel=code.kernel(symbol, self._instances[code]))

    def place(self, value: Any, host: Any) -> None:
        """Gives a stand-in's storage its address, for C++ to see."""
        if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in self._placed:
            host.place(value, self.addresses.start(value))
            self._placed.add(value.untyped_storage()._cdata)

    def keep_on_host(self, tensor: torch.Tensor) -> None:
        """Its cells are there for host code to read and write, which nobody could follow: that ends the program."""
        storage = tensor.untyped_storage()._cdata
        if storage not in self._on_host:
            self._on_host[storage] = tensor
            torch._C._set_storage_data_ptr_access_error_msg(storage, _HOST_MEMORY)

    def is_on_host(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.untyped_storage()._cdata in self._on_host

    def failed(self, error: Exception) -> None:
        """Keeps the first exception for the caller of the extension."""
        self._pending = self._pending or error

    # --- What host.cpp tells.

    @_told
    def launch(
        self,
        unit: int,
        symbol: str,
        signature: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        cooperative: bool,
        arguments: Sequence[tuple[str, bytes]],
    ) -> None:
        code = self._codes[unit]
        instances = self._instances.setdefault(code, set())
        if signature.startswith("void "):  # of functions only templates are written with what they return
            instances.add(f"template __global__ {signature};")
        passed = [self._passed(dtype, value) for dtype, value in arguments]
        structs = {i: p for i, p in enumerate(passed) if isinstance(p, _Struct)}
        if structs:
            kernel = code.struct_kernel(signature, structs)
        else:
            kernel = Kernel(f"{symbol}@{id(code)}")
            self._kernels[kernel.name] = symbol, code
        flat = tuple(a for p in passed for a in (p.apart() if isinstance(p, _Struct) else (p,)))
        self._launched(Launch(kernel, grid, block, flat, shared, cooperative=cooperative))

    def _passed(self, dtype: str, value: bytes) -> Argument | _Struct:
        if dtype == "pointer":
            address = int.from_bytes(value, "little")
            return Immediate("u64", 0) if address == 0 else self._argument(*self.addresses.tensor(address))
        if dtype:
            return Immediate(dtype, struct.unpack("<" + _FORMATS[dtype], value)[0])
        words = {at: int.from_bytes(value[at : at + 8], "little") for at in range(0, len(value) - 7, 8)}
        inside = {at: self.addresses.tensor(word) for at, word in words.items() if self.addresses.holds(word)}
        addresses = tuple((at, self._argument(*found)) for at, found in inside.items())
        return _Struct(value, addresses) if addresses else Bytes(value)

    @_told
    def fill(self, to: int, value: int, count: int) -> None:
        cells = self._cells(to, count)
        if value and cells.element_size() > 1:
            raise Refused("cudaMemset", "bytes that are no value of the tensor's dtype")
        cells.fill_(value)

    @_told
    def copy(self, to: int, source: int, count: int) -> None:
        target, cells = self._cells(to, count), self._cells(source, count)
        if target.dtype != cells.dtype:
            raise Refused("cudaMemcpy", "a copy between tensors of different dtypes")
        target.copy_(cells)

    @_told
    def multiply(
        self,
        transposed_a: bool,
        transposed_b: bool,
        sizes: tuple[int, int, int, int],
        alpha: float,
        a: tuple[int, int, int],
        b: tuple[int, int, int],
        beta: float,
        c: tuple[int, int, int],
    ) -> None:
        """c = alpha * a @ b + beta * c of a number of matrices that lie column by column, given as (address, distance
        of columns, distance of matrices); `transposed`: of which the transpose is meant."""
        count, m, n, k = sizes
        left = self._matrices(a, count, (k, m) if transposed_a else (m, k))
        right = self._matrices(b, count, (n, k) if transposed_b else (k, n))
        target = self._matrices(c, count, (m, n))
        left, right = left.mT if transposed_a else left, right.mT if transposed_b else right
        product = torch.bmm(left, right) * alpha
        target.copy_(product + target * beta if beta else product)

    def _matrices(self, given: tuple[int, int, int], count: int, shape: tuple[int, int]) -> torch.Tensor:
        address, columns, distance = given
        extent = (count - 1) * distance + (shape[1] - 1) * columns + shape[0]
        tensor, _ = self.addresses.tensor(address)
        cells = self._cells(address, extent * tensor.element_size())
        return torch.as_strided(cells, (count, *shape), (distance, 1, columns), cells.storage_offset())

    def _cells(self, address: int, count: int) -> torch.Tensor:
        tensor, beyond = self.addresses.tensor(address)
        cells, rest = divmod(count, tensor.element_size())
        start = tensor.storage_offset() + beyond
        if rest or start < 0 or (start + cells) * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise Refused("cudaMemcpy", "cells outside of a tensor")
        return torch.as_strided(tensor, (cells,), (1,), start)

    @_told
    def refuse(self, construct: str, reason: str) -> None:
        raise Refused(construct, reason)


class _HostCode(TorchDispatchMode):
    """What C++ sees of the tensors: they are on the first CUDA device, at addresses, unless it puts them on the CPU."""

    def __init__(self, session: Session, host: Any) -> None:
        super().__init__()
        self._session = session
        self._host = host

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.prim.device.default:
            return torch.device("cpu") if self._session.is_on_host(args[0]) else torch.device("cuda", 0)
        tensors = [a for a in tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
        device = (kwargs or {}).get("device")
        on_host = device.type == "cpu" if device else all(map(self._session.is_on_host, tensors))
        try:
            result = func(*args, **{name: _elsewhere(value) for name, value in (kwargs or {}).items()})
        except Exception as error:
            self._session.failed(error)
            raise
        for value in tree_leaves(result):
            if on_host and isinstance(value, torch.Tensor):
                self._session.keep_on_host(value)
            else:
                self._session.place(value, self._host)
        return result


def _elsewhere(value: Any) -> Any:
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value
