"""Two functions as an instance: host code of Python, modules of PyTorch, files that hold them."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from coequal import _capture
from coequal._capture import capture, module_state
from coequal._lower import Program, declared_in, free_name, output_tensors
from coequal._program import Launch, Scalar, Tensor, TensorArgument, TensorMapArgument
from coequal._record import load_module
from coequal.instance import Instance, input, scalar


@dataclass(frozen=True)
class Spec:
    """How an argument of two functions under test is declared: a tensor, or a scalar without a shape."""

    shape: tuple[int, ...] | None
    dtype: str
    declared: dict[str, Any]

    def declare(self) -> Any:
        if self.shape is None:
            return scalar(self.dtype, **self.declared)
        return input(self.shape, self.dtype, **self.declared)


class Functions(Instance):
    """Two functions or modules over the same arguments.

    What they are given is theirs to change only if both may change it, and is compared then as well.
    """

    @classmethod
    def title(cls) -> str:
        return "" if cls is Functions else super().title()

    def __init__(self, fn_a: Callable[..., Any], fn_b: Callable[..., Any], specs: Sequence[Any]) -> None:
        self._functions = {"a": fn_a, "b": fn_b}
        self._specs = specs

    def setup(self) -> None:
        _capture.needed_torch()
        from torch.utils._pytree import tree_map

        declared = [tree_map(lambda a: a.declare() if isinstance(a, Spec) else a, spec) for spec in self._specs]
        self._arguments: dict[str, Any] = {}
        for i, argument in enumerate(declared):
            self._arguments[free_name(_argument_name(self._functions["a"], i), self._arguments)] = argument
        self._modules = {letter: fn for letter, fn in self._functions.items() if hasattr(fn, "named_parameters")}
        self._state: dict[str, Tensor] = {}
        for module in self._modules.values():
            for name, tensor in module_state(module).items():
                known = self._state.setdefault(name, tensor)
                if (known.dtype, known.shape) != (tensor.dtype, tensor.shape):
                    raise ValueError(f"'{name}' is {known.dtype} {known.shape} and {tensor.dtype} {tensor.shape}")
        buffers = [{name for name, _ in m.named_buffers()} for m in self._modules.values()]
        self._buffers = set.intersection(*buffers) if len(buffers) == 2 else set()

    def _declared(self) -> dict[str, Any]:
        from torch.utils._pytree import tree_leaves

        found = declared_in(self._arguments)
        # Also what lies in other containers, which PyTorch looks into.
        inner = [(f"{name}.{i}", leaf) for name, a in self._arguments.items() for i, leaf in enumerate(tree_leaves(a))]
        for name, thing in (*inner, *self._state.items()):
            if isinstance(thing, Tensor | Scalar) and not any(thing is other for other in found.values()):
                found[free_name(name, found)] = thing
        return found

    def program_a(self) -> Any:
        return self._program("a")

    def program_b(self) -> Any:
        return self._program("b")

    def _program(self, letter: str) -> Any:
        fn, arguments = self._functions[letter], self._arguments.values()
        if letter not in self._modules:
            return capture(fn, *arguments)
        state = {name: self._state[name] for name in module_state(fn)}
        outputs = output_tensors(capture(fn, *arguments, state=state))
        for name in sorted(self._buffers):
            outputs[free_name(name, outputs)] = self._state[name]
        return outputs

    def _recorded(self, a: Program, b: Program) -> None:
        written = {p.letter: _written(p) for p in (a, b)}
        mapped = _mapped(a) | _mapped(b)  # perhaps written by one alone: compared as well
        kept = {id(self._state[name]) for name in self._buffers}
        for name, tensor in self._declared().items():
            if not isinstance(tensor, Tensor) or id(tensor) in kept:
                continue
            for program, other in ((a, b), (b, a)):
                if id(tensor) not in written[other.letter] and other.outputs is not None:
                    program.launches[:] = [_reading(launch, tensor) for launch in program.launches]
            compared = id(tensor) in mapped or all(id(tensor) in w for w in written.values())
            if compared and a.outputs is not None and b.outputs is not None:
                if not any(a.outputs[n] is tensor and b.outputs.get(n) is tensor for n in a.outputs):
                    free = free_name(name, {**a.outputs, **b.outputs})
                    a.outputs[free] = b.outputs[free] = tensor


def _written(program: Program) -> set[int]:
    """The tensors that some launch may write; through a map nobody says whether it does."""
    passed = (a for launch in program.launches for a in launch.args)
    return {id(a.tensor) for a in passed if isinstance(a, TensorArgument) and a.mode != "read"} | _mapped(program)


def _mapped(program: Program) -> set[int]:
    return {id(a.tensor) for launch in program.launches for a in launch.args if isinstance(a, TensorMapArgument)}


def _reading(launch: Launch, tensor: Tensor) -> Launch:
    """The launch, to which the tensor is given to be read."""
    if not any(isinstance(a, TensorArgument) and a.tensor is tensor and a.mode != "read" for a in launch.args):
        return launch
    args = (
        dataclasses.replace(a, mode="read") if isinstance(a, TensorArgument) and a.tensor is tensor else a
        for a in launch.args
    )
    return dataclasses.replace(launch, args=tuple(args))



class Modules(Functions):
    """Two files with a PyTorch module each: `Model` in `reference`, and `ModelNew` in `candidate`.

    The reference also defines get_inputs() and, where its module takes arguments, get_init_inputs(). The inputs have
    the shapes and dtypes of what get_inputs() gives, and integers its range; parameters and buffers are inputs, too.
    Kernels may be Triton's, or those of CUDA extensions that load or load_inline build.
    """

    reference: ClassVar[str | os.PathLike[str]]
    candidate: ClassVar[str | os.PathLike[str]]

    def __init__(self) -> None:
        super().__init__(None, None, ())  # type: ignore[arg-type]

    def setup(self) -> None:
        torch = _capture.needed_torch()
        folder = Path(inspect.getfile(type(self))).parent
        with _capture.on_device(), _capture.extensions(), torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            reference, candidate = (load_module(folder / path) for path in (self.reference, self.candidate))
            arguments = reference.get_init_inputs() if hasattr(reference, "get_init_inputs") else []
            self._functions = {"a": reference.Model(*arguments), "b": candidate.ModelNew(*arguments)}
            inputs = reference.get_inputs()
        self._specs = [spec_of(value) if isinstance(value, torch.Tensor) else value for value in inputs]
        super().setup()


def spec_of(tensor: Any) -> Spec:
    """An argument like this tensor of PyTorch: its shape and dtype, and of integers the range."""
    from coequal._torch._value import DTYPE_NAMES

    declared: dict[str, Any] = {}
    name = DTYPE_NAMES[tensor.dtype]
    if name[0] in "iu" and tensor.numel():
        declared = {"min": min(0, int(tensor.min())), "max": int(tensor.max())}
    if not tensor.is_contiguous():
        declared["strides"] = tensor.stride()
    return Spec(tuple(tensor.shape), name, declared)


def _argument_name(fn: Callable[..., Any], index: int) -> str:
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        names = []
    return names[index] if index < len(names) and names[index] not in ("args", "kwargs") else f"arg{index}"
