"""Ordinary host code as a program: it allocates tensors, calls PyTorch operators and launches Triton kernels.

The code runs once on stand-in tensors of PyTorch. A Triton launch inside becomes an operator of the traced graph, so
that it keeps its place among the others; when the graph is lowered, it becomes a launch again, over the tensors it was
given.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from coequal._program import Launch, Recorder, Scalar, Tensor, TensorArgument
from coequal._record import arch, current


def capture(fn: Callable[..., Any], *args: Any, state: Mapping[str, Tensor] | None = None, **kwargs: Any) -> Any:
    """Records what host code does with declared tensors; returns the declared tensors that hold its results.

    No GPU is needed, and nothing runs: code that decides by what a tensor holds is refused. With `state`, fn is a
    module and these tensors are its parameters and buffers (see module_state); without, they are known data.
    """
    torch = _torch()
    if state is None:
        return _trace(current(), fn, args, kwargs)
    if not isinstance(fn, torch.nn.Module):
        raise ValueError(f"state is for modules, found {fn!r}")
    return _trace(current(), lambda s, a, k: torch.func.functional_call(fn, s, a, k), (dict(state), args, kwargs), {})


def module_state(module: Any) -> dict[str, Tensor]:
    """Parameters and buffers of a module as inputs: free, whatever their values are now."""
    _torch()
    from coequal._torch._value import DTYPE_NAMES

    held = [*module.named_parameters(), *module.named_buffers()]
    return {name: Tensor("", DTYPE_NAMES[t.dtype], tuple(t.shape)) for name, t in held}


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ValueError(f"this needs PyTorch, pip install 'coequal[torch]': {error}") from error
    return torch


def _trace(recorder: Recorder, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    from coequal._torch import _trace as tracing

    launches: list[tuple[Launch, list[torch.Tensor]]] = []

    class Lowering(tracing._GraphLowering):
        def _write(self, node: Any, target: Any, args: Any, kwargs: Any) -> Any:
            if target.namespace != _NAMESPACE:
                return super()._write(node, target, args, kwargs)
            values = [self._t.materialise(v) for v in args[1:]]
            for value in values:
                assert value.buffer is not None
                self._t.settle(value.buffer)
            recorder.add(_placed(launches[args[0]][0], values))
            return None

    with _triton_launches(launches):
        graph, structure = tracing.capture(fn, args, kwargs)
    flat = [a for a in tree_flatten((tuple(args), dict(kwargs)))[0] if isinstance(a, Tensor | Scalar)]
    results = Lowering(tracing.Lowering(recorder), graph).run(flat)
    return tree_unflatten(results, structure)


def _placed(launch: Launch, values: Sequence[Any]) -> Launch:
    """The launch over the buffers that its tensors turned out to be."""

    def place(argument: Any) -> Any:
        if not isinstance(argument, TensorArgument) or not isinstance(argument.tensor, _Slot):
            return argument
        value = values[argument.tensor.index]
        return TensorArgument(value.buffer.source, "readwrite", value.offset)

    return dataclasses.replace(launch, args=tuple(place(a) for a in launch.args))


@dataclasses.dataclass(frozen=True)
class _Slot:
    """Stands for the tensor of this number among those of a launch."""

    index: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


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


@contextmanager
def _triton_launches(launches: list[tuple[Launch, list[Any]]]) -> Any:
    """Triton launches of stand-in tensors are appended, and become operators where they happen."""
    try:
        from triton.runtime.jit import JITFunction
    except ModuleNotFoundError:
        yield
        return
    import torch

    from coequal import _triton
    from coequal._torch._value import DTYPE_NAMES

    class Launches(Recorder):
        def __init__(self) -> None:
            super().__init__()
            self.tensors: list[torch.Tensor] = []

        def add(self, launch: Launch) -> None:
            launches.append((launch, self.tensors))
            _operator(len(self.tensors))(len(launches) - 1, *self.tensors)

    recorder = Launches()
    run = JITFunction.run

    def stand_in(value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [stand_in(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not isinstance(value, torch.Tensor):
            return value
        recorder.tensors.append(value)
        slot = _Slot(len(recorder.tensors) - 1, DTYPE_NAMES[value.dtype], tuple(value.shape), value.stride())
        return _triton.StandIn(TensorArgument(slot, "readwrite", value.storage_offset()))  # type: ignore[arg-type]

    def run_on_stand_ins(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.tensors = []
        return run(self, *(stand_in(a) for a in args), **{name: stand_in(a) for name, a in kwargs.items()})

    of = lambda value: value if isinstance(value, _triton.StandIn) else None  # noqa: E731
    with _triton.capturing(recorder, arch(), of), mock.patch.object(JITFunction, "run", run_on_stand_ins):
        yield
