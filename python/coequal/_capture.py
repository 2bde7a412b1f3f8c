"""Ordinary host code as a program: it allocates tensors, calls PyTorch operators and launches kernels.

The code runs on stand-in tensors of PyTorch, twice, so that what the first call keeps for later shows. A launch inside,
of Triton or of a CUDA extension, becomes an operator of the traced graph, so that it keeps its place among the others;
when the graph is lowered, it becomes a launch again, over the tensors it was given.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

from coequal._program import (
    DTYPE_SIZES,
    Launch,
    Recorder,
    Refused,
    Tensor,
    TensorArgument,
    TensorMapArgument,
)
from coequal._record import Notes, arch, current, notes, noting
from coequal._target import capability, shared_memory


def capture(fn: Callable[..., Any], *args: Any, state: Mapping[str, Tensor] | None = None, **kwargs: Any) -> Any:
    """Records what host code does with declared tensors; returns the declared tensors that hold its results.

    No GPU is needed, and nothing runs: code that decides by what a tensor holds is refused, unless that follows from
    small known tensors. With `state`, fn is a module and these tensors are its parameters and buffers (see
    module_state); without, they are known data.
    """
    torch = needed_torch()
    if state is None:
        return _trace(current(), fn, args, kwargs)
    if not isinstance(fn, torch.nn.Module):
        raise ValueError(f"state is for modules, found {fn!r}")

    def call(state: dict[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = dict(state)
        result = torch.func.functional_call(fn, state, args, kwargs)
        # Where the module has put another tensor in its place, the call leaves that in the dict.
        replaced = {name: tensor for name, tensor in state.items() if tensor is not given[name]}
        with torch.no_grad():
            kept = [(name, tensor.clone()) for name, tensor in replaced.items()]
            for name, tensor in kept:
                if (tensor.shape, tensor.dtype) != (given[name].shape, given[name].dtype):
                    raise Refused("", f"a module that replaces '{name}' by a tensor of another shape or dtype")
                given[name].copy_(tensor)
        return result

    return _trace(current(), call, (dict(state), args, kwargs), {})


def module_state(module: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a module as inputs: free, whatever their values are now."""
    needed_torch()
    from coequal._torch._value import DTYPE_NAMES

    held = [*module.named_parameters(), *module.named_buffers()]
    return {name: Tensor("", DTYPE_NAMES[t.dtype], tuple(t.shape)) for name, t in held}


def needed_torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ValueError(f"this needs PyTorch, pip install 'coequal[torch]': {error}") from error
    return torch


def _trace(recorder: Recorder, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from torch.utils._pytree import tree_unflatten

    from coequal import _extension
    from coequal._torch import _trace as tracing
    from coequal._torch._again import Call, check_second

    launches: list[Launch] = []

    class Lowering(tracing._GraphLowering):
        def _write(self, node: Any, target: Any, args: Any, kwargs: Any) -> Any:
            if target.namespace != _NAMESPACE:
                return super()._write(node, target, args, kwargs)
            values = [self._t.materialise(v) for v in args[1:]]
            for value in values:
                assert value.buffer is not None
                self._t.settle(value.buffer)
            recorder.add(_placed(launches[args[0]], values))
            return None

    def on_device(*args: Any, **kwargs: Any) -> Any:
        functions, operators = _device_modes()
        with operators(), functions():
            return fn(*args, **kwargs)

    def call() -> Call:
        addresses, launches = _Addresses(), []
        recorded = _Launches(launches)
        extensions = _extension.Session(addresses, recorded.add, recorded.argument)
        with _triton_launches(recorded, addresses), _cuda_functions(addresses), extensions.active():
            graph, structure = tracing.capture(on_device, args, kwargs)
        return Call(graph, structure, [extensions.finished(launch) for launch, _ in launches], _NAMESPACE)

    first = call()
    launches += first.launches
    graph, structure = first.module, first.structure
    with noting(Notes(config=notes().config)):
        try:
            second = call()
        except Refused:
            raise
        except Exception as error:
            raise Refused("", f"a second call raises {type(error).__name__}: {error}") from error
    check_second(first, second)
    results = Lowering(tracing.Lowering(recorder), graph).run(tracing.declared(args, kwargs))
    return tree_unflatten(results, structure)


def _placed(launch: Launch, values: Sequence[Any]) -> Launch:
    """The launch over the buffers that its tensors turned out to be."""

    def place(argument: Any) -> Any:
        if not isinstance(argument, TensorArgument | TensorMapArgument) or not isinstance(argument.tensor, _Slot):
            return argument
        value = values[argument.tensor.index]
        tensor, size, name = value.buffer.source, value.dtype.itemsize, launch.kernel.label or launch.kernel.name
        # Offsets count in elements of the tensor that the program declares; this may be a view in another dtype.
        offset, rest = divmod((value.offset + argument.offset) * size, DTYPE_SIZES[tensor.dtype])
        if rest:
            reason = f"a view in another dtype that starts inside an element of its {tensor.dtype} tensor"
            raise Refused(name, f"{reason} is not modelled")
        if not isinstance(argument, TensorMapArgument):
            return TensorArgument(tensor, "readwrite", offset)
        if argument.tensor.dtype != tensor.dtype:
            raise Refused(name, "a tensor map of a view in another dtype is not modelled")
        return dataclasses.replace(argument, tensor=tensor, offset=offset)

    return dataclasses.replace(launch, args=tuple(place(a) for a in launch.args))


class _Addresses:
    """Addresses of stand-ins: each storage has a range of its own, so that an address tells the tensor."""

    _FIRST, _RANGE = 2**40, 2**40

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._tensors: list[Any] = []  # one of each storage; held, so that no other storage takes its place

    def start(self, tensor: Any) -> int:
        """Of the tensor's storage."""
        storage = tensor.untyped_storage()._cdata
        if storage not in self._numbers:
            self._numbers[storage] = len(self._tensors)
            self._tensors.append(tensor)
        return self._FIRST + self._numbers[storage] * self._RANGE

    def of(self, tensor: Any) -> int:
        return self.start(tensor) + tensor.storage_offset() * tensor.element_size()

    def holds(self, address: int) -> bool:
        return self._FIRST <= address < self._FIRST + len(self._tensors) * self._RANGE

    def tensor(self, address: int) -> tuple[Any, int]:
        """A tensor whose storage the address is in, and how many of its elements beyond its start."""
        number = (address - self._FIRST + self._RANGE // 2) // self._RANGE
        if not 0 <= number < len(self._tensors):
            raise ValueError(f"a kernel is given the address {address}, which is that of no tensor")
        tensor = self._tensors[number]
        beyond, rest = divmod(address - self.of(tensor), tensor.element_size())
        if rest:
            raise Refused("", "a kernel is given an address inside an element of a tensor")
        return tensor, beyond


@dataclasses.dataclass(frozen=True)
class _Slot:
    """Stands for the tensor of this number among those of a launch."""

    index: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@contextmanager
def extensions() -> Iterator[None]:
    """While this lasts, load and load_inline of torch.utils.cpp_extension build nothing: they give modules whose
    functions run in captured code, without a GPU."""
    needed_torch()
    from coequal import _extension

    with _extension.stand_ins():
        yield


@contextmanager
def on_device() -> Iterator[None]:
    """While this lasts, PyTorch claims to have a CUDA device; what is put there stays where it is."""
    functions, _ = _device_modes()
    with functions(), _cuda_functions(_Addresses()):
        yield


_NAMESPACE = "coequal"


@functools.cache
def _operator(count: int) -> Any:
    """An operator that writes `count` tensors, as far as PyTorch knows."""
    import torch

    tensors = "".join(f", Tensor(a{i}!) t{i}" for i in range(count))
    library = torch.library.Library(_NAMESPACE, "FRAGMENT")
    _libraries.append(library)
    library.define(f"launch_{count}(int index{tensors}) -> ()")
    library.impl(f"launch_{count}", lambda *args: None, "CompositeExplicitAutograd")
    return getattr(torch.ops.coequal, f"launch_{count}").default


_libraries: list[Any] = []  # what they define lasts as long as they do


@functools.cache
def _device_modes() -> Any:
    """Modes in which all tensors claim to be on the first CUDA device: host code then takes the way of a GPU."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    tensor = torch.Tensor
    answers = ((tensor.is_cuda.__get__, True), (tensor.is_cpu.__get__, False), (tensor.get_device, 0))

    def elsewhere(value: Any) -> Any:
        on_device = isinstance(value, str | torch.device) and str(value).split(":")[0] == "cuda"
        return torch.device("cpu") if on_device else value

    class OnDevice(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            for asked, answer in answers:
                if func == asked:
                    return answer
            if func == tensor.cuda:
                return args[0]
            if func is torch.device:
                return func(*args, **(kwargs or {}))
            args, kwargs = tree_map(elsewhere, (tuple(args), kwargs or {}))
            return func(*args, **kwargs)

    class OperatorsOnDevice(TorchDispatchMode):
        """Backward functions run outside the other mode; they allocate on the device."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **{name: elsewhere(value) for name, value in (kwargs or {}).items()})

    return OnDevice, OperatorsOnDevice


def _answer(answer: Any, *_: Any, **__: Any) -> Any:
    return answer


@contextmanager
def _cuda_functions(addresses: _Addresses) -> Any:
    """What host code asks torch.cuda and its tensors: there is one device, and they are on it."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    number = capability(arch())
    major, minor = divmod(number, 10)
    properties = SimpleNamespace(
        name="coequal", major=major, minor=minor, multi_processor_count=108, total_memory=2**36, warp_size=32,
        max_threads_per_multi_processor=2048, shared_memory_per_block=49152,
        shared_memory_per_block_optin=shared_memory(number), regs_per_multiprocessor=65536, L2_cache_size=40 * 2**20,
    )  # fmt: skip
    answers = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": (major, minor),
        "get_device_name": "coequal",
        "get_device_properties": properties,
        "synchronize": None,
        "set_device": None,
        "is_bf16_supported": True,
        "device": nullcontext(),
        "device_of": nullcontext(),
    }
    own, first = FakeTensor.device, torch.device("cuda", 0)

    def device(self: Any) -> Any:
        # Not a function that modes see. PyTorch itself must have the truth.
        module = sys._getframe(1).f_globals.get("__name__", "")
        return own.__get__(self) if module.split(".")[0] == "torch" else first

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(FakeTensor, "device", property(device)))
        stack.enter_context(mock.patch.object(FakeTensor, "data_ptr", lambda self: addresses.of(self)))
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, functools.partial(_answer, answer)))
        # C++ code is given addresses that nobody dereferences.
        stack.enter_context(mock.patch.object(torch._C, "_set_warn_deprecated_on_mutable_data_ptr", _answer))
        yield


class _Launches(Recorder):
    """Launches over stand-in tensors: each becomes an operator where it happens."""

    def __init__(self, launches: list[tuple[Launch, list[Any]]]) -> None:
        super().__init__()
        self._recorded = launches
        self._tensors: list[Any] = []  # of the launch that follows

    def argument(self, tensor: Any, beyond: int = 0) -> TensorArgument:
        """A tensor that the launch is given, `beyond` elements after its start."""
        from coequal._torch._value import DTYPE_NAMES

        if tensor.dtype not in DTYPE_NAMES:
            raise Refused("", f"launches over tensors of {str(tensor.dtype).removeprefix('torch.')} are not modelled")
        self._tensors.append(tensor)
        slot = _Slot(len(self._tensors) - 1, DTYPE_NAMES[tensor.dtype], tuple(tensor.shape), tensor.stride())
        return TensorArgument(slot, "readwrite", beyond)  # type: ignore[arg-type]

    def add(self, launch: Launch) -> None:
        tensors, self._tensors = self._tensors, []
        self._recorded.append((launch, tensors))
        _operator(len(tensors))(len(self._recorded) - 1, *tensors)


@contextmanager
def _triton_launches(recorder: _Launches, addresses: _Addresses) -> Any:
    """Triton launches of stand-in tensors are recorded."""
    try:
        import triton  # noqa: F401
    except ModuleNotFoundError:
        yield
        return
    import torch

    from coequal import _triton

    def argument(value: Any) -> TensorArgument | None:
        # Triton takes anything with an address and a dtype.
        if isinstance(value, torch.Tensor):
            return recorder.argument(value)
        if callable(getattr(value, "data_ptr", None)):
            return recorder.argument(*addresses.tensor(value.data_ptr()))
        return None

    with _triton.capturing(recorder, arch(), argument):
        yield
