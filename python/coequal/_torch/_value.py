"""What a traced tensor is: a view of a buffer, or an expression that has not been computed yet.

A buffer has the strides that PyTorch's own stand-in tensor has, so that every view operator is a new (size, strides,
offset) of the same buffer and in-place operators write into their view. An expression is emitted wherever it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes
from torch._subclasses.fake_tensor import FakeTensor

from coequal._program import (
    Argument,
    Immediate,
    Launch,
    Recorder,
    Refused,
    Scalar,
    ScalarArgument,
    Tensor,
    TensorArgument,
)
from coequal._torch._emit import Builder, Number, Reg, kind_of

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

MOST_KNOWN = 1 << 20  # cells of a tensor of known data

Idx = Sequence["Reg | int"]
Emit = Callable[["Kernel", "Idx"], Reg]


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def broadcast_index(idx: Idx, shape: Sequence[int]) -> list[Reg | int]:
    """The index of a tensor that is broadcast into the space of `idx`."""
    own = list(idx[len(idx) - len(shape) :])
    return [0 if n == 1 else i for n, i in zip(shape, own)]


def broadcast_strides(strides: Sequence[int], shape: Sequence[int], rank: int) -> tuple[int, ...]:
    return (0,) * (rank - len(shape)) + tuple(0 if n == 1 else s for n, s in zip(shape, strides))


def joined(sizes: Sequence[int], reads: Sequence[Sequence[int]]) -> list[int]:
    """The sizes, neighbouring dimensions joined into the last of them where every reader steps through them alike."""
    merged = list(sizes)
    for d in reversed(range(len(sizes) - 1)):
        after = next((e for e in range(d + 1, len(sizes)) if merged[e] != 1), None)
        if merged[d] != 1 and after is not None and all(s[d] == s[after] * merged[after] for s in reads):
            merged[after] *= merged[d]
            merged[d] = 1
    return merged


@dataclass(eq=False)
class Buffer:
    """Memory: a tensor of the program, or a scalar parameter."""

    source: Tensor | Scalar
    dtype: torch.dtype


@dataclass(eq=False)
class Leaf:
    """A buffer that an expression reads, with the strides by which it is read over the expression's shape."""

    buffer: Buffer
    dtype: torch.dtype  # by which it is read; offset and strides count in it
    offset: int
    strides: tuple[int, ...]


@dataclass(eq=False)
class Value:
    shape: tuple[int, ...]
    dtype: torch.dtype  # may be another than the buffer's: its cells are then what the bytes there mean
    strides: tuple[int, ...]  # of the stand-in; also of the buffer, in elements of the dtype
    offset: int = 0
    buffer: Buffer | None = None
    # Without a buffer:
    emit: Emit | None = None
    inputs: tuple[tuple[Value, Callable[[tuple[int, ...]], tuple[int, ...]]], ...] = ()  # with how strides become ours
    base: Value | None = None  # of a view of an expression: what would be computed
    exact_index: bool = False  # the index itself matters, so dimensions cannot be joined
    cost: int = 0  # instructions a cell
    constant: int | float | bool | None = None  # the value of every cell

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    def reads(self) -> tuple[Leaf, ...]:
        if self.buffer is None:
            return tuple(
                Leaf(leaf.buffer, leaf.dtype, leaf.offset, ours(leaf.strides))
                for value, ours in self.inputs
                for leaf in value.reads()
            )
        strides = tuple(0 if n == 1 else s for n, s in zip(self.shape, self.strides))
        return (Leaf(self.buffer, self.dtype, self.offset, strides),)


def view_of(value: Value, shape: Sequence[int], strides: Sequence[int], offset: int) -> Value:
    assert value.buffer is not None
    return Value(tuple(shape), value.dtype, tuple(strides), offset, value.buffer)


def elsewhere(value: Value) -> Value:
    """Stands for a value among the inputs of an expression that reads it at other indices than its own."""
    return Value((), value.dtype, (), inputs=((value, lambda s: ()),), cost=value.cost)


class Kernel(Builder):
    """A kernel that reads values and writes buffers; its launch follows from its index space."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.block = 32
        self._arguments: list[Argument] = []
        self._bases: dict[Buffer, tuple[int, Reg]] = {}
        self._written: set[Buffer] = set()
        self._read: set[Buffer] = set()

    # --- Index space.

    def space(self, sizes: Sequence[int], wide: bool = False) -> list[Reg | int]:
        """One thread an index of the space; gives it, row-major, and lets the other threads leave.

        `wide`: blocks of many threads. What a block costs to execute follows its threads, and how many blocks there are
        matters as soon as they differ: threads with loops want small blocks, those without large ones.
        """
        live = [n for n in sizes if n != 1]
        total = math.prod(live)
        own_rows = len(live) > 1 and live[-1] >= 32
        limit = live[-1] if own_rows else total
        most = 1024 if wide or limit > 32 * 65535 else 32
        chunks = max(1, -(-limit // most))
        self.block = max(32, -(-limit // chunks // 32) * 32)
        thread = self.pure("cvt.s64.s32", "s64", self.pure("mov.u32", "s32", "%tid.x"))

        def block_index(axis: str) -> Reg:
            return self.pure("cvt.s64.s32", "s64", self.pure("mov.u32", "s32", f"%ctaid.{axis}"))

        def split(linear: Reg, extents: Sequence[int]) -> list[Reg]:
            found: list[Reg] = []
            for n in reversed(extents[1:]):
                found.append(self.remainder(linear, n))
                linear = linear / n
            return [linear, *reversed(found)]

        # A row of its own for each block keeps divisions away from the threads.
        axis = "y" if own_rows else "x"
        last = thread if chunks == 1 else block_index(axis) * self.block + thread
        if own_rows:
            self.grid = (math.prod(live[:-1]), chunks, 1)
            parts = [*split(block_index("x"), live[:-1]), last]
        else:
            self.grid = (chunks, 1, 1)
            parts = split(last, live) if live else []
        if limit % self.block:
            self.leave_if(last.ge(limit))
        return [0 if n == 1 else parts.pop(0) for n in sizes]

    def joined_space(self, sizes: Sequence[int], reads: Sequence[Sequence[int]], wide: bool = False) -> list[Reg | int]:
        """A space in which neighbouring dimensions that every reader steps through alike are one.

        Of joined dimensions the last one's index counts through all of them and the others are 0.
        """
        return self.space(joined(sizes, reads), wide)

    # --- Values.

    def _base(self, buffer: Buffer) -> Reg:
        if buffer not in self._bases:
            self._bases[buffer] = (len(self._arguments), self.from_parameter("u64", "s64", self.parameter("u64")))
            self._arguments.append(None)  # type: ignore[arg-type]  # known when all accesses are
        return self._bases[buffer][1]

    def read(self, value: Value, idx: Idx, dtype: torch.dtype | None = None) -> Reg:
        """The value at an index of its own shape, or of one that it broadcasts to, as a number of the dtype."""
        own = broadcast_index(idx, value.shape)
        key = (value, self.guard, *(i if isinstance(i, int) else i.text for i in own))
        found = self.recall(key)
        if found is None:
            found = self._read_cell(value, own)
            self.remember(key, found)
        if dtype is None or dtype == value.dtype:
            return found
        return self.to_dtype(found, value.dtype, dtype)

    def read_where(self, condition: Reg | None, value: Value, idx: Idx, other: Number = 0) -> Reg:
        """The value where the condition holds (None: everywhere) and `other` elsewhere, where nothing is loaded."""
        with self.guarded(condition):
            cell = self.read(value, idx)
        # A load that does not happen gives 0, but not what is computed from it.
        if condition is None or (value.buffer is not None and other == 0 and cell.kind == "f64"):
            return cell
        return self.select(condition, cell, self.constant(other, cell.kind))

    def _read_cell(self, value: Value, idx: list[Reg | int]) -> Reg:
        if value.buffer is None:
            assert value.emit is not None
            outer, self.constant_dtype = self.constant_dtype, value.dtype
            result = value.emit(self, idx)
            self.constant_dtype = outer
            return result
        source = value.buffer.source
        if isinstance(source, Scalar):
            if value.buffer not in self._bases:
                name = self.parameter(_parameter_type(value.dtype))
                self._bases[value.buffer] = (len(self._arguments), self.load_parameter(name, value.dtype))
                self._arguments.append(ScalarArgument(source))
            return self._bases[value.buffer][1]
        self._read.add(value.buffer)
        at = self.index_sum(list(zip(idx, value.strides)), value.offset)
        return self.load(self._base(value.buffer), at, value.dtype)

    def read_again(self, value: Value, idx: Idx) -> Reg:
        """A cell that this kernel also writes."""
        assert value.buffer is not None
        self._read.add(value.buffer)
        at = self.index_sum(list(zip(idx, value.strides)), value.offset)
        return self.load(self._base(value.buffer), at, value.dtype, hoist=False)

    def write(self, target: Value, idx: Idx, value: Reg) -> None:
        assert target.buffer is not None
        self._written.add(target.buffer)
        at = self.index_sum(list(zip(idx, target.strides)), target.offset)
        self.store(self._base(target.buffer), at, value, target.dtype)

    def launch(self, recorder: Recorder, label: str, source: tuple[str, int] | None) -> None:
        arguments = list(self._arguments)
        for buffer, (position, _) in self._bases.items():
            if isinstance(buffer.source, Tensor):
                reads, writes = buffer in self._read, buffer in self._written
                mode = "readwrite" if reads and writes else "write" if writes else "read"
                arguments[position] = TensorArgument(buffer.source, mode)
        recorder.add(Launch(self.kernel(label, source), self.grid, (self.block, 1, 1), tuple(arguments)))


def _parameter_type(dtype: torch.dtype) -> str:
    kind = {torch.float16: "b16", torch.bfloat16: "b16", torch.bool: "u8", torch.int8: "s8", torch.uint8: "u8"}
    return kind.get(dtype) or {"f": "f", "i": "s"}[DTYPE_NAMES[dtype][0]] + DTYPE_NAMES[dtype][1:]


@dataclass
class Lowering:
    """One traced call while its launches are recorded."""

    recorder: Recorder
    operator: str = ""  # of the graph node that is being lowered
    source: tuple[str, int] | None = None  # where the user called it
    standin: object = None  # the stand-in result(s) of the node
    arguments: Sequence[object] = ()  # the node's, with stand-in tensors
    wanted: frozenset[int] = frozenset()  # which of several results are used
    live: dict[object, object] = field(default_factory=dict)  # values, by graph node, that will still be used

    def refuse(self, reason: str) -> Refused:
        file, line = self.source or (None, None)
        return Refused(self.operator, reason, file, line)

    # --- Buffers.

    def new(self, shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int] | None = None) -> Value:
        """A new buffer; nothing is written yet."""
        if dtype not in DTYPE_NAMES:
            raise self.refuse(f"tensors of {str(dtype).removeprefix('torch.')} are not modelled")
        shape = tuple(shape)
        own = contiguous_strides(shape)
        strides = own if strides is None else tuple(strides)
        plain = all(s == o for s, o, n in zip(strides, own, shape) if n > 1)
        declared = {} if plain or 0 in shape else {"strides": strides}
        tensor = self.recorder.new_temporary(DTYPE_NAMES[dtype], shape, **declared)
        return Value(shape, dtype, strides, 0, Buffer(tensor, dtype))

    def known(self, tensor: torch.Tensor) -> Value:
        """Data that is known now."""
        dtype, shape = tensor.dtype, tuple(tensor.shape)
        if isinstance(tensor, FakeTensor):
            raise self.refuse("a tensor that an earlier call or another program made and kept")
        if dtype not in DTYPE_NAMES:
            raise self.refuse(f"tensors of {str(dtype).removeprefix('torch.')} are not modelled")
        if tensor.numel() > MOST_KNOWN:
            raise self.refuse(f"a constant of {tensor.numel()} cells; pass it as a tensor of the instance")
        values = tuple(tensor.detach().cpu().reshape(-1).tolist())
        if values and all(v == values[0] for v in values):
            return self.full(shape, dtype, values[0])
        declared = self.recorder.new_temporary(DTYPE_NAMES[dtype], shape, init="values", values=values)
        return Value(shape, dtype, contiguous_strides(shape), 0, Buffer(declared, dtype))

    def full(self, shape: Sequence[int], dtype: torch.dtype, number: int | float | bool) -> Value:
        kind = self.kind(dtype)
        shape = tuple(shape)
        return Value(
            shape, dtype, contiguous_strides(shape), emit=lambda k, idx: k.constant(number, kind), constant=number
        )

    def kind(self, dtype: torch.dtype) -> str:
        kind = kind_of(dtype)
        if kind is None:
            raise self.refuse(f"tensors of {str(dtype).removeprefix('torch.')} are not modelled")
        return kind

    def expression(
        self,
        shape: Sequence[int],
        dtype: torch.dtype,
        emit: Emit,
        inputs: Sequence[Value],
        *,
        cost: int = 1,
        exact_index: bool = False,
    ) -> Value:
        """A cell for a cell: inputs are read at the index that they broadcast to."""
        self.kind(dtype)
        shape = tuple(shape)
        return Value(
            shape,
            dtype,
            contiguous_strides(shape),
            emit=emit,
            inputs=tuple((v, lambda s, own=v.shape: broadcast_strides(s, own, len(shape))) for v in inputs),
            exact_index=exact_index or any(v.exact_index for v in inputs),
            cost=cost + sum(v.cost for v in inputs),
        )

    def map(
        self,
        cell: Callable[..., Reg],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        shape: Sequence[int],
        dtype: torch.dtype,
        compute: torch.dtype | None = None,
        cost: int = 1,
    ) -> Value:
        """The expression cell(kernel, *args), with registers of the dtype `compute` for the values among them."""
        own = compute or dtype
        # What is made of indices alone may become an index or a bound, where its rounding counts.
        of_indices = dtype.is_floating_point and not any(
            v.reads() for v in (*args, *kwargs.values()) if isinstance(v, Value)
        )
        values = [a for a in (*args, *kwargs.values()) if isinstance(a, Value)]

        def emit(kernel: Kernel, idx: Idx) -> Reg:
            def operand(a: object) -> object:
                return kernel.read(a, idx, own) if isinstance(a, Value) else a

            ready = [operand(a) for a in args], {name: operand(a) for name, a in kwargs.items()}
            kernel.constant_dtype = own
            result = cell(kernel, *ready[0], **ready[1])
            if not isinstance(result, Reg):
                result = kernel.constant(result, kernel_kind)
            if result.kind == kernel_kind:
                return kernel.rounded(result, dtype) if of_indices else kernel.wrap(result, dtype)
            return kernel.to_dtype(result, own, dtype)

        kernel_kind = self.kind(dtype)
        self.kind(own)
        return self.expression(shape, dtype, emit, values, cost=cost)

    def common_dtype(self) -> torch.dtype:
        """What the tensors and numbers among the node's arguments are promoted to."""
        flat = [a for a in self.arguments if isinstance(a, (torch.Tensor, bool, int, float))]
        return elementwise_dtypes(*flat, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)[0]

    def remapped(
        self,
        value: Value,
        shape: Sequence[int],
        index: Callable[[Idx], Idx],
        strides: Callable[[tuple[int, ...]], tuple[int, ...]] | None,
    ) -> Value:
        """A cell of another place of a value; `strides` maps strides likewise, if a step stays a step."""
        shape = tuple(shape)
        return Value(
            shape,
            value.dtype,
            contiguous_strides(shape),
            emit=lambda k, idx: k.read(value, index(idx)),
            inputs=((value, strides or (lambda s: (0,) * len(shape))),),
            exact_index=value.exact_index or strides is None,
            cost=value.cost,
        )

    # --- Kernels.

    def kernel(self) -> Kernel:
        return Kernel("".join(c if c.isalnum() else "_" for c in self.operator) or "kernel")

    def launch(self, kernel: Kernel) -> None:
        kernel.launch(self.recorder, self.operator, self.source)

    def compute(self, shape: Sequence[int], dtype: torch.dtype, cell: Callable[[Kernel, Idx], Reg]) -> Value:
        """A new buffer, each cell computed by a thread that may run long."""
        target = self.new(shape, dtype)
        if target.numel:
            kernel = self.kernel()
            kernel.constant_dtype = dtype
            idx = kernel.space(target.shape)
            kernel.write(target, idx, cell(kernel, idx))
            self.launch(kernel)
        return target

    def copy(self, target: Value, source: Value) -> None:
        """Writes the source, broadcast, into a view; of the target the source may read the cell that is written."""
        if target.numel == 0:
            return
        kernel = self.kernel()
        if source.exact_index:
            idx = kernel.space(target.shape, wide=True)
        else:
            reads = [broadcast_strides(leaf.strides, source.shape, target.rank) for leaf in source.reads()]
            idx = kernel.joined_space(target.shape, [target.strides, *reads], wide=True)
        kernel.write(target, idx, kernel.read(source, idx, target.dtype))
        self.launch(kernel)

    def materialise(self, value: Value) -> Value:
        """Gives an expression a buffer, in place."""
        if value.buffer is not None:
            return value
        if value.base is not None:
            value.buffer = self.materialise(value.base).buffer
        else:
            target = self.new(value.shape, value.dtype, value.strides)
            self.copy(target, value)
            value.buffer = target.buffer
        value.emit, value.inputs, value.base, value.exact_index, value.cost = None, (), None, False, 0
        value.constant = None
        return value

    def settle(self, buffer: Buffer) -> None:
        """Computes what still has to read the buffer, before it is written."""
        for result in list(self.live.values()):
            for value in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(value, Value) and value.buffer is None:
                    if any(leaf.buffer is buffer for leaf in value.reads()):
                        self.materialise(value)

    def assign(self, target: Value, source: Value) -> None:
        """In-place: the target's cells become those of the source."""
        assert target.buffer is not None
        overlap = [leaf for leaf in source.reads() if leaf.buffer is target.buffer]
        own = tuple(0 if n == 1 else s for n, s in zip(target.shape, target.strides))
        same_cells = all(
            (leaf.dtype, leaf.offset, leaf.strides) == (target.dtype, target.offset, own) and not source.exact_index
            for leaf in overlap
        )
        if overlap and (not same_cells or source.rank != target.rank):
            if source.buffer is not None:
                source = self.expression(source.shape, source.dtype, lambda k, idx, v=source: k.read(v, idx), [source])
            source = self.materialise(source)
        self.settle(target.buffer)
        self.copy(target, source)

    def simple(self, value: Value, cost: int = 2) -> Value:
        """The value, computed if reading it again and again would cost."""
        return value if value.buffer is not None or value.cost <= cost else self.materialise(value)


__all__ = ["DTYPES", "DTYPE_NAMES", "Buffer", "Immediate", "Kernel", "Lowering", "Value", "view_of"]
