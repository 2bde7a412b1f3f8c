"""Operators that move cells: views of expressions, joining, padding, turning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from coequal._torch._table import Idx, Kernel, Lowering, Reg, Value, operator
from coequal._torch._value import elsewhere, view_of

# --- Views of expressions that have not been computed. Views of buffers need no rule.


def view_of_expression(t: Lowering, node: fx.Node, base: Value, args: Sequence[Any]) -> Value | None:
    """The view as an expression, or None where its index would need divisions."""
    standin: torch.Tensor = node.meta["val"]
    name = node.target._schema.name.removeprefix("aten::")  # type: ignore[union-attr]
    shape = tuple(standin.shape)
    places = _places(name, base, shape, args)
    if places is None:
        return None

    def index(idx: Idx) -> list[Reg | int]:
        return [0 if p is None else idx[p] for p in places]

    def strides(own: tuple[int, ...]) -> tuple[int, ...]:
        out = [0] * len(shape)
        for p, s in zip(places, own):
            if p is not None:
                out[p] = s
        return tuple(out)

    if base.constant is not None:
        view = t.full(shape, base.dtype, base.constant)
    else:
        view = t.remapped(base, shape, index, strides)
    view.base, view.strides, view.offset = base, standin.stride(), int(standin.storage_offset())
    return view


def _places(name: str, base: Value, shape: tuple[int, ...], args: Sequence[Any]) -> list[int | None] | None:
    """For each dimension of the base the one of the view that runs through it; None: its index is 0."""
    rank = base.rank
    if name in ("alias", "detach", "lift_fresh"):
        return list(range(rank))
    if name == "expand":
        lead = len(shape) - rank
        return [None if n == 1 else lead + d for d, n in enumerate(base.shape)]
    if name in ("t", "transpose", "permute", "movedim"):
        order = list(range(rank))
        if name == "permute":
            order = [d % rank for d in args[0]]
        elif name == "transpose":
            a, b = args[0] % rank, args[1] % rank
            order[a], order[b] = order[b], order[a]
        elif name == "t":
            order.reverse()
        else:
            return None
        return [order.index(d) for d in range(rank)]
    # Dimensions of size 1 come and go.
    wide = [d for d, n in enumerate(base.shape) if n != 1]
    view_wide = [d for d, n in enumerate(shape) if n != 1]
    if name in ("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze") and [base.shape[d] for d in wide] == [
        shape[d] for d in view_wide
    ]:
        match = dict(zip(wide, view_wide))
        return [match.get(d) for d in range(rank)]
    return None


@operator("_unsafe_view", "reshape")
def unsafe_view(t: Lowering, x: Value, size: Sequence[int]) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    t.materialise(x)
    return view_of(x, out.shape, out.stride(), x.offset)


@operator("as_strided_copy")
def as_strided_copy(t: Lowering, x: Value, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Value:
    t.materialise(x)
    return view_of(x, size, stride, offset)


# --- Joining.


def _part(t: Lowering, target: Value, dim: int, start: int, length: int) -> Value:
    shape = list(target.shape)
    shape[dim] = length
    return view_of(target, shape, target.strides, target.offset + start * target.strides[dim])


@operator("cat", "concat")
def cat(t: Lowering, tensors: Sequence[Value], dim: int = 0) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    target = t.new(out.shape, out.dtype, out.stride())
    dim %= target.rank
    start = 0
    for piece in tensors:
        if piece.shape == (0,) and target.rank != 1:
            continue  # PyTorch lets empty one-dimensional tensors pass
        t.copy(_part(t, target, dim, start, piece.shape[dim]), piece)
        start += piece.shape[dim]
    return target


@operator("stack")
def stack(t: Lowering, tensors: Sequence[Value], dim: int = 0) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    target = t.new(out.shape, out.dtype, out.stride())
    dim %= target.rank
    for i, piece in enumerate(tensors):
        part = _part(t, target, dim, i, 1)
        keep = [d for d in range(target.rank) if d != dim]
        t.copy(view_of(part, [part.shape[d] for d in keep], [part.strides[d] for d in keep], part.offset), piece)
    return target


@operator("slice_scatter")
def slice_scatter(
    t: Lowering, x: Value, source: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    dim %= x.rank
    places = range(x.shape[dim])[start:end:step]
    return _with_part(t, x, source, dim, places)


@operator("select_scatter")
def select_scatter(t: Lowering, x: Value, source: Value, dim: int, index: int) -> Value:
    dim %= x.rank
    raised = t.remapped(
        source,
        (*source.shape[:dim], 1, *source.shape[dim:]),
        lambda idx: _without(idx, dim),
        lambda s: (*s[:dim], 0, *s[dim:]),
    )
    return _with_part(t, x, raised, dim, range(index % x.shape[dim], index % x.shape[dim] + 1))


def _without(idx: Idx, dim: int) -> list[Reg | int]:
    return [i for d, i in enumerate(idx) if d != dim]


def _with_part(t: Lowering, x: Value, source: Value, dim: int, places: range) -> Value:
    """A copy of x with the source at these places of a dimension."""
    target = t.new(x.shape, x.dtype)
    t.copy(target, x)
    part = _part(t, target, dim, places.start, len(places))
    strides = [s * places.step if d == dim else s for d, s in enumerate(part.strides)]
    t.copy(view_of(part, part.shape, strides, part.offset), source)
    return target


@operator("repeat")
def repeat(t: Lowering, x: Value, repeats: Sequence[int]) -> Value:
    lead = len(repeats) - x.rank
    sizes = (1,) * lead + x.shape
    shape = tuple(n * r for n, r in zip(sizes, repeats))

    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        own = []
        for i, n, r in list(zip(idx, sizes, repeats))[lead:]:
            own.append(i if r == 1 or isinstance(i, int) else k.remainder(i, n))
        return own

    return gathered(t, x, shape, index)


# --- Moving cells by a function of the index.


def gathered(
    t: Lowering,
    x: Value,
    shape: Sequence[int],
    index: Callable[[Kernel, Idx], list[Reg | int]],
    inside: Callable[[Kernel, Idx], Reg | None] | None = None,
    other: Any = 0,
) -> Value:
    """x at an index that is computed from the cell's own; where `inside` does not hold, `other`."""

    def emit(k: Kernel, idx: Idx) -> Reg:
        return k.read_where(inside(k, idx) if inside else None, x, index(k, idx), other)

    t.simple(x)
    return t.expression(shape, x.dtype, emit, [elsewhere(x)], exact_index=True, cost=2)


@operator("constant_pad_nd")
def constant_pad(t: Lowering, x: Value, pad: Sequence[int], value: Any = 0) -> Value:
    before = [0] * x.rank
    shape = list(x.shape)
    checked: list[tuple[int, bool, bool]] = []
    for i in range(len(pad) // 2):
        d = x.rank - 1 - i
        before[d] = pad[2 * i]
        shape[d] += pad[2 * i] + pad[2 * i + 1]
        if pad[2 * i] > 0 or pad[2 * i + 1] > 0:
            checked.append((d, pad[2 * i] > 0, pad[2 * i + 1] > 0))

    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        return [k.index_sum([(i, 1)], -b) for i, b in zip(idx, before)]

    def inside(k: Kernel, idx: Idx) -> Reg | None:
        own = index(k, idx)
        return k.all_of(
            *(k.index(own[d]).ge(0) for d, low, _ in checked if low),
            *(k.index(own[d]).lt(x.shape[d]) for d, _, high in checked if high),
        )

    return gathered(t, x, shape, index, inside, value)


def _pad_like(rule: Callable[[Kernel, Reg, int], Reg]) -> Any:
    """Padding that repeats cells of the tensor: `rule` brings an index into 0 .. n - 1."""

    def lower(t: Lowering, x: Value, pad: Sequence[int]) -> Value:
        before, shape = [0] * x.rank, list(x.shape)
        for i in range(len(pad) // 2):
            d = x.rank - 1 - i
            before[d] = pad[2 * i]
            shape[d] += pad[2 * i] + pad[2 * i + 1]

        def index(k: Kernel, idx: Idx) -> list[Reg | int]:
            return [
                i if n == m else rule(k, k.index(k.index_sum([(i, 1)], -b)), n)
                for i, b, n, m in zip(idx, before, x.shape, shape)
            ]

        return gathered(t, x, shape, index)

    return lower


def _reflect(k: Kernel, i: Reg, n: int) -> Reg:
    i = k.absolute(i)
    return k.minimum(i, (2 * n - 2) - i)


operator("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")(_pad_like(_reflect))
operator("replication_pad1d", "replication_pad2d", "replication_pad3d")(
    _pad_like(lambda k, i, n: k.minimum(k.maximum(i, 0), n - 1))
)


@operator("flip")
def flip(t: Lowering, x: Value, dims: Sequence[int]) -> Value:
    turned = {d % x.rank for d in dims}

    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        return [k.index_sum([(i, -1)], x.shape[d] - 1) if d in turned else i for d, i in enumerate(idx)]

    return gathered(t, x, x.shape, index)


@operator("roll")
def roll(t: Lowering, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    if not dims:
        flat = t.materialise(t.expression(x.shape, x.dtype, lambda k, idx: k.read(x, idx), [x]))
        line = view_of(flat, [x.numel], [1], 0)
        rolled = t.materialise(_rolled(t, line, {0: shifts[0]}))
        return view_of(rolled, x.shape, flat.strides, 0)
    moves: dict[int, int] = {}
    for shift, d in zip(shifts, dims):
        moves[d % x.rank] = moves.get(d % x.rank, 0) + shift
    return _rolled(t, x, moves)


def _rolled(t: Lowering, x: Value, moves: dict[int, int]) -> Value:
    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        return [
            k.remainder(k.index(i) + (-moves[d] % n), n) if d in moves and n > 1 else i
            for d, (i, n) in enumerate(zip(idx, x.shape))
        ]

    return gathered(t, x, x.shape, index)


@operator("diag_embed")
def diag_embed(t: Lowering, x: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    rank = len(out.shape)
    first, second = dim1 % rank, dim2 % rank
    others = [d for d in range(rank) if d not in (first, second)]
    row_shift, column_shift = max(0, -offset), max(0, offset)

    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        return [*(idx[d] for d in others), k.index_sum([(idx[first], 1)], -row_shift)]

    def inside(k: Kernel, idx: Idx) -> Reg | None:
        row, column = k.index(idx[first]), k.index(idx[second])
        low = row.ge(row_shift) if row_shift else None
        return k.all_of((row + offset).equals(column), low, (row - row_shift).lt(x.shape[-1]) if column_shift else None)

    return gathered(t, x, out.shape, index, inside)


@operator("unfold_copy")
def unfold_copy(t: Lowering, x: Value, dim: int, size: int, step: int) -> Value:
    out = t.standin
    assert isinstance(out, torch.Tensor)
    dim %= x.rank

    def index(k: Kernel, idx: Idx) -> list[Reg | int]:
        own = list(idx[:-1])
        own[dim] = k.index_sum([(idx[dim], step), (idx[-1], 1)])
        return own

    return gathered(t, x, out.shape, index)


def nearest_places(n: int, m: int, scale: float | None, shift: float) -> torch.Tensor:
    """min(floor((place + shift) * scale), n - 1) of m output places, in single precision as PyTorch computes it."""
    ratio = torch.tensor(1 / scale if scale else n / m, dtype=torch.float32)
    return ((torch.arange(m).to(torch.float32) + shift) * ratio).floor().to(torch.int64).clamp(max=n - 1)


def _upsample_nearest(shift: float) -> Any:
    def lower(t: Lowering, x: Value, size: Sequence[int], *scales: float | None) -> Value:
        tables: list[Value | None] = []
        for n, m, scale in zip(x.shape[2:], size, [*scales, *[None] * len(size)]):
            places = nearest_places(n, m, scale, shift)
            tables.append(None if places.tolist() == list(range(m)) else t.known(places))

        def index(k: Kernel, idx: Idx) -> list[Reg | int]:
            return [*idx[:2], *(i if table is None else k.read(table, [i]) for i, table in zip(idx[2:], tables))]

        return gathered(t, x, (*x.shape[:2], *size), index)

    return lower


operator("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")(_upsample_nearest(0.0))
operator("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")(_upsample_nearest(0.5))
