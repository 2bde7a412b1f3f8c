"""Reductions over dimensions, scans along one, and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, composite, operator
from coequal._torch._value import broadcast_strides, joined

Each = Callable[[Callable[[list["Reg | int"]], None]], None]


def dimensions(dims: Any, rank: int) -> list[int]:
    """Sorted; all of them where none are given."""
    if dims is None or (isinstance(dims, Sequence) and len(dims) == 0):
        return list(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return sorted({d % max(rank, 1) for d in dims} if rank else set())


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in dims)


def reduce(
    t: Lowering,
    x: Value,
    dims: Sequence[int],
    keepdim: bool,
    dtypes: Sequence[torch.dtype],
    cell: Callable[[Kernel, Idx, Each], Sequence[Reg]],
    others: Sequence[Value] = (),
    exact_index: bool = False,
) -> list[Value]:
    """A result for each kept index. `cell(kernel, kept, each)` may run `each(body)` to see all reduced cells' indices.

    `others` are read at the same indices as x, to which they broadcast.
    """
    shape = x.shape
    targets = [t.new(reduced_shape(shape, dims, keepdim), dtype) for dtype in dtypes]
    if targets[0].numel == 0:
        return targets
    kernel = t.kernel()
    kernel.constant_dtype = targets[0].dtype
    kept_sizes = [1 if d in dims else n for d, n in enumerate(shape)]
    loop_sizes = [n if d in dims else 1 for d, n in enumerate(shape)]
    views = [_with_dimensions(target, dims, keepdim, len(shape)) for target in targets]
    if not (exact_index or any(v.exact_index for v in (x, *others))):
        reads = [broadcast_strides(leaf.strides, v.shape, x.rank) for v in (x, *others) for leaf in v.reads()]
        kept_sizes = joined(kept_sizes, [*reads, *(v.strides for v in views)])
        loop_sizes = joined(loop_sizes, reads)
    kept = kernel.space(kept_sizes)
    live = [d for d, n in enumerate(loop_sizes) if n != 1]

    def each(body: Callable[[list[Reg | int]], None]) -> None:
        def at(inner: list[Reg | int]) -> None:
            full = list(kept)
            for d, i in zip(live, inner):
                full[d] = i
            body(full)

        kernel.loops([loop_sizes[d] for d in live], at)

    for view, value in zip(views, cell(kernel, kept, each)):
        kernel.write(view, kept, value)
    t.launch(kernel)
    return targets


def _with_dimensions(target: Value, dims: Sequence[int], keepdim: bool, rank: int) -> Value:
    """The target with dimensions of size 1 in place of the reduced ones."""
    if keepdim:
        return target
    strides, shape = list(target.strides), list(target.shape)
    for d in dims:
        strides.insert(d, 0)
        shape.insert(d, 1)
    return Value(tuple(shape), target.dtype, tuple(strides), target.offset, target.buffer)


def accumulate(
    t: Lowering,
    x: Value,
    dims: Sequence[int],
    keepdim: bool,
    dtype: torch.dtype,
    start: Any,
    step: Callable[[Kernel, Reg, Reg], Reg],
    finish: Callable[[Kernel, Reg], Reg] | None = None,
    compute: torch.dtype | None = None,
) -> Value:
    """step(total, cell) from `start`, in the dtype `compute`, over the reduced cells."""
    own = compute or dtype

    def cell(k: Kernel, kept: Idx, each: Each) -> list[Reg]:
        total = k.variable(k.constant(start, t.kind(own)), t.kind(own))
        each(lambda idx: k.assign(total, step(k, total, k.read(x, idx, own))))
        return [k.wrap(finish(k, total) if finish else total, dtype)]

    return reduce(t, x, dims, keepdim, [dtype], cell)[0]


def _result_dtype(t: Lowering) -> torch.dtype:
    out = t.standin[0] if isinstance(t.standin, (tuple, list)) else t.standin
    assert isinstance(out, torch.Tensor)
    return out.dtype


def extent(x: Value, dims: Sequence[int]) -> int:
    return math.prod(x.shape[d] for d in dims)


def sum_over(t: Lowering, x: Value, dims: Sequence[int], keepdim: bool, dtype: torch.dtype | None = None) -> Value:
    return accumulate(t, x, dims, keepdim, dtype or x.dtype, 0, lambda k, total, v: total + v)


def mean_over(t: Lowering, x: Value, dims: Sequence[int], keepdim: bool, dtype: torch.dtype | None = None) -> Value:
    n = extent(x, dims)
    return accumulate(
        t, x, dims, keepdim, dtype or x.dtype, 0, lambda k, total, v: total + v, lambda k, total: total / float(n)
    )


def maximum_over(t: Lowering, x: Value, dims: Sequence[int], keepdim: bool) -> Value:
    return extreme_over(t, x, dims, keepdim, "max")


def extreme_over(t: Lowering, x: Value, dims: Sequence[int], keepdim: bool, name: str) -> Value:
    """The greatest or least cell, from the first one on."""
    return reduce(t, x, dims, keepdim, [x.dtype], lambda k, kept, each: [_extreme(t, k, x, each, name)[0]])[0]


def _extreme(t: Lowering, k: Kernel, x: Value, each: Each, name: str) -> tuple[Reg, None]:
    kind = t.kind(x.dtype)
    best = k.variable(k.constant(limit_of(x.dtype, name), kind), kind)
    take = k.maximum if name == "max" else k.minimum
    each(lambda idx: k.assign(best, take(best, k.read(x, idx))))
    return best, None


def limit_of(dtype: torch.dtype, name: str) -> Any:
    """What every number of the dtype is at least (for "max") or at most."""
    if dtype.is_floating_point:
        return -math.inf if name == "max" else math.inf
    if dtype == torch.bool:
        return name != "max"
    info = torch.iinfo(dtype)
    return info.min if name == "max" else info.max


@operator("sum")
def sum_(t: Lowering, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return sum_over(t, x, dimensions(dim, x.rank), keepdim, _result_dtype(t))


@operator("mean")
def mean(t: Lowering, x: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return mean_over(t, x, dimensions(dim, x.rank), keepdim, _result_dtype(t))


@operator("prod.default")
def prod_all(t: Lowering, x: Value, dtype: Any = None) -> Value:
    return prod_dim(t, x, None)


@operator("prod.dim_int")
def prod_dim(t: Lowering, x: Value, dim: Any, keepdim: bool = False, dtype: Any = None) -> Value:
    return accumulate(t, x, dimensions(dim, x.rank), keepdim, _result_dtype(t), 1, lambda k, total, v: total * v)


def moments(
    t: Lowering,
    x: Value,
    dims: Sequence[int],
    keepdim: bool,
    correction: float,
    finish: Callable[[Kernel, Reg], Reg] | None = None,
) -> tuple[Value, Value]:
    """Mean (with its dimensions) and variance."""
    t.simple(x)
    average = mean_over(t, x, dims, True)
    divisor = max(float(extent(x, dims) - correction), 0.0)

    def cell(k: Kernel, kept: Idx, each: Each) -> list[Reg]:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(idx: list[Reg | int]) -> None:
            distance = k.read(x, idx) - k.read(average, idx)
            k.assign(total, total + distance * distance)

        each(body)
        variance = total / divisor
        return [finish(k, variance) if finish else variance]

    return average, reduce(t, x, dims, keepdim, [x.dtype], cell, [average])[0]


def _correction(correction: Any, unbiased: Any) -> float:
    return (1.0 if unbiased else 0.0) if isinstance(unbiased, bool) else 1.0 if correction is None else correction


@operator("var.correction")
def var(t: Lowering, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    return moments(t, x, dimensions(dim, x.rank), keepdim, _correction(correction, None))[1]


@operator("std.correction")
def std(t: Lowering, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    root = lambda k, variance: k.sqrt(variance)  # noqa: E731
    return moments(t, x, dimensions(dim, x.rank), keepdim, _correction(correction, None), root)[1]


@operator("var_mean.correction")
def var_mean(t: Lowering, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    dims = dimensions(dim, x.rank)
    average, variance = moments(t, x, dims, keepdim, _correction(correction, None))
    return variance, _dropped(average, dims, keepdim)


def _dropped(x: Value, dims: Sequence[int], keepdim: bool) -> Value:
    """Without the reduced dimensions, which have size 1."""
    if keepdim:
        return x
    keep = [d for d in range(x.rank) if d not in dims]
    return Value(tuple(x.shape[d] for d in keep), x.dtype, tuple(x.strides[d] for d in keep), x.offset, x.buffer)


@operator("amax")
def amax(t: Lowering, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return extreme_over(t, x, dimensions(dim, x.rank), keepdim, "max")


@operator("amin")
def amin(t: Lowering, x: Value, dim: Any = (), keepdim: bool = False) -> Value:
    return extreme_over(t, x, dimensions(dim, x.rank), keepdim, "min")


@operator("max.default")
def max_all(t: Lowering, x: Value) -> Value:
    return extreme_over(t, x, dimensions(None, x.rank), False, "max")


@operator("min.default")
def min_all(t: Lowering, x: Value) -> Value:
    return extreme_over(t, x, dimensions(None, x.rank), False, "min")


def best_and_place(t: Lowering, x: Value, dim: int | None, keepdim: bool, name: str) -> list[Value]:
    """The extreme cell and the index of the first one; over all cells without a dimension."""
    dims = dimensions(dim, x.rank)
    relation = "gt" if name == "max" else "lt"
    kind = t.kind(x.dtype)
    t.simple(x)

    def cell(k: Kernel, kept: Idx, each: Each) -> list[Reg]:
        first = [0 if d in dims else i for d, i in enumerate(kept)]
        best = k.variable(k.read(x, first), kind)
        place = k.variable(k.constant(0, "s64"), "s64")

        def body(idx: list[Reg | int]) -> None:
            position: Reg | int = 0
            for d in dims:
                position = k.index_sum([(position, x.shape[d]), (idx[d], 1)])
            value = k.read(x, idx)
            better = k.compare(relation, value, best)
            k.assign(place, k.select(better, k.index(position), place))
            k.assign(best, k.select(better, value, best))

        each(body)
        return [best, place]

    return reduce(t, x, dims, keepdim, [x.dtype, torch.int64], cell, exact_index=True)


@operator("max.dim")
def max_dim(t: Lowering, x: Value, dim: int, keepdim: bool = False) -> Any:
    if t.wanted == {0}:
        return [extreme_over(t, x, dimensions(dim, x.rank), keepdim, "max"), None]
    return best_and_place(t, x, dim, keepdim, "max")


@operator("min.dim")
def min_dim(t: Lowering, x: Value, dim: int, keepdim: bool = False) -> Any:
    if t.wanted == {0}:
        return [extreme_over(t, x, dimensions(dim, x.rank), keepdim, "min"), None]
    return best_and_place(t, x, dim, keepdim, "min")


@operator("argmax")
def argmax(t: Lowering, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return best_and_place(t, x, dim, keepdim, "max")[1]


@operator("argmin")
def argmin(t: Lowering, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return best_and_place(t, x, dim, keepdim, "min")[1]


@operator("any")
def any_(t: Lowering, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return accumulate(
        t,
        x,
        dimensions(dim, x.rank),
        keepdim,
        _result_dtype(t),
        False,
        lambda k, total, v: total | v,
        compute=torch.bool,
    )


@operator("all")
def all_(t: Lowering, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return accumulate(
        t,
        x,
        dimensions(dim, x.rank),
        keepdim,
        _result_dtype(t),
        True,
        lambda k, total, v: total & v,
        compute=torch.bool,
    )


@operator("logsumexp")
def logsumexp(t: Lowering, x: Value, dim: Any, keepdim: bool = False) -> Value:
    return log_sum_exp(t, x, dimensions(dim, x.rank), keepdim)


def log_sum_exp(t: Lowering, x: Value, dims: Sequence[int], keepdim: bool) -> Value:
    t.simple(x)
    top = maximum_over(t, x, dims, True)
    total = exp_sum(t, x, top, dims, True)
    result = composite(t, lambda k, m, s: m + k.real("log", s), top, total)
    return _dropped(t.materialise(result), dims, keepdim)


def exp_sum(t: Lowering, x: Value, top: Value, dims: Sequence[int], keepdim: bool) -> Value:
    """The sum of exp(x - top)."""
    return sum_over(t, composite(t, lambda k, v, m: k.real("exp", v - m), x, top), dims, keepdim)


def norm_step(k: Kernel, total: Reg, v: Reg, order: float) -> Reg:
    """One more number in the sum (or extreme) of which a vector norm is made."""
    if order == 0:
        return total + k.select(v.differs(0), 1.0, 0.0)
    if order == 1:
        return total + k.absolute(v)
    if order == 2:
        return total + v * v
    if math.isinf(order):
        return k.maximum(total, k.absolute(v)) if order > 0 else k.minimum(total, k.absolute(v))
    return total + k.real("pow", k.absolute(v), float(order))


def norm_finish(k: Kernel, total: Reg, order: float) -> Reg:
    if order in (0, 1) or math.isinf(order):
        return total
    return k.sqrt(total) if order == 2 else k.real("pow", total, 1 / float(order))


@operator("linalg_vector_norm")
def vector_norm(
    t: Lowering, x: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Value:
    return accumulate(
        t,
        x,
        dimensions(dim, x.rank),
        keepdim,
        _result_dtype(t),
        math.inf if ord == -math.inf else 0,
        lambda k, total, v: norm_step(k, total, v, ord),
        lambda k, total: norm_finish(k, total, ord),
    )


# --- Scans: a thread a row.


def rows(
    t: Lowering,
    x: Value,
    dim: int,
    dtypes: Sequence[torch.dtype],
    row: Callable[[Kernel, Callable[[Reg | int], list[Reg | int]], list[Value]], None],
) -> list[Value]:
    """row(kernel, at, targets) handles the cells at(0), at(1), ... along the dimension."""
    targets = [t.new(x.shape, dtype) for dtype in dtypes]
    if x.numel == 0:
        return targets
    kernel = t.kernel()
    if x.rank == 0:
        kernel.space(())
        row(kernel, lambda i: [], targets)
    else:
        idx = kernel.space([1 if d == dim % x.rank else n for d, n in enumerate(x.shape)])
        row(kernel, lambda i: [i if d == dim % x.rank else own for d, own in enumerate(idx)], targets)
    t.launch(kernel)
    return targets


def _scan(t: Lowering, x: Value, dim: int, start: Any, step: Callable[[Kernel, Reg, Reg], Reg]) -> Value:
    dtype = _result_dtype(t)
    kind = t.kind(dtype)

    def row(k: Kernel, at: Any, targets: list[Value]) -> None:
        k.constant_dtype = dtype
        total = k.variable(k.constant(start, kind), kind)

        def body(i: Reg | int) -> None:
            k.assign(total, k.wrap(step(k, total, k.read(x, at(i), dtype)), dtype))
            k.write(targets[0], at(i), total)

        k.loop(x.shape[dim] if x.rank else 1, body)

    return rows(t, x, dim, [dtype], row)[0]


@operator("cumsum")
def cumsum(t: Lowering, x: Value, dim: int, dtype: Any = None) -> Value:
    return _scan(t, x, dim, 0, lambda k, total, v: total + v)


@operator("cumprod")
def cumprod(t: Lowering, x: Value, dim: int, dtype: Any = None) -> Value:
    return _scan(t, x, dim, 1, lambda k, total, v: total * v)


@operator("logcumsumexp")
def logcumsumexp(t: Lowering, x: Value, dim: int) -> Value:
    def step(k: Kernel, total: Reg, v: Reg) -> Reg:
        top = k.maximum(total, v)
        return top + k.real("log", k.real("exp", total - top) + k.real("exp", v - top))

    return _scan(t, x, dim, -math.inf, step)


def _running(name: str) -> Any:
    def lower(t: Lowering, x: Value, dim: int) -> list[Value]:
        kind = t.kind(x.dtype)

        def row(k: Kernel, at: Any, targets: list[Value]) -> None:
            best = k.variable(k.read(x, at(0)), kind)
            place = k.variable(k.constant(0, "s64"), "s64")

            def body(i: Reg | int) -> None:
                value = k.read(x, at(i))
                # The last of equal ones, as PyTorch gives it.
                better = k.compare("ge" if name == "max" else "le", value, best)
                k.assign(place, k.select(better, k.index(i), place))
                k.assign(best, k.select(better, value, best))
                k.write(targets[0], at(i), best)
                k.write(targets[1], at(i), place)

            k.loop(x.shape[dim] if x.rank else 1, body)

        return rows(t, x, dim, [x.dtype, torch.int64], row)

    return lower


operator("cummax")(_running("max"))
operator("cummin")(_running("min"))


# --- Sorting: neighbours are exchanged until nothing moves, a thread a row. Equal cells keep their order.

LONGEST_SORT = 256


def sorted_rows(t: Lowering, x: Value, dim: int, descending: bool) -> list[Value]:
    n = x.shape[dim] if x.rank else 1
    if n > LONGEST_SORT:
        raise t.refuse(f"rows of more than {LONGEST_SORT} cells are not sorted")
    places = t.wanted != {0}
    dtypes = [x.dtype, torch.int64] if places else [x.dtype]

    def row(k: Kernel, at: Any, targets: list[Value]) -> None:
        cells, indices = targets[0], targets[1] if places else None

        def copy(i: Reg | int) -> None:
            k.write(cells, at(i), k.read(x, at(i)))
            if indices:
                k.write(indices, at(i), k.index(i))

        def exchange(j: Reg | int) -> None:
            after = k.index(j) + 1
            a, b = k.read_again(cells, at(j)), k.read_again(cells, at(after))
            if not indices:
                first, second = (k.maximum, k.minimum) if descending else (k.minimum, k.maximum)
                k.write(cells, at(j), first(a, b))
                k.write(cells, at(after), second(a, b))
                return
            swap = k.compare("lt" if descending else "gt", a, b)
            p, q = k.read_again(indices, at(j)), k.read_again(indices, at(after))
            k.write(cells, at(j), k.select(swap, b, a))
            k.write(cells, at(after), k.select(swap, a, b))
            k.write(indices, at(j), k.select(swap, q, p))
            k.write(indices, at(after), k.select(swap, p, q))

        k.loop(n, copy)
        k.loop(n, lambda i: k.loop(k.index(n) - i, exchange) if n > 1 else None, start=1)

    return rows(t, x, dim, dtypes, row)


@operator("sort")
def sort(t: Lowering, x: Value, dim: int = -1, descending: bool = False, *, stable: Any = None) -> Any:
    return [*sorted_rows(t, x, dim, descending), None][:2]


@operator("topk")
def topk(t: Lowering, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    found = sorted_rows(t, x, dim, largest)
    return [_first(v, dim, k) for v in found] if len(found) == 2 else [_first(found[0], dim, k), None]


def _first(x: Value, dim: int, count: int) -> Value:
    if x.rank == 0:
        return x
    shape = list(x.shape)
    shape[dim] = count
    return Value(tuple(shape), x.dtype, x.strides, x.offset, x.buffer)


@operator("kthvalue")
def kthvalue(t: Lowering, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    t.wanted = frozenset({0, 1})
    found = sorted_rows(t, x, dim, False)
    return [_dropped(_slice(v, dim % max(v.rank, 1), k - 1), [dim % max(v.rank, 1)], keepdim) for v in found]


def _slice(x: Value, dim: int, at: int) -> Value:
    if x.rank == 0:
        return x
    shape = list(x.shape)
    shape[dim] = 1
    return Value(tuple(shape), x.dtype, x.strides, x.offset + at * x.strides[dim], x.buffer)


@operator("median.dim")
def median_dim(t: Lowering, x: Value, dim: int, keepdim: bool = False) -> Any:
    n = x.shape[dim] if x.rank else 1
    return kthvalue(t, x, (n + 1) // 2, dim, keepdim)
