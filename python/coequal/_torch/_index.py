"""Reading and writing at indices that are data.

Writes are turned round: a thread a cell of the result looks at every index that may name its cell. That needs no
atomics, and the sum over equal indices is one expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from coequal._torch._emit import kind_of
from coequal._torch._reduce import limit_of
from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, operator
from coequal._torch._value import elsewhere


def _wrapped(t: Lowering, k: Kernel, index: Value, idx: Idx, n: int) -> Reg:
    """An index of the tensor at `idx`, counted from the end if it is negative."""
    place = k.read(index, idx, torch.int64)
    return place if _never_negative(t, index) else k.select(place.lt(0), place + n, place)


def _never_negative(t: Lowering, index: Value) -> bool:
    """Whether what is declared says so, of a tensor that nothing has written yet."""
    if index.dtype == torch.uint8:
        return True
    source = index.buffer.source if index.buffer else None
    if source in t.recorder.written:
        return False
    values = getattr(source, "values", None)
    if values is not None:
        return min(values, default=0) >= 0
    least = source.bounds.min if source is not None and getattr(source, "init", "input") == "input" else None
    return least is not None and least >= 0


@operator("gather")
def gather(t: Lowering, x: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    if x.rank == 0:
        return t.expression((), x.dtype, lambda k, idx: k.read(x, idx), [x])
    dim %= x.rank
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        place = k.read(index, idx, torch.int64)
        return k.read(x, [place if d == dim else i for d, i in enumerate(idx)])

    inputs = [elsewhere(x), elsewhere(index)]
    return t.expression(index.shape, x.dtype, cell, inputs, exact_index=True, cost=2)


@operator("index_select")
def index_select(t: Lowering, x: Value, dim: int, index: Value) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    if x.rank == 0:
        return t.expression(out.shape, x.dtype, lambda k, idx: k.read(x, []), [x])
    dim %= x.rank
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        place = k.read(index, [idx[dim]] if index.rank else [], torch.int64)
        return k.read(x, [place if d == dim else i for d, i in enumerate(idx)])

    return t.expression(out.shape, x.dtype, cell, [elsewhere(x), elsewhere(index)], exact_index=True, cost=2)


@operator("embedding")
def embedding(t: Lowering, weight: Value, index: Value, *_: Any) -> Value:
    t.simple(weight)

    def cell(k: Kernel, idx: Idx) -> Reg:
        return k.read(weight, [k.read(index, idx[:-1], torch.int64), idx[-1]])

    shape = (*index.shape, weight.shape[1])
    return t.expression(shape, weight.dtype, cell, [elsewhere(weight), elsewhere(index)], exact_index=True, cost=2)


@operator("embedding_dense_backward")
def embedding_backward(t: Lowering, grad: Value, index: Value, count: int, padding: int, by_frequency: bool) -> Value:
    if by_frequency:
        raise t.refuse("gradients scaled by frequency are not modelled")
    t.simple(grad), t.simple(index)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(at: list[Reg | int]) -> None:
            hit = k.read(index, at, torch.int64).equals(k.index(idx[0]))
            k.assign(total, total + k.select(hit, k.read(grad, [*at, idx[1]]), 0.0))

        k.loops(index.shape, body)
        return total if padding < 0 else k.select(k.index(idx[0]).equals(padding), 0.0, total)

    return t.compute((count, grad.shape[-1]), grad.dtype, cell)


# --- Advanced indexing.


def _index_plan(
    t: Lowering, x: Value, indices: Sequence[Value | None]
) -> tuple[list[int], list[Value], tuple[int, ...], int]:
    """Indexed dimensions, their indices, the indices' common shape, and where it stands in the result."""
    indices = [*indices, *[None] * (x.rank - len(indices))]
    for index in indices:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            raise t.refuse("the result of indexing with a mask has a shape that depends on data")
    dims = [d for d, index in enumerate(indices) if index is not None]
    tensors = [index for index in indices if index is not None]
    for index in tensors:
        t.simple(index)
    shape = tuple(torch.broadcast_shapes(*(i.shape for i in tensors)))
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    return dims, tensors, shape, dims[0] if together else 0


@operator("index", "_unsafe_index")
def index(t: Lowering, x: Value, indices: Sequence[Value | None]) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    dims, tensors, shape, position = _index_plan(t, x, indices)
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        named = idx[position : position + len(shape)]
        rest = iter([*idx[:position], *idx[position + len(shape) :]])
        places = {d: _wrapped(t, k, i, named, x.shape[d]) for d, i in zip(dims, tensors)}
        return k.read(x, [places[d] if d in places else next(rest) for d in range(x.rank)])

    inputs = [elsewhere(v) for v in (x, *tensors)]
    return t.expression(out.shape, x.dtype, cell, inputs, exact_index=True, cost=2 + len(dims))


@operator("index_put", "_unsafe_index_put")
def index_put(
    t: Lowering, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False, *_: Any
) -> Value:
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == torch.bool and values.numel == 1:
        mask = indices[0]
        lifted = [0] * (x.rank - mask.rank)

        def choose(k: Kernel, idx: Idx) -> Reg:
            own = k.read(mask, idx[: mask.rank] if lifted else idx)
            new = k.read(values, [0] * values.rank)
            return k.select(own, k.read(x, idx) + new if accumulate else new, k.read(x, idx))

        return t.expression(x.shape, x.dtype, choose, [x, elsewhere(mask), elsewhere(values)], exact_index=True)
    dims, tensors, shape, position = _index_plan(t, x, indices)
    t.simple(values)
    kept = [d for d in range(x.rank) if d not in dims]

    def cell(k: Kernel, idx: Idx) -> Reg:
        rest = [idx[d] for d in kept]

        def step(at: list[Reg | int], total: Reg) -> Reg:
            hit = k.all_of(*(_wrapped(t, k, i, at, x.shape[d]).equals(k.index(idx[d])) for d, i in zip(dims, tensors)))
            assert hit is not None
            own = k.read(values, [*rest[:position], *at, *rest[position:]])
            return k.select(hit, _sum(total, own) if accumulate else own, total)

        return _last_or_sum(t, k, x, idx, shape, step)

    return t.compute(x.shape, x.dtype, cell)


def _sum(a: Reg, b: Reg) -> Reg:
    return a | b if a.kind == "pred" else a + b


def _last_or_sum(t: Lowering, k: Kernel, x: Value, idx: Idx, sizes: Sequence[int], step: Any) -> Reg:
    """The cell of x after step(at, cell) for each index of the sizes in order."""
    kind = t.kind(x.dtype)
    total = k.variable(k.read(x, idx), kind)
    k.loops(sizes, lambda at: k.assign(total, k.wrap(step(at, total), x.dtype)))
    return total


# --- Scatter.


_REDUCE = {
    "add": lambda k, a, b: _sum(a, b),
    "sum": lambda k, a, b: _sum(a, b),
    "multiply": lambda k, a, b: a * b,
    "prod": lambda k, a, b: a * b,
    "amax": lambda k, a, b: k.maximum(a, b),
    "amin": lambda k, a, b: k.minimum(a, b),
}


def _scatter(
    t: Lowering, x: Value, dim: int, index: Value, source: Any, reduce: str | None, include_self: bool = True
) -> Value:
    if reduce == "mean":
        raise t.refuse("scatter with the reduction mean is not modelled")
    if x.rank == 0:
        raise t.refuse("scatter into a single cell is not modelled")
    dim %= x.rank
    t.simple(index)
    if isinstance(source, Value):
        t.simple(source)
    kind = t.kind(x.dtype)

    def cell(k: Kernel, idx: Idx) -> Reg:
        # Cells outside the index's extent in another dimension are named by none of it.
        inside = k.all_of(
            *(k.index(i).lt(n) for d, (i, n, m) in enumerate(zip(idx, index.shape, x.shape)) if d != dim and n < m)
        )
        first = k.read(x, idx)
        found = k.variable(k.constant(False, "pred"), "pred") if not include_self else None
        total = k.variable(first if include_self else k.constant(_neutral(reduce, x.dtype), kind), kind)

        def body(j: Reg | int) -> None:
            own = [j if d == dim else i for d, i in enumerate(idx)]
            with k.guarded(inside):
                hit = k.read(index, own, torch.int64).equals(k.index(idx[dim]))
                new = k.read(source, own, x.dtype) if isinstance(source, Value) else k.constant(source, kind)
            hit = hit if inside is None else hit & inside
            if found is not None:
                k.assign(found, found | hit)
            value = new if reduce is None else k.wrap(_REDUCE[reduce](k, total, new), x.dtype)
            k.assign(total, k.select(hit, value, total))

        k.loop(index.shape[dim], body)
        return total if found is None else k.select(found, total, first)

    return t.compute(x.shape, x.dtype, cell)


def _neutral(reduce: str | None, dtype: torch.dtype) -> Any:
    if reduce in ("amax", "amin"):
        return limit_of(dtype, "max" if reduce == "amax" else "min")
    return 1 if reduce in ("prod", "multiply") else 0


@operator("scatter")
def scatter(t: Lowering, x: Value, dim: int, index: Value, source: Any, reduce: str | None = None) -> Value:
    return _scatter(t, x, dim, index, source, reduce)


@operator("scatter_add")
def scatter_add(t: Lowering, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter(t, x, dim, index, source, "add")


@operator("scatter_reduce")
def scatter_reduce(
    t: Lowering, x: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool = True
) -> Value:
    return _scatter(t, x, dim, index, source, reduce, include_self)


@operator("index_add")
def index_add(t: Lowering, x: Value, dim: int, index: Value, source: Value, alpha: Any = 1) -> Value:
    dim %= x.rank
    t.simple(source)

    def cell(k: Kernel, idx: Idx) -> Reg:
        def step(at: list[Reg | int], total: Reg) -> Reg:
            hit = k.read(index, at if index.rank else [], torch.int64).equals(k.index(idx[dim]))
            own = k.read(source, [at[0] if d == dim else i for d, i in enumerate(idx)])
            return k.select(hit, _sum(total, own if alpha == 1 else own * alpha), total)

        return _last_or_sum(t, k, x, idx, [index.numel], step)

    return t.compute(x.shape, x.dtype, cell)


@operator("index_copy")
def index_copy(t: Lowering, x: Value, dim: int, index: Value, source: Value) -> Value:
    dim %= x.rank
    t.simple(source)

    def cell(k: Kernel, idx: Idx) -> Reg:
        def step(at: list[Reg | int], total: Reg) -> Reg:
            # index_fill, which is made of this, counts from the end; index_copy itself allows no such index.
            hit = _wrapped(t, k, index, at if index.rank else [], x.shape[dim]).equals(k.index(idx[dim]))
            return k.select(hit, k.read(source, [at[0] if d == dim else i for d, i in enumerate(idx)]), total)

        return _last_or_sum(t, k, x, idx, [index.numel], step)

    return t.compute(x.shape, x.dtype, cell)


@operator("searchsorted.Tensor", "bucketize.Tensor")
def searchsorted(
    t: Lowering,
    first: Value,
    second: Value,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    """How many edges lie before each value: counted, which is the place to insert in sorted edges."""
    out = t.standin
    assert isinstance(out, torch.Tensor)
    if sorter is not None:
        raise t.refuse("searchsorted with a sorter is not modelled")
    edges, values = (first, second) if "searchsorted" in t.operator else (second, first)
    relation = "le" if right or side == "right" else "lt"
    dtype = torch.promote_types(edges.dtype, values.dtype)
    t.simple(edges), t.simple(values)
    kind = kind_of(out.dtype)
    assert kind is not None

    def cell(k: Kernel, idx: Idx) -> Reg:
        own = k.read(values, idx, dtype)
        total = k.variable(k.constant(0, kind), kind)

        def body(j: Reg | int) -> None:
            edge = k.read(edges, [j] if edges.rank == 1 else [*idx[:-1], j], dtype)
            k.assign(total, total + k.convert(k.compare(relation, edge, own), kind))

        k.loop(edges.shape[-1], body)
        return total

    return t.compute(out.shape, out.dtype, cell)
