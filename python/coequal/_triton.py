"""Triton kernels without a GPU: compiled for a target that need not exist, their launches recorded.

Triton's own launch path runs as it stands (argument binding, specialisation, heuristics, nested functions) under a
driver that has no device: its launcher records instead of launching.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner, OutOfResources
from triton.runtime.jit import KernelInterface
from triton.tools.tensor_descriptor import TensorDescriptor

from coequal import _core
from coequal._program import (
    DTYPE_SIZES,
    Argument,
    Immediate,
    Kernel,
    Launch,
    Recorder,
    Refused,
    Scalar,
    ScalarArgument,
    Tensor,
    TensorArgument,
    TensorMapArgument,
    contiguous,
)
from coequal._record import notes
from coequal._target import capability, shared_memory

# Triton's names of types, as they stand in a signature.
_TYPES = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "tf32": "fp32", "f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5",
    "bool": "i1", **{f"{s}{n}": f"{s}{n}" for s in "iu" for n in (8, 16, 32, 64)},
}  # fmt: skip
_DTYPES = {**{name: dtype for dtype, name in _TYPES.items() if dtype != "tf32"}, "u1": "bool"}


def launch(
    recorder: Recorder, kernel: Any, args: Sequence[Any], grid: Any, constexprs: dict[str, Any], arch: str
) -> None:
    """Records a launch of a Triton function with declared tensors, scalars and numbers as arguments."""
    if not isinstance(kernel, KernelInterface):
        raise ValueError(f"expected a Triton function, cuda(...) or ptx(...), found {kernel!r}")
    if type(kernel).__name__ == "InterpretedFunction":
        raise ValueError("TRITON_INTERPRET is set: there is no kernel to compile")
    stand_ins = [_stand_in(a) for a in args]
    keywords = {name: _stand_in(a) for name, a in constexprs.items()}
    with capturing(recorder, arch, lambda value: value.argument if isinstance(value, StandIn) else None):
        kernel.run(*stand_ins, grid=grid if callable(grid) else _grid(grid), warmup=False, **keywords)


def _grid(grid: Any) -> tuple[int, ...]:
    return (grid,) if isinstance(grid, int) else tuple(grid)


class StandIn:
    """A declared tensor as Triton sees it: an address, aligned as the tensor is, and a dtype."""

    def __init__(self, argument: TensorArgument) -> None:
        self.argument = argument
        tensor = argument.tensor
        self.shape = tensor.shape
        self.dtype = _dtype(tensor.dtype)
        self._strides = tensor.strides if tensor.strides is not None else contiguous(tensor.shape)
        self.ndim = len(tensor.shape)

    def data_ptr(self) -> int:
        return 2**40 + self.argument.offset * DTYPE_SIZES[self.argument.tensor.dtype]

    def numel(self) -> int:
        return self.argument.tensor.numel

    def dim(self) -> int:
        return self.ndim

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis: int | None = None) -> Any:
        return self._strides if axis is None else self._strides[axis]

    def element_size(self) -> int:
        return DTYPE_SIZES[self.argument.tensor.dtype]

    def is_contiguous(self) -> bool:
        return self._strides == contiguous(self.shape)

    def __getattr__(self, name: str) -> Any:
        # In-place operators of PyTorch, which hooks of autotuned kernels call.
        if name.endswith("_") and not name.startswith("_"):
            raise Refused(name, "a hook writes a declared tensor; in captured host code it is followed")
        raise AttributeError(f"the stand-in of a declared tensor has no attribute '{name}'")


_TORCH_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "tf32": "float32",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "bool": "bool",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


def _dtype(dtype: str) -> Any:
    """The dtype as torch has it where torch is loaded (heuristics compare with it), else its name."""
    torch = sys.modules.get("torch")
    return getattr(torch, _TORCH_NAMES[dtype]) if torch else _TYPES[dtype]


def _hidden(base: type, name: str) -> Callable[..., Any]:
    def operation(self: Any, *args: Any) -> Any:
        # Triton itself may look at the number that stands for its type.
        if sys._getframe(1).f_globals.get("__name__") in ("triton.runtime.jit", "triton.backends.compiler"):
            return getattr(base, name)(self, *args)
        raise ValueError("a scalar without a value is free: no grid, constexpr or heuristic can be computed from it")

    return operation


_OPERATIONS = (
    "add sub mul truediv floordiv mod pow radd rsub rmul rtruediv rfloordiv rmod rpow neg abs lt le gt ge "
    "bool int float index lshift rshift and or xor round trunc floor ceil divmod rdivmod"
).split()


class FreeInt(int):
    """A free integer scalar. Its number only tells Triton its type: it is neither 1 nor a multiple of 16."""

    scalar: Scalar


class FreeFloat(float):
    """A free float scalar."""

    scalar: Scalar


for _class, _base in ((FreeInt, int), (FreeFloat, float)):
    for _name in _OPERATIONS:
        if hasattr(_base, f"__{_name}__"):
            setattr(_class, f"__{_name}__", _hidden(_base, f"__{_name}__"))


_FREE_INTEGERS = {"i32": 3, "i64": 2**40 + 3, "u64": 2**63 + 3, "u32": 2**31 + 3}


def _stand_in(value: Any) -> Any:
    if isinstance(value, TensorArgument):
        return StandIn(value)
    if isinstance(value, Tensor):
        return StandIn(TensorArgument(value, "readwrite"))
    if isinstance(value, TensorMapArgument):
        return _descriptor(value)
    if isinstance(value, Scalar):
        return _free(value) if value.value is None else value.value
    if isinstance(value, Immediate):
        return value.value
    if isinstance(value, tuple):
        parts = [_stand_in(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _descriptor(wanted: TensorMapArgument) -> TensorDescriptor:
    import torch  # noqa: F401  (Triton asks a descriptor's dtype for its size)

    base = StandIn(TensorArgument(wanted.tensor, "readwrite", wanted.offset))
    padding = "nan" if wanted.fill == "nan" else "zero"
    return TensorDescriptor(base, list(wanted.shape), list(wanted.strides), list(wanted.box), padding)


def _free(scalar: Scalar) -> FreeInt | FreeFloat:
    if scalar.dtype in ("f32", "f64", "f16", "bf16"):
        free: FreeInt | FreeFloat = FreeFloat(0.5)
    elif scalar.dtype in _FREE_INTEGERS:
        free = FreeInt(_FREE_INTEGERS[scalar.dtype])
    else:
        known = ", ".join((*_FREE_INTEGERS, "f32"))
        raise ValueError(f"a free scalar of a Triton launch has a dtype of {known}, not {scalar.dtype}")
    free.scalar = scalar
    return free


@contextmanager
def capturing(recorder: Recorder, arch: str, tensor_of: Callable[[Any], TensorArgument | None]) -> Iterator[None]:
    """Triton launches are recorded while this lasts. `tensor_of` finds the declared tensor behind an argument."""
    driver = _driver(arch)
    config = triton.runtime.driver
    before = dict(vars(config))
    folder = _core.default_cache_dir()
    with ExitStack() as stack:
        # Whether Triton contracts to fma makes no difference to real numbers.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=".*TRITON_DEFAULT_FP_FUSION.*")
        # No machine code is made here; what is cached without it must not be found by a real launch.
        stack.enter_context(mock.patch.object(CUDABackend, "add_stages", _stages_to_ptx))
        stack.enter_context(mock.patch.object(Autotuner, "__getattribute__", _tuner_attribute))
        if folder:
            # Triton's key holds a kernel's text but not its path, which source lines name.
            here = hashlib.sha256(os.getcwd().encode()).hexdigest()[:16]
            cache = {"TRITON_CACHE_DIR": os.path.join(folder, "triton", here)}
            stack.enter_context(mock.patch.dict(os.environ, cache))
        stack.callback(setattr, driver, "capture", driver.capture)
        driver.capture = _Capture(recorder, tensor_of)
        stack.callback(vars(config).update, before)
        config.set_active(driver)
        yield


_add_stages = CUDABackend.add_stages


def _stages_to_ptx(self: Any, stages: dict[str, Any], *args: Any) -> None:
    _add_stages(self, stages, *args)
    stages["cubin"] = lambda ptx, metadata: ptx.encode()


def _tuner_attribute(tuner: Any, name: str) -> Any:
    """Also of a class that is derived from Triton's and has a `run` of its own."""
    return functools.partial(_run_first_config, tuner) if name == "run" else object.__getattribute__(tuner, name)


def _run_first_config(tuner: Any, *args: Any, **kwargs: Any) -> Any:
    """In place of measuring: the first configuration that compiles and fits, or the one that a sweep asks for."""
    tuner.nargs = dict(zip(tuner.arg_names, args))
    configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
    sweep = notes()
    sweep.configs = max(sweep.configs, len(configs))
    if sweep.config is not None:
        configs = [configs[min(sweep.config, len(configs) - 1)]]
        sweep.names.append(str(configs[0]))
    failure: Exception | None = None
    for config in configs:
        tuner.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
        try:
            return tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        except (OutOfResources, CompileTimeAssertionFailure) as error:
            failure = error
    raise ValueError(f"no configuration of {tuner.base_fn.__name__} fits the target") from failure


class _Capture:
    def __init__(self, recorder: Recorder, tensor_of: Callable[[Any], TensorArgument | None]) -> None:
        self.recorder = recorder
        self.tensor_of = tensor_of

    def argument(self, kind: str, value: Any) -> Argument:
        if isinstance(value, FreeInt | FreeFloat):
            return ScalarArgument(value.scalar)
        tensor = self.tensor_of(value)
        if tensor is not None:
            return tensor
        if kind.startswith("*"):
            if value is None or value == 0:
                return Immediate("u64", 0)
            raise ValueError(f"expected read(...), write(...) or readwrite(...) for a pointer, found {value!r}")
        if kind not in _DTYPES:
            raise Refused("", f"arguments of Triton's type {kind} are not modelled")
        if isinstance(value, float) and math.isnan(value):
            raise Refused("", "a launch is given a number that is NaN")
        if kind == "fp32" and isinstance(value, float) and abs(value) >= _SINGLE_INFINITY:
            value = math.copysign(math.inf, value)  # as the launcher's conversion has it
        return Immediate(_DTYPES[kind], value)

    def descriptor(self, value: TensorDescriptor, layout: dict[str, Any] | None) -> Iterator[Argument]:
        """What Triton's launcher makes of a descriptor: its map, shape and strides; for targets without maps the base,
        shape, strides, and two flags in place of the map."""
        tensor = self.tensor_of(value.base)
        if tensor is None:
            raise ValueError(f"expected a descriptor of a declared tensor, found one of {value.base!r}")
        sizes, steps = tuple(int(n) for n in value.shape), tuple(int(n) for n in value.strides)
        if layout is None:
            yield tensor
            yield from (Immediate("i64", n) for n in (*sizes, *steps))
            yield from (Immediate("bool", flag) for flag in (value.padding == "nan", value.round_f32_to_tf32))
        elif layout["fp4_padded"] or layout.get("is_im2col"):
            raise Refused("", "descriptors of this kind are not modelled")
        else:
            fill = "nan" if value.padding == "nan" else "zeros"
            swizzle = ("none", "32B", "64B", "128B")[layout["swizzle"]]
            box = tuple(layout["block_size"])
            yield TensorMapArgument(tensor.tensor, box, sizes, steps, tensor.offset, (), swizzle, fill)
        yield from (Immediate("i32", n) for n in sizes)
        yield from (Immediate("i64", n) for n in steps)


_SINGLE_INFINITY = 2.0**128 - 2.0**103  # from here on a number rounds to infinity in single precision

_drivers: dict[str, Any] = {}


def _driver(arch: str) -> Any:
    if arch not in _drivers:
        _drivers[arch] = _Driver(capability(arch))
    return _drivers[arch]


class _Driver(DriverBase):
    """A driver without a device. The name of its device keeps kernels compiled here apart from those of a real one."""

    def __init__(self, capability: int) -> None:
        self.capability = capability
        self.capture: _Capture | None = None
        properties = {
            "max_shared_mem": shared_memory(capability), "max_num_regs": 65536, "multiprocessor_count": 108,
            "warpSize": 32, "sm_clock_rate": 1410000, "mem_clock_rate": 1215000, "mem_bus_width": 5120,
        }  # fmt: skip
        self.utils = SimpleNamespace(
            get_device_properties=lambda device: properties,
            # The launcher is called with what stands for the function: its PTX.
            load_binary=lambda name, binary, shared, device: (name, binary.decode(), 0, 0, 1024),
            unload_module=lambda module: None,
        )
        self.launcher_cls = lambda source, metadata: _Launcher(self, source, metadata)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> str:
        return f"coequal:sm_{self.capability}"

    def get_current_stream(self, device: Any) -> int:
        return 0

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return divmod(self.capability, 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        raise ValueError("nothing is measured without a device")

    def get_empty_cache_for_benchmark(self) -> Any:
        raise ValueError("nothing is measured without a device")

    def clear_cache(self, cache: Any) -> None:
        pass


class _Launcher:
    """Stands for a kernel that has been compiled with some types; a call is a launch."""

    def __init__(self, driver: _Driver, source: Any, metadata: Any) -> None:
        self._driver = driver
        self._kinds = list(source.signature.values())
        self._metadata = metadata
        self._label = source.fn.__name__
        self._blocks = [n for n in source.constants.values() if type(n) is int and n > 1]

    def __call__(self, x: int, y: int, z: int, stream: int, ptx: str, packed: Any, launch: Any, enter: Any, leave: Any,
                 *args: Any) -> None:  # fmt: skip
        capture = self._driver.capture
        assert capture is not None
        notes().blocks.update(self._blocks)
        m = self._metadata
        passed: list[Argument] = []
        layouts = iter(getattr(m, "tensordesc_meta", None) or ())
        for kind, value in _leaves(self._kinds, args):
            if kind.startswith("tensordesc"):
                passed += capture.descriptor(value, next(layouts, None))
            else:
                passed.append(capture.argument(kind, value))
        ctas = getattr(m, "num_ctas", 1)
        blocks = x * y * z * ctas
        # The parameters that are left: scratch memory of all blocks, for the kernel and for its profiler.
        scratch_sizes = (getattr(m, "global_scratch_size", 0), getattr(m, "profile_scratch_size", 0))
        for size in scratch_sizes[: _parameter_count(ptx, m.name) - len(passed)]:
            if size:
                scratch = capture.recorder.new_temporary("u8", (size * blocks,))
                passed.append(TensorArgument(scratch, "readwrite"))
            else:
                passed.append(Immediate("u64", 0))
        required = re.search(r"\.reqntid\s+(\d+)", ptx)
        capture.recorder.add(
            Launch(
                Kernel(m.name, text=ptx, label=self._label),
                grid=(x * ctas, y, z),
                block=(int(required[1]) if required else 32 * m.num_warps,),
                args=tuple(passed),
                shared=m.shared,
                cluster=(ctas,) if ctas > 1 else None,
                cooperative=bool(getattr(m, "launch_cooperative_grid", False)),
            )
        )


def _parameter_count(ptx: str, name: str) -> int:
    """Of the entry, in the text that Triton makes: one parameter a line."""
    start = ptx.index(f".entry {name}(")
    return ptx[start : ptx.index(")", start + len(name) + 8)].count(".param")


def _leaves(kinds: Sequence[Any], args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The arguments that the kernel has parameters for: tuples are flattened, constants are left out, unless the caller
    left them out."""
    if len(args) < len(kinds):
        kinds = [kind for kind in kinds if kind != "constexpr"]
    for kind, value in zip(kinds, args, strict=True):
        if isinstance(kind, tuple):
            yield from _leaves(kind, value)
        elif kind != "constexpr":
            yield kind, value
