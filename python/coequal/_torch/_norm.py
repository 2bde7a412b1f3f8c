"""Softmax, normalisations and losses, composed of reductions and expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from coequal._torch._reduce import (
    dimensions,
    exp_sum,
    maximum_over,
    mean_over,
    moments,
    sum_over,
)
from coequal._torch._table import Kernel, Lowering, Reg, Value, composite, operator
from coequal._torch._value import contiguous_strides, elsewhere, view_of


def _shifted_sum(t: Lowering, x: Value, dim: int) -> tuple[Value, Value]:
    t.simple(x)
    dims = dimensions(dim, x.rank)
    top = maximum_over(t, x, dims, True)
    return top, exp_sum(t, x, top, dims, True)


@operator("_softmax", "softmax.int")
def softmax(t: Lowering, x: Value, dim: int, *_: Any) -> Value:
    top, total = _shifted_sum(t, x, dim)
    return composite(t, lambda k, v, m, s: k.real("exp", v - m) / s, x, top, total, dtype=_dtype(t))


@operator("_log_softmax", "log_softmax.int")
def log_softmax(t: Lowering, x: Value, dim: int, *_: Any) -> Value:
    top, total = _shifted_sum(t, x, dim)
    return composite(t, lambda k, v, m, s: v - m - k.real("log", s), x, top, total, dtype=_dtype(t))


@operator("_softmax_backward_data")
def softmax_backward(t: Lowering, grad: Value, y: Value, dim: int, *_: Any) -> Value:
    both = composite(t, lambda k, g, v: g * v, grad, y)
    total = sum_over(t, both, dimensions(dim, y.rank), True)
    return composite(t, lambda k, g, v, s: (g - s) * v, grad, y, total, dtype=_dtype(t))


@operator("_log_softmax_backward_data")
def log_softmax_backward(t: Lowering, grad: Value, y: Value, dim: int, *_: Any) -> Value:
    total = sum_over(t, grad, dimensions(dim, y.rank), True)
    return composite(t, lambda k, g, v, s: g - k.real("exp", v) * s, grad, y, total, dtype=_dtype(t))


def _dtype(t: Lowering) -> Any:
    return t.standin.dtype  # type: ignore[union-attr]


# --- Normalisations.


def _affine(k: Kernel, value: Reg, parameters: Sequence[Reg | None]) -> Reg:
    weight, bias = parameters
    if weight is not None:
        value = value * weight
    return value if bias is None else value + bias


def _normalised(t: Lowering, x: Value, average: Value, root: Value, weight: Value | None, bias: Value | None) -> Value:
    """(x - average) * root * weight + bias; all broadcast to x."""
    values = [v for v in (weight, bias) if v is not None]

    def cell(k: Kernel, v: Reg, m: Reg, r: Reg, *rest: Reg) -> Reg:
        given = iter(rest)
        return _affine(k, (v - m) * r, [next(given) if p is not None else None for p in (weight, bias)])

    return composite(t, cell, x, average, root, *values)


def _inverse_root(eps: float) -> Any:
    return lambda k, variance: 1 / k.sqrt(variance + eps)


@operator("native_layer_norm")
def layer_norm(
    t: Lowering, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> Any:
    dims = list(range(x.rank - len(shape), x.rank))
    average, root = moments(t, x, dims, True, 0, _inverse_root(eps))
    return [_normalised(t, x, average, root, weight, bias), average, root]


def _reshaped(x: Value, shape: Sequence[int], strides: Sequence[int]) -> Value:
    return view_of(x, shape, strides, x.offset)


@operator("native_group_norm")
def group_norm(
    t: Lowering, x: Value, weight: Value | None, bias: Value | None, n: int, c: int, hw: int, groups: int, eps: float
) -> Any:
    rest = x.shape[2:]
    x = _contiguous(t, x)
    each = c // groups
    grouped = _split(x, 1, each)
    average, root = moments(t, grouped, list(range(2, grouped.rank)), True, 0, _inverse_root(eps))
    channelled = [None if p is None else _channel_parameter(t, p, groups, each, len(rest)) for p in (weight, bias)]
    result = _normalised(t, grouped, average, root, *channelled)
    t.materialise(result)
    joined = view_of(result, x.shape, x.strides, 0)
    small = [view_of(v, (n, groups), v.strides[:2], v.offset) for v in (average, root)]
    return [joined, *small]


def _contiguous(t: Lowering, x: Value) -> Value:
    """x with row-major strides."""
    own = contiguous_strides(x.shape)
    if x.buffer is not None and all(a == b for a, b, n in zip(x.strides, own, x.shape) if n > 1):
        return view_of(x, x.shape, own, x.offset)
    copied = t.expression(x.shape, x.dtype, lambda k, idx: k.read(x, idx), [x])
    return t.materialise(copied)


def _split(x: Value, dim: int, inner: int) -> Value:
    """A dimension as two, the inner one of the given size."""
    shape = (*x.shape[:dim], x.shape[dim] // inner, inner, *x.shape[dim + 1 :])
    strides = (*x.strides[:dim], x.strides[dim] * inner, *x.strides[dim:])
    return view_of(x, shape, strides, x.offset)


def _channel_parameter(t: Lowering, p: Value, groups: int, each: int, axes: int) -> Value:
    t.materialise(p)
    s = p.strides[0]
    return _reshaped(p, (groups, each, *[1] * axes), (s * each, s, *[0] * axes))


def _per_channel(p: Value, axes: int) -> Value:
    return _reshaped(p, (p.shape[0], *[1] * axes), (p.strides[0], *[0] * axes))


def _batch_norm(
    t: Lowering,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    variance: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    axes = x.rank - 2
    for parameter in (weight, bias, mean, variance):
        if parameter is not None:
            t.materialise(parameter)
    parameters = [None if p is None else _per_channel(p, axes) for p in (weight, bias)]
    if not training:
        assert mean is not None and variance is not None
        root = composite(t, lambda k, v: 1 / k.sqrt(v + eps), variance)
        centre, scale = _per_channel(mean, axes), _per_channel(t.materialise(root), axes)
        return [_normalised(t, x, centre, scale, *parameters), None, None], None
    dims = [d for d in range(x.rank) if d != 1]
    average, spread = moments(t, x, dims, True, 0)
    root = t.materialise(composite(t, lambda k, v: 1 / k.sqrt(v + eps), spread))
    count = x.numel // x.shape[1]
    flat = [view_of(v, (x.shape[1],), (v.strides[1],), v.offset) for v in (average, root, spread)]
    updates = []
    if mean is not None:
        updates.append((mean, composite(t, lambda k, a, b: a * (1 - momentum) + b * momentum, mean, flat[0])))
    if variance is not None:
        # The buffer takes the unbiased variance. Its factor stays a quotient, so that it is exact.
        updates.append(
            (
                variance,
                composite(
                    t,
                    lambda k, a, b: a * (1 - momentum) + b * momentum * float(count) / float(max(count - 1, 1)),
                    variance,
                    flat[2],
                ),
            )
        )
    return [_normalised(t, x, average, root, *parameters), flat[0], flat[1]], updates


@operator("_native_batch_norm_legit", "native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit.no_stats")
def batch_norm(t: Lowering, x: Value, weight: Value | None, bias: Value | None, *rest: Any) -> Any:
    mean, variance = (None, None) if len(rest) == 3 else rest[:2]
    training, momentum, eps = rest[-3:]
    results, updates = _batch_norm(t, x, weight, bias, mean, variance, training, momentum, eps)
    if results[1] is None:
        results[1:] = [t.full((0,), x.dtype, 0), t.full((0,), x.dtype, 0)]
    for target, value in updates or ():
        t.assign(target, value)
    return results


@operator("_fused_rms_norm")
def rms_norm(t: Lowering, x: Value, shape: Sequence[int], weight: Value | None, eps: float | None) -> Any:
    dims = list(range(x.rank - len(shape), x.rank))
    t.simple(x)
    extra = torch.finfo(x.dtype).eps if eps is None else eps
    squares = mean_over(t, composite(t, lambda k, v: v * v, x), dims, True)
    root = t.materialise(composite(t, lambda k, v: 1 / k.sqrt(v + extra), squares))
    if weight is None:
        return [composite(t, lambda k, v, r: v * r, x, root), root]
    return [composite(t, lambda k, v, r, w: v * r * w, x, root, weight), root]


# --- Losses.


@operator("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(t: Lowering, x: Value, target: Value, weight: Value | None, reduction: int, ignore: int) -> Any:
    """-weight[target] * x[target] for each sample; a mean is divided by the weights of the samples that count."""
    t.simple(x), t.simple(target)
    samples = () if x.rank == 1 else (x.shape[0], *x.shape[2:])

    def label(k: Kernel, idx: Any) -> tuple[Reg, Reg]:
        place = k.read(target, idx, torch.int64)
        counts = place.differs(ignore)
        return counts, k.select(counts, place, k.constant(0, "s64"))

    def factor(k: Kernel, idx: Any) -> Reg:
        counts, place = label(k, idx)
        own = k.constant(1.0, "f64") if weight is None else k.read(weight, [place])
        return k.select(counts, own, 0.0)

    def loss(k: Kernel, idx: Any) -> Reg:
        counts, place = label(k, idx)
        at = [place] if x.rank == 1 else [idx[0], place, *idx[1:]]
        own = k.read(x, at)
        if weight is not None:
            own = own * k.read(weight, [place])
        return k.select(counts, -own, 0.0)

    inputs = [v for v in (x, target, weight) if v is not None]
    losses = t.expression(samples, x.dtype, loss, [elsewhere(v) for v in inputs], exact_index=True, cost=6)
    factors = t.expression(samples, x.dtype, factor, [elsewhere(v) for v in inputs], exact_index=True, cost=4)
    everything = list(range(len(samples)))
    if reduction == 0:
        return [losses, t.full((), x.dtype, 0)]
    total_weight = sum_over(t, factors, everything, False)
    total = sum_over(t, losses, everything, False)
    if reduction == 1:
        total = composite(t, lambda k, a, b: a / b, total, total_weight)
    return [total, total_weight]


@operator("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    t: Lowering,
    grad: Value,
    x: Value,
    target: Value,
    weight: Value | None,
    reduction: int,
    ignore: int,
    total_weight: Value,
) -> Any:
    for value in (grad, target, total_weight):
        t.simple(value)
    channel = 0 if x.rank == 1 else 1

    def cell(k: Kernel, idx: Any) -> Reg:
        sample = [i for d, i in enumerate(idx) if d != channel]
        place = k.read(target, sample, torch.int64)
        hit = place.equals(k.index(idx[channel])) & place.differs(ignore)
        own = -k.read(grad, sample if reduction == 0 else [])
        if weight is not None:
            own = own * k.read(weight, [idx[channel]])
        if reduction == 1:
            own = own / k.read(total_weight, [])
        return k.select(hit, own, 0.0)

    return t.compute(x.shape, x.dtype, cell)


def _reduced_loss(t: Lowering, losses: Value, reduction: int) -> Value:
    dims = list(range(losses.rank))
    if reduction == 0:
        return losses
    return mean_over(t, losses, dims, False) if reduction == 1 else sum_over(t, losses, dims, False)


def _loss(name: str, cell: Any) -> None:
    def lower(t: Lowering, x: Value, y: Value, reduction: int = 1, *parameters: Any, **named: Any) -> Value:
        given = [*parameters, *named.values()]
        shape = torch.broadcast_shapes(x.shape, y.shape)
        return _reduced_loss(t, composite(t, lambda k, a, b: cell(k, a, b, *given), x, y, shape=shape), reduction)

    operator(name)(lower)


def _smooth(k: Kernel, x: Reg, y: Reg, beta: float = 1.0) -> Reg:
    distance = k.absolute(x - y)
    if beta == 0:
        return distance
    return k.select(distance.lt(beta), 0.5 * distance * distance / beta, distance - 0.5 * beta)


def _huber(k: Kernel, x: Reg, y: Reg, delta: float = 1.0) -> Reg:
    distance = k.absolute(x - y)
    return k.select(distance.le(delta), 0.5 * distance * distance, delta * (distance - 0.5 * delta))


_loss("mse_loss", lambda k, x, y: (x - y) * (x - y))
_loss("l1_loss", lambda k, x, y: k.absolute(x - y))
_loss("smooth_l1_loss", _smooth)
_loss("huber_loss", _huber)
_loss("soft_margin_loss", lambda k, x, y: k.real("log1p", k.real("exp", -(x * y))))


@operator("binary_cross_entropy")
def binary_cross_entropy(t: Lowering, x: Value, y: Value, weight: Value | None = None, reduction: int = 1) -> Value:
    """The logarithms are at least -100, as PyTorch documents."""

    def cell(k: Kernel, p: Reg, want: Reg, *w: Reg) -> Reg:
        def log(value: Reg) -> Reg:
            return k.select(value.gt(0), k.maximum(k.real("log", value), -100), -100.0)

        loss = -(want * log(p) + (1 - want) * log(1 - p))
        return loss * w[0] if w else loss

    values = [x, y] if weight is None else [x, y, weight]
    return _reduced_loss(t, composite(t, cell, *values), reduction)


@operator("binary_cross_entropy_with_logits")
def bce_with_logits(
    t: Lowering, x: Value, y: Value, weight: Value | None = None, pos_weight: Value | None = None, reduction: int = 1
) -> Value:
    """-(w y log s + (1 - y) log(1 - s)) with s the sigmoid of x."""

    def cell(k: Kernel, v: Reg, want: Reg, *rest: Reg) -> Reg:
        given = list(rest)
        positive = k.real("log1p", k.real("exp", -k.absolute(v))) + k.maximum(-v, 0)  # -log sigmoid(v)
        factor = 1 + (given[-1] - 1) * want if pos_weight is not None else k.constant(1, "f64")
        loss = (1 - want) * v + factor * positive
        return loss * given[0] if weight is not None else loss

    values = [v for v in (x, y, weight, pos_weight) if v is not None]
    return _reduced_loss(t, composite(t, cell, *values), reduction)
