"""Writes one PTX kernel: registers with arithmetic, loops, guards, loads and stores.

A register has one of four kinds: `f64` for every float, `s64` and `s32` for integers (narrower ones are kept extended
in `s32`), `pred` for truth values. Pure instructions are shared while they are in scope. Indices are `s64` registers or
Python integers; what is known here is folded here.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from coequal._program import Kernel, Refused

Number = int | float | bool
Index = "Reg | int"

_PREFIX = {"f64": "%d", "s64": "%l", "s32": "%r", "pred": "%p", "f32": "%f", "b16": "%h"}
_DECLARED = {"f64": "f64", "s64": "b64", "s32": "b32", "pred": "pred", "f32": "f32", "b16": "b16"}
_BITS = {"f64": "b64", "s64": "b64", "s32": "b32"}

_KINDS = {
    torch.float64: "f64",
    torch.float32: "f64",
    torch.float16: "f64",
    torch.bfloat16: "f64",
    torch.int64: "s64",
    torch.int32: "s32",
    torch.int16: "s32",
    torch.int8: "s32",
    torch.uint8: "s32",
    torch.bool: "pred",
}
# How a dtype lies in memory: type of the access, register that it needs, conversions from and to the register's kind.
_MEMORY = {
    torch.float64: ("f64", "f64", None, None),
    torch.float32: ("f32", "f32", "cvt.f64.f32", "cvt.rn.f32.f64"),
    torch.float16: ("b16", "b16", "cvt.f64.f16", "cvt.rn.f16.f64"),
    torch.bfloat16: ("b16", "b16", "cvt.f64.bf16", "cvt.rn.bf16.f64"),
    torch.int64: ("s64", "s64", None, None),
    torch.int32: ("s32", "s32", None, None),
    torch.int16: ("s16", "s32", None, None),
    torch.int8: ("s8", "s32", None, None),
    torch.uint8: ("u8", "s32", None, None),
    torch.bool: ("u8", "s32", None, None),
}
_NARROW = {torch.int16: "cvt.s32.s16", torch.int8: "cvt.s32.s8", torch.uint8: "cvt.u32.u8"}


def kind_of(dtype: torch.dtype) -> str | None:
    """The kind of register that holds a number of the dtype, or None if there is none."""
    return _KINDS.get(dtype)


@dataclass(frozen=True, eq=False)
class Reg:
    """A register, or a constant of its kind. Arithmetic makes instructions; a comparison is a method."""

    builder: Builder
    kind: str
    text: str
    constant: Number | None = None

    def __add__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("add", self, other)

    def __radd__(self, other: Number) -> Reg:
        return self.builder.binary("add", other, self)

    def __sub__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("sub", self, other)

    def __rsub__(self, other: Number) -> Reg:
        return self.builder.binary("sub", other, self)

    def __mul__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("mul", self, other)

    def __rmul__(self, other: Number) -> Reg:
        return self.builder.binary("mul", other, self)

    def __truediv__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Reg:
        return self.builder.binary("div", other, self)

    def __and__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("and", self, other)

    def __or__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("or", self, other)

    def __xor__(self, other: Reg | Number) -> Reg:
        return self.builder.binary("xor", self, other)

    def __invert__(self) -> Reg:
        return self.builder.invert(self)

    def __neg__(self) -> Reg:
        return self.builder.negate(self)

    def lt(self, other: Reg | Number) -> Reg:
        return self.builder.compare("lt", self, other)

    def le(self, other: Reg | Number) -> Reg:
        return self.builder.compare("le", self, other)

    def gt(self, other: Reg | Number) -> Reg:
        return self.builder.compare("gt", self, other)

    def ge(self, other: Reg | Number) -> Reg:
        return self.builder.compare("ge", self, other)

    def equals(self, other: Reg | Number) -> Reg:
        return self.builder.compare("eq", self, other)

    def differs(self, other: Reg | Number) -> Reg:
        return self.builder.compare("ne", self, other)


class Builder:
    """The text of one kernel while it is written.

    Float constants are rounded to `constant_dtype` as PyTorch does: to single precision unless the computation is in
    double precision.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.constant_dtype = torch.float32
        self.guard: Reg | None = None  # where loads happen
        self._parameters: list[str] = []
        self._prologue: list[str] = []
        # A level for the kernel and one for each open loop. A pure instruction goes to the outermost level that has its
        # operands: what does not change in a loop is computed before it.
        self._levels: list[list[str]] = [[]]
        self._memos: list[dict[object, Reg]] = [{}]
        self._depths: dict[str, int] = {}
        self._variables: set[str] = set()  # written more than once: their uses stay where they are
        self._counts: dict[str, int] = {}
        self._labels = 0

    # --- Text.

    def fresh(self, kind: str, depth: int | None = None) -> Reg:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        reg = Reg(self, kind, f"{_PREFIX[kind]}{number}")
        self._depths[reg.text] = self._depth if depth is None else depth
        return reg

    @property
    def _depth(self) -> int:
        return len(self._levels) - 1

    def line(self, text: str, depth: int | None = None) -> None:
        self._levels[self._depth if depth is None else depth].append(f"  {text};")

    def parameter(self, ptx_type: str) -> str:
        name = f"p{len(self._parameters)}"
        self._parameters.append(f".param .{ptx_type} {name}")
        return name

    def from_parameter(self, access: str, kind: str, name: str) -> Reg:
        reg = self.fresh(kind, 0)
        self._prologue.append(f"  ld.param.{access} {reg.text}, [{name}];")
        return reg

    def kernel(self, label: str, source: tuple[str, int] | None = None) -> Kernel:
        registers = "".join(
            f"  .reg .{_DECLARED[kind]} {_PREFIX[kind]}<{count}>;\n" for kind, count in sorted(self._counts.items())
        )
        header = ".version 8.0\n.target sm_80\n.address_size 64\n"
        body = "\n".join([*self._prologue, *self._levels[0]])
        at, file = (f"  .loc 1 {source[1]} 0\n", f'.file 1 "{source[0]}"\n') if source else ("", "")
        entry = f".visible .entry {self.name}({', '.join(self._parameters)})"
        text = f"{header}{entry}\n{{\n{registers}{at}{body}\n  ret;\n}}\n{file}"
        return Kernel(name=self.name, text=text, label=label)

    def depth_of(self, *operands: object) -> int:
        depths = [
            self._depth if o.text in self._variables else self._depths.get(o.text, 0)
            for o in operands
            if isinstance(o, Reg)
        ]
        return max(depths, default=0)

    def recall(self, key: object) -> Reg | None:
        for memo in self._memos:
            if key in memo:
                return memo[key]
        return None

    def remember(self, key: object, reg: Reg) -> None:
        self._memos[self.depth_of(reg)][key] = reg

    def pure(self, opcode: str, kind: str, *operands: Reg | str) -> Reg:
        """The result of an instruction without effects, which is written once while it is in scope."""
        depth = self.depth_of(*operands)
        texts = [o.text if isinstance(o, Reg) else o for o in operands]
        shared = not any(text in self._variables for text in texts)
        key = (opcode, kind, *texts)
        known = self.recall(key) if shared else None
        if known is None:
            known = self.fresh(kind, depth)
            if shared:
                self.remember(key, known)
            self.line(f"{opcode} {known.text}, {', '.join(texts)}", depth)
        return known

    # --- Constants.

    def constant(self, value: Number, kind: str) -> Reg:
        if kind == "f64":
            number = float(value)
            if self.constant_dtype != torch.float64 and math.isfinite(number):
                number = round_to_single(number)
                # A long one is a literal of single precision: as a double it would be no rounded decimal.
                if not (math.frexp(number)[0] * 2**11).is_integer():
                    single = "0f" + struct.pack(">f", number).hex().upper()
                    return Reg(self, kind, self.pure("cvt.f64.f32", "f64", single).text, number)
            return Reg(self, kind, "0d" + struct.pack(">d", number).hex().upper(), number)
        if kind == "pred":
            truth = bool(value)
            return Reg(self, kind, "1" if truth else "0", truth)
        bits = 64 if kind == "s64" else 32
        wrapped = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        return Reg(self, kind, str(wrapped), wrapped)

    def register(self, value: Reg | Number, kind: str) -> Reg:
        """An operand of the kind: constants are made, predicates that are constants become registers."""
        reg = value if isinstance(value, Reg) else self.constant(value, kind)
        if reg.kind != kind:
            raise AssertionError(f"{reg.kind} where {kind} is needed")
        if kind == "pred" and reg.constant is not None:
            return self.pure("setp.eq.s32", "pred", "0", "0" if reg.constant else "1")
        return reg

    def variable(self, value: Reg | Number, kind: str) -> Reg:
        """A register that may be assigned again."""
        reg = self.fresh(kind)
        self._variables.add(reg.text)
        self.assign(reg, value)
        return reg

    def assign(self, variable: Reg, value: Reg | Number) -> None:
        self._move(variable, self.register(value, variable.kind))

    def _move(self, to: Reg, value: Reg) -> None:
        self.line(f"mov.{'pred' if to.kind == 'pred' else to.kind} {to.text}, {value.text}")

    # --- Arithmetic.

    def pair(self, a: Reg | Number, b: Reg | Number) -> tuple[Reg, Reg]:
        kind = next((x.kind for x in (a, b) if isinstance(x, Reg)), "f64")
        return self.register(a, kind), self.register(b, kind)

    def binary(self, name: str, left: Reg | Number, right: Reg | Number) -> Reg:
        a, b = self.pair(left, right)
        kind = a.kind
        if kind in ("s64", "s32"):
            if a.constant is not None and b.constant is not None and name in ("add", "sub", "mul"):
                x, y = int(a.constant), int(b.constant)
                return self.constant({"add": x + y, "sub": x - y, "mul": x * y}[name], kind)
            if name in ("add", "sub") and b.constant == 0:
                return a
            if name == "add" and a.constant == 0:
                return b
            if name == "mul" and 1 in (a.constant, b.constant):
                return b if a.constant == 1 else a
        if name in ("and", "or", "xor"):
            return self.pure(f"{name}.{'pred' if kind == 'pred' else _BITS[kind]}", kind, a, b)
        if kind == "f64":
            return self.pure(f"{name}.rn.f64", kind, a, b)
        return self.pure(f"{name}{'.lo' if name == 'mul' else ''}.{kind}", kind, a, b)

    def refuse(self, reason: str) -> Refused:
        return Refused(self.name, reason)

    def remainder(self, a: Reg, b: Reg | Number) -> Reg:
        """Of machine integers, with the sign of the dividend."""
        return self.pure(f"rem.{a.kind}", a.kind, *self.pair(a, b))

    def shift(self, direction: str, a: Reg | Number, amount: Reg | Number) -> Reg:
        a, count = self.pair(a, amount)
        if a.kind == "s64":  # a count of 32 bits clamps at the width, and so has this one to
            count = self.convert(self.pure("min.u64", "s64", count, self.constant(64, "s64")), "s32")
        opcode = f"shl.{_BITS[a.kind]}" if direction == "left" else f"shr.{a.kind}"
        return self.pure(opcode, a.kind, a, count)

    def negate(self, a: Reg) -> Reg:
        return self.pure(f"neg.{a.kind}", a.kind, a)

    def invert(self, a: Reg) -> Reg:
        if a.kind == "pred":
            return self.pure("not.pred", "pred", self.register(a, "pred"))
        return self.pure(f"not.{_BITS[a.kind]}", a.kind, a)

    def absolute(self, a: Reg) -> Reg:
        return self.pure(f"abs.{a.kind}", a.kind, a)

    def minimum(self, a: Reg | Number, b: Reg | Number) -> Reg:
        return self._extreme("min", *self.pair(a, b))

    def maximum(self, a: Reg | Number, b: Reg | Number) -> Reg:
        return self._extreme("max", *self.pair(a, b))

    def _extreme(self, name: str, a: Reg, b: Reg) -> Reg:
        if a.kind == "pred":
            return a & b if name == "min" else a | b
        return self.pure(f"{name}.{a.kind}", a.kind, a, b)

    def real(self, function: str, *arguments: Reg | Number) -> Reg:
        """An exact real function (`coequal list isa`, real.*)."""
        return self.pure(f"real.{function}.f64", "f64", *(self.register(a, "f64") for a in arguments))

    def sqrt(self, a: Reg) -> Reg:
        return self.pure("sqrt.rn.f64", "f64", self.register(a, "f64"))

    def round(self, mode: str, a: Reg) -> Reg:
        """To an integral real; mode: rni, rzi, rmi, rpi."""
        return self.pure(f"cvt.{mode}.f64.f64", "f64", self.register(a, "f64"))

    def compare(self, relation: str, left: Reg | Number, right: Reg | Number) -> Reg:
        a, b = self.pair(left, right)
        if a.kind == "pred":
            a, b = self.convert(a, "s32"), self.convert(b, "s32")
        if a.kind == "f64" and relation == "ne":
            relation = "neu"  # what is not a number differs from everything
        return self.pure(f"setp.{relation}.{a.kind}", "pred", a, b)

    def select(self, condition: Reg, then: Reg | Number, otherwise: Reg | Number) -> Reg:
        a, b = self.pair(then, otherwise)
        if condition.constant is not None:
            return a if condition.constant else b
        if a.kind == "pred":
            return (condition & a) | (~condition & b)
        return self.pure(f"selp.{_BITS[a.kind] if a.kind != 'f64' else 'f64'}", a.kind, a, b, condition)

    # --- Conversions.

    def convert(self, a: Reg, kind: str) -> Reg:
        """To another kind with PyTorch's meaning: numbers are cut towards zero, truth is "not zero"."""
        if a.kind == kind:
            return a
        if a.constant is not None:
            return self.constant(a.constant, kind)
        if kind == "pred":
            return a.differs(0)
        if a.kind == "pred":
            return self.select(a, self.constant(1, kind), self.constant(0, kind))
        if kind == "f64":
            return self.pure(f"cvt.rn.f64.{a.kind}", kind, a)
        if a.kind == "f64":
            return self.pure(f"cvt.rzi.{kind}.f64", kind, a)
        return self.pure(f"cvt.{kind}.{a.kind}", kind, a)

    def wrap(self, a: Reg, dtype: torch.dtype) -> Reg:
        """A result that is kept wider than its dtype, cut to it."""
        opcode = _NARROW.get(dtype)
        if opcode is None or a.constant is not None:
            return a
        return self.pure(opcode, "s32", a)

    def rounded(self, a: Reg, dtype: torch.dtype) -> Reg:
        """A float as its dtype holds it."""
        _, kind, widen, narrow = _MEMORY[dtype]
        return self.pure(widen, "f64", self.pure(narrow, kind, a)) if widen and narrow else a

    def to_dtype(self, a: Reg, source: torch.dtype, dtype: torch.dtype) -> Reg:
        if source == dtype:
            return a
        return self.wrap(self.convert(a, _KINDS[dtype]), dtype)

    # --- Indices.

    def index_sum(self, terms: Sequence[tuple[Reg | int, int]], offset: int = 0) -> Reg | int:
        """The sum of index * stride, what changes least first."""
        known, total = offset, None
        for index, stride in sorted(terms, key=lambda term: self.depth_of(term[0])):
            if isinstance(index, int):
                known += index * stride
            elif stride != 0:
                part = index * stride
                total = part if total is None else total + part
        if total is None:
            return known
        return total + known

    def all_of(self, *conditions: Reg | None) -> Reg | None:
        """Their conjunction; None is always true."""
        result: Reg | None = None
        for condition in conditions:
            if condition is not None:
                result = condition if result is None else result & condition
        return result

    def index(self, value: Reg | int) -> Reg:
        return self.register(value, "s64")

    # --- Control.

    def _label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def loop(self, count: int | Reg, body: Callable[[Reg | int], None], start: Reg | int = 0) -> None:
        """Runs body(index) for each index from start up to count."""
        known = isinstance(count, int) and isinstance(start, int)
        if known and count - start <= 1:
            if count > start:
                body(start)
            return
        index = self.variable(self.index(start), "s64")
        head, end = self._label(), self._label()
        if not known:
            self.line(f"@{index.ge(self.index(count)).text} bra {end}")
        self._levels.append([])
        self._memos.append({})
        # Within one round the index does not change.
        self._variables.discard(index.text)
        self._depths[index.text] = self._depth
        body(index)
        self._variables.add(index.text)
        self.assign(index, index + 1)
        again = index.lt(self.index(count))
        self.line(f"@{again.text} bra {head}")
        self._memos.pop()
        lines = self._levels.pop()
        self._levels[-1] += [f"{head}:", *lines, f"{end}:"]

    def loops(self, counts: Sequence[int], body: Callable[[list[Reg | int]], None]) -> None:
        """Nested loops, the last index fastest."""

        def nest(indices: list[Reg | int]) -> None:
            if len(indices) == len(counts):
                body(indices)
            else:
                self.loop(counts[len(indices)], lambda i: nest([*indices, i]))

        nest([])

    def leave_if(self, condition: Reg) -> None:
        self.line(f"@{self.register(condition, 'pred').text} ret")

    @contextmanager
    def guarded(self, condition: Reg | None):
        """Loads inside happen where the condition holds, and give 0 elsewhere."""
        outer = self.guard
        if condition is not None:
            guard = self.register(condition, "pred")
            self.guard = guard if outer is None else outer & guard
        yield
        self.guard = outer

    # --- Memory.

    def address(self, base: Reg, index: Reg | int, size: int) -> str:
        if isinstance(index, int):
            return f"[{base.text}+{index * size}]"
        at = base + (index * size)
        return f"[{at.text}]"

    def load(self, base: Reg, index: Reg | int, dtype: torch.dtype, *, hoist: bool = True) -> Reg:
        """`hoist`: the cell does not change while the kernel runs."""
        access, kind, widen, _ = _MEMORY[dtype]
        address = self.address(base, index, dtype.itemsize)
        depth = self.depth_of(base, index, self.guard) if hoist else self._depth
        reg = self.fresh(kind, depth)
        if self.guard is None:
            self.line(f"ld.global.{access} {reg.text}, {address}", depth)
        else:
            zero = self.constant(0, kind).text if kind in _BITS else "0"
            self.line(f"mov.{_BITS.get(kind, 'b32' if kind == 'f32' else kind)} {reg.text}, {zero}", depth)
            self.line(f"@{self.guard.text} ld.global.{access} {reg.text}, {address}", depth)
        return self._widened(reg, dtype, widen)

    def load_parameter(self, name: str, dtype: torch.dtype) -> Reg:
        access, kind, widen, _ = _MEMORY[dtype]
        return self._widened(self.from_parameter(access, kind, name), dtype, widen)

    def _widened(self, reg: Reg, dtype: torch.dtype, widen: str | None) -> Reg:
        if dtype == torch.bool:
            return reg.differs(0)
        return self.pure(widen, "f64", reg) if widen else reg

    def store(self, base: Reg, index: Reg | int, value: Reg, dtype: torch.dtype) -> None:
        access, kind, _, narrow = _MEMORY[dtype]
        value = self.register(value, _KINDS[dtype])
        if dtype == torch.bool:
            value = self.convert(value, "s32")
        if narrow:
            value = self.pure(narrow, kind, value)
        elif value.constant is not None:
            variable = self.fresh(value.kind)
            self._move(variable, value)
            value = variable
        self.line(f"st.global.{access} {self.address(base, index, dtype.itemsize)}, {value.text}")


def round_to_single(value: float) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
