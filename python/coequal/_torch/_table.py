"""The table of lowerings: ATen operator name -> function.

A key is an operator's name ("add") or one overload's ("add.Tensor"), which goes first. A lowering takes the Lowering
and the operator's arguments, tensors as Values, and returns Values. Operators without a row are decomposed by PyTorch
where it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from coequal._torch._emit import Reg
from coequal._torch._value import Idx, Kernel, Lowering, Value

Lower = Callable[..., Any]
TABLE: dict[str, Lower] = {}


def operator(*names: str) -> Callable[[Lower], Lower]:
    def add(lower: Lower) -> Lower:
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = lower
        return lower

    return add


def find(name: str, overload: str) -> Lower | None:
    return TABLE.get(f"{name}.{overload}") or TABLE.get(name)


def pointwise(*names: str, common: bool = False, cost: int = 1) -> Callable[[Lower], Lower]:
    """Adds `cell(kernel, *arguments)`, whose tensor arguments are registers, for a cell of the result.

    It computes in the dtype of the result, or with `common` in the one to which the arguments are promoted.
    """

    def add(cell: Lower) -> Lower:
        def lower(t: Lowering, *args: Any, **kwargs: Any) -> Value:
            out = t.standin
            assert isinstance(out, torch.Tensor)
            return t.map(cell, args, kwargs, out.shape, out.dtype, t.common_dtype() if common else out.dtype, cost)

        operator(*names)(lower)
        return cell

    return add


def composite(t: Lowering, cell: Callable[..., Reg], *values: Value, shape: Any = None, dtype: Any = None) -> Value:
    """An expression over values that broadcast to the shape (default: of the first)."""
    return t.map(cell, values, {}, values[0].shape if shape is None else shape, dtype or values[0].dtype)


__all__ = ["Idx", "Kernel", "Lowering", "Reg", "TABLE", "Value", "composite", "find", "operator", "pointwise"]
