"""Traces a function with torch.fx on stand-in tensors and lowers the graph of ATen operators."""

from __future__ import annotations

import logging
import math
import operator as python_operator
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch import fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from coequal._program import Recorder, Refused, Scalar, Tensor
from coequal._torch import _index, _layout, _linear, _norm, _pointwise, _pool, _reduce  # noqa: F401  (fill the table)
from coequal._torch._layout import view_of_expression
from coequal._torch._table import TABLE, find
from coequal._torch._value import DTYPE_NAMES, DTYPES, Buffer, Lowering, Value, contiguous_strides

# Tensors up to this size are computed where they depend on known data alone.
_KNOWN_CELLS = 4096

# Decompositions that PyTorch has beside those into core operators.
_FURTHER = (
    "_batch_norm_with_update",
    "_native_batch_norm_legit_no_training",
    "as_strided_scatter",
    "batch_norm_backward",
    "diagonal_scatter",
    "dist",
    "grid_sampler_2d",
    "rrelu_with_noise_backward",
    "tril_indices",
    "triu_indices",
    "upsample_bicubic2d",
)


@cache
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """PyTorch's own decompositions of what the table does not have, and ours of what PyTorch does not decompose."""
    further = get_decompositions([getattr(torch.ops.aten, name).default for name in _FURTHER])
    own = {torch.ops.aten.masked_scatter.default: _masked_scatter, torch.ops.aten._pdist_forward.default: _pdist}
    return {op: rule for op, rule in {**core_aten_decompositions(), **further, **own}.items() if not has_row(op)}


def _masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The n-th cell under the mask is the n-th of the source."""
    x, mask = torch.broadcast_tensors(x, mask)
    place = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    return torch.where(mask, source.reshape(-1)[place.clamp_min(0)].reshape(x.shape), x)


def _pdist(x: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    """Distances of all pairs of rows, the earlier one first."""
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return torch.linalg.vector_norm(x[first] - x[second], p, dim=1)


def has_row(op: torch._ops.OpOverload) -> bool:
    return find(*_functional(op)) is not None


@cache
def _functional(op: torch._ops.OpOverload) -> tuple[str, str]:
    """Name and overload of the operator, for an in-place or out= form of its functional one: that with the same
    arguments, as pow_.Scalar is pow.Tensor_Scalar."""
    name, overload = op._schema.name.removeprefix("aten::"), op._overloadname
    if not op._schema.is_mutable:
        return name, overload

    def arguments(schema: Any) -> list[tuple[str, str]]:
        return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]

    name = name.rstrip("_")
    packet = getattr(torch.ops.aten, name, None)
    for other in packet.overloads() if packet else ():
        functional = getattr(packet, other)._schema
        if not functional.is_mutable and arguments(functional) == arguments(op._schema):
            return name, other
    return name, overload


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):  # noqa: ANN001, ANN201
    """scaled_dot_product_attention as its documentation composes it, with one scale instead of two roots of it."""
    if dropout_p:
        raise Refused("scaled_dot_product_attention", "dropout is random")
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        kept = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~kept, -math.inf)
    if attn_mask is None:
        return torch.softmax(scores, -1) @ value
    if attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    else:
        scores = scores + attn_mask
    return torch.ops.aten._safe_softmax(scores, -1) @ value


class _Replaced(TorchFunctionMode):
    """Functions whose decomposition in PyTorch is not the exact function."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if func is torch.nn.functional.scaled_dot_product_attention:
            return attention(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _is_user(frame: FrameType) -> bool:
    if frame.f_code.co_filename == "<string>":  # code that PyTorch generates
        return False
    return frame.f_globals.get("__name__", "").split(".")[0] not in ("torch", "coequal", "contextlib")


def _user_frame(frame: FrameType | None) -> tuple[str, int] | None:
    while frame is not None and not _is_user(frame):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def _user_line(error: BaseException) -> tuple[str | None, int | None]:
    """The innermost line of the user's code that the error passed."""
    found: tuple[str | None, int | None] = (None, None)
    step = error.__traceback__
    while step is not None:
        if _is_user(step.tb_frame):
            found = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return found


def _written_tensors(
    func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[torch.Tensor]:
    written: list[torch.Tensor] = []
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[i] if i < len(args) else kwargs.get(argument.name)
            leaves = value if isinstance(value, (tuple, list)) else [value]
            written += [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return written


def _forget_contents(tracer: Any, func: torch._ops.OpOverload, written: Sequence[torch.Tensor]) -> None:
    """PyTorch remembers what small known tensors hold, without seeing all that changes them: launches, other views."""
    # What is remembered shares memory with what is remembered of a view, the stand-ins do not always.
    tracker = tracer.tensor_tracker
    remembered = [tracker[t].constant for t in written if t in tracker and tracker[t].constant is not None]
    storages = {_storage(tensor) for tensor in (*written, *remembered)}
    for tensor, held in tracker.items():
        if held.constant is None or not storages & {_storage(tensor), _storage(held.constant)}:
            continue
        held.constant = None
        if func.namespace != "aten" and isinstance(tensor, FakeTensor):
            tensor.item_memo = None
            if tensor.constant is not None:
                tensor.fake_mode.fake_tensor_converter.invalidate_constant_aliases(tensor.constant)


class _Lines(TorchDispatchMode):
    """Notes for each graph node where the user's code called the operator, and keeps host code from reading what the
    operators have changed."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        self._changed: dict[int, torch.Tensor] = {}  # tensors with data, which keep it when the traced function writes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        self.last = str(func)
        mode = get_proxy_mode()
        if mode is not None and func._schema.is_mutable:
            written = _written_tensors(func, args, kwargs or {})
            _forget_contents(mode.tracer, func, written)
            self._changed.update((_storage(t), t) for t in written if not isinstance(t, FakeTensor))
        if torch.Tag.data_dependent_output in func.tags:
            if any(isinstance(a, torch.Tensor) and _storage(a) in self._changed for a in args):
                raise DataDependentOutputException(func)
        result = func(*args, **(kwargs or {}))
        if mode is not None:
            at = _user_frame(sys._getframe(1))
            for node in reversed(mode.tracer.graph.nodes):
                if "source" in node.meta:
                    break
                node.meta["source"] = at
        return result


def _stand_in(value: object) -> object:
    if isinstance(value, (Tensor, Scalar)):
        if value.dtype not in DTYPES:
            raise Refused("", f"PyTorch tensors of {value.dtype} are not modelled")
        if isinstance(value, Scalar):
            return torch.empty((), dtype=DTYPES[value.dtype])
        return torch.empty_strided(value.shape, _strides(value), dtype=DTYPES[value.dtype])
    return value


def _strides(tensor: Tensor) -> tuple[int, ...]:
    return contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides


def declared(args: Sequence[object], kwargs: Mapping[str, object]) -> list[Tensor | Scalar]:
    """What is declared among the arguments, each once: one tensor given twice is one storage."""
    flat = (a for a in tree_flatten((tuple(args), dict(kwargs)))[0] if isinstance(a, (Tensor, Scalar)))
    return list({id(a): a for a in flat}.values())


def capture(fn: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[fx.GraphModule, Any]:
    """The graph of fn's ATen operators, and the structure of its result."""
    flat, structure = tree_flatten((tuple(args), dict(kwargs)))
    inputs = declared(args, kwargs)
    result_structure: list[Any] = []
    lines = _Lines()

    def call(*tensors: torch.Tensor) -> list[Any]:
        given = {id(a): tensor for a, tensor in zip(inputs, tensors)}
        filled = [given[id(a)] if isinstance(a, (Tensor, Scalar)) else a for a in flat]
        filled_args, filled_kwargs = tree_unflatten(filled, structure)
        with lines, _Replaced():
            result = fn(*filled_args, **filled_kwargs)
        leaves, result_tree = tree_flatten(result)
        result_structure.append(result_tree)
        return leaves

    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with ExitStack() as stack:
        stack.enter_context(fake)
        # Host code may read what is computed from known data alone; by itself PyTorch remembers single numbers only.
        for module in (fake_tensor, proxy_tensor):
            stack.enter_context(mock.patch.object(module, "CONSTANT_NUMEL_LIMIT", _KNOWN_CELLS))
        # CPU kernels of their own would hide the operators inside.
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast_path)
        # Mistakes of the function are raised; nobody needs them in the log as well.
        logger = logging.getLogger("torch._subclasses.fake_tensor")
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        stand_ins = [_stand_in(a) for a in inputs]
        try:
            graph = make_fx(call, decomposition_table=decompositions(), tracing_mode="real")(*stand_ins)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise Refused(
                str(error.func), "its result depends on data that is not known", *_user_line(error)
            ) from error
        except UnsupportedFakeTensorException as error:
            raise Refused(lines.last, str(error), *_user_line(error)) from error
    return graph, result_structure[-1]


def trace(recorder: Recorder, fn: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    """Records fn's launches over declared tensors and gives its result with declared tensors in place of PyTorch's."""
    graph, structure = capture(fn, args, kwargs)
    results = _GraphLowering(Lowering(recorder), graph).run(declared(args, kwargs))
    return tree_unflatten(results, structure)


def _storage(standin: torch.Tensor) -> int:
    return standin.untyped_storage()._cdata


def _stand_ins(node: fx.Node) -> list[torch.Tensor]:
    value = node.meta.get("val")
    return [v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, torch.Tensor)]


class _GraphLowering:
    def __init__(self, lowering: Lowering, module: fx.GraphModule) -> None:
        self._t = lowering
        self._module = module
        self._nodes = list(module.graph.nodes)
        self._written = self._written_storages()
        self._needed = self._needed_nodes()
        self._last_use = {arg: node for node in self._nodes for arg in node.all_input_nodes}

    def _written_storages(self) -> set[int]:
        """Of stand-ins that some operator writes in place: these are buffers from the start."""
        written: set[int] = set()
        for node in self._nodes:
            for _, target in _write_arguments(node):
                written.update(map(_storage, _stand_ins(target)))
        return written

    def _needed_nodes(self) -> set[fx.Node]:
        needed: set[fx.Node] = set()
        for node in reversed(self._nodes):
            if node.op == "output" or node in needed or any(True for _ in _write_arguments(node)):
                needed.add(node)
                needed.update(node.all_input_nodes)
        return needed

    def run(self, inputs: Sequence[Tensor | Scalar]) -> list[Any]:
        remaining = iter(inputs)
        for node in self._nodes:
            if node.op == "placeholder":
                self._t.live[node] = self._input(node, next(remaining))
                continue
            if node.op == "output":
                leaves = node.args[0]
                assert isinstance(leaves, (list, tuple))
                return [self._output(leaf) for leaf in leaves]
            if node not in self._needed:
                continue
            self._t.live[node] = self._evaluate(node)
            for arg in node.all_input_nodes:
                if self._last_use[arg] is node:
                    self._t.live.pop(arg, None)
        raise AssertionError("a graph without an output")

    def _input(self, node: fx.Node, declared: Tensor | Scalar) -> Value:
        standin = node.meta["val"]
        return Value(tuple(standin.shape), standin.dtype, standin.stride(), 0, Buffer(declared, standin.dtype))

    def _output(self, leaf: Any) -> Any:
        value = self._t.live[leaf] if isinstance(leaf, fx.Node) else leaf
        if not isinstance(value, Value):
            return value
        self._t.operator, self._t.source = "result", leaf.meta.get("source")
        self._t.materialise(value)
        assert value.buffer is not None
        tensor = value.buffer.source
        own = isinstance(tensor, Tensor) and DTYPES[tensor.dtype] == value.dtype
        if own and value.offset == 0 and tensor.shape == value.shape:
            if all(a == b for a, b, n in zip(value.strides, _strides(tensor), value.shape) if n > 1):
                return tensor
        target = self._t.new(value.shape, value.dtype)
        self._t.copy(target, value)
        assert target.buffer is not None
        return target.buffer.source

    def _value(self, node: fx.Node) -> Any:
        return self._t.live[node]

    def _evaluate(self, node: fx.Node) -> Any:
        t = self._t
        t.source = node.meta.get("source")
        if node.op == "get_attr":
            constant = getattr(self._module, str(node.target))
            return self._finish(node, t.known(constant))
        if node.target is python_operator.getitem:
            source, index = node.args
            return t.live[source][index]  # type: ignore[index]
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            raise Refused(str(target), "not an ATen operator", *(t.source or (None, None)))
        t.operator = str(target)
        t.standin = node.meta.get("val")
        t.arguments = fx.node.map_arg(node.args, lambda n: n.meta.get("val"))
        t.wanted = frozenset(
            int(user.args[1]) for user in node.users if user.target is python_operator.getitem and user in self._needed
        )
        args = fx.node.map_arg(node.args, self._value)
        kwargs = fx.node.map_arg(node.kwargs, self._value)
        try:
            if _is_view(target) or torch.Tag.inplace_view in target.tags:
                return self._view(node, args)
            if target._schema.is_mutable:
                return self._write(node, target, args, kwargs)
            return self._finish(node, self._lower(target, args, kwargs))
        except Refused as refused:
            if refused.file is None and t.source:
                raise Refused(t.operator, refused.reason, *t.source) from refused
            raise

    def _lower(self, target: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
        row = find(*_functional(target))
        if row is None:
            if torch.Tag.dynamic_output_shape in target.tags:
                raise self._t.refuse("the shape of its result depends on data")
            if torch.Tag.nondeterministic_seeded in target.tags:
                raise self._t.refuse("random operators are not functions of their inputs")
            raise self._t.refuse("this operator is not modelled")
        return row(self._t, *args, **kwargs)

    def _finish(self, node: fx.Node, result: Any) -> Any:
        """Brings results into the layout of their stand-ins, and computes those that will be read often."""
        if isinstance(result, (tuple, list)):
            standins = node.meta["val"]
            return [self._laid_out(v, s, 2) if isinstance(v, Value) else v for v, s in zip(result, standins)]
        return self._laid_out(result, node.meta["val"], len(node.users)) if isinstance(result, Value) else result

    def _laid_out(self, value: Value, standin: torch.Tensor, users: int) -> Value:
        t = self._t
        if value.dtype != standin.dtype or value.shape != tuple(standin.shape):
            raise AssertionError(f"{t.operator}: {value.dtype} {value.shape} where {standin} is expected")
        strides = standin.stride()
        if value.buffer is not None:
            if all(a == b for a, b, n in zip(value.strides, strides, value.shape) if n > 1):
                return value
            value = t.expression(value.shape, value.dtype, lambda k, idx, v=value: k.read(v, idx), [value])
            value.strides = strides
            return t.materialise(value)
        if value.base is not None or value.strides != strides:
            value.strides = strides
        often = value.cost > 4 and users > 1 or value.cost > 40
        if often or _storage(standin) in self._written:
            t.materialise(value)
        return value

    def _view(self, node: fx.Node, args: Any) -> Any:
        """Another view of the first argument, or several."""
        base: Value = args[0]
        standins = node.meta["val"]
        several = isinstance(standins, (tuple, list))
        retyped = any(s.dtype != base.dtype for s in _stand_ins(node))
        if any(s.is_neg() or s.is_conj() or s.dtype not in DTYPE_NAMES for s in _stand_ins(node)):
            raise self._t.refuse("this view is not modelled")
        if base.buffer is None:
            if not several and not retyped:
                view = view_of_expression(self._t, node, base, args[1:])
                if view is not None:
                    return view
            self._t.materialise(base)
        assert base.buffer is not None
        if retyped and isinstance(base.buffer.source, Scalar):
            raise self._t.refuse("the bytes of a scalar, viewed in another dtype, are not modelled")
        views = [
            Value(tuple(s.shape), s.dtype, s.stride(), int(s.storage_offset()), base.buffer) for s in _stand_ins(node)
        ]
        return views if several else views[0]

    def _write(self, node: fx.Node, target: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
        """In-place and out= forms: the functional operator, then a copy into what is written."""
        names = [name for name, _ in _write_arguments(node)]
        destinations = [self._value(written) for _, written in _write_arguments(node)]
        schema = target._schema
        if schema.name.endswith("_native_batch_norm_legit"):
            return self._finish(node, self._lower(target, args, kwargs))
        kwargs = {name: value for name, value in kwargs.items() if name not in names or name == "self"}
        t = self._t
        t.standin = self._functional_standin(node, _functional(target)[0], kwargs)
        result = self._lower(target, args, kwargs)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(results) != len(destinations):
            raise t.refuse("this in-place operator is not modelled")
        for destination, value in zip(destinations, results):
            t.materialise(destination)
            t.assign(destination, value)
        return destinations if len(destinations) > 1 else destinations[0]

    def _functional_standin(self, node: fx.Node, name: str, kwargs: Any) -> object:
        """The functional operator's own result: it computes in that dtype, whatever the dtype of what is written."""
        functional = getattr(torch.ops.aten, name, None)
        if functional is None:
            return self._t.standin
        named = {key: value for key, value in node.kwargs.items() if key in kwargs}
        return functional(*self._t.arguments, **fx.node.map_arg(named, lambda n: n.meta.get("val")))


def _is_view(target: torch._ops.OpOverload) -> bool:
    schema = target._schema
    return not schema.is_mutable and any(r.alias_info is not None for r in schema.returns)


def _write_arguments(node: fx.Node) -> Any:
    """(name, node) of each tensor whose cells the node's operator writes."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or not target._schema.is_mutable:
        return
    if torch.Tag.inplace_view in target.tags:  # t_(), unsqueeze_(): the node itself is the new view
        return
    for i, argument in enumerate(target._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
            if isinstance(value, fx.Node):
                yield argument.name, value


__all__ = ["TABLE", "capture", "decompositions", "trace", "tree_map"]
