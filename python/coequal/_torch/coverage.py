"""Which ATen operators are modelled, as a page: `python -m coequal._torch.coverage docs/torch.md` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import torch

from coequal._torch._table import TABLE
from coequal._torch._trace import decompositions, has_row

TEXT = """# PyTorch operators

Made by `python -m coequal._torch.coverage docs/torch.md` with PyTorch {version}.

`coequal.torch(fn, ...)` traces `fn` and lowers each ATen operator to a PTX kernel with one thread for each cell of the
result. An operator with a row of its own is lowered by it, together with its in-place and `out=` forms. Most others are
decomposed by PyTorch into operators that have one, gradients included. Every view operator works, as views share the
storage of their base. What remains is refused by its name, with the line that called it: random operators, operators
whose result has a shape that depends on data, complex and quantised numbers, linear solvers, transforms.

A few functions are taken as their documentation defines them, not as PyTorch composes them:
`scaled_dot_product_attention` scales the scores once instead of both factors by a root. `softplus` keeps PyTorch's
switch at `threshold`; at the default of 20 the assumption `softplus-threshold` reads it as the function without the
switch. Tensors outside of the arguments, such as the parameters of a module, are known data.

## With rows of their own

{rows}

## Core ATen operators

The [core ATen operators](https://docs.pytorch.org/docs/stable/torch.compiler_ir.html), to which PyTorch's own
decompositions lead.

| | operators |
| --- | --- |
| own row | {own} |
| view | {views} |
| decomposed | {decomposed} |
| refused: random | {random} |
| refused | {refused} |
"""


def _list(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in sorted(set(names))) or "none"


def _core_operators() -> list[torch._ops.OpOverload]:
    names = {s.name.removeprefix("aten::") for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
    packets = [getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name)]
    overloads = [getattr(packet, overload) for packet in packets for overload in packet.overloads()]
    return [op for op in overloads if torch.Tag.core in op.tags and not op._schema.is_mutable]


def page() -> str:
    kinds: dict[str, list[str]] = {kind: [] for kind in ("own", "views", "decomposed", "random", "refused")}
    for op in _core_operators():
        kinds[_kind(op)].append(str(op).removeprefix("aten."))
    lists = {kind: _list(names) for kind, names in kinds.items()}
    return TEXT.format(version=torch.__version__.split("+")[0], rows=_list(TABLE), **lists)


def _kind(op: torch._ops.OpOverload) -> str:
    if has_row(op):
        return "own"
    if any(r.alias_info is not None for r in op._schema.returns):
        return "views"
    if op in decompositions():
        return "decomposed"
    return "random" if torch.Tag.nondeterministic_seeded in op.tags else "refused"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
