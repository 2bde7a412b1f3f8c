"""Views in another dtype: what the bytes mean there, read, written, and given to a launch; indices from the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import coequal as cq
import pytest
import torch
from running import agree

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


def into_view(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(4)
    y.view(torch.int32).copy_(x)
    return y


def onto_itself(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.view(torch.int16)[::2].copy_(y)  # reads what it overwrites, by steps of another size
    return y


INTEGERS = torch.tensor([1, -2, 3, 70000], dtype=torch.int32)


@pytest.mark.parametrize(
    ("fn", "x"),
    [
        (lambda x: x.view(torch.int32) + 0, torch.tensor([1.0, -2.5, 0.0, 3.0])),
        (lambda x: x.view(torch.float32) * 1, torch.tensor([0x3F800000, 0x40490FDB], dtype=torch.int32)),
        (lambda x: (x + 1).view(torch.int16)[1::2] + 0, INTEGERS),
        (lambda x: x.view(torch.uint8).int(), torch.tensor([-1, 5], dtype=torch.int8)),
        (lambda x: x.view(torch.int32) + 0, torch.tensor([1, 2, 3, 4], dtype=torch.int16)),
        (lambda x: x[1:].view(torch.int32)[0] + 0, torch.tensor([1, 2, 3, 4], dtype=torch.int64)),
        (lambda x: x.view(torch.int32), torch.tensor([1.0, -2.5])),
        (into_view, torch.tensor([0x3F800000, 0, 0x40000000, 0x40400000], dtype=torch.int32)),
        (onto_itself, INTEGERS),
    ],
)
def test_cells_are_what_the_bytes_mean(fn: Callable[..., torch.Tensor], x: torch.Tensor, tmp_path: Path) -> None:
    agree(tmp_path, fn, x)


@pytest.mark.parametrize(
    ("view", "same", "other", "dtype"),
    [
        (lambda x: x.view(torch.uint8).int(), lambda x: x.int() & 255, lambda x: x.int(), "i8"),
        (lambda x: x.view(torch.int32).view(torch.float32) * 2, lambda x: x + x, lambda x: x * 2 + 1, "f32"),
        (lambda x: x.view(torch.int32) + 0, lambda x: x.view(torch.int32), lambda x: x.int(), "f32"),
        (lambda x: x.view(torch.int16)[::2].int(), lambda x: (x << 16) >> 16, lambda x: x >> 16, "i32"),
        (into_view, lambda x: x.view(torch.float32) * 1, lambda x: x.float(), "i32"),
    ],
)  # fmt: skip
def test_a_view_in_another_dtype_is_no_conversion(
    view: Callable[..., torch.Tensor], same: Callable[..., torch.Tensor], other: Callable[..., torch.Tensor], dtype: str
) -> None:
    x = cq.spec((4,), dtype)
    cq.assert_equivalent(view, same, x)
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(view, other, x)
    assert failure.value.result.verdict == "inequivalent"


@triton.jit
def copy_four(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < 4), mask=at < 4)


def halves_from(start: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def halves(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty(4, dtype=torch.int16)
        copy_four[(1,)](x.view(torch.int16)[start:], y, BLOCK=4, num_warps=1)
        return y

    return halves


def test_a_launch_starts_where_the_view_starts() -> None:
    x = cq.spec((8,), "i32")
    cq.assert_equivalent(halves_from(4), lambda x: x.view(torch.int16)[4:8] + 0, x)
    for start, verdict in ((2, "inequivalent"), (3, "refused")):  # 3: inside a cell of the tensor
        with pytest.raises(cq.NotEquivalent) as failure:
            cq.assert_equivalent(halves_from(start), lambda x: x.view(torch.int16)[4:8] + 0, x)
        assert failure.value.result.verdict == verdict


def test_launches_over_dtypes_without_a_model_are_refused() -> None:
    def bytes_of_floats(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty(4, dtype=torch.uint8)
        copy_four[(1,)](x.view(torch.float8_e5m2), y.view(torch.float8_e5m2), BLOCK=4, num_warps=1)
        return y

    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(bytes_of_floats, lambda x: x * 1, cq.spec((4,), "u8"))
    assert failure.value.result.verdict == "refused"


def test_index_fill_counts_from_the_end() -> None:
    def fill(*at: int) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x.index_fill(1, torch.tensor(at), 9.0)

    x = cq.spec((4, 6), "f32")
    cq.assert_equivalent(fill(0, -1), fill(0, 5), x)
    cq.assert_equivalent(lambda x: x.clone().index_fill_(1, torch.tensor([-1]), 9.0), fill(5), x)
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(fill(0, -1), fill(0), x)
    assert failure.value.result.verdict == "inequivalent"
