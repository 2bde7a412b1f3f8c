"""Every operator of the table against PyTorch, on small random tensors in double precision."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from running import agree

torch.manual_seed(0)


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64)


def positive(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64) + 0.1


def whole(*shape: int, low: int = -9, high: int = 10, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape).to(dtype)


def truth(*shape: int) -> torch.Tensor:
    return torch.rand(shape) < 0.5


def gradient(fn: Any, wanted: tuple[int, ...] = (0,)) -> Any:
    """fn's gradients by some of its arguments, for an upstream gradient that is the last argument."""

    def call(*args: Any) -> Any:
        inputs = [a.detach().requires_grad_() if i in wanted else a for i, a in enumerate(args[:-1])]
        return torch.autograd.grad(fn(*inputs), [inputs[i] for i in wanted], args[-1])

    return call


X, Y, P, Q = real(3, 5), real(3, 5), positive(3, 5), positive(3, 5)
N, J = whole(4, 5), whole(4, 5, low=1)
S = N.to(torch.int32)
B, C = truth(3, 5), truth(3, 5)
UNIT = torch.rand(3, 5, dtype=torch.float64) * 1.6 - 0.8

CASES: dict[str, tuple[Any, ...]] = {
    # Arithmetic
    "add": (lambda x, y: torch.add(x, y, alpha=2.5), X, Y),
    "add number": (lambda x: x + 3, X),
    "add broadcast": (lambda x, y: x[:, None, :] + y[None, :, :1], X, Y),
    "add integers": (lambda i, j: i + 2 * j, N, J),
    "add mixed": (lambda i, x: i[:3] + x, N, X),
    "add narrow wraps": (lambda i: i + i, whole(9, low=60, high=128, dtype=torch.int8)),
    "add unsigned wraps": (lambda i: i * i, whole(9, low=100, high=256, dtype=torch.uint8)),
    "add truth": (lambda b, c: b + c, B, C),
    "sub": (lambda x, y: torch.sub(x, y, alpha=0.5), X, Y),
    "rsub": (lambda x: 2 - x, X),
    "mul": (torch.mul, X, Y),
    "mul truth": (lambda b, c: b * c, B, C),
    "div": (torch.div, X, P),
    "div integers": (torch.div, N, J.abs() + 1),
    "div floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), X * 9, Y),
    "div trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), X * 9, Y),
    "div floor integers": (lambda i, j: torch.div(i, j, rounding_mode="floor"), N, -(J.abs() + 1)),
    "div trunc integers": (lambda i, j: torch.div(i, j, rounding_mode="trunc"), N, J.abs() + 1),
    "floor_divide": (lambda i: i // 4, N),
    "floor_divide negative": (lambda i: i // -4, S),
    "floor_divide of a number": (lambda i, x: (7 // (i.abs() + 1), 7 // (x.abs() + 1)), N, X),
    "remainder": (lambda i: i % 4, N),
    "remainder negative": (lambda i: i % -4, N),
    "remainder real": (lambda x, y: x % y, X * 9, Y),
    "fmod": (lambda i: torch.fmod(i, 4), N),
    "fmod real": (torch.fmod, X * 9, Y),
    "neg abs sign": (lambda x: (-x, x.abs(), x.sign(), torch.sgn(x)), X),
    "sign integers": (lambda i: (i.sign(), i.abs(), -i), N),
    "reciprocal": (torch.reciprocal, P),
    "square": (torch.square, X),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), X, Y),
    "lerp tensor": (torch.lerp, X, Y, P),
    "addcmul": (lambda x, y, p: torch.addcmul(x, y, p, value=0.5), X, Y, P),
    "addcdiv": (lambda x, y, p: torch.addcdiv(x, y, p, value=0.5), X, Y, P),
    "minimum maximum": (
        lambda x, y: (torch.minimum(x, y), torch.maximum(x, y), torch.fmin(x, y), torch.fmax(x, y)),
        X,
        Y,
    ),
    "clamp": (
        lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=0.1), x.clamp_min(0.2), x.clamp_max(0.2)),
        X,
    ),
    "clamp crossed": (lambda x: x.clamp(1, -1), X),
    "clamp tensors": (lambda x, y, p: torch.clamp(x, y, p), X, Y, P),
    "copysign hypot": (lambda x, y: (torch.copysign(x, y), torch.hypot(x, y)), X, Y),
    # Powers and functions
    "pow": (lambda x: (x**2, x**3, x**-1, x**0, x**5.0), X),
    "pow fractional": (lambda p: (p**0.5, p**-0.5, p**1.7), P),
    "pow tensor": (lambda p, y: (p**y, 2.0**y), P, Y),
    "pow whole tensor": (lambda x: x ** torch.tensor([[2.0], [3.0], [0.0]], dtype=torch.float64), X),
    "pow integers": (lambda i: i**3, N),
    "roots": (lambda p: (p.sqrt(), p.rsqrt()), P),
    "exponentials": (lambda x: (x.exp(), x.exp2(), x.expm1()), X),
    "logarithms": (lambda p: (p.log(), p.log2(), p.log10(), p.log1p()), P),
    "circular": (lambda x: (x.sin(), x.cos(), x.tan(), x.atan()), X),
    "inverse circular": (lambda x, y, u: (torch.atan2(x, y), u.asin(), u.acos()), X, Y, UNIT),
    "gamma": (lambda x, u: (x.lgamma(), u.erfinv()), X, UNIT),
    "hyperbolic": (lambda x: (x.sinh(), x.cosh(), x.tanh(), x.asinh()), X),
    "inverse hyperbolic": (lambda p, u: ((p + 1).acosh(), u.atanh()), P, UNIT),
    "error function": (lambda x: (x.erf(), x.erfc()), X),
    "xlogy": (lambda x, p: torch.xlogy(torch.relu(x), p), X, P),
    "logaddexp": (torch.logaddexp, X, Y),
    "logit": (lambda p: torch.logit(p / 2), P),
    "exp of integers": (lambda i: i.exp(), N),
    "angles": (lambda x: (torch.deg2rad(x), torch.rad2deg(x), torch.sinc(x)), X),
    # Rounding
    "rounding": (lambda x: (x.floor(), x.ceil(), x.trunc(), x.round(), x.frac()), X * 4),
    "round half": (lambda x: x.round(), torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], dtype=torch.float64)),
    "round decimals": (lambda x: torch.round(x, decimals=1), X),
    # Activations
    "relu": (lambda x: (F.relu(x), F.relu6(x * 5)), X),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), X),
    "prelu": (F.prelu, X, positive(5)),
    "rrelu eval": (lambda x: F.rrelu(x), X),
    "elu": (lambda x: (F.elu(x, 1.3), F.selu(x), F.celu(x, 1.5)), X),
    "gelu": (lambda x: (F.gelu(x), F.gelu(x, approximate="tanh")), X),
    "sigmoid": (lambda x: (torch.sigmoid(x), F.silu(x), F.logsigmoid(x), F.mish(x)), X),
    "softplus": (lambda x: (F.softplus(x), F.softplus(x, 2.0, 1.5)), X * 3),
    "softplus threshold": (lambda x: F.softplus(x), torch.tensor([19.9, 20.0, 20.1, 30.0], dtype=torch.float64)),
    "hard": (lambda x: (F.hardtanh(x), F.hardsigmoid(x), F.hardswish(x)), X * 4),
    "shrink": (
        lambda x: (F.softshrink(x), F.hardshrink(x), F.tanhshrink(x), F.softsign(x), F.threshold(x, 0.1, 20)),
        X,
    ),
    "hardshrink at the limit": (lambda x: F.hardshrink(x), torch.tensor([-0.5, 0.5, 0.6], dtype=torch.float64)),
    "glu": (lambda x: F.glu(x, 0), real(4, 3)),
    "softmax": (lambda x: (F.softmax(x, 1), F.log_softmax(x, 0), F.softmin(x, 0)), X),
    "softmax of one cell": (lambda x: F.softmax(x, 0), torch.tensor(0.7, dtype=torch.float64)),
    # Comparisons, truth, bits
    "comparisons": (lambda i, j: (i < j, i <= j, i > j, i >= j, i == j, i != j), N, J),
    "comparisons real": (lambda x: (x < 0.1, x >= 0.1, x == 0, x != 0), X),
    "compare mixed": (lambda i, x: i[:3] < x, N, X * 9),
    "compare truth": (lambda b, c: (b == c, b != c, b < c), B, C),
    "logical": (lambda b, c: (b & c, b | c, b ^ c, ~b, torch.logical_xor(b, c)), B, C),
    "logical of numbers": (lambda i, j: (torch.logical_and(i, j), torch.logical_or(i, j), torch.logical_not(i)), N, J),
    "bits": (lambda i, j: (i & j, i | j, i ^ j, ~i, i << 2, i >> 1), N, J),
    "shift of a number": (lambda j: (1 << j, -100 >> j), J),
    "shift by more than 32 bits": (lambda j: (j << (j + 2**32), -j >> (j + 2**32)), J),
    "kinds of numbers": (
        lambda x: (x.isnan(), x.isinf(), x.isfinite(), x.signbit()),
        torch.tensor([0.0, -1.0, math.inf, -math.inf], dtype=torch.float64),
    ),
    "where": (lambda b, x, y: (torch.where(b, x, y), torch.where(b, x, 0.5), torch.where(x > 0, 1.0, -2.0)), B, X, Y),
    "where integers": (lambda b, i: torch.where(b, i[:3], -1), B, N),
    "masked_fill": (lambda x, b: x.masked_fill(b, -1e9), X, B),
    "nan_to_num": (lambda x: torch.nan_to_num(x / (x > 0), 0.5, 3.0, -3.0), X),
    "conversions": (
        lambda x: (x.to(torch.float32), (x * 9).to(torch.int32), (x * 9).to(torch.int8), x.to(torch.bool)),
        X,
    ),
    "conversions of integers": (
        lambda i: (i.to(torch.float64), i.to(torch.int16), i.to(torch.bool), i.to(torch.uint8)),
        N,
    ),
    "conversion of truth": (lambda b: (b.to(torch.float64), b.to(torch.int64), b.sum()), B),
    # Constants
    "constants": (
        lambda x: (
            torch.zeros_like(x) + x,
            torch.ones(3, 1) * x,
            torch.full_like(x, 2.5) * x,
            x.new_full((3, 5), 4) - x,
        ),
        X,
    ),
    "arange": (
        lambda x: (x + torch.arange(5), torch.arange(1, 7, 2), torch.arange(0.5, 2.5, 0.5, dtype=torch.float64)),
        X,
    ),
    "indices in single precision": (
        lambda x: x[0, (torch.arange(11, dtype=torch.float32) * 0.7).floor().to(torch.int64) % 5],
        X,
    ),
    "linspace eye": (lambda x: (x * torch.linspace(-1, 1, 5, dtype=torch.float64), torch.eye(3, 4) * 2), X),
    "table": (lambda x: x * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64), X),
    "triangles": (lambda x: (x.tril(), x.triu(), x.tril(-1), x.triu(2)), real(2, 4, 4)),
    # Reductions
    "sum": (lambda x: (x.sum(), x.sum(0), x.sum(-1, keepdim=True), x.sum((0, 2))), real(3, 4, 5)),
    "sum transposed": (lambda x: x.permute(2, 0, 1).sum(1), real(3, 4, 5)),
    "sum integers": (lambda i, s: (i.sum(), s.sum(1), s.sum(0, dtype=torch.int32)), N, S),
    "sum of nothing": (lambda x: (x[:, :0].sum(1), x[:0].sum()), X),
    "mean": (lambda x: (x.mean(), x.mean(1), x.mean((0, 1), keepdim=True)), real(3, 4, 5)),
    "prod": (lambda x: (x.prod(), x.prod(1)), X),
    "var": (lambda x: (x.var(1), x.var(), x.std(0), x.var(1, unbiased=False), torch.var(x, 1, correction=2)), X),
    "var_mean": (lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, 0)), X),
    "amax": (lambda x: (x.amax(1), x.amin((0, 1)), x.max(), x.min()), X),
    "amax integers": (lambda i: (i.amax(1), i.amin(0), i.max()), N),
    "max with places": (lambda i: (*i.max(1), *i.min(0)), whole(6, 7, low=0, high=4)),
    "max values": (lambda x: x.max(1).values, X),
    "argmax": (lambda i: (i.argmax(), i.argmax(1), i.argmin(0, keepdim=True)), whole(6, 7, low=0, high=4)),
    "aminmax": (lambda x: tuple(torch.aminmax(x, dim=1)), X),
    "any all": (lambda b: (b.any(), b.all(1), b.any(0), b.sum(1)), B),
    "all of nothing": (lambda b: (b[:, :0].all(1), b[:, :0].any(1)), B),
    "logsumexp": (lambda x: (x.logsumexp(1), x.logsumexp((0, 1)), x.logsumexp(0, keepdim=True)), X),
    "norms": (
        lambda x: (
            x.norm(),
            x.norm(dim=1),
            x.norm(p=1, dim=0),
            x.norm(p=3, dim=1),
            torch.linalg.vector_norm(x, math.inf),
            torch.linalg.vector_norm(x, 0),
        ),
        X,
    ),
    "normalize": (lambda x: F.normalize(x, dim=1), X),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), X, Y),
    "pairwise_distance": (lambda x, y: F.pairwise_distance(x, y), X, Y),
    "cdist": (lambda x, y: torch.cdist(x, y), X, real(4, 5)),
    "cumsum": (lambda x: (x.cumsum(0), x.cumsum(-1)), X),
    "cumsum integers": (lambda s: s.cumsum(1), S),
    "cumprod": (lambda x: x.cumprod(1), X),
    "cummax": (lambda i: (*i.cummax(1), *i.cummin(0)), whole(5, 6, low=0, high=4)),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), X),
    "sort": (lambda x: (*x.sort(1), *x.sort(0, descending=True)), X),
    "sort stable": (lambda i: tuple(torch.sort(i, dim=1, stable=True)), whole(3, 9, low=0, high=3)),
    "sort values": (lambda x: x.sort(1).values, X),
    "argsort": (lambda x: x.argsort(1), X),
    "topk": (lambda x: (*x.topk(3, 1), x.topk(2, 0, largest=False).values), X),
    "kthvalue median": (lambda x: (*x.kthvalue(2, 1), *x.median(1)), X),
    # Products
    "matmul": (lambda x, y: (x @ y.t(), x @ y[0], y[0] @ y[1]), X, Y),
    "matmul batches": (torch.matmul, real(2, 3, 4), real(2, 4, 5)),
    "matmul broadcast": (torch.matmul, real(2, 3, 4), real(4, 5)),
    "matmul integers": (lambda i, j: i @ j.t(), N, J),
    "int_mm": (
        torch._int_mm,
        whole(32, 16, low=-128, high=128, dtype=torch.int8),
        whole(16, 32, low=-128, high=128, dtype=torch.int8),
    ),
    "addmm": (lambda c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), real(3), real(4, 5), real(5, 3)),
    "addmm without addend": (lambda c, x, y: torch.addmm(c, x, y, beta=0), real(3), real(4, 5), real(5, 3)),
    "baddbmm": (torch.baddbmm, real(2, 3, 5), real(2, 3, 4), real(2, 4, 5)),
    "addmv addbmm": (lambda v, x, y: (torch.addmv(v, x, y), torch.outer(v, y)), real(3), real(3, 5), real(5)),
    "linear": (F.linear, real(2, 3, 5), real(4, 5), real(4)),
    "bilinear": (F.bilinear, real(2, 3), real(2, 4), real(5, 3, 4), real(5)),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), real(2, 3, 4), real(2, 5, 4)),
    "tensordot kron": (lambda x, y: (torch.tensordot(x, y, 1), torch.kron(x, y)), real(2, 3), real(3, 2)),
    "product of views": (lambda x: x.t() @ x * 2 + (x * 2).t() @ x, X),
    # Convolution
    "conv1d": (
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1, dilation=2),
        real(2, 4, 11),
        real(6, 4, 3),
        real(6),
    ),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), real(2, 3, 5, 6), real(4, 3, 3, 3)),
    "conv2d groups": (
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(0, 2), groups=2),
        real(1, 4, 7, 5),
        real(6, 2, 3, 2),
        real(6),
    ),
    "conv2d depthwise": (lambda x, w: F.conv2d(x, w, groups=4, padding="same"), real(1, 4, 5, 5), real(4, 1, 3, 3)),
    "conv3d": (lambda x, w: F.conv3d(x, w, stride=2, padding=1), real(1, 2, 5, 4, 5), real(3, 2, 3, 2, 3)),
    "conv of an expression": (lambda x, w: F.conv2d(x + 1, w, padding=1), real(1, 2, 4, 4), real(3, 2, 3, 3)),
    "conv_transpose of an expression": (
        lambda x, w: F.conv_transpose2d(x + 1, w * 2, stride=2),
        real(1, 2, 3, 3),
        real(2, 3, 3, 3),
    ),
    "pools of an expression": (
        lambda x: (F.avg_pool2d(x + 1, 3, 2, 1), F.max_pool2d(-x.abs() - 1, 3, 2, 1), F.pad(x + 1, (1, 1))),
        real(1, 2, 5, 5),
    ),
    "gradients of pools of expressions": (
        gradient(lambda x: F.avg_pool2d(x * 2, 3, 2, 1) + F.adaptive_avg_pool2d(x, 3)),
        real(1, 2, 5, 5),
        real(1, 2, 3, 3),
    ),
    "gradients of convolutions of expressions": (
        gradient(lambda x, w: F.conv2d(x + 1, w, padding=1, stride=2), (0, 1)),
        real(1, 2, 5, 5),
        real(3, 2, 3, 3),
        real(1, 3, 3, 3),
    ),
    "pool of integers": (lambda i: F.max_pool2d(i[None, None].double(), 2, padding=1), N),
    "conv without batch": (lambda x, w: F.conv2d(x, w), real(3, 5, 5), real(2, 3, 2, 2)),
    "conv_transpose1d": (
        lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1),
        real(2, 4, 5),
        real(4, 3, 4),
        real(3),
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=1, dilation=2, groups=2),
        real(1, 4, 4, 3),
        real(4, 3, 3, 2),
    ),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w, stride=2), real(1, 2, 3, 2, 2), real(2, 2, 2, 2, 3)),
    # Pooling
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1), real(2, 3, 9)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, stride=2, padding=1), real(2, 3, 7, 8)),
    "max_pool2d ceil": (lambda x: F.max_pool2d(x, 2, stride=2, ceil_mode=True), real(1, 2, 5, 7)),
    "max_pool2d dilated": (lambda x: F.max_pool2d(x, 2, stride=1, dilation=(2, 3)), real(1, 2, 6, 7)),
    "max_pool2d places": (
        lambda x: F.max_pool2d(x, 2, padding=1, return_indices=True),
        whole(1, 2, 5, 6, low=0, high=4).double(),
    ),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, padding=1), real(1, 2, 4, 5, 4)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), real(2, 3, 9)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, stride=2, padding=1), real(2, 3, 7, 8)),
    "avg_pool2d without padding counted": (
        lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        real(1, 3, 7, 8),
    ),
    "avg_pool2d ceil": (lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True), real(1, 2, 6, 8)),
    "avg_pool2d ceil, padding not counted": (
        lambda x: F.avg_pool2d(x, (3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        real(1, 2, 6, 8),
    ),
    "avg_pool2d divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), real(1, 2, 4, 4)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, padding=1), real(1, 2, 4, 5, 4)),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2.0, 2), positive(1, 2, 4, 4)),
    "adaptive_avg_pool": (lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_avg_pool2d(x, 1)), real(2, 2, 7, 5)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), real(2, 2, 10)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (2, 3, 2)), real(1, 2, 5, 4, 3)),
    "adaptive_max_pool": (lambda x: (*F.adaptive_max_pool2d(x, (3, 2), return_indices=True),), real(2, 2, 7, 5)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), real(2, 2, 10)),
    # Normalisation
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4, 5), w, b, 1e-3), real(3, 4, 5), real(4, 5), real(4, 5)),
    "layer_norm plain": (lambda x: F.layer_norm(x, (5,)), X),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), real(2, 4, 3, 2), real(4), real(4)),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), real(2, 4, 3, 2), real(4), real(4)),
    "batch_norm eval": (
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        real(3, 4, 2),
        real(4),
        positive(4),
        real(4),
        real(4),
    ),
    "batch_norm training": (lambda x, w: F.batch_norm(x, None, None, w, None, True), real(3, 4, 2), real(4)),
    "batch_norm buffers": (
        lambda x, m, v: (F.batch_norm(x, m, v, None, None, True, 0.2), m, v),
        real(3, 4, 2),
        real(4),
        positive(4),
    ),
    "rms_norm": (lambda x, w: F.rms_norm(x, (5,), w, 1e-5), X, real(5)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), real(2, 5, 4)),
    # Losses
    "mse l1": (
        lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.mse_loss(x, y, reduction="none")),
        X,
        Y,
    ),
    "smooth_l1 huber": (lambda x, y: (F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y, delta=0.7)), X, Y),
    "cross_entropy": (
        lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum", label_smoothing=0.1)),
        real(4, 6),
        whole(4, low=0, high=6),
    ),
    "cross_entropy weights": (
        lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=2),
        real(4, 6),
        torch.tensor([2, 0, 5, 2]),
        positive(6),
    ),
    "cross_entropy shares": (lambda x, p: F.cross_entropy(x, p.softmax(1)), real(4, 6), real(4, 6)),
    "nll places": (lambda x, t: F.nll_loss(x, t, reduction="none"), real(2, 3, 4), whole(2, 4, low=0, high=3)),
    "nll2d": (lambda x, t: F.nll_loss(x, t), real(2, 3, 4, 2), whole(2, 4, 2, low=0, high=3)),
    "kl_div": (
        lambda x, p: (F.kl_div(x, p, reduction="batchmean"), F.kl_div(x, x * 2, log_target=True, reduction="sum")),
        X,
        P,
    ),
    "bce": (
        lambda p, q: (F.binary_cross_entropy(p / 2, q / 2), F.binary_cross_entropy(p / 2, q / 2, reduction="none")),
        P,
        Q,
    ),
    "bce logits": (
        lambda x, q, w: (
            F.binary_cross_entropy_with_logits(x, q),
            F.binary_cross_entropy_with_logits(x, q, w, pos_weight=w[0], reduction="sum"),
        ),
        X,
        Q,
        P,
    ),
    "margins": (
        lambda x, y, s: (
            F.hinge_embedding_loss(x, s),
            F.margin_ranking_loss(x, y, s, margin=0.1),
            F.soft_margin_loss(x, s),
        ),
        X,
        Y,
        torch.sign(X),
    ),
    "triplet": (lambda x, y, p: F.triplet_margin_loss(x, y, p), X, Y, P),
    "cosine embedding": (
        lambda x, y: F.cosine_embedding_loss(x, y, torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)),
        X,
        Y,
    ),
    "poisson": (lambda x, p: F.poisson_nll_loss(x, p), X, P),
    # Layout
    "views": (lambda x: (x.view(15), x.reshape(5, 3) * 2, x[1], x[:, 1:4:2], x.t()[2:], x[None, ..., None]), X),
    "views of expressions": (
        lambda x: ((x + 1).view(5, 3), (x * 2).t(), (x * 2)[1], (x * 2)[:, None].expand(3, 2, 5), (x + x).flatten()),
        X,
    ),
    "view of a view of an expression": (
        lambda x: ((x + 1).t()[1:].t() * 2, (x + 1).t().reshape(15), (x * 3).transpose(0, 1)[:, 1]),
        X,
    ),
    "unfold": (lambda x: x.unfold(1, 3, 2), real(3, 9)),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2)), X),
    "diagonal": (lambda x: (x.diagonal(), x.diagonal(1), torch.diag(x[0]), torch.diag_embed(x), x[:, :3].trace()), X),
    "cat": (lambda x, y: (torch.cat([x, y[:1], x * 2]), torch.cat([x, y], 1), torch.cat([x[:0], y])), X, Y),
    "cat mixed": (lambda i, x: torch.cat([i[:3], x]), N, X),
    "stack": (lambda x, y: (torch.stack([x, y]), torch.stack([x, y], -1), torch.hstack([x, y])), X, Y),
    "split": (lambda x: (*x.split(2, 1), *x.chunk(2), *x.unbind(0), *torch.tensor_split(x, 2, 1)), X),
    "pad": (lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, -2, 0, 1), value=3.0), F.pad(x, (-1, -1))), X),
    "pad reflect": (
        lambda x: (F.pad(x, (2, 1), "reflect"), F.pad(x, (2, 1), "replicate"), F.pad(x, (2, 1), "circular")),
        real(2, 3, 4),
    ),
    "pad reflect 2d": (
        lambda x: (F.pad(x, (1, 2, 2, 1), "reflect"), F.pad(x, (1, 2, 2, 1), "replicate")),
        real(1, 2, 4, 3),
    ),
    "roll flip": (lambda x: (x.roll(2, 1), x.roll((1, -2), (0, 1)), x.roll(4), x.flip(1), x.flip(0, 1), x.rot90()), X),
    "repeat": (lambda x: (x.repeat(2, 3), x.repeat(2, 1, 2), x.tile(2), x.repeat_interleave(2, 1)), X),
    "expand": (lambda x: x[:, None].expand(3, 4, 5) * 2, X),
    "movedim": (lambda x: (x.movedim(0, 2), x.swapaxes(0, 1), x.permute(2, 0, 1).contiguous()), real(2, 3, 4)),
    "pixel_shuffle": (lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x.view(1, 2, 4, 6), 2)), real(1, 8, 2, 3)),
    "interpolate nearest": (
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(5, 7)),
            F.interpolate(x, size=(2, 3), mode="nearest-exact"),
        ),
        real(1, 2, 3, 4),
    ),
    "interpolate linear": (lambda x: F.interpolate(x, size=7, mode="linear"), real(1, 2, 4)),
    "interpolate bilinear": (
        lambda x: (
            F.interpolate(x, size=(5, 7), mode="bilinear"),
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        ),
        real(1, 2, 3, 4),
    ),
    "interpolate bicubic": (lambda x: F.interpolate(x, size=(5, 7), mode="bicubic"), real(1, 2, 3, 4)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), real(1, 2, 4, 5), real(1, 3, 2, 2).tanh()),
    "triangle indices": (lambda x: x[tuple(torch.triu_indices(3, 5, 1))], X),
    "dist": (lambda x, y: torch.dist(x, y), X, Y),
    "unfold fold": (lambda x: (F.unfold(x, 2, padding=1), F.fold(F.unfold(x, 2), (4, 5), 2)), real(1, 2, 4, 5)),
    "meshgrid": (lambda x: tuple(g * 1 for g in torch.meshgrid(x[0], x[:, 0], indexing="ij")), X),
    # Data as indices
    "gather": (lambda x, i: (x.gather(1, i), torch.take_along_dim(x, i, 1)), X, whole(3, 2, low=0, high=5)),
    "index_select": (lambda x, i: (x.index_select(1, i), x.index_select(0, i % 3)), X, whole(4, low=0, high=5)),
    "index": (lambda x, i: (x[:, i], x[i % 3, i], x[i % 3]), X, whole(4, low=0, high=5)),
    "index negative": (lambda x, i: x[:, i], X, whole(4, low=-5, high=5)),
    "index apart": (lambda x, i: x[i, :, i], real(3, 4, 3), whole(5, low=0, high=3)),
    "embedding": (F.embedding, whole(2, 3, low=0, high=7), real(7, 4)),
    "embedding bag": (lambda i, w: F.embedding(i, w).sum(1), whole(2, 3, low=0, high=7), real(7, 4)),
    "one_hot": (lambda i: F.one_hot(i, 7), whole(5, low=0, high=7)),
    "scatter": (
        lambda x, i, y: (x.scatter(1, i, y[:, :2]), x.scatter(1, i, 0.5)),
        X,
        torch.tensor([[0, 3], [4, 1], [2, 0]]),
        Y,
    ),
    "scatter_add": (
        lambda x, i, y: (x.scatter_add(1, i, y), x.scatter_add(0, i[:2] % 3, y)),
        X,
        whole(3, 5, low=0, high=5),
        Y,
    ),
    "scatter_reduce": (
        lambda x, i, y: (
            x.scatter_reduce(1, i, y, "amax"),
            x.scatter_reduce(1, i, y, "sum", include_self=False),
            x.scatter_reduce(1, i, y, "prod"),
        ),
        X,
        whole(3, 5, low=0, high=5),
        Y,
    ),
    "index_add": (lambda x, i, y: x.index_add(1, i, y, alpha=0.5), X, whole(5, low=0, high=5), Y),
    "index_copy": (lambda x, i, y: x.index_copy(0, i, y), X, torch.tensor([2, 0, 1]), Y),
    "index_put": (lambda x, i, y: x.index_put((i,), y), X, torch.tensor([2, 0, 1]), Y),
    "index_put sum": (
        lambda x, i, j, y: x.index_put((i, j), y, accumulate=True),
        X,
        whole(6, low=0, high=3),
        whole(6, low=-5, high=5),
        real(6),
    ),
    "masked assignment": (lambda x, b: x.clone().masked_fill_(b, 2.0), X, B),
    "masked_scatter": (lambda x, b, y: x.masked_scatter(b, y), X, B, Y),
    "pdist": (lambda x: (F.pdist(x), F.pdist(x, 1.0)), X),
    "index_fill": (lambda x, i: x.index_fill(1, i, 3.0), X, torch.tensor([1, 4])),
    "searchsorted": (
        lambda e, x: (
            torch.searchsorted(e, x),
            torch.bucketize(x, e, right=True),
            torch.bucketize(x, e, out_int32=True),
        ),
        torch.linspace(-2, 2, 6, dtype=torch.float64),
        X,
    ),
    # In place
    "in place": (lambda x: (x.clone().add_(2).mul_(3), x.clone().relu_(), x.clone().zero_(), x.clone().fill_(2)), X),
    "powers in place": (lambda x: (x.clone().pow_(2), x.clone().square_(), x.abs().pow_(x)), X),
    "views in place": (lambda x: ((x + 1).t_()[1:], x.clone().unsqueeze_(1).squeeze_(1).mul_(2)), X),
    "assignment to views": (lambda x, y: (_assigned(x, y),), X, Y),
    "input written": (lambda x, y: (x.add_(y), x * 2), X, Y),
    "index written in place": (lambda x, i: x[i.sub_(3)], X, torch.tensor([2, 0, 1])),
    "in place in the wider dtype": (
        lambda i, j: (i.clone().floor_divide_(j), i.clone().fmod_(j), i.clone().clamp_(max=j - 200), i.clone() >= j),
        torch.tensor([100, -100, 7, 127, -128], dtype=torch.int8),
        torch.tensor([300, 257, 256, 1000, 2], dtype=torch.int32),
    ),
    "out in another dtype": (
        lambda i, j: (
            torch.minimum(i, j, out=torch.empty(5, dtype=torch.int8)),
            torch.add(i, i, out=torch.empty(5, dtype=torch.int32)),
            torch.mul(i, i, out=torch.empty(5, dtype=torch.float64)),
            torch.lt(i, j, out=torch.empty(5, dtype=torch.int32)),
        ),
        torch.tensor([100, -100, 7, 127, -128], dtype=torch.int8),
        torch.tensor([300, 257, 256, 1000, 2], dtype=torch.int32),
    ),
    "overlapping update": (lambda x: (_shifted(x),), X),
    "read before written": (lambda x: _read_before_written(x), X),
    "out argument": (lambda x, y: torch.add(x, y, out=torch.empty(3, 5, dtype=torch.float64)), X, Y),
    # Attention and recurrent cells
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), real(2, 4, 3), real(2, 5, 3), real(2, 5, 6)),
    "attention causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        real(2, 4, 3),
        real(2, 4, 3),
        real(2, 4, 6),
    ),
    "attention mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        real(2, 4, 3),
        real(2, 5, 3),
        real(2, 5, 6),
        torch.tensor([[True] * 3 + [False] * 2] * 3 + [[False] * 5]),
    ),
    "attention bias": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        real(2, 4, 3),
        real(2, 5, 3),
        real(2, 5, 6),
        real(4, 5),
    ),
    "attention of groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        real(1, 4, 4, 3),
        real(1, 2, 5, 3),
        real(1, 2, 5, 3),
    ),
    "dropout off": (lambda x: (F.dropout(x, 0.5, training=False), F.dropout(x, 0.0) * 2), X),
    # Gradients
    "gradient of layer_norm": (
        gradient(lambda x, w, b: F.layer_norm(x, (5,), w, b), (0, 1, 2)),
        X,
        real(5),
        real(5),
        Y,
    ),
    "gradient of group_norm": (
        gradient(lambda x, w: F.group_norm(x, 2, w), (0, 1)),
        real(2, 4, 3),
        real(4),
        real(2, 4, 3),
    ),
    "gradient of batch_norm": (
        gradient(lambda x, w: F.batch_norm(x, None, None, w, None, True), (0, 1)),
        real(3, 4, 2),
        real(4),
        real(3, 4, 2),
    ),
    "gradient of softmax": (gradient(lambda x: F.softmax(x, 1)), X, Y),
    "gradient of log_softmax": (gradient(lambda x: F.log_softmax(x, 1)), X, Y),
    "gradient of activations": (
        gradient(
            lambda x: F.gelu(x)
            + F.silu(x)
            + F.relu(x)
            + x.tanh()
            + x.sigmoid()
            + F.elu(x)
            + F.softplus(x)
            + F.leaky_relu(x)
            + F.hardswish(x)
        ),
        X,
        Y,
    ),
    "gradient of gelu tanh": (
        gradient(lambda x: F.gelu(x, approximate="tanh") + F.mish(x) + F.logsigmoid(x) + F.hardtanh(x)),
        X,
        Y,
    ),
    "gradient of hardsigmoid": (gradient(F.hardsigmoid), X, Y),
    "gradient of matmul": (gradient(torch.matmul, (0, 1)), real(2, 3, 4), real(4, 5), real(2, 3, 5)),
    "gradient of cross_entropy": (
        gradient(lambda x, t: F.cross_entropy(x, t)),
        real(4, 6),
        whole(4, low=0, high=6),
        torch.tensor(2.0, dtype=torch.float64),
    ),
    "gradient of nll, not reduced": (
        gradient(lambda x, t: F.nll_loss(x, t, reduction="none", ignore_index=1)),
        real(4, 6),
        torch.tensor([1, 0, 5, 1]),
        real(4),
    ),
    "gradient of losses": (
        gradient(lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y) + F.l1_loss(x, y), (0, 1)),
        X,
        Y,
        torch.tensor(1.5, dtype=torch.float64),
    ),
    "gradient of bce": (
        gradient(lambda x, q: F.binary_cross_entropy_with_logits(x, q) + F.binary_cross_entropy(x.sigmoid(), q)),
        X,
        UNIT.abs(),
        torch.tensor(1.5, dtype=torch.float64),
    ),
    "gradient of conv2d": (
        gradient(lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2), (0, 1, 2)),
        real(2, 4, 5, 6),
        real(6, 2, 3, 3),
        real(6),
        real(2, 6, 3, 3),
    ),
    "gradient of conv1d dilated": (
        gradient(lambda x, w: F.conv1d(x, w, dilation=2, padding=1), (0, 1)),
        real(2, 3, 9),
        real(4, 3, 3),
        real(2, 4, 7),
    ),
    "gradient of conv_transpose2d": (
        gradient(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, groups=2), (0, 1)),
        real(2, 4, 3, 4),
        real(4, 3, 3, 2),
        real(2, 6, 5, 6),
    ),
    "gradient of max_pool2d": (gradient(lambda x: F.max_pool2d(x, 3, 2, 1)), real(1, 2, 6, 7), real(1, 2, 3, 4)),
    "gradient of avg_pool2d": (
        gradient(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
        real(1, 2, 6, 7),
        real(1, 2, 3, 4),
    ),
    "gradient of avg_pool2d, padding counted": (
        gradient(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)),
        real(1, 2, 6, 7),
        real(1, 2, 4, 4),
    ),
    "gradient of adaptive_avg_pool2d": (
        gradient(lambda x: F.adaptive_avg_pool2d(x, (3, 2))),
        real(1, 2, 7, 5),
        real(1, 2, 3, 2),
    ),
    "gradient of embedding": (
        gradient(lambda w, i: F.embedding(i, w, padding_idx=1)),
        real(7, 4),
        whole(2, 3, low=0, high=7),
        real(2, 3, 4),
    ),
    "gradient of gather": (gradient(lambda x, i: x.gather(1, i)), X, whole(3, 4, low=0, high=5), real(3, 4)),
    "gradient of index": (gradient(lambda x, i: x[i]), X, whole(6, low=0, high=3), real(6, 5)),
    "gradient of views": (gradient(lambda x: torch.cat([x[1:].t() * 2, x[:2].t()], 1)), X, real(5, 4)),
    "gradient of reductions": (
        gradient(lambda x: x.sum(1) + x.var(1) + x.amax(1) + x.logsumexp(1) + x.norm(dim=1) + x.prod(1)),
        X,
        real(3),
    ),
    "gradient of cumsum": (gradient(lambda x: x.cumsum(1) * 2), X, Y),
    "gradient of attention": (
        gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (0, 1, 2)),
        real(2, 4, 3),
        real(2, 4, 3),
        real(2, 4, 3),
        real(2, 4, 3),
    ),
    "gradient of rms_norm": (gradient(lambda x, w: F.rms_norm(x, (5,), w, 1e-5), (0, 1)), X, real(5), Y),
    "gradient of pad": (gradient(lambda x: F.pad(x, (1, 2, 0, 1))), X, real(4, 8)),
    "gradient of reflection": (gradient(lambda x: F.pad(x, (2, 1), "reflect")), real(1, 3, 5), real(1, 3, 8)),
    "gradient of interpolate": (
        gradient(lambda x: F.interpolate(x, scale_factor=2)),
        real(1, 2, 3, 4),
        real(1, 2, 6, 8),
    ),
    "gradient of bilinear": (
        gradient(lambda x: F.interpolate(x, size=(5, 7), mode="bilinear")),
        real(1, 2, 3, 4),
        real(1, 2, 5, 7),
    ),
    "second gradient": (lambda x: (_second(x),), X),
}


def _assigned(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x.clone()
    z[1] = y[0]
    z[:, 2:4] *= 2
    z.t()[0].sub_(y[:, 1])
    z[0, 0] = 7
    return z


def _shifted(x: torch.Tensor) -> torch.Tensor:
    z = x.clone()
    z[:] = z.roll(1, 1) + z.flip(0)
    return z


def _read_before_written(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    z = x.clone()
    before = z * 2
    z.add_(1)
    return before, z


def _second(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    (first,) = torch.autograd.grad((x**3).sum() + x.sin().sum(), x, create_graph=True)
    return torch.autograd.grad((first * first).sum(), x)[0]


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_pytorch(name: str, tmp_path: Path) -> None:
    fn, *args = CASES[name]
    # PyTorch's own interpolation and this gradient take their factors in single precision.
    loose = 1e-5 if "bilinear" in name or "interpolate" in name or "grid" in name or "of hardsigmoid" in name else 1e-9
    agree(tmp_path, fn, *args, tolerance=loose)
