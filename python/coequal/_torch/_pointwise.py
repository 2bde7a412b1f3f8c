"""Operators that compute a cell from the same cells of their arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, composite, operator, pointwise

# --- Arithmetic.


@pointwise("add")
def add(k: Kernel, x: Reg, y: Reg, alpha: Any = 1) -> Reg:
    if x.kind == "pred":
        return x | k.register(y, "pred")
    return x + (y if alpha == 1 else y * alpha)


@pointwise("sub")
def sub(k: Kernel, x: Reg, y: Reg, alpha: Any = 1) -> Reg:
    return x - (y if alpha == 1 else y * alpha)


@pointwise("rsub")
def rsub(k: Kernel, x: Reg, y: Any, alpha: Any = 1) -> Reg:
    return y - (x if alpha == 1 else x * alpha)


@pointwise("mul")
def mul(k: Kernel, x: Reg, y: Any) -> Reg:
    return x & k.register(y, "pred") if x.kind == "pred" else x * y


@pointwise("div")
def div(k: Kernel, x: Reg, y: Any, rounding_mode: str | None = None) -> Reg:
    if rounding_mode == "floor":
        return floor_divide(k, x, y)
    if rounding_mode == "trunc" and x.kind == "f64":
        return k.round("rzi", x / y)
    return x / y


@pointwise("floor_divide")
def floor_divide(k: Kernel, x: Any, y: Any) -> Reg:
    x, y = k.pair(x, y)
    if x.kind == "f64":
        return k.round("rmi", x / y)
    # Cut towards zero is one too much where the signs differ and something is left.
    rest = k.remainder(x, y)
    return k.select(rest.differs(0) & (rest ^ y).lt(0), x / y - 1, x / y)


@pointwise("remainder")
def remainder(k: Kernel, x: Reg, y: Any) -> Reg:
    x, y = k.pair(x, y)
    if x.kind == "f64":
        return x - y * k.round("rmi", x / y)
    rest = k.remainder(x, y)
    return k.select(rest.differs(0) & (rest ^ y).lt(0), rest + y, rest)


@pointwise("fmod")
def fmod(k: Kernel, x: Reg, y: Any) -> Reg:
    return x - y * k.round("rzi", x / y) if x.kind == "f64" else k.remainder(x, y)


@pointwise("neg")
def neg(k: Kernel, x: Reg) -> Reg:
    return -x


@pointwise("abs")
def absolute(k: Kernel, x: Reg) -> Reg:
    return k.absolute(x)


@pointwise("reciprocal")
def reciprocal(k: Kernel, x: Reg) -> Reg:
    return 1 / x


@pointwise("sign", "sgn")
def sign(k: Kernel, x: Reg) -> Reg:
    if x.kind == "pred":
        return x
    return k.select(x.gt(0), k.constant(1, x.kind), k.select(x.lt(0), k.constant(-1, x.kind), 0))


@pointwise("square")
def square(k: Kernel, x: Reg) -> Reg:
    return x * x


@pointwise("lerp")
def lerp(k: Kernel, x: Reg, y: Reg, weight: Any) -> Reg:
    return x + weight * (y - x)


@pointwise("addcmul")
def addcmul(k: Kernel, x: Reg, a: Reg, b: Reg, value: Any = 1) -> Reg:
    return x + a * b * value


@pointwise("addcdiv")
def addcdiv(k: Kernel, x: Reg, a: Reg, b: Reg, value: Any = 1) -> Reg:
    return x + a / b * value


@pointwise("minimum", "fmin", "clamp_max")
def minimum(k: Kernel, x: Reg, y: Any) -> Reg:
    return k.minimum(x, y)


@pointwise("maximum", "fmax", "clamp_min")
def maximum(k: Kernel, x: Reg, y: Any) -> Reg:
    return k.maximum(x, y)


@pointwise("clamp", "clip", "hardtanh")
def clamp(k: Kernel, x: Reg, min: Any = None, max: Any = None) -> Reg:
    if min is not None:
        x = k.maximum(x, min)
    return x if max is None else k.minimum(x, max)


@pointwise("copysign")
def copysign(k: Kernel, x: Reg, y: Any) -> Reg:
    return k.pure("copysign.f64", "f64", k.register(y, "f64"), x)


@pointwise("hypot")
def hypot(k: Kernel, x: Reg, y: Reg) -> Reg:
    return k.sqrt(x * x + y * y)


# --- Powers and functions.


def power(k: Kernel, x: Reg, exponent: Any) -> Reg:
    """x to a number or a register."""
    if x.kind == "f64":
        return k.real("pow", x, exponent)
    if isinstance(exponent, Reg):
        raise k.refuse("integer powers with an exponent that is a tensor are not modelled")
    result = k.constant(1, x.kind)
    for _ in range(int(exponent)):
        result = result * x
    return result


@pointwise("pow.Tensor_Scalar", "pow.Tensor_Tensor")
def pow_of(k: Kernel, x: Reg, exponent: Any) -> Reg:
    return power(k, x, exponent)


@pointwise("pow.Scalar")
def pow_scalar(k: Kernel, base: Any, exponent: Reg) -> Reg:
    return power(k, k.register(base, exponent.kind), exponent)


@pointwise("sqrt")
def sqrt(k: Kernel, x: Reg) -> Reg:
    return k.sqrt(x)


@pointwise("rsqrt")
def rsqrt(k: Kernel, x: Reg) -> Reg:
    return 1 / k.sqrt(x)


_REAL = {
    "exp": "exp",
    "exp2": "exp2",
    "special_exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
    "erf": "erf",
    "erfc": "erfc",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "erfinv": "erfinv",
    "lgamma": "lgamma",
}
for _name, _function in _REAL.items():
    pointwise(_name)(lambda k, x, f=_function: k.real(f, x))


@pointwise("atan2")
def atan2(k: Kernel, y: Reg, x: Any) -> Reg:
    return k.real("atan2", y, x)


@pointwise("xlogy")
def xlogy(k: Kernel, x: Any, y: Any) -> Reg:
    return k.select(k.compare("eq", k.register(x, "f64"), 0), 0.0, x * k.real("log", y))


@pointwise("logaddexp")
def logaddexp(k: Kernel, x: Reg, y: Reg) -> Reg:
    top = k.maximum(x, y)
    return top + k.real("log", k.real("exp", x - top) + k.real("exp", y - top))


# --- Rounding.

for _name, _mode in {"floor": "rmi", "ceil": "rpi", "trunc": "rzi"}.items():
    pointwise(_name)(lambda k, x, mode=_mode: k.round(mode, x) if x.kind == "f64" else x)


@pointwise("fix")
def fix(k: Kernel, x: Reg) -> Reg:
    return k.round("rzi", x)


@pointwise("round")
def round_even(k: Kernel, x: Reg, decimals: int = 0) -> Reg:
    if x.kind != "f64":
        return x
    if decimals == 0:
        return k.round("rni", x)
    scale = 10.0 ** abs(decimals)
    return k.round("rni", x * scale) / scale if decimals > 0 else k.round("rni", x / scale) * scale


@pointwise("frac")
def frac(k: Kernel, x: Reg) -> Reg:
    return x - k.round("rzi", x)


# --- Activations.


@pointwise("sigmoid")
def sigmoid(k: Kernel, x: Reg) -> Reg:
    return 1 / (1 + k.real("exp", -x))


@pointwise("relu")
def relu(k: Kernel, x: Reg) -> Reg:
    return k.maximum(x, 0)


@pointwise("relu6")
def relu6(k: Kernel, x: Reg) -> Reg:
    return k.minimum(k.maximum(x, 0), 6)


@pointwise("leaky_relu")
def leaky_relu(k: Kernel, x: Reg, slope: Any = 0.01) -> Reg:
    return k.select(x.gt(0), x, x * slope)


@pointwise("_prelu_kernel")
def prelu(k: Kernel, x: Reg, weight: Reg) -> Reg:
    return k.select(x.gt(0), x, x * weight)


@operator("rrelu_with_noise")
def rrelu(
    t: Lowering, x: Value, noise: Value, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, *_: Any
) -> Value:
    if training:
        raise t.refuse("in training mode its slopes are random")
    return composite(t, lambda k, v: k.select(v.gt(0), v, v * ((lower + upper) / 2)), x)


@pointwise("elu")
def elu(k: Kernel, x: Reg, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Reg:
    below = k.real("expm1", x * input_scale) * alpha * scale
    return k.select(x.gt(0), x * scale, below)


@pointwise("gelu")
def gelu(k: Kernel, x: Reg, approximate: str = "none") -> Reg:
    if approximate == "tanh":
        inner = (x + 0.044715 * (x * x * x)) * math.sqrt(2 / math.pi)
        return 0.5 * x * (1 + k.real("tanh", inner))
    return 0.5 * x * (1 + k.real("erf", x * math.sqrt(0.5)))


@pointwise("silu")
def silu(k: Kernel, x: Reg) -> Reg:
    return x / (1 + k.real("exp", -x))


@pointwise("hardsigmoid")
def hardsigmoid(k: Kernel, x: Reg) -> Reg:
    return k.minimum(k.maximum(x + 3, 0), 6) / 6


@pointwise("hardswish")
def hardswish(k: Kernel, x: Reg) -> Reg:
    return x * k.minimum(k.maximum(x + 3, 0), 6) / 6


@pointwise("softplus")
def softplus(k: Kernel, x: Reg, beta: Any = 1, threshold: Any = 20) -> Reg:
    scaled = x * beta
    return k.select(scaled.gt(threshold), x, k.real("log1p", k.real("exp", scaled)) / beta)


@operator("log_sigmoid_forward")
def log_sigmoid(t: Lowering, x: Value) -> Any:
    """-log(1 + exp(-x)), and a buffer that only GPU kernels skip."""
    small = composite(t, lambda k, v: k.real("exp", -k.absolute(v)), x)
    return [composite(t, lambda k, v, z: k.minimum(v, 0) - k.real("log1p", z), x, small), small]


@pointwise("mish")
def mish(k: Kernel, x: Reg) -> Reg:
    return x * k.real("tanh", k.real("log1p", k.real("exp", x)))


@pointwise("softshrink")
def softshrink(k: Kernel, x: Reg, lambd: Any = 0.5) -> Reg:
    return k.select(x.gt(lambd), x - lambd, k.select(x.lt(-lambd), x + lambd, 0.0))


@pointwise("hardshrink")
def hardshrink(k: Kernel, x: Reg, lambd: Any = 0.5) -> Reg:
    return k.select(x.ge(-lambd) & x.le(lambd), 0.0, x)


@pointwise("threshold")
def threshold(k: Kernel, x: Reg, threshold: Any, value: Any) -> Reg:
    return k.select(x.le(threshold), value, x)


# --- Comparisons and truth values.

for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    pointwise(_name, common=True)(lambda k, x, y, relation=_name: k.compare(relation, x, y))


@pointwise("logical_not", common=True)
def logical_not(k: Kernel, x: Reg) -> Reg:
    return ~k.convert(x, "pred")


@pointwise("logical_and", common=True)
def logical_and(k: Kernel, x: Reg, y: Reg) -> Reg:
    return k.convert(x, "pred") & k.convert(y, "pred")


@pointwise("logical_or", common=True)
def logical_or(k: Kernel, x: Reg, y: Reg) -> Reg:
    return k.convert(x, "pred") | k.convert(y, "pred")


@pointwise("logical_xor", common=True)
def logical_xor(k: Kernel, x: Reg, y: Reg) -> Reg:
    return k.convert(x, "pred") ^ k.convert(y, "pred")


@pointwise("isnan", common=True)
def isnan(k: Kernel, x: Reg) -> Reg:
    return x.differs(x) if x.kind == "f64" else k.constant(False, "pred")


@pointwise("isinf", common=True)
def isinf(k: Kernel, x: Reg) -> Reg:
    return k.absolute(x).equals(math.inf) if x.kind == "f64" else k.constant(False, "pred")


@pointwise("isfinite", common=True)
def isfinite(k: Kernel, x: Reg) -> Reg:
    return k.absolute(x).lt(math.inf) if x.kind == "f64" else k.constant(True, "pred")


@pointwise("signbit", common=True)
def signbit(k: Kernel, x: Reg) -> Reg:
    return x.lt(0)


# --- Bits.


@pointwise("bitwise_and", "__and__")
def bitwise_and(k: Kernel, x: Reg, y: Any) -> Reg:
    return x & y


@pointwise("bitwise_or", "__or__")
def bitwise_or(k: Kernel, x: Reg, y: Any) -> Reg:
    return x | y


@pointwise("bitwise_xor", "__xor__")
def bitwise_xor(k: Kernel, x: Reg, y: Any) -> Reg:
    return x ^ y


@pointwise("bitwise_not")
def bitwise_not(k: Kernel, x: Reg) -> Reg:
    return ~x


@pointwise("bitwise_left_shift", "__lshift__")
def left_shift(k: Kernel, x: Any, y: Any) -> Reg:
    return k.shift("left", x, y)


@pointwise("bitwise_right_shift", "__rshift__")
def right_shift(k: Kernel, x: Any, y: Any) -> Reg:
    return k.shift("right", x, y)


# --- Choice, copies and constants.


@operator("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(t: Lowering, condition: Value, x: Any, y: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    kind = t.kind(out.dtype)
    values = [v for v in (condition, x, y) if isinstance(v, Value)]

    def emit(k: Kernel, idx: Idx) -> Reg:
        arms = [k.read(v, idx, out.dtype) if isinstance(v, Value) else k.constant(v, kind) for v in (x, y)]
        return k.select(k.read(condition, idx, torch.bool), *arms)

    return t.expression(out.shape, out.dtype, emit, values)


@operator("masked_fill")
def masked_fill(t: Lowering, x: Value, mask: Value, value: Any) -> Value:
    return where(t, mask, value, x)


def _converted(k: Kernel, x: Reg, *_: Any, **__: Any) -> Reg:
    return x


@operator(
    "_to_copy",
    "clone",
    "to",
    "contiguous",
    "lift_fresh_copy",
    "_conj_physical",
    "positive",
    "view_copy",
    "_reshape_copy",
    "expand_copy",
)
def converted(t: Lowering, x: Value, *args: Any, **kwargs: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    if tuple(out.shape) != x.shape:
        raise t.refuse("a copy of another shape is not modelled")
    return t.expression(out.shape, out.dtype, lambda k, idx: k.read(x, idx, out.dtype), [x], cost=0)


@operator("copy")
def copy(t: Lowering, target: Value, source: Value, non_blocking: bool = False) -> Value:
    return t.expression(target.shape, target.dtype, lambda k, idx: k.read(source, idx, target.dtype), [source], cost=0)


@operator("native_dropout")
def native_dropout(t: Lowering, x: Value, p: float, train: bool | None) -> Any:
    if train is not False and p != 0:
        raise t.refuse("in training mode its mask is random")
    return [composite(t, _converted, x), t.full(x.shape, torch.bool, True)]


@operator("fill")
def fill(t: Lowering, target: Value, value: Any) -> Value:
    if isinstance(value, Value):
        return copy(t, target, value)
    return t.full(target.shape, target.dtype, value)


def _filled(t: Lowering, value: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    return t.full(out.shape, out.dtype, value)


@operator("full")
def full(t: Lowering, size: Sequence[int], value: Any, **_: Any) -> Value:
    return _filled(t, value)


@operator("full_like")
def full_like(t: Lowering, like: Value, value: Any, **_: Any) -> Value:
    return _filled(t, value)


@operator("new_full")
def new_full(t: Lowering, like: Value, size: Sequence[int], value: Any, **_: Any) -> Value:
    return _filled(t, value)


@operator("scalar_tensor")
def scalar_tensor(t: Lowering, value: Any, **_: Any) -> Value:
    return _filled(t, value)


@operator("zeros", "zeros_like", "new_zeros", "zero")
def zeros(t: Lowering, *_: Any, **__: Any) -> Value:
    return _filled(t, 0)


@operator("ones", "ones_like", "new_ones")
def ones(t: Lowering, *_: Any, **__: Any) -> Value:
    return _filled(t, 1)


@operator("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
def empty(t: Lowering, *_: Any, **__: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    return t.new(out.shape, out.dtype, out.stride())


@operator("arange")
def arange(t: Lowering, *args: Any, **_: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    start = args[0] if len(args) > 1 else 0
    step = args[2] if len(args) > 2 else 1
    kind = "f64" if out.dtype.is_floating_point else "s64"
    rounded = torch.float64 if out.dtype.is_floating_point else torch.int64

    def emit(k: Kernel, idx: Idx) -> Reg:
        position = k.convert(k.index(idx[0]), kind)
        return k.to_dtype(position * step + start, rounded, out.dtype)

    return t.expression(out.shape, out.dtype, emit, (), exact_index=True)


@operator("linspace")
def linspace(t: Lowering, start: Any, end: Any, steps: int, **_: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    if isinstance(start, Value) or isinstance(end, Value) or not out.dtype.is_floating_point:
        raise t.refuse("linspace between tensors or of integers is not modelled")
    # PyTorch counts the second half from the end.
    table = torch.linspace(start, end, steps, dtype=out.dtype)
    return t.known(table)


@operator("eye")
def eye(t: Lowering, *_: Any, **__: Any) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)

    def emit(k: Kernel, idx: Idx) -> Reg:
        return k.to_dtype(k.index(idx[0]).equals(k.index(idx[1])), torch.bool, out.dtype)

    return t.expression(out.shape, out.dtype, emit, (), exact_index=True)


def _triangle(relation: str) -> Any:
    def lower(t: Lowering, x: Value, diagonal: int = 0) -> Value:
        def emit(k: Kernel, idx: Idx) -> Reg:
            row, column = k.index(idx[-2]), k.index(idx[-1])
            keep = k.compare(relation, column, row + diagonal)
            return k.select(keep, k.read(x, idx), k.constant(0, t.kind(x.dtype)))

        return t.expression(x.shape, x.dtype, emit, [x], exact_index=True)

    return lower


operator("tril")(_triangle("le"))
operator("triu")(_triangle("ge"))
