"""What is traced, what is refused and how, and how the traced program is laid out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from coequal._program import Bounds, Recorder, Refused, Scalar, ScalarArgument, Tensor
from coequal._torch import trace
from running import agree, run


def traced(fn: Callable[..., Any], *args: Any) -> tuple[Recorder, Any]:
    recorder = Recorder()
    return recorder, trace(recorder, fn, args, {})


def test_a_function_of_pytorch_is_at_the_line_that_traces_it() -> None:
    recorder, _ = traced(torch.softmax, Tensor("x", "f32", (2, 3)), 1)
    assert all("test_tracing.py" in (launch.kernel.text or "") for launch in recorder.launches)


def test_refusal_names_operator_and_line() -> None:
    def drop(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return F.dropout(y, 0.5)

    with pytest.raises(Refused) as caught:
        traced(drop, Tensor("x", "f32", (4,)))
    assert "native_dropout" in caught.value.construct or "bernoulli" in caught.value.construct
    assert caught.value.file == __file__
    assert caught.value.line == drop.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("fn", "word"),
    [
        (lambda x: torch.special.i0(x), "i0"),
        (lambda x: torch.linalg.qr(x.view(2, 2))[0], "qr"),
        (lambda x: torch.fft.fft(x).real, "fft"),
        (lambda x: x * torch.rand(4), "rand"),
        (lambda x: x[x > 0], "nonzero"),
        (lambda x: x * (2 if x.sum() > 0 else 3), "_local_scalar_dense"),
        (lambda x: x.to(torch.complex64).abs(), "complex"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(fn: Callable[..., Any], word: str) -> None:
    with pytest.raises(Refused) as caught:
        traced(fn, Tensor("x", "f32", (4,)))
    assert word in str(caught.value)
    assert (caught.value.file, caught.value.line) == (__file__, fn.__code__.co_firstlineno)


def test_mistakes_of_the_function_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="reduction dim"):
        traced(lambda x: x @ x, Tensor("x", "f32", (2, 3)))


def test_scalar_is_a_parameter() -> None:
    eps = Scalar("eps", "f32", bounds=Bounds(above=0))
    recorder, result = traced(lambda x, e: x / (x.abs() + e), Tensor("x", "f32", (4,)), eps)
    assert result.dtype == "f32"  # as a tensor without dimensions it does not promote
    (launch,) = recorder.launches
    assert [a.scalar for a in launch.args if isinstance(a, ScalarArgument)] == [eps]


def test_pointwise_chain_is_one_kernel() -> None:
    recorder, _ = traced(lambda x, y: F.gelu(x * 2 + y).sigmoid(), *(Tensor(n, "f32", (64, 64)) for n in "xy"))
    (launch,) = recorder.launches
    assert launch.kernel.text is not None
    assert "div.s64" not in launch.kernel.text  # contiguous dimensions are joined


def test_results_keep_structure_and_identity() -> None:
    x = Tensor("x", "f32", (4,))
    recorder, result = traced(lambda x: {"same": x, "twice": [x * 2, 3]}, x)
    assert result["same"] is x
    assert result["twice"][0].shape == (4,)
    assert result["twice"][1] == 3
    assert len(recorder.launches) == 1


def test_strided_input(tmp_path: Path) -> None:
    recorder, result = traced(lambda x: x.t() + 1, Tensor("x", "f32", (2, 3), strides=(1, 2)))
    assert result.shape == (3, 2)
    (launch,) = recorder.launches
    assert launch.kernel.text is not None and "div.s64" not in launch.kernel.text  # its storage is contiguous


def test_constants_are_single_precision_as_pytorch_has_them() -> None:
    def constants(dtype: str) -> str:
        recorder, _ = traced(lambda x: x * 0.1, Tensor("x", dtype, (4,)))
        return recorder.launches[0].kernel.text or ""

    assert "0f3DCCCCCD" in constants("f32")  # 0.1f
    assert "0f3DCCCCCD" in constants("f16")  # computed in single precision
    assert "0d3FB999999999999A" in constants("f64")


def test_module_parameters_are_known_data(tmp_path: Path) -> None:
    layer = torch.nn.Linear(3, 2).double()
    agree(tmp_path, layer, torch.randn(4, 3, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_narrow_floats_are_rounded_when_stored(dtype: torch.dtype, tmp_path: Path) -> None:
    x = torch.randn(33).to(dtype)
    found = run(tmp_path, lambda x: (x * 3, x.float(), x.exp()), [x])
    assert found[0].dtype == dtype
    torch.testing.assert_close(found[0], x * 3, rtol=0, atol=0)
    torch.testing.assert_close(found[1], x.float(), rtol=0, atol=0)
    torch.testing.assert_close(found[2], x.exp())


def test_recurrent_cell(tmp_path: Path) -> None:
    cell = torch.nn.LSTM(3, 4, batch_first=True).double()
    agree(tmp_path, lambda x: cell(x)[0], torch.randn(2, 3, 3, dtype=torch.float64))


def test_gated_recurrent_cell(tmp_path: Path) -> None:
    cell = torch.nn.GRU(3, 4).double()
    agree(tmp_path, lambda x: cell(x)[0], torch.randn(3, 2, 3, dtype=torch.float64))


def test_transformer_layer(tmp_path: Path) -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    agree(tmp_path, layer, torch.randn(2, 5, 8, dtype=torch.float64))


def test_large_constants_are_refused() -> None:
    weights = torch.zeros(1025, 1025)
    weights[0, 0] = 1
    with pytest.raises(Refused, match="1050625 cells"):
        traced(lambda x: x * weights, Tensor("x", "f32", (1025, 1025)))


def test_large_tensors_are_declared_not_computed() -> None:
    recorder, result = traced(lambda x: torch.softmax(x * math.pi, -1), Tensor("x", "f32", (4096, 4096)))
    assert result.shape == (4096, 4096)
    assert len(recorder.launches) == 3
