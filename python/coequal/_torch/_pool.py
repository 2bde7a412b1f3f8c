"""Pooling, its gradients, and interpolation between neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from coequal._torch._layout import nearest_places
from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, operator


def _sizes(value: Any, axes: int, default: Sequence[int] | None = None) -> list[int]:
    values = [value] if isinstance(value, int) else list(value if value is not None else ())
    if not values:
        assert default is not None
        return list(default)
    return values * axes if len(values) == 1 else values


Window = Callable[[Kernel, Idx, Callable[[list["Reg | int"], "Reg | None"], None]], None]


def _windows(
    axes: int,
    inner: Sequence[int],
    shape: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
) -> Window:
    """Runs body(position, inside) for each cell of an output cell's window; `inside` is None where it always holds."""

    def visit(k: Kernel, idx: Idx, body: Callable[[list[Reg | int], Reg | None], None]) -> None:
        def at(taps: list[Reg | int]) -> None:
            position, conditions = [], []
            for o, tap, n, m, size, s, p, dil in zip(
                idx[-axes:], taps, inner, shape[-axes:], kernel, stride, pad, dilation
            ):
                place = k.index_sum([(o, s), (tap, dil)], -p)
                position.append(place)
                if p > 0:
                    conditions.append(k.index(place).ge(0))
                if (m - 1) * s - p + (size - 1) * dil >= n:
                    conditions.append(k.index(place).lt(n))
            body(position, k.all_of(*conditions))

        k.loops(list(kernel), at)

    return visit


def _lead(idx: Idx, axes: int) -> list[Reg | int]:
    return list(idx[: len(idx) - axes])


@operator("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    t: Lowering, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    out = t.standin[0]  # type: ignore[index]
    axes = 3 if "3d" in t.operator else 2
    size = _sizes(kernel, axes)
    inner, shape = x.shape[-axes:], tuple(out.shape)
    visit = _windows(
        axes, inner, shape, size, _sizes(stride, axes, size), _sizes(padding, axes), _sizes(dilation, axes)
    )
    kind, least = t.kind(x.dtype), -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    t.simple(x)

    def values(k: Kernel, idx: Idx) -> Reg:
        best = k.variable(k.constant(least, kind), kind)

        def body(position: list[Reg | int], inside: Reg | None) -> None:
            k.assign(best, k.maximum(best, k.read_where(inside, x, [*_lead(idx, axes), *position], least)))

        visit(k, idx, body)
        return best

    def places(k: Kernel, idx: Idx) -> Reg:
        best = k.variable(k.constant(least, kind), kind)
        place = k.variable(k.constant(-1, "s64"), "s64")

        def body(position: list[Reg | int], inside: Reg | None) -> None:
            cell = k.read_where(inside, x, [*_lead(idx, axes), *position])
            flat: Reg | int = 0
            for p, n in zip(position, inner):
                flat = k.index_sum([(flat, n), (p, 1)])
            better = cell.gt(best) | place.lt(0)  # the first of equal ones
            better = better if inside is None else better & inside
            k.assign(place, k.select(better, k.index(flat), place))
            k.assign(best, k.select(better, cell, best))

        visit(k, idx, body)
        return place

    indices = t.compute(shape, torch.int64, places) if 1 in t.wanted else None
    return [t.compute(shape, x.dtype, values) if 0 in t.wanted else None, indices]


def scattered(t: Lowering, grad: Value, place: Value, shape: Sequence[int], axes: int) -> Value:
    """Each cell gets the sum of the gradients whose place, counted over the last axes, it is."""
    t.simple(grad), t.simple(place)
    inner, outer = shape[-axes:], grad.shape[-axes:]

    def cell(k: Kernel, idx: Idx) -> Reg:
        flat: Reg | int = 0
        for i, n in zip(idx[-axes:], inner):
            flat = k.index_sum([(flat, n), (i, 1)])
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(at: list[Reg | int]) -> None:
            own = [*_lead(idx, axes), *at]
            hit = k.read(place, own).equals(k.index(flat))
            k.assign(total, total + k.select(hit, k.read(grad, own), 0.0))

        k.loops(list(outer), body)
        return total

    return t.compute(shape, grad.dtype, cell)


@operator("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(t: Lowering, grad: Value, x: Value, *rest: Any) -> Value:
    return scattered(t, grad, rest[-1], x.shape, 3 if "3d" in t.operator else 2)


@operator("avg_pool2d", "avg_pool3d", "avg_pool1d")
def avg_pool(
    t: Lowering,
    x: Value,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    axes = int(t.operator.split("pool")[1][0])
    size, pad = _sizes(kernel, axes), _sizes(padding, axes)
    steps = _sizes(stride, axes, size)
    inner, shape = x.shape[-axes:], tuple(out.shape)
    visit = _windows(axes, inner, shape, size, steps, pad, [1] * axes)
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(position: list[Reg | int], inside: Reg | None) -> None:
            k.assign(total, total + k.read_where(inside, x, [*_lead(idx, axes), *position]))

        visit(k, idx, body)
        return total / _window_count(k, idx, axes, inner, shape, size, steps, pad, count_include_pad, divisor)

    return t.compute(shape, x.dtype, cell)


def _window_count(
    k: Kernel,
    idx: Idx,
    axes: int,
    inner: Sequence[int],
    shape: Sequence[int],
    size: Sequence[int],
    steps: Sequence[int],
    pad: Sequence[int],
    with_pad: bool,
    divisor: int | None,
) -> Reg | float:
    """By what an average is divided: the cells of the window within the padded tensor, or within the tensor."""
    if divisor is not None:
        return float(divisor)
    known, total = 1, None
    for o, n, m, width, s, p in zip(idx[-axes:], inner, shape[-axes:], size, steps, pad):
        last = (m - 1) * s - p + width  # end of the last window
        if last <= (n + p if with_pad else n) and (with_pad or p == 0):
            known *= width
            continue
        first = k.index(k.index_sum([(o, s)], -p))
        end = k.minimum(first + width, n + p)
        if not with_pad:
            first, end = k.maximum(first, 0), k.minimum(end, n)
        count = end - first
        total = count if total is None else total * count
    return float(known) if total is None else k.convert(total * known, "f64")


@operator("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    t: Lowering,
    grad: Value,
    x: Value,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Value:
    axes = int(t.operator.split("pool")[1][0])
    size, pad = _sizes(kernel, axes), _sizes(padding, axes)
    steps = _sizes(stride, axes, size)
    inner, outer = x.shape[-axes:], grad.shape[-axes:]
    t.simple(grad)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(taps: list[Reg | int]) -> None:
            conditions, place = [], []
            for i, tap, m, s, p in zip(idx[-axes:], taps, outer, steps, pad):
                start = k.index(k.index_sum([(i, 1), (tap, -1)], p))  # of the window, in padded cells
                conditions.append(start.ge(0))
                if s > 1:
                    conditions.append(k.remainder(start, s).equals(0))
                    start = start / s
                conditions.append(start.lt(m))
                place.append(start)
            inside = k.all_of(*conditions)
            part = k.read_where(inside, grad, [*_lead(idx, axes), *place])
            count = _window_count(k, place, axes, inner, outer, size, steps, pad, count_include_pad, divisor)
            count = count if inside is None or not isinstance(count, Reg) else k.select(inside, count, 1.0)
            k.assign(total, total + part / count)

        k.loops(size, body)
        return total

    return t.compute(x.shape, x.dtype, cell)


# --- Adaptive windows: cell i of m sees floor(i n / m) up to ceil((i + 1) n / m).


def _adaptive_bounds(k: Kernel, i: Reg | int, n: int, m: int) -> tuple[Reg, Reg]:
    place = k.index(i)
    return place * n / m, ((place + 1) * n + (m - 1)) / m


@operator("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(t: Lowering, x: Value, size: Sequence[int]) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    axes = len(size)
    inner, shape = x.shape[-axes:], tuple(out.shape)
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        bounds = [_adaptive_bounds(k, i, n, m) for i, n, m in zip(idx[-axes:], inner, shape[-axes:])]
        total = k.variable(k.constant(0, "f64"), "f64")
        _adaptive_loops(k, bounds, lambda at: k.assign(total, total + k.read(x, [*_lead(idx, axes), *at])))
        count = None
        for first, end in bounds:
            count = end - first if count is None else count * (end - first)
        assert count is not None
        return total / k.convert(count, "f64")

    return t.compute(shape, x.dtype, cell)


def _adaptive_loops(k: Kernel, bounds: Sequence[tuple[Reg, Reg]], body: Callable[[list[Reg | int]], None]) -> None:
    def nest(at: list[Reg | int]) -> None:
        if len(at) == len(bounds):
            body(at)
            return
        first, end = bounds[len(at)]
        k.loop(end, lambda i: nest([*at, i]), start=first)

    nest([])


@operator("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(t: Lowering, x: Value, size: Sequence[int]) -> Any:
    out = t.standin[0]  # type: ignore[index]
    axes = len(size)
    inner, shape = x.shape[-axes:], tuple(out.shape)
    t.simple(x)

    def start(k: Kernel, idx: Idx) -> Any:
        bounds = [_adaptive_bounds(k, i, n, m) for i, n, m in zip(idx[-axes:], inner, shape[-axes:])]
        best = k.variable(k.read(x, [*_lead(idx, axes), *(first for first, _ in bounds)]), "f64")
        return bounds, best

    def values(k: Kernel, idx: Idx) -> Reg:
        bounds, best = start(k, idx)
        _adaptive_loops(k, bounds, lambda at: k.assign(best, k.maximum(best, k.read(x, [*_lead(idx, axes), *at]))))
        return best

    def places(k: Kernel, idx: Idx) -> Reg:
        bounds, best = start(k, idx)
        place = k.variable(k.index(_flat(k, [first for first, _ in bounds], inner)), "s64")

        def body(at: list[Reg | int]) -> None:
            cell = k.read(x, [*_lead(idx, axes), *at])
            better = cell.gt(best)
            k.assign(place, k.select(better, k.index(_flat(k, at, inner)), place))
            k.assign(best, k.select(better, cell, best))

        _adaptive_loops(k, bounds, body)
        return place

    indices = t.compute(shape, torch.int64, places) if 1 in t.wanted else None
    return [t.compute(shape, x.dtype, values) if 0 in t.wanted else None, indices]


def _flat(k: Kernel, at: Sequence[Reg | int], sizes: Sequence[int]) -> Reg | int:
    flat: Reg | int = 0
    for i, n in zip(at, sizes):
        flat = k.index_sum([(flat, n), (i, 1)])
    return flat


@operator("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(t: Lowering, grad: Value, x: Value) -> Value:
    axes = 3 if "3d" in t.operator else 2
    inner, outer = x.shape[-axes:], grad.shape[-axes:]
    t.simple(grad)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(at: list[Reg | int]) -> None:
            conditions, count = [], None
            for i, o, n, m in zip(idx[-axes:], at, inner, outer):
                first, end = _adaptive_bounds(k, o, n, m)
                conditions += [k.index(i).ge(first), k.index(i).lt(end)]
                count = end - first if count is None else count * (end - first)
            assert count is not None
            part = k.read_where(k.all_of(*conditions), grad, [*_lead(idx, axes), *at])
            k.assign(total, total + part / k.convert(count, "f64"))

        k.loops(list(outer), body)
        return total

    return t.compute(x.shape, x.dtype, cell)


@operator("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_max_pool_backward(t: Lowering, grad: Value, x: Value, place: Value) -> Value:
    return scattered(t, grad, place, x.shape, 3 if "3d" in t.operator else 2)


# --- Interpolation by tables of places and weights, which PyTorch computes in single precision.


@operator("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(t: Lowering, x: Value, size: Sequence[int], align_corners: bool, *scales: float | None) -> Value:
    axes = len(size)
    shape = (*x.shape[:2], *size)
    tables: list[tuple[Value, Value, Value]] = []
    for n, m, scale in zip(x.shape[2:], size, [*scales, *[None] * axes]):
        low, weight = _linear_table(n, m, align_corners, scale, x.dtype)
        high = (low + 1).clamp(max=n - 1)
        tables.append((t.known(low), t.known(high), t.known(weight)))
    t.simple(x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        corners: list[tuple[list[Reg | int], Reg | None]] = [([], None)]
        for i, (low, high, weight) in zip(idx[2:], tables):
            share = k.read(weight, [i])
            corners = [
                ([*at, k.read(place, [i])], part if factor is None else factor * part)
                for at, factor in corners
                for place, part in ((low, 1 - share), (high, share))
            ]
        total: Reg | None = None
        for at, factor in corners:
            assert factor is not None
            part = factor * k.read(x, [*idx[:2], *at])
            total = part if total is None else total + part
        assert total is not None
        return total

    return t.compute(shape, x.dtype, cell)


def _linear_table(
    n: int, m: int, align_corners: bool, scale: float | None, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower neighbour of each output place, and how much of the upper one counts."""
    places = torch.arange(m, dtype=torch.float64)
    if align_corners:
        position = places * ((n - 1) / (m - 1) if m > 1 else 0.0)
    else:
        position = ((places + 0.5) * (1 / scale if scale else n / m) - 0.5).clamp(min=0)
    low = position.floor().to(torch.int64).clamp(max=n - 1)
    weight = position - low
    return low, weight.to(torch.float64 if dtype == torch.float64 else torch.float32)


def _resampling_gradient(t: Lowering, grad: Value, shape: Sequence[int], tables: Sequence[torch.Tensor]) -> Value:
    """Each cell gets the upstream cells by their weights: a table [cell, upstream cell] for each axis."""
    weights = [t.known(table) for table in tables]
    t.simple(grad)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(at: list[Reg | int]) -> None:
            part = k.read(grad, [*idx[:2], *at])
            for i, o, weight in zip(idx[2:], at, weights):
                part = part * k.read(weight, [i, o], grad.dtype)
            k.assign(total, total + part)

        k.loops(list(grad.shape[2:]), body)
        return total

    return t.compute(shape, grad.dtype, cell)


@operator("upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_trilinear3d_backward")
def upsample_linear_backward(
    t: Lowering, grad: Value, size: Sequence[int], shape: Sequence[int], align_corners: bool, *scales: float | None
) -> Value:
    tables = []
    for n, m, scale in zip(shape[2:], size, [*scales, *[None] * len(size)]):
        low, weight = _linear_table(n, m, align_corners, scale, grad.dtype)
        table = torch.zeros(n, m, dtype=weight.dtype)
        table[low, torch.arange(m)] += 1 - weight
        table[(low + 1).clamp(max=n - 1), torch.arange(m)] += weight
        tables.append(table)
    return _resampling_gradient(t, grad, shape, tables)


@operator("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward")
def upsample_nearest_backward(
    t: Lowering, grad: Value, size: Sequence[int], shape: Sequence[int], *scales: float | None
) -> Value:
    tables = []
    for n, m, scale in zip(shape[2:], size, [*scales, *[None] * len(size)]):
        tables.append((torch.arange(n)[:, None] == nearest_places(n, m, scale, 0.0)).to(torch.float32))
    return _resampling_gradient(t, grad, shape, tables)


@operator("pixel_shuffle")
def pixel_shuffle(t: Lowering, x: Value, factor: int) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)

    def cell(k: Kernel, idx: Idx) -> Reg:
        row, column = k.index(idx[-2]), k.index(idx[-1])
        inner = k.remainder(row, factor) * factor + k.remainder(column, factor)
        channel = k.index_sum([(idx[-3], factor * factor), (inner, 1)])
        return k.read(x, [*idx[:-3], channel, row / factor, column / factor])

    t.simple(x)
    return t.compute(out.shape, x.dtype, cell)
