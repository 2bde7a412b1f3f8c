#!/usr/bin/env python3
"""Checks kernels of flag-gems, liger-kernel and fla-core, as installed, against the PyTorch functions they stand for.

pip install --no-deps flag-gems==5.0.2 liger-kernel==0.8.5 fla-core==0.6.0
pip install sqlalchemy psutil PyYAML packaging einops
python check.py                       # all entries
python check.py liger.rope fla.       # those whose names begin so
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import coequal as cq
import torch
import torch.nn.functional as F

os.environ.setdefault("GEMS_VENDOR", "nvidia")

S = cq.spec
X, ROW = S((3, 37)), S((37,))
IMAGE, CHANNEL = S((2, 6, 5, 3)), S((6,))
HEADS, ANGLES = S((2, 5, 3, 8)), S((5, 4))
LABELS = S((3,), "i64", min=0, max=36)


def load(path: str) -> Any:
    """A function of a library by its path. Called under capture: imports see the device that is not there."""
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    if path.startswith("flag_gems"):
        from flag_gems.utils.codegen_config_utils import CODEGEN_COFIGS

        for config in CODEGEN_COFIGS.values():
            if config is not None:
                config.prefer_block_pointer = False  # Triton no longer has them
    return found


def gems(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: load(f"flag_gems.{name}")(*args, **kwargs)


def liger(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: load(f"liger_kernel.transformers.functional.liger_{name}")(*args, **kwargs)


def fla(path: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: load(f"fla.{path}")(*args, **kwargs)


def given(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """fn with these arguments after those that it is called with."""
    return lambda *tensors: fn(*tensors, *args, **kwargs)


def first(fn: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """The first of fn's results, or several."""
    return lambda *args: fn(*args)[0] if count == 1 else tuple(fn(*args)[:count])


def labelled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn with known labels as its last argument, for host code that counts them."""
    return lambda *args: fn(*args, torch.tensor([3, 10, 0], device="cuda"))


def gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients of fn by its floats; the gradient of its result is the first argument.

    All are copies: some kernels put gradients where the arguments were.
    """

    def backward(result_gradient: Any, *args: Any) -> Any:
        args = tuple(a.clone().detach().requires_grad_() if a.is_floating_point() else a for a in args)
        return torch.autograd.grad(fn(*args), [a for a in args if a.requires_grad], result_gradient.clone())

    return backward


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    """Rotary embedding of halves; cos and sin are of half the width of x."""
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def rotated_pair(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    cos, sin = cos[:, None], sin[:, None]
    return rotated(q, cos, sin), rotated(k, cos, sin)


def liger_rotary(q: Any, k: Any, cos: Any, sin: Any) -> Any:
    q, k = q.clone().transpose(1, 2), k.clone().transpose(1, 2)  # it works in place
    cos, sin = torch.cat([cos, cos], -1)[None], torch.cat([sin, sin], -1)[None]
    return tuple(x.transpose(1, 2) for x in liger("rope")(q, k, cos, sin))


def linear_cross_entropy(x: Any, weight: Any, labels: Any) -> Any:
    return F.cross_entropy(x @ weight.t(), labels)


def jensen_shannon(p: Any, q: Any) -> Any:
    """Of logarithms of probabilities, each weighted by one half."""
    mixed = (0.5 * p.exp() + 0.5 * q.exp()).log()
    parts = F.kl_div(mixed, p, reduction="sum", log_target=True) + F.kl_div(mixed, q, reduction="sum", log_target=True)
    return 0.5 * parts / p.shape[0]


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def linear_attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return ((q @ k.transpose(-1, -2)).tril() * q.shape[-1] ** -0.5 @ v).transpose(1, 2)


def causal_convolution(x: Any, weight: Any) -> Any:
    return F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), weight[:, None], groups=x.shape[2]).transpose(1, 2)


def shifted(x: Any) -> Any:
    return F.pad(x, (0, 0, 1, 0))[:, :-1] - x


def l2(x: Any) -> Any:
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def added(norm: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of two and its norm."""
    return lambda x, r, *weights: (norm(x + r, *weights), x + r)


def in_place(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, which changes its first two arguments, on copies: what it leaves there."""

    def copied(x: Any, r: Any, *args: Any) -> Any:
        x, r = x.clone(), r.clone()
        fn(x, r, *args)
        return x, r

    return copied


def total_variation(p: Any, q: Any) -> Any:
    return 0.5 * (p - q).abs().sum() / p.shape[0]


def routed(gates: Any) -> Any:
    """The two experts with the largest gates, and their share."""
    weights = torch.softmax(gates, -1)
    return torch.topk(weights, 2, -1)


def gems_routed(gates: Any) -> Any:
    shape = (gates.shape[0], 2)
    weights = torch.empty(shape, device="cuda")
    experts, rows = (torch.empty(shape, dtype=torch.int32, device="cuda") for _ in range(2))
    gems("topk_softmax")(weights, experts, rows, gates)
    return weights, experts.long()


def gems_summed(x: Any) -> Any:
    out = torch.empty((x.shape[0], x.shape[2]), device="cuda")
    gems("moe_sum")(x, out)
    return out


def local_sums(x: Any) -> Any:
    """Running sums that begin anew every 16 steps."""
    batch, time, heads = x.shape
    return x.view(batch, time // 16, 16, heads).cumsum(2).view(x.shape)


def pooled(x: Any) -> Any:
    """Means of 32 steps each; the last part is shorter."""
    return torch.stack([part.mean(1) for part in x.split(32, 1)], 1)


def retained(q: Any, k: Any, v: Any, g: Any) -> Any:
    """Linear attention with a decay: g are logarithms, by head."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    sums = g.transpose(1, 2).cumsum(-1)
    decay = torch.exp((sums[..., :, None] - sums[..., None, :]).tril()).tril()
    return ((q @ k.transpose(-1, -2)) * decay * q.shape[-1] ** -0.5 @ v).transpose(1, 2)


def hadamard(x: Any) -> Any:
    """By Sylvester's construction."""
    matrix = torch.ones((1, 1), device="cuda")
    while matrix.shape[0] < x.shape[-1]:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
    return x @ matrix


def recurrent(x: Any, g: Any) -> Any:
    """h = exp(g) h + x, step by step."""
    h, out = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        h = g[:, t].exp() * h + x[:, t]
        out.append(h)
    return torch.stack(out, 1)


gelu_tanh = functools.partial(F.gelu, approximate="tanh")
rms = lambda x, w: F.rms_norm(x, (37,), w, 1e-5)  # noqa: E731
layer = lambda x, w, b: F.layer_norm(x, (37,), w, b, 1e-5)  # noqa: E731
swiglu = lambda a, b: F.silu(a) * b  # noqa: E731

# Name, function of the library, function of PyTorch, arguments.
ENTRIES: list[tuple[Any, ...]] = [
    ("gems.gelu", given(gems("gelu"), approximate="tanh"), gelu_tanh, X),
    ("gems.silu_backward", gems("silu_backward"), first(gradient(F.silu)), X, X),
    ("gems.silu_and_mul", gems("silu_and_mul"), swiglu, X, X),
    ("gems.gelu_and_mul", gems("gelu_and_mul"), lambda a, b: F.gelu(a) * b, X, X),
    ("gems.softmax", given(gems("softmax"), 1), given(torch.softmax, 1), X),
    ("gems.log_softmax", given(gems("log_softmax"), 1), given(torch.log_softmax, 1), X),
    ("gems.layer_norm", first(lambda x, w, b: gems("layer_norm")(x, (37,), w, b)), layer, X, ROW, ROW),
    ("gems.rms_norm", lambda x, w: gems("rms_norm")(x, (37,), w), rms, X, ROW),
    ("gems.group_norm", first(given(gems("group_norm"), 2, 6, 15, 2)), lambda x, w, b: F.group_norm(x, 2, w, b),
     IMAGE, CHANNEL, CHANNEL),
    ("gems.batch_norm", first(given(gems("batch_norm"), None, None, True)),
     lambda x, w, b: F.batch_norm(x, None, None, w, b, True), IMAGE, CHANNEL, CHANNEL),
    ("gems.cross_entropy_loss", gems("cross_entropy_loss"), F.cross_entropy, X, LABELS),
    ("gems.apply_rotary_pos_emb", gems("apply_rotary_pos_emb"), rotated_pair, HEADS, HEADS, ANGLES, ANGLES),
    ("gems.var_mean", given(gems("var_mean"), [1], correction=1), given(torch.var_mean, [1]), X),
    ("gems.sum_dim", given(gems("sum_dim"), [0]), given(torch.sum, [0]), X),
    ("gems.argmax", given(gems("argmax"), 1), given(torch.argmax, 1), X),
    ("gems.cumsum", given(gems("cumsum"), 1), given(torch.cumsum, 1), X),
    ("gems.index_select", lambda x, i: gems("index_select")(x, 1, i), lambda x, i: torch.index_select(x, 1, i),
     X, S((5,), "i64", min=0, max=36)),
    ("gems.gather", lambda x, i: gems("gather")(x, 1, i), lambda x, i: torch.gather(x, 1, i),
     X, S((3, 5), "i64", min=0, max=36)),
    ("gems.max_pool2d", first(given(gems("max_pool2d_with_indices"), 2)), given(F.max_pool2d, 2), IMAGE),
    ("gems.avg_pool2d", given(gems("avg_pool2d"), 3, 2, 1), given(F.avg_pool2d, 3, 2, 1), IMAGE),
    ("gems.attention", first(gems("scaled_dot_product_attention_forward")), F.scaled_dot_product_attention,
     *[S((1, 2, 5, 16))] * 3),
    ("liger.geglu", liger("geglu"), lambda a, b: gelu_tanh(a) * b, X, X),
    ("liger.swiglu gradient", gradient(liger("swiglu")), gradient(swiglu), X, X, X),
    ("liger.rms_norm", given(liger("rms_norm"), 1e-5), rms, X, ROW),
    ("liger.rms_norm gradient", gradient(given(liger("rms_norm"), 1e-5)), gradient(rms), X, X, ROW),
    ("liger.layer_norm gradient", gradient(given(liger("layer_norm"), 1e-5)), gradient(layer), X, X, ROW, ROW),
    ("liger.group_norm", given(liger("group_norm"), 6, 2, 1e-5), lambda x, w, b: F.group_norm(x, 2, w, b),
     S((2, 6, 5)), CHANNEL, CHANNEL),
    ("liger.softmax", liger("softmax"), given(torch.softmax, -1), X),
    ("liger.cross_entropy", labelled(lambda x, t: liger("cross_entropy")(x.clone(), t)), labelled(F.cross_entropy), X),
    ("liger.rope", liger_rotary, rotated_pair, HEADS, HEADS, ANGLES, ANGLES),
    ("liger.kl_div", given(liger("kl_div"), reduction="batchmean"), given(F.kl_div, reduction="batchmean"),
     X, S((3, 37), above=0)),
    ("liger.jsd", liger("jsd"), jensen_shannon, X, X),
    ("liger.fused_linear_cross_entropy", labelled(liger("fused_linear_cross_entropy")), labelled(linear_cross_entropy),
     S((3, 8)), S((11, 8))),
    ("fla.swish", fla("modules.activations.swish"), F.silu, X),
    ("fla.swiglu gradient", gradient(fla("modules.activations.swiglu")), gradient(swiglu), X, X, X),
    ("fla.l2norm", fla("modules.l2norm.l2norm"), l2, X),
    ("fla.rms_norm_gated", lambda x, g, w: fla("modules.fused_norm_gate.rms_norm_gated")(x, g, w, None, eps=1e-5),
     lambda x, g, w: rms(x, w) * F.silu(g), X, X, ROW),
    ("fla.rotary_embedding", fla("modules.rotary.rotary_embedding"),
     lambda x, c, s: rotated(x, c[:, None], s[:, None]), HEADS, ANGLES, ANGLES),
    ("fla.token_shift", fla("modules.token_shift.token_shift"), shifted, S((2, 5, 7))),
    ("fla.parallel_attn", fla("ops.attn.parallel_attn"), causal_attention, *[S((1, 5, 2, 16))] * 3),
]  # fmt: skip

MORE: list[tuple[Any, ...]] = [
    ("gems.instance_norm", gems("instance_norm"), lambda x, w, b: F.instance_norm(x, None, None, w, b),
     IMAGE, CHANNEL, CHANNEL),
    ("gems.skip_layer_norm", lambda x, r, w, b: gems("skip_layer_norm")(x, r, (37,), w, b),
     lambda x, r, w, b: layer(x + r, w, b), X, X, ROW, ROW),
    ("gems.fused_add_rms_norm", in_place(lambda x, r, w: gems("fused_add_rms_norm")(x, r, (37,), w)), added(rms),
     X, X, ROW),
    ("gems.weight_norm", first(given(gems("weight_norm_interface"), 0)), lambda v, g: torch._weight_norm(v, g, 0),
     X, S((3, 1), above=0)),
    ("gems.nll_loss", first(gems("nll_loss_forward")), F.nll_loss, X, LABELS),
    ("gems.mse_loss", gems("mse_loss"), F.mse_loss, X, X),
    ("gems.softmax_backward", lambda g, y: gems("softmax_backward")(g, y, 1, None),
     lambda g, y: g * y - y * (g * y).sum(1, keepdim=True), X, X),
    ("gems.log_softmax_backward", lambda g, y: gems("log_softmax_backward")(g, y, 1, None),
     lambda g, y: g - y.exp() * g.sum(1, keepdim=True), X, X),
    ("gems.glu", gems("glu"), F.glu, S((3, 38))),
    ("gems.prelu", gems("prelu"), F.prelu, X, S((1,))),
    ("gems.vector_norm", given(gems("vector_norm"), 2, [1]), given(torch.linalg.vector_norm, 2, [1]), X),
    ("gems.std", given(gems("std"), [1]), given(torch.std, [1]), X),
    ("gems.max_dim", first(given(gems("max_dim"), 1)), first(given(torch.max, 1)), X),
    ("gems.cummax", first(given(gems("cummax"), 1)), first(given(torch.cummax, 1)), X),
    ("gems.topk", first(given(gems("topk"), 3)), first(given(torch.topk, 3)), S((3, 8))),
    ("gems.embedding", gems("embedding"), lambda w, i: F.embedding(i, w), S((11, 40)),
     S((2, 5), "i64", min=0, max=10)),
    ("gems.scatter", lambda x, i, y: gems("scatter")(x, 1, i, y), lambda x, i, y: torch.scatter(x, 1, i, y),
     X, S((3, 1), "i64", min=0, max=36), S((3, 1))),
    ("gems.scatter_add", lambda x, i, y: gems("scatter_add_")(x.clone(), 1, i, y),
     lambda x, i, y: torch.scatter_add(x, 1, i, y), X, S((3, 5), "i64", min=0, max=36), S((3, 5))),
    ("gems.masked_fill", given(gems("masked_fill"), 2.5), given(torch.masked_fill, 2.5), X, S((3, 37), "bool")),
    ("gems.where", gems("where_self"), torch.where, S((3, 37), "bool"), X, X),
    ("gems.upsample_nearest2d", given(gems("upsample_nearest2d"), (7, 9)),
     lambda x: F.interpolate(x, size=(7, 9), mode="nearest"), S((1, 2, 4, 5))),
    ("gems.upsample_bicubic2d", given(gems("upsample_bicubic2d"), (7, 9)),
     lambda x: F.interpolate(x, size=(7, 9), mode="bicubic"), S((1, 2, 4, 5))),
    ("gems.conv2d", gems("conv2d"), F.conv2d, S((1, 3, 9, 10)), S((4, 3, 3, 3))),
    ("gems.addmm", gems("addmm"), torch.addmm, ROW, S((5, 40)), S((40, 37))),
    ("gems.bmm", gems("bmm"), torch.bmm, S((2, 17, 20)), S((2, 20, 13))),
    ("gems.avg_pool2d gradient", lambda g, x: gems("avg_pool2d_backward")(g, x, 3, 2, 1, False, True, None),
     first(gradient(given(F.avg_pool2d, 3, 2, 1))), S((2, 6, 3, 2)), IMAGE),
    ("gems.moe_sum", gems_summed, lambda x: x.sum(1), S((5, 4, 40))),
    ("gems.topk_softmax", gems_routed, routed, S((5, 8))),
    ("gems.hadamard_transform", gems("hadamard_transform"), hadamard, S((4, 16))),
    ("liger.geglu gradient", gradient(liger("geglu")), gradient(lambda a, b: gelu_tanh(a) * b), X, X, X),
    ("liger.softmax gradient", gradient(liger("softmax")), gradient(given(torch.softmax, -1)), X, X),
    ("liger.fused_add_rms_norm", given(liger("fused_add_rms_norm"), 1e-5), added(rms), X, X, ROW),
    ("liger.tvd", given(liger("tvd"), reduction="batchmean"), total_variation, X, X),
    ("liger.relu_squared gradient", gradient(liger("relu_squared")), gradient(lambda x: F.relu(x) ** 2), X, X),
    ("liger.dyt", liger("dyt"), lambda x, a, g, b: torch.tanh(a * x) * g + b, X, S((1,)), ROW, ROW),
    ("fla.logsigmoid gradient", gradient(fla("modules.activations.logsigmoid")), gradient(F.logsigmoid), X, X),
    ("fla.cross_entropy_loss", lambda x, t: fla("modules.fused_cross_entropy.cross_entropy_loss")(x, t)[0],
     lambda x, t: F.cross_entropy(x, t, reduction="none"), X, LABELS),
    ("fla.causal_conv1d", lambda x, w: fla("modules.causal_conv1d.causal_conv1d")(x, w, activation="silu",
     backend="triton")[0], lambda x, w: F.silu(causal_convolution(x, w)), S((2, 9, 24)), S((24, 4))),
    ("fla.chunk_local_cumsum", given(fla("ops.utils.cumsum.chunk_local_cumsum"), 16), local_sums, S((2, 32, 3))),
    ("fla.mean_pooling", given(fla("ops.utils.pooling.mean_pooling"), 32), pooled, S((1, 70, 2, 32))),
    ("fla.linear_attn", first(fla("ops.linear_attn.fused_recurrent_linear_attn")), linear_attention,
     *[S((1, 5, 2, 16))] * 3),
    ("fla.parallel_simple_gla", first(fla("ops.simple_gla.parallel_simple_gla")), retained,
     *[S((1, 20, 1, 16))] * 3, S((1, 20, 1))),
    ("fla.hgrn", first(fla("ops.hgrn.fused_recurrent_hgrn")), recurrent, S((1, 9, 8)), S((1, 9, 8))),
]  # fmt: skip


def check(entry: tuple[Any, ...], budget: float) -> tuple[str, str]:
    """The verdict and the first reason for it."""
    name, ours, reference, *specs = entry
    try:
        cq.assert_equivalent(ours, reference, *specs, name=name, budget=budget)
        return "equivalent", ""
    except cq.NotEquivalent as failure:
        return failure.result.verdict, reason(failure.result)
    except Exception as error:  # of the library's host code
        return "error", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def reason(result: cq.Result) -> str:
    """In one line, with the place."""
    if result.witness:
        found = result.witness
        return f"{found.cell}: {found.a} against {found.b} at {place(found.store_a.file, found.store_a.line)}"
    if result.defects:
        defect = result.defects[0]
        places = dict.fromkeys(place(access.place.file, access.place.line) for access in defect.accesses)
        return f"{defect.kind} at {', '.join(places)}"
    for row in (*result.report["refusals"], *result.report["undecided"]):
        return f"{row.get('instruction', '')} {row['reason']} at {place(row['file'], row['line'])}".strip()
    return ""


def place(file: str | None, line: int | None) -> str:
    return f"{'/'.join((file or '?').split('/')[-3:])}:{line}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names of entries")
    parser.add_argument("--budget", type=float, default=20, help="seconds an entry, after compilation")
    options = parser.parse_args()
    counts: dict[str, int] = {}
    for entry in ENTRIES + MORE:
        if options.names and not entry[0].startswith(tuple(options.names)):
            continue
        start = time.monotonic()
        verdict, why = check(entry, options.budget)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{entry[0]:34} {verdict:12} {time.monotonic() - start:6.1f}  {why}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


if __name__ == "__main__":
    main()
