"""The calls whose kernels are recorded: public functions of flag-gems, liger-kernel and fla-core with arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import coequal as cq


@dataclass(frozen=True)
class Call:
    function: str  # by its path
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    gradient: bool  # the backward kernels, too


@dataclass(frozen=True)
class Known:
    """Integers that host code may read."""

    values: tuple[int, ...]


def gems(name: str, *args: Any, **kwargs: Any) -> Call:
    return Call(f"flag_gems.{name}", args, kwargs, False)


def liger(name: str, *args: Any, **kwargs: Any) -> Call:
    return Call(f"liger_kernel.transformers.functional.liger_{name}", args, kwargs, True)


def fla(path: str, *args: Any, **kwargs: Any) -> Call:
    return Call(f"fla.{path}", args, kwargs, True)


def forward(call: Call) -> Call:
    return Call(call.function, call.args, call.kwargs, False)


def f32(*shape: int, **bounds: Any) -> Any:
    return cq.spec(shape, "f32", **bounds)


def f16(*shape: int) -> Any:
    return cq.spec(shape, "f16")


def bf16(*shape: int) -> Any:
    return cq.spec(shape, "bf16")


def index(*shape: int, below: int, dtype: str = "i64") -> Any:
    return cq.spec(shape, dtype, min=0, max=below - 1)


def known(values: list[int]) -> Known:
    return Known(tuple(values))


def boolean(*shape: int) -> Any:
    return cq.spec(shape, "bool")


X, ROW, COLUMN = f32(3, 37), f32(37), f32(3)
WIDE = f32(4, 1500)
IMAGE, CHANNEL = f32(2, 6, 5, 3), f32(6)
HALF = f16(8, 256)
HEADS, ANGLES = f32(2, 5, 3, 8), f32(5, 4)
LABELS = index(3, below=37)
# Batch, time, heads, width: the time is no multiple of a chunk.
Q, Q64 = bf16(1, 70, 2, 32), bf16(1, 128, 1, 64)
GATE, BETA = bf16(1, 70, 2), bf16(1, 70, 2)
SLOTS, TIMES = bf16(1, 70, 2, 16), bf16(1, 70, 64)

CALLS = [
    gems("abs", X), gems("exp2", WIDE), gems("erf", HALF), gems("gelu", X), gems("silu", HALF), gems("tan", X),
    gems("log_sigmoid", X), gems("logaddexp", X, X), gems("hypot", X, X), gems("atan2", X, X), gems("i0", X),
    gems("pow_tensor_tensor", f32(3, 37, above=0), X), gems("addcdiv", X, X, X), gems("lerp_tensor", X, X, X),
    gems("where_self", boolean(3, 37), X, X), gems("masked_fill", X, boolean(3, 37), 2.5), gems("isclose", X, X),
    gems("tanh_backward", X, X), gems("threshold_backward", X, X, 0.5), gems("softplus", X), gems("polar", X, X),
    gems("glu", f32(3, 38)), gems("gelu_and_mul", X, X), gems("prelu", X, f32(1)), gems("floor_divide", X, X),
    gems("softmax", X, 1), gems("softmax", f32(3, 17, 5), 1), gems("softmax_backward", X, X, 1, None),
    gems("log_softmax", X, 1), gems("log_softmax_backward", X, X, 1, None),
    gems("scaled_softmax_forward", f16(1, 2, 16, 64), 0.5), gems("layer_norm", X, (37,), ROW, ROW),
    gems("layer_norm_backward", X, X, (37,), COLUMN, COLUMN, ROW, ROW, (True, True, True)),
    gems("rms_norm_forward", X, (37,), ROW), gems("rms_norm_backward", X, X, COLUMN, (37,), ROW),
    gems("group_norm", IMAGE, CHANNEL, CHANNEL, 2, 6, 15, 2),
    gems("group_norm_backward", IMAGE, IMAGE, f32(2, 2), f32(2, 2), CHANNEL, 2, 6, 15, 2, (True, True, True)),
    gems("batch_norm", IMAGE, CHANNEL, CHANNEL, None, None, True),
    gems("batch_norm_backward", IMAGE, IMAGE, CHANNEL, None, None, CHANNEL, CHANNEL, True, 1e-5, (True, True, True)),
    gems("instance_norm", IMAGE, CHANNEL, CHANNEL), gems("skip_layer_norm", X, X, (37,), ROW, ROW),
    gems("fused_add_rms_norm", X, X, (37,), ROW), gems("weight_norm_interface", X, f32(3, 1), 0),
    gems("weight_norm_interface_backward", X, X, f32(3, 1), COLUMN, 0), gems("cross_entropy_loss", X, LABELS),
    gems("nll_loss_forward", X, LABELS), gems("mse_loss", X, X), gems("sum", WIDE), gems("sum_dim", X, [0]),
    gems("mean_dim", WIDE, [1]), gems("prod", X), gems("var_mean", X, [1]), gems("std", X, [1]),
    gems("vector_norm", X, 2, [1]), gems("amax", X, [1]), gems("max_dim", X, 1), gems("min_dim", X, 1),
    gems("argmax", X, 1), gems("argmin", X), gems("all_dim", X, 1), gems("any", X), gems("count_nonzero", X, 1),
    gems("cumsum", WIDE, 1), gems("normed_cumsum", X), gems("cummax", X, 1), gems("trace", f32(9, 9)),
    gems("topk", f32(3, 64), 5), gems("sort", f32(3, 20)), gems("isin", index(3, 7, below=50), index(5, below=50)),
    gems("embedding", f32(11, 40), index(2, 5, below=11)),
    gems("embedding_backward", f32(2, 5, 40), index(2, 5, below=11), 11), gems("gather", X, 1, index(3, 5, below=37)),
    gems("scatter", X, 1, index(3, 5, below=37), f32(3, 5)),
    gems("scatter_add_", X, 1, index(3, 5, below=37), f32(3, 5)), gems("index_select", X, 1, index(5, below=37)),
    gems("conv3d", f32(1, 2, 5, 6, 7), f32(3, 2, 3, 3, 3)),
    gems("index_put", X, (index(4, below=3), index(4, below=37)), f32(4)), gems("tril", f32(7, 9)),
    gems("cat", [X, f32(2, 37)]), gems("flip", X, (0, 1)), gems("repeat", X, (2, 3)),
    gems("constant_pad_nd", X, (1, 2, 0, 1)), gems("diag", ROW), gems("diag_embed", X), gems("eye", 9),
    gems("kron", f32(3, 4), f32(2, 5)), gems("arange", 100), gems("linspace", 0.0, 1.0, 33),
    gems("one_hot", index(7, below=9), 9), gems("roll", X, 2, 1), gems("slice_scatter", X, f32(3, 10), 1, 2, 22, 2),
    gems("upsample_nearest2d", f32(1, 2, 4, 5), (7, 9)), gems("upsample_bicubic2d", f32(1, 2, 4, 5), (7, 9)),
    gems("_upsample_bicubic2d_aa", f32(1, 2, 8, 9), (4, 5)), gems("avg_pool2d", IMAGE, 3, 2, 1),
    gems("avg_pool2d_backward", f32(2, 6, 3, 2), IMAGE, 3, 2, 1, False, True, None),
    gems("max_pool2d_with_indices", IMAGE, 2),
    gems("max_pool2d_backward", f32(2, 6, 2, 1), IMAGE, index(2, 6, 2, 1, below=15), 2, 2, 0, 1, False),
    gems("conv1d", f32(1, 3, 20), f32(4, 3, 5)), gems("conv2d", f32(1, 3, 9, 10), f32(4, 3, 3, 3)),
    gems("_conv_depthwise2d", f32(1, 4, 9, 10), f32(4, 1, 3, 3), (3, 3), None, (1, 1), (1, 1), (1, 1)),
    gems("mm", f32(17, 40), f32(40, 23)), gems("mm", f16(128, 256), f16(256, 64)),
    gems("bmm", f16(2, 40, 64), f16(2, 64, 48)), gems("addmm", ROW, f32(5, 40), f32(40, 37)), gems("mv", X, ROW),
    gems("dot", ROW, ROW), gems("outer", ROW, ROW),
    gems("scaled_dot_product_attention_forward", f16(1, 2, 70, 64), f16(1, 2, 70, 64), f16(1, 2, 70, 64), None, 0.0,
         True), gems("scaled_dot_product_attention_backward", *[f16(1, 2, 70, 64)] * 5, f32(1, 2, 70), None, 0.0, True),
    gems("flash_attention_forward", *[f16(1, 70, 2, 64)] * 3, None, None, 70, 70, 0.0, True, False),
    gems("apply_rotary_pos_emb", HEADS, HEADS, ANGLES, ANGLES), gems("geglu", f32(3, 74)),
    gems("dgeglu", X, f32(3, 74)), gems("moe_sum", f32(5, 4, 40), f32(5, 40)),
    gems("topk_softmax", f32(5, 2), index(5, 2, below=8, dtype="i32"), index(5, 2, below=8, dtype="i32"), f32(5, 8)),
    gems("moe_align_block_size_triton", index(5, 2, below=4, dtype="i32"), 4, 16, index(64, below=64, dtype="i32"),
         index(16, below=4, dtype="i32"), index(1, below=64, dtype="i32")), gems("repeat_interleave_self_int", X, 3, 1),
    gems("upsample_linear1d", f32(1, 2, 9), [13], False),
    gems("reshape_and_cache_flash", f16(6, 2, 32), f16(6, 2, 32), f16(4, 16, 2, 32), f16(4, 16, 2, 32), index(6,
         below=64), "auto", None, None), gems("hadamard_transform", f32(4, 64)),
    gems("mhc_post", bf16(5, 64), bf16(5, 4, 64), f32(5, 4), f32(5, 4, 4)),
    gems("masked_scatter", X, boolean(3, 37), f32(111)),
    gems("rwkv_ka_fusion", f32(64), f32(64), f32(64), f32(64), 2, 32),

    liger("geglu", X, X), liger("swiglu", HALF, HALF), liger("rms_norm", X, ROW, 1e-5),
    liger("layer_norm", X, ROW, ROW, 1e-5), liger("group_norm", f32(2, 6, 5), CHANNEL, CHANNEL, 6, 2, 1e-5),
    liger("softmax", X), liger("sparsemax", X), liger("kl_div", X, f32(3, 37, above=0), reduction="batchmean"),
    liger("jsd", X, X), liger("tvd", X, X), liger("rope", f32(2, 3, 5, 8), f32(2, 3, 5, 8), f32(1, 5, 8), f32(1, 5, 8)),
    liger("qwen2vl_mrope", f32(2, 3, 5, 8), f32(2, 3, 5, 8), f32(3, 2, 5, 8), f32(3, 2, 5, 8), [1, 1, 2]),
    liger("relu_squared", HALF), liger("modulated_rms_norm", X, ROW, X, X), liger("poly_norm", X, f32(3), f32()),
    liger("fused_add_rms_norm", X, X, ROW, 1e-5), liger("dyt", X, f32(1), ROW, ROW),
    liger("mhc_pre", bf16(1, 5, 4, 64), f32(1, 5, 4)),
    liger("mhc_post_res", bf16(1, 5, 4, 64), bf16(1, 5, 64), f32(1, 5, 4), f32(1, 5, 4, 4)),
    liger("mhc_coeffs", bf16(1, 5, 4, 16), f32(64, 24), f32(24), f32(), f32(), f32()),
    liger("attn_res", f32(3, 2, 5, 16), f32(16), f32(16)),
    liger("multi_token_attention", f32(1, 2, 7, 7), f32(2, 1, 3, 3), None, 1, 1, 1, 2),
    liger("fused_neighborhood_attention", *[f32(1, 2, 20, 16)] * 3, 5),
    forward(liger("cross_entropy", X, known([3, 10, 0]))),
    forward(liger("fused_linear_cross_entropy", f32(3, 8), f32(11, 8), known([3, 10, 0]))),
    forward(liger("fused_linear_jsd", f32(3, 8), f32(11, 8), f32(3, 8), f32(11, 8))),

    fla("modules.activations.swish", X), fla("modules.activations.logsigmoid", X),
    fla("modules.activations.swiglu", X, X), fla("modules.l2norm.l2norm", X),
    fla("modules.layernorm.layer_norm", X, ROW, ROW),
    fla("modules.layernorm.group_norm", f32(3, 40), f32(40), f32(40), num_groups=4),
    fla("modules.fused_norm_gate.rms_norm_gated", X, X, ROW, None),
    fla("modules.layernorm_gated.rmsnorm_fn", X, ROW, None, X),
    fla("modules.fused_cross_entropy.cross_entropy_loss", X, LABELS),
    forward(fla("modules.fused_kl_div.fused_kl_div_loss", f32(3, 8), f32(3, 8), f32(11, 8), f32(11, 8))),
    fla("modules.rotary.rotary_embedding", HEADS, ANGLES, ANGLES), fla("modules.token_shift.token_shift", f32(2, 5, 7)),
    fla("modules.causal_conv1d.causal_conv1d", f32(2, 9, 24), f32(24, 4), activation="silu", backend="triton"),
    fla("modules.grpo.fused_grpo_loss", f32(2, 5, 37), f32(2, 4), index(2, 9, below=37), f32(2)),
    forward(fla("ops.utils.cumsum.chunk_global_cumsum", f32(2, 9, 3, 16))),
    forward(fla("ops.utils.cumsum.chunk_local_cumsum", f32(2, 32, 3), 16)),
    fla("ops.utils.pooling.mean_pooling", bf16(1, 70, 2, 32), 32),
    forward(fla("ops.utils.matmul.matmul", bf16(40, 64), bf16(64, 48))), fla("ops.attn.parallel_attn", Q, Q, Q),
    fla("ops.forgetting_attn.parallel_forgetting_attn", Q, Q, Q, GATE),
    fla("ops.linear_attn.fused_recurrent_linear_attn", *[f32(1, 9, 2, 16)] * 3),
    fla("ops.gla.fused_recurrent_gla", *[f32(1, 9, 2, 16)] * 4), fla("ops.gla.chunk_gla", Q, Q, Q, Q),
    fla("ops.simple_gla.chunk_simple_gla", Q, Q, Q, GATE), fla("ops.simple_gla.parallel_simple_gla", Q, Q, Q, GATE),
    fla("ops.delta_rule.fused_recurrent_delta_rule", *[f32(1, 9, 2, 16)] * 3, f32(1, 9, 2)),
    fla("ops.delta_rule.chunk_delta_rule", Q, Q, Q, BETA),
    fla("ops.gated_delta_rule.chunk_gated_delta_rule", Q, Q, Q, GATE, BETA),
    forward(fla("ops.gated_delta_rule.fused_recurrent_gated_delta_rule", Q, Q, Q, GATE, beta=BETA)),
    fla("ops.hgrn.fused_recurrent_hgrn", f32(1, 9, 40), f32(1, 9, 40)), fla("ops.hgrn.chunk_hgrn", TIMES, TIMES),
    fla("ops.gsa.fused_recurrent_gsa", *[f32(1, 9, 2, 16)] * 5),
    fla("ops.rwkv6.fused_recurrent_rwkv6", *[f32(1, 9, 2, 16)] * 4, f32(2, 16)),
    forward(fla("ops.rwkv7.fused_recurrent_rwkv7", *[f32(1, 9, 2, 16)] * 6)),
    fla("ops.rwkv7.fused_k_update.fused_k_rwkv7", *[f32(2, 5, 64)] * 2, f32(64)),
    fla("ops.based.parallel_based", *[bf16(1, 70, 2, 16)] * 3), forward(fla("ops.kda.chunk_kda", Q, Q, Q, Q, BETA)),
    fla("ops.nsa.compression.parallel_nsa_compression", bf16(1, 70, 16, 32), bf16(1, 2, 1, 32), bf16(1, 2, 1, 32), 70,
         32, 0.125),
    forward(fla("ops.attn.decoding.attn_decoding_one_step", bf16(1, 2, 4, 32), bf16(1, 70, 2, 32), bf16(1, 70, 2, 32),
         cu_seqlens=known([0, 33, 70]))), fla("ops.utils.pack.pack_sequence", f32(2, 5, 40), known([0, 4, 9])),
    fla("ops.path_attn.parallel_path_attn", Q64, Q64, Q64, f32(1, 128, 1, 64), f32(1, 128, 1)),
    fla("ops.gla.chunk_gla", *[bf16(1, 70, 2, 32)] * 4, cu_seqlens=known([0, 33, 70])),
    fla("ops.gla.fused_recurrent_gla", *[f32(1, 9, 2, 16)] * 4, cu_seqlens=known([0, 4, 9])),
    fla("modules.token_shift.token_shift", f32(1, 9, 7), known([0, 4, 9])),
    fla("ops.nsa.parallel_nsa", bf16(1, 70, 16, 32), *[bf16(1, 70, 1, 32)] * 2, bf16(1, 70, 16), bf16(1, 70, 16), None,
         index(1, 70, 1, 2, below=3), 2, 32),
    forward(fla("ops.comba.chunk_comba", *[bf16(1, 70, 2, 32)] * 4, GATE, BETA)),
    fla("ops.rwkv6.chunk_rwkv6", *[bf16(1, 70, 2, 32)] * 4, bf16(2, 32)),
    forward(fla("ops.ttt.chunk_ttt_linear", *[bf16(1, 64, 2, 64)] * 3, bf16(2, 64), bf16(2, 64), bf16(1, 64, 2, 1),
         chunk_size=16)), fla("ops.gsa.chunk_gsa", Q, Q, Q, bf16(1, 70, 2, 16), bf16(1, 70, 2, 16)),
    fla("ops.stickbreaking_attn.parallel_stickbreaking_attn", Q64, Q64, Q64),
    forward(fla("ops.mesa_net.chunk_mesa_net", Q64, Q64, Q64, f32(1, 128, 1), f32(1, 128, 1), f32(1, 64, above=0))),
]  # fmt: skip
