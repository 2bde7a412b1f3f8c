"""Instances as classes: two programs over declared data, and what is expected of them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from coequal._program import Bounds, Number, Scalar, Tensor
from coequal._record import as_number

VERDICTS = ("equivalent", "inequivalent", "defect", "unknown", "refused")


@dataclass(frozen=True)
class Defect:
    """The expectation that a defect of this kind is found, in program "a" or "b" or in either."""

    kind: str
    program: str | None = None


class Instance:
    """One question: do program A and program B compute the same function?

    `setup` declares the data as attributes; each program launches kernels and returns its outputs by name. Without
    `program_b`, program A is checked for defects alone.
    """

    expect: ClassVar[str | Defect | None] = None
    # Named assumptions that are added and withdrawn.
    assume: ClassVar[Sequence[str]] = ()
    no_assume: ClassVar[Sequence[str]] = ()
    # Outputs of which unwritten cells are no defect.
    unwritten: ClassVar[Sequence[str]] = ()
    # Seconds after compilation, None: the default.
    budget: ClassVar[float | None] = None

    def setup(self) -> None:
        """Declares tensors and scalars as attributes."""

    def program_a(self) -> Any:
        """Launches, and returns the outputs: a dict of tensors by name, a tensor, or a tuple of tensors."""
        raise NotImplementedError(f"{type(self).__name__} has no program_a")

    program_b: Any = None

    def _declared(self) -> dict[str, Any]:
        """What is declared, by name: public attributes."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _recorded(self, a: Any, b: Any) -> None:
        """Is given both programs when they are recorded, and may change them."""

    @classmethod
    def title(cls) -> str:
        """The first line of the docstring."""
        return inspect.cleandoc(cls.__doc__ or "").split("\n")[0] if "__doc__" in cls.__dict__ else ""


def _shape(shape: int | Iterable[int]) -> tuple[int, ...]:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    for extent in extents:
        if not isinstance(extent, int) or isinstance(extent, bool) or extent < 0:
            raise ValueError(f"shape: expected integers of 0 or more, found {shape!r}")
    return extents


def _strides(strides: Iterable[int] | None) -> tuple[int, ...] | None:
    return None if strides is None else tuple(int(s) for s in strides)


def _bounds(**given: Any) -> Bounds:
    numbers = {k: None if v is None else as_number(v, k) for k, v in given.items() if k != "sorted"}
    return Bounds(**numbers, sorted=bool(given.get("sorted")))


class Declared(TypedDict, total=False):
    """The keywords of input()."""

    min: Number | None
    max: Number | None
    above: Number | None
    below: Number | None
    sorted: bool
    strides: Iterable[int] | None


def input(
    shape: int | Iterable[int],
    dtype: str = "f32",
    *,
    min: Number | None = None,
    max: Number | None = None,
    above: Number | None = None,
    below: Number | None = None,
    sorted: bool = False,
    strides: Iterable[int] | None = None,
) -> Tensor:
    """A tensor with one free variable a cell, within inclusive (`min`, `max`) and exclusive bounds."""
    bounds = _bounds(min=min, max=max, above=above, below=below, sorted=sorted)
    return Tensor("", dtype, _shape(shape), _strides(strides), "input", bounds=bounds)


def empty(shape: int | Iterable[int], dtype: str = "f32", *, strides: Iterable[int] | None = None) -> Tensor:
    """An uninitialised tensor."""
    return Tensor("", dtype, _shape(shape), _strides(strides), "empty")


def zeros(shape: int | Iterable[int], dtype: str = "f32", *, strides: Iterable[int] | None = None) -> Tensor:
    """A tensor of zeros."""
    return Tensor("", dtype, _shape(shape), _strides(strides), "zeros")


def full(
    shape: int | Iterable[int], value: Number, dtype: str = "f32", *, strides: Iterable[int] | None = None
) -> Tensor:
    """A tensor with one value in all cells."""
    return Tensor("", dtype, _shape(shape), _strides(strides), "full", value=as_number(value, "value"))


def values(data: Any, dtype: str, *, shape: Iterable[int] | None = None) -> Tensor:
    """Known data: a list, nested lists, or an array."""
    data = data.tolist() if hasattr(data, "tolist") else data
    found: list[int] = []
    level = data
    while isinstance(level, list | tuple):
        found.append(len(level))
        level = level[0] if level else None
    flat = _flatten(data, found)
    extents = _shape(found if shape is None else shape)
    if math.prod(extents) != len(flat):
        raise ValueError(f"values: expected {math.prod(extents)} values for the shape {extents}, found {len(flat)}")
    return Tensor("", dtype, extents, None, "values", values=tuple(flat))


def _flatten(data: Any, shape: Sequence[int]) -> list[Number]:
    if not shape:
        return [as_number(data, "values")]
    if not isinstance(data, list | tuple) or len(data) != shape[0]:
        raise ValueError("values: expected lists of equal lengths")
    return [cell for part in data for cell in _flatten(part, shape[1:])]


def scalar(
    dtype: str,
    *,
    value: Number | None = None,
    min: Number | None = None,
    max: Number | None = None,
    above: Number | None = None,
    below: Number | None = None,
) -> Scalar:
    """A number that both programs share: free within its bounds, or known by `value`."""
    known = None if value is None else as_number(value, "value")
    return Scalar("", dtype, known, _bounds(min=min, max=max, above=above, below=below))
