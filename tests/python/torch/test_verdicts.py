"""Verdicts on pairs of PyTorch functions: a right pair and a wrong neighbour each, by the same engine as kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import coequal as cq
import pytest
import torch
import torch.nn.functional as F


def verdict(a: Callable[..., Any], b: Callable[..., Any], *specs: Any) -> str:
    class Pair(cq.Instance):
        def setup(self) -> None:
            self.inputs = [cq.input(s, "f32") if isinstance(s, tuple) else s for s in specs]

        def program_a(self) -> Any:
            return {"y": cq.torch(a, *self.inputs)}

        def program_b(self) -> Any:
            return {"y": cq.torch(b, *self.inputs)}

    return cq.check(Pair, budget=20).verdict


def softmax_of_sums(x: torch.Tensor) -> torch.Tensor:
    e = x.exp()
    return e / e.sum(-1, keepdim=True)


def layer_norm(correction: int) -> Callable[..., torch.Tensor]:
    def composed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        variance, mean = torch.var_mean(x, -1, correction=correction, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * w

    return composed


def attention(scale: float) -> Callable[..., torch.Tensor]:
    return lambda q, k, v: softmax_of_sums(q @ k.transpose(-2, -1) * scale) @ v


def convolution(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (w.flatten(1) @ F.unfold(x, 3, padding=1)).view(1, 4, 6, 6)


def gradient(fn: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def by_first(x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(fn(x, *rest[:-1]), x, rest[-1])[0]

    return by_first


LABELS = cq.input((4,), "i64", min=0, max=6)
PAIRS: dict[str, tuple[Any, ...]] = {
    "softmax": (lambda x: F.softmax(x, -1), softmax_of_sums, lambda x: F.softmax(x, 0), (5, 7)),
    "layer_norm": (lambda x, w: F.layer_norm(x, (8,), w), layer_norm(0), layer_norm(1), (3, 8), (8,)),
    "gelu": (
        F.gelu,
        lambda x: x / 2 * (1 + torch.erf(x / math.sqrt(2))),
        lambda x: F.gelu(x, approximate="tanh"),
        (40,),
    ),
    "mish": (
        F.mish,
        lambda x: x * torch.tanh(F.softplus(x)),
        lambda x: x * torch.tanh(F.softplus(x, threshold=2)),
        (40,),
    ),
    "attention": (
        F.scaled_dot_product_attention,
        attention(1 / math.sqrt(6)),
        attention(1 / 6),
        (2, 5, 6),
        (2, 5, 6),
        (2, 5, 6),
    ),
    "convolution": (
        lambda x, w: F.conv2d(x, w, padding=1),
        convolution,
        lambda x, w: F.conv2d(x.transpose(2, 3), w, padding=1),
        (1, 3, 6, 6),
        (4, 3, 3, 3),
    ),
    "pooling": (
        lambda x: F.avg_pool2d(x, 2, 1, 1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 2, 1, 1) / F.avg_pool2d(torch.ones_like(x), 2, 1, 1),
        lambda x: F.avg_pool2d(x, 2, 1, 1),
        (1, 2, 5, 5),
    ),
    "cross_entropy": (
        F.cross_entropy,
        lambda x, t: (x.logsumexp(1) - x.gather(1, t[:, None])[:, 0]).mean(),
        lambda x, t: (x.logsumexp(1) - x.gather(1, t[:, None])[:, 0]).sum(),
        (4, 7),
        LABELS,
    ),
    "gradient": (
        gradient(torch.tanh),
        lambda x, g: g * (1 - torch.tanh(x) ** 2),
        lambda x, g: g * (1 - torch.tanh(x)),
        (20,),
        (20,),
    ),
    "scatter": (
        lambda x: torch.zeros(4, 5).index_add(0, torch.tensor([2, 0, 2]), x),
        lambda x: torch.stack([x[1], torch.zeros(5), x[0] + x[2], torch.zeros(5)]),
        lambda x: torch.stack([x[1], torch.zeros(5), x[2], torch.zeros(5)]),
        (3, 5),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_right_pair_is_proved(name: str) -> None:
    function, right, _, *specs = PAIRS[name]
    assert verdict(function, right, *specs) == "equivalent"


@pytest.mark.parametrize("name", PAIRS)
def test_wrong_neighbour_is_refuted(name: str) -> None:
    function, _, wrong, *specs = PAIRS[name]
    assert verdict(function, wrong, *specs) == "inequivalent"
