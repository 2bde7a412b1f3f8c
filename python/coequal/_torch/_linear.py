"""Matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from coequal._torch._reduce import norm_finish, norm_step, sum_over
from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, composite, operator


def _dot(k: Kernel, kind: str, count: int, left: Callable[[Any], Reg], right: Callable[[Any], Reg]) -> Reg:
    total = k.variable(k.constant(0, kind), kind)
    k.loop(count, lambda i: k.assign(total, total + left(i) * right(i)))
    return total


def product(t: Lowering, a: Value, b: Value, finish: Callable[[Kernel, Idx, Reg], Reg] | None = None) -> Value:
    """a @ b over the last two dimensions, the others equal."""
    t.simple(a), t.simple(b)
    kind, inner = t.kind(a.dtype), a.shape[-1]
    shape = (*a.shape[:-1], b.shape[-1])

    def cell(k: Kernel, idx: Idx) -> Reg:
        lead, row, column = list(idx[:-2]), idx[-2], idx[-1]
        total = _dot(k, kind, inner, lambda i: k.read(a, [*lead, row, i]), lambda i: k.read(b, [*lead, i, column]))
        total = k.wrap(total, a.dtype)
        return finish(k, idx, total) if finish else total

    return t.compute(shape, a.dtype, cell)


@operator("mm", "bmm")
def matrix_product(t: Lowering, a: Value, b: Value, *_: Any) -> Value:
    return product(t, a, b)


@operator("_int_mm")
def integer_product(t: Lowering, a: Value, b: Value) -> Value:
    """Of bytes, summed in 32 bits."""
    wide = [composite(t, lambda k, v: v, x, dtype=torch.int32) for x in (a, b)]
    return product(t, *wide)


@operator("dot", "vdot")
def dot(t: Lowering, a: Value, b: Value) -> Value:
    kind = t.kind(a.dtype)
    return t.compute(
        (), a.dtype, lambda k, idx: _dot(k, kind, a.numel, lambda i: k.read(a, [i]), lambda i: k.read(b, [i]))
    )


@operator("mv")
def matrix_vector(t: Lowering, a: Value, b: Value) -> Value:
    kind = t.kind(a.dtype)
    t.simple(a)
    return t.compute(
        a.shape[:1],
        a.dtype,
        lambda k, idx: _dot(k, kind, a.shape[1], lambda i: k.read(a, [idx[0], i]), lambda i: k.read(b, [i])),
    )


def _with_addend(c: Value, beta: Any, alpha: Any) -> Callable[[Kernel, Idx, Reg], Reg]:
    def finish(k: Kernel, idx: Idx, total: Reg) -> Reg:
        if alpha != 1:
            total = total * alpha
        if beta == 0:
            return total
        addend = k.read(c, idx)
        return total + (addend if beta == 1 else addend * beta)

    return finish


@operator("addmm", "baddbmm")
def addmm(t: Lowering, c: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    return product(t, a, b, _with_addend(c, beta, alpha))


@operator("_addmm_activation")
def addmm_activation(
    t: Lowering, c: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Value:
    add = _with_addend(c, beta, alpha)
    if use_gelu:
        raise t.refuse("its fused gelu is not modelled")
    return product(t, a, b, lambda k, idx, total: k.maximum(add(k, idx, total), 0))


@operator("addmv")
def addmv(t: Lowering, c: Value, a: Value, b: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    total = t.materialise(matrix_vector(t, a, b))
    return composite(t, lambda k, x, y: x * alpha + (0 if beta == 0 else y * beta), total, c)


@operator("_trilinear")
def trilinear(
    t: Lowering,
    a: Value,
    b: Value,
    c: Value,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    summed: Sequence[int],
    *_: Any,
) -> Value:
    """The sum over some dimensions of a product of three tensors, each with new dimensions where it is expanded."""
    rank = a.rank + len(expand1)
    factors = [(t.simple(v), set(new)) for v, new in ((a, expand1), (b, expand2), (c, expand3))]
    sizes = [1] * rank
    for value, new in factors:
        for d, n in zip((d for d in range(rank) if d not in new), value.shape):
            sizes[d] = max(sizes[d], n)
    kept = [d for d in range(rank) if d not in summed]

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(inner: list[Reg | int]) -> None:
            at = dict(zip([*kept, *sorted(summed)], [*idx, *inner]))
            parts = [k.read(v, [at[d] for d in range(rank) if d not in new]) for v, new in factors]
            k.assign(total, total + parts[0] * parts[1] * parts[2])

        k.loops([sizes[d] for d in sorted(summed)], body)
        return total

    return t.compute([sizes[d] for d in kept], a.dtype, cell)


@operator("_cdist_forward")
def cdist(t: Lowering, a: Value, b: Value, p: float, mode: Any = None) -> Value:
    t.simple(a), t.simple(b)

    def cell(k: Kernel, idx: Idx) -> Reg:
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(i: Reg | int) -> None:
            gap = k.read(a, [*idx[:-1], i]) - k.read(b, [*idx[:-2], idx[-1], i])
            k.assign(total, norm_step(k, total, gap, p))

        k.loop(a.shape[-1], body)
        return norm_finish(k, total, p)

    return t.compute((*a.shape[:-1], b.shape[-2]), a.dtype, cell)


# --- Convolution: section "index arithmetic" of the documentation of torch.nn.Conv2d, for any number of axes.


@dataclass(frozen=True)
class _Steps:
    """How a window moves, a number for each axis."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int


def _steps(stride: Any, padding: Any, dilation: Any, groups: int, axes: int) -> _Steps:
    def numbers(value: Any) -> list[int]:
        values = list(value)
        return values * axes if len(values) == 1 else values

    return _Steps(numbers(stride), numbers(padding), numbers(dilation), groups)


@operator("convolution", "_convolution")
def convolution(
    t: Lowering,
    x: Value,
    w: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *_: Any,
) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    axes = w.rank - 2
    t.simple(x), t.simple(w)
    rule = _transposed if transposed else _direct
    cell = rule(x, w, _steps(stride, padding, dilation, groups, axes), tuple(out.shape))

    def biased(k: Kernel, idx: Idx) -> Reg:
        total = cell(k, idx)
        return total if bias is None else total + k.read(bias, [idx[1] if len(idx) == axes + 2 else idx[0]])

    return t.compute(out.shape, x.dtype, biased)


def _group(k: Kernel, channel: Reg | int, each: int, groups: int) -> Reg | int:
    """The group of a channel if each has so many."""
    if groups == 1:
        return 0
    if isinstance(channel, int):
        return channel // each
    return channel if each == 1 else channel / each


def _direct(x: Value, w: Value, steps: _Steps, shape: tuple[int, ...]) -> Callable[[Kernel, Idx], Reg]:
    axes, inner = w.rank - 2, w.shape[1]

    def cell(k: Kernel, idx: Idx) -> Reg:
        lead, place = list(idx[: len(idx) - axes - 1]), idx[-axes:]
        out_channel = idx[-axes - 1]
        first = k.index_sum([(_group(k, out_channel, w.shape[0] // steps.groups, steps.groups), inner)])
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(inside: list[Reg | int]) -> None:
            c, taps = inside[-1], inside[:-1]
            position, conditions = [], []
            for p, r, s, pad, dil, n, m, size in zip(
                place, taps, steps.stride, steps.padding, steps.dilation, x.shape[-axes:], w.shape[2:], shape[-axes:]
            ):
                at = k.index_sum([(p, s), (r, dil)], -pad)
                position.append(at)
                if pad > 0:
                    conditions.append(k.index(at).ge(0))
                if (size - 1) * s - pad + (m - 1) * dil >= n:
                    conditions.append(k.index(at).lt(n))
            value = k.read_where(k.all_of(*conditions), x, [*lead, k.index_sum([(first, 1), (c, 1)]), *position])
            k.assign(total, total + value * k.read(w, [out_channel, c, *taps]))

        # The channel runs fastest: whether a tap is inside does not depend on it.
        k.loops([*w.shape[2:], inner], body)
        return total

    return cell


def _transposed(x: Value, w: Value, steps: _Steps, shape: tuple[int, ...]) -> Callable[[Kernel, Idx], Reg]:
    axes, per_group, inner = w.rank - 2, w.shape[1], w.shape[0] // steps.groups

    def cell(k: Kernel, idx: Idx) -> Reg:
        lead, place = list(idx[: len(idx) - axes - 1]), idx[-axes:]
        group = _group(k, idx[-axes - 1], per_group, steps.groups)
        own = k.index_sum([(idx[-axes - 1], 1), (group, -per_group)])
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(inside: list[Reg | int]) -> None:
            c, taps = k.index_sum([(group, inner), (inside[-1], 1)]), inside[:-1]
            position, conditions = [], []
            across = zip(place, taps, steps.stride, steps.padding, steps.dilation, x.shape[-axes:])
            for p, r, s, pad, dil, n in across:
                at = k.index(k.index_sum([(p, 1), (r, -dil)], pad))
                conditions.append(at.ge(0))
                if s > 1:
                    conditions.append(k.remainder(at, s).equals(0))
                    at = at / s
                conditions.append(at.lt(n))
                position.append(at)
            value = k.read_where(k.all_of(*conditions), x, [*lead, c, *position])
            k.assign(total, total + value * k.read(w, [c, own, *taps]))

        # The channel runs fastest: whether a tap is inside does not depend on it.
        k.loops([*w.shape[2:], inner], body)
        return total

    return cell


@operator("convolution_backward")
def convolution_backward(
    t: Lowering,
    grad: Value,
    x: Value,
    w: Value,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    mask: Sequence[bool],
) -> Any:
    steps = _steps(stride, padding, dilation, groups, w.rank - 2)
    t.simple(grad), t.simple(x), t.simple(w)
    results: list[Value | None] = [None, None, None]
    if mask[0]:
        # The gradient of a convolution by its input is the transposed convolution, and the other way round.
        rule = _direct if transposed else _transposed
        cell = rule(grad, w, steps, x.shape)
        results[0] = t.compute(x.shape, x.dtype, cell)
    if mask[1]:
        results[1] = _weight_gradient(t, grad, x, w, steps, transposed)
    if mask[2]:
        results[2] = sum_over(t, grad, [d for d in range(grad.rank) if d != 1], False)
    return results


def _weight_gradient(t: Lowering, grad: Value, x: Value, w: Value, steps: _Steps, transposed: bool) -> Value:
    # `near` is read at every place, `far` at place * stride - padding + tap * dilation.
    near, far = (x, grad) if transposed else (grad, x)

    def cell(k: Kernel, idx: Idx) -> Reg:
        taps = idx[2:]
        group = _group(k, idx[0], w.shape[0] // steps.groups, steps.groups)
        far_channel = k.index_sum([(group, w.shape[1]), (idx[1], 1)])
        total = k.variable(k.constant(0, "f64"), "f64")

        def body(inside: list[Reg | int]) -> None:
            sample, place = inside[0], inside[1:]
            position, conditions = [], []
            across = zip(place, taps, steps.stride, steps.padding, steps.dilation, far.shape[2:])
            for p, r, s, pad, dil, n in across:
                at = k.index_sum([(p, s), (r, dil)], -pad)
                position.append(at)
                conditions += [k.index(at).ge(0), k.index(at).lt(n)]
            value = k.read_where(k.all_of(*conditions), far, [sample, far_channel, *position])
            k.assign(total, total + value * k.read(near, [sample, idx[0], *place]))

        k.loops([near.shape[0], *near.shape[2:]], body)
        return total

    return t.compute(w.shape, w.dtype, cell)
