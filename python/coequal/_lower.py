"""From an instance class to the TOML form that the engine reads, with PTX in memory beside it."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coequal import _core
from coequal._program import (
    DTYPE_SIZES,
    FLOAT_DTYPES,
    Argument,
    Bounds,
    Bytes,
    Immediate,
    Kernel,
    Launch,
    Number,
    Recorder,
    Refused,
    Scalar,
    ScalarArgument,
    Tensor,
    TensorArgument,
    TensorMapArgument,
    contiguous,
)
from coequal._record import notes, recording
from coequal.instance import VERDICTS, Defect, Instance


@dataclass
class Question:
    """An instance as text. `texts` holds the PTX that its launches name; other sources are files. Without a text, no
    program could be recorded."""

    name: str
    file: str
    toml: str
    texts: dict[str, str]
    tensors: dict[str, Tensor]
    scalars: dict[str, Scalar]
    unrecorded: list[tuple[str, str, str, str, int]] = field(default_factory=list)

    def engine_instance(self) -> _core.Instance:
        texts = {path: _text(text) for path, text in self.texts.items()}
        return _core.Instance(self.toml, self.file, self.name, texts, self.unrecorded)

    def save(self, folder: str | Path) -> Path:
        """Writes the instance and its sources, so that the command can check it without Python."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.texts.items():
            (folder / name).write_text(text)
        path = folder / f"{self.name}.toml"
        path.write_text(self.toml)
        return path


@functools.lru_cache(maxsize=512)
def _text(text: str) -> _core.Text:
    return _core.Text(text)


def record(case: Instance, name: str, file: str, arch: str) -> Question:
    """Runs `setup` and both programs of an instance, and writes down what they launch."""
    case.setup()
    programs: list[Program] = [_record_program("a", case.program_a, arch)]
    if case.program_b is not None:
        programs.append(_record_program("b", case.program_b, arch))
        case._recorded(*programs)
        _add_copies(*programs)
    of_users = (launch for p in programs for launch in p.launches if launch.kernel.kind == "cu")
    notes().blocks.update(n for launch in of_users for n in launch.block if n > 1)
    writer = _Writer(declared_in(case._declared()), programs)
    return writer.question(name, file, case)


@dataclass
class Program:
    letter: str
    launches: list[Launch]
    temporaries: list[Tensor]
    outputs: dict[str, Tensor] | None
    symbols: dict[str, Tensor] = field(default_factory=dict)
    refused: Refused | None = None


def _record_program(letter: str, function: Callable[[], Any], arch: str) -> Program:
    recorder = Recorder()
    try:
        with recording(recorder, arch):
            returned = function()
    except Refused as refusal:
        return Program(letter, recorder.launches, recorder.temporaries, None, recorder.symbols, refusal)
    outputs = None if returned is None else output_tensors(returned)
    return Program(letter, recorder.launches, recorder.temporaries, outputs, recorder.symbols)


def _add_copies(a: Program, b: Program) -> None:
    """An output of A is compared with one of B, and each program launches something: where a tensor of A has several
    partners, and where a program only returns what is there, it returns a copy."""
    if a.outputs is None or b.outputs is None or set(a.outputs) != set(b.outputs):
        return
    partners: dict[int, Tensor] = {}
    for name, tensor in a.outputs.items():
        if partners.setdefault(id(tensor), b.outputs[name]) is not b.outputs[name]:
            a.outputs[name] = _copy(a, tensor)
    for program, outputs in ((a, a.outputs), (b, b.outputs)):
        if not program.launches and outputs:
            name, tensor = next(iter(outputs.items()))
            outputs[name] = _copy(program, tensor)


_MOVES = {"f64": ("f64", "f64"), "f32": ("f32", "f32"), "tf32": ("f32", "f32")}  # of other types the bits
_BITS_MOVED = {8: ("b64", "b64"), 4: ("b32", "b32"), 2: ("b16", "b16"), 1: ("u8", "b32")}


def _copy(program: Program, tensor: Tensor) -> Tensor:
    """A new tensor of the program, to which a launch at its end copies another."""
    access, register = _MOVES.get(tensor.dtype) or _BITS_MOVED[DTYPE_SIZES[tensor.dtype]]
    size, block = DTYPE_SIZES[tensor.dtype], 256
    lines = ["cvt.u64.u32 %rest, %cell;", "mov.u64 %from, 0;"]
    strides = contiguous(tensor.shape) if tensor.strides is None else tensor.strides
    for extent, stride in reversed(list(zip(tensor.shape, strides))):
        if extent > 1:
            lines += [f"rem.u64 %at, %rest, {extent};", f"div.u64 %rest, %rest, {extent};"]
            lines.append(f"mad.lo.s64 %from, %at, {stride * size}, %from;")
    if strides == contiguous(tensor.shape):
        lines = [f"mul.wide.u32 %from, %cell, {size};"]
    body = "\n  ".join(lines)
    text = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 source, .param .u64 target)
{{
  .reg .pred %beyond;
  .reg .b32 %cell, %block, %thread;
  .reg .b64 %rest, %at, %from, %to, %source, %target;
  .reg .{register} %value;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %cell, %block, {block}, %thread;
  setp.ge.u32 %beyond, %cell, {tensor.numel};
  @%beyond ret;
  {body}
  ld.param.u64 %source, [source];
  ld.param.u64 %target, [target];
  add.s64 %from, %source, %from;
  ld.global.{access} %value, [%from];
  mul.wide.u32 %to, %cell, {size};
  add.s64 %to, %target, %to;
  st.global.{access} [%to], %value;
  ret;
}}
"""
    copied = Tensor("", tensor.dtype, tensor.shape, init="empty")
    program.temporaries.append(copied)
    args = (TensorArgument(tensor, "read"), TensorArgument(copied, "write"))
    grid = (max(1, -(-tensor.numel // block)), 1, 1)
    program.launches.append(Launch(Kernel("copy", text=text), grid, (block, 1, 1), args))
    return copied


def output_tensors(returned: Any) -> dict[str, Tensor]:
    """What a program returned, by name."""
    if isinstance(returned, Tensor):
        returned = {"out": returned}
    elif isinstance(returned, list | tuple):
        returned = {f"out{i}": tensor for i, tensor in enumerate(returned)}
    if not isinstance(returned, Mapping) or not all(isinstance(t, Tensor) for t in returned.values()):
        expected = "a dict of tensors by name, a tensor or a tuple of tensors"
        raise ValueError(f"a program returned {returned!r}; expected {expected}")
    return dict(returned)


def free_name(wanted: str, taken: Container[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}.{count}"
    return name


def declared_in(named: Mapping[str, Any]) -> dict[str, Any]:
    """Declared tensors and scalars by name; lists and dicts are looked into."""
    found: dict[str, Any] = {}

    def visit(name: str, value: Any) -> None:
        if isinstance(value, Tensor | Scalar):
            if not any(value is other for other in found.values()):
                found[name] = value
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                visit(f"{name}.{i}", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(f"{name}.{key}", item)

    for name, value in named.items():
        visit(name, value)
    return found


def _refusals(programs: Iterable[Program]) -> Iterator[tuple[str, str, str, str, int]]:
    for p in programs:
        if p.refused:
            yield p.letter, p.refused.construct, p.refused.reason, p.refused.file or "", p.refused.line or 0


class _Writer:
    """Names tensors, scalars and sources, and writes them down in the order in which they are met."""

    def __init__(self, attributes: Mapping[str, Any], programs: list[Program]) -> None:
        self._refused = list(_refusals(programs))
        # A program that could not be recorded ends the question there: program A alone is checked for defects.
        whole = [p.refused is None for p in programs]
        self._programs = programs[: whole.index(False)] if False in whole else programs
        self._names: dict[int, str] = {}
        self._tensors: dict[str, Tensor] = {}
        self._scalars: dict[str, Scalar] = {}
        self._texts: dict[str, str] = {}
        self._attributes = attributes
        self._name_things(attributes)

    def question(self, name: str, file: str, case: Instance) -> Question:
        if not self._programs:
            return Question(name, file, "", {}, {}, {}, self._refused)
        lines = [f"title = {_string(case.title())}", *self._output_lines()]
        if case.unwritten:
            lines.append(f"unwritten = {_list(_string(n) for n in case.unwritten)}")
        lines.append("")
        programs = [line for p in self._programs for line in self._program(f"program_{p.letter}", p)]
        lines += ["[tensors]", *(f"{_key(n)} = {_tensor(t)}" for n, t in self._tensors.items()), ""]
        if self._scalars:
            lines += ["[scalars]", *(f"{_key(n)} = {_scalar(s)}" for n, s in self._scalars.items()), ""]
        lines += [*programs, *self._settings(case)]
        toml = "\n".join(lines) + "\n"
        return Question(name, file, toml, self._texts, self._tensors, self._scalars, self._refused)

    def _name_things(self, attributes: Mapping[str, Any]) -> None:
        first = self._programs[0].outputs if self._programs else None
        outputs = {id(t): name for name, t in reversed((first or {}).items())}
        for name, thing in attributes.items():
            wanted = outputs.get(id(thing), name)
            # An output is called what program A calls it, unless another attribute has that name.
            self._add(thing, wanted if wanted == name or wanted not in attributes else name)
        for p in self._programs:
            for name, tensor in (p.outputs or {}).items():
                if id(tensor) not in self._names:
                    self._add(tensor, name if p is self._programs[0] else f"{p.letter}.{name}")
            for tensor in p.temporaries:
                if id(tensor) not in self._names:
                    self._add(tensor, f"{p.letter}.{len(self._tensors)}")

    def _add(self, thing: Tensor | Scalar, wanted: str) -> str:
        name = free_name(wanted, ChainMap(self._tensors, self._scalars))
        self._names[id(thing)] = name
        if isinstance(thing, Tensor):
            self._tensors[name] = thing
        else:
            self._scalars[name] = thing
        return name

    def _name(self, thing: Tensor | Scalar) -> str:
        return self._names.get(id(thing)) or self._add(thing, "t" if isinstance(thing, Tensor) else "s")

    def _output_lines(self) -> list[str]:
        if self._programs[0].outputs is None:
            return []
        names = dict.fromkeys(self._name(t) for t in self._programs[0].outputs.values())
        return [f"outputs = {_list(_string(n) for n in names)}"]

    def _program(self, key: str, program: Program) -> Iterator[str]:
        if not program.launches:
            raise ValueError(f"{key} launches nothing")
        yield f"[{key}]"
        first = self._programs[0]
        if program is not first:
            if (program.outputs is None) != (first.outputs is None):
                raise ValueError("one program returns its outputs and the other does not")
            if program.outputs is not None and first.outputs is not None:
                if set(program.outputs) != set(first.outputs):
                    raise ValueError(
                        f"program_a returns {_list(first.outputs)}, program_b returns {_list(program.outputs)}"
                    )
                pairs = ((self._name(t), self._name(program.outputs[n])) for n, t in first.outputs.items())
                renamed = {a: b for a, b in pairs if a != b}
                if renamed:
                    yield f"outputs = {{ {', '.join(f'{_key(a)} = {_string(b)}' for a, b in renamed.items())} }}"
        if program.symbols:
            named = (f"{_key(symbol)} = {_string(self._name(t))}" for symbol, t in program.symbols.items())
            yield f"symbols = {{ {', '.join(named)} }}"
        for launch in program.launches:
            yield f"[[{key}.launch]]"
            yield f"source = {_string(self._source(launch.kernel))}"
            if launch.kernel.flags:
                yield f"flags = {_list(_string(f) for f in launch.kernel.flags)}"
            yield f"kernel = {_string(launch.kernel.name)}"
            yield f"grid = {_list(launch.grid)}"
            yield f"block = {_list(launch.block)}"
            if launch.shared:
                yield f"shared = {launch.shared}"
            if launch.cluster is not None:
                yield f"cluster = {_list(launch.cluster)}"
            if launch.cooperative:
                yield "cooperative = true"
            yield f"args = {_list(self._argument(a) for a in launch.args)}"
        yield ""

    def _source(self, kernel: Kernel) -> str:
        if kernel.path is not None:
            return kernel.path
        assert kernel.text is not None
        name = _text_name(kernel.label or kernel.name, kernel.text)
        assert self._texts.setdefault(name, kernel.text) == kernel.text
        return name

    def _argument(self, argument: Argument) -> str:
        if isinstance(argument, TensorArgument):
            offset = f", offset = {argument.offset}" if argument.offset else ""
            return f"{{ {argument.mode} = {_string(self._name(argument.tensor))}{offset} }}"
        if isinstance(argument, TensorMapArgument):
            fields = {
                "tensor": _string(self._name(argument.tensor)), "shape": _list(argument.shape),
                "strides": _list(argument.strides), "offset": argument.offset, "box": _list(argument.box),
                "swizzle": _string(argument.swizzle), "fill": _string(argument.fill),
            }  # fmt: skip
            if argument.element_strides:
                fields["element_strides"] = _list(argument.element_strides)
            return f"{{ tensor_map = {{ {', '.join(f'{key} = {value}' for key, value in fields.items())} }} }}"
        if isinstance(argument, ScalarArgument):
            return f"{{ scalar = {_string(self._name(argument.scalar))} }}"
        if isinstance(argument, Bytes):
            return f'{{ bytes = "{argument.value.hex()}" }}'
        return _immediate(argument)

    def _settings(self, case: Instance) -> Iterator[str]:
        if case.assume or case.no_assume:
            yield "[assume]"
            yield f"on = {_list(_string(n) for n in case.assume)}"
            yield f"off = {_list(_string(n) for n in case.no_assume)}"
        if case.budget is not None:
            yield "[budget]"
            yield f"seconds = {_number(float(case.budget), 'f64')}"
        yield from self._expectation(case.expect)

    def _expectation(self, expect: str | Defect | None) -> Iterator[str]:
        if expect is None or (isinstance(expect, Defect) and expect.program == "b" and len(self._programs) < 2):
            return
        yield "[expect]"
        if isinstance(expect, Defect):
            yield 'verdict = "defect"'
            yield f"defect = {_string(expect.kind)}"
            if expect.program is not None:
                yield f"program = {_string(expect.program)}"
        elif expect in VERDICTS:
            yield f"verdict = {_string(expect)}"
        else:
            raise ValueError(f"expect: expected one of {', '.join(VERDICTS)} or a Defect, found {expect!r}")


@functools.lru_cache(maxsize=512)
def _text_name(label: str, text: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', label)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.ptx"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def _list(items: Iterable[Any]) -> str:
    return f"[{', '.join(str(i) for i in items)}]"


def _number(value: Number, dtype: str) -> str:
    if dtype not in FLOAT_DTYPES:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(int(value)) if isinstance(value, int) else repr(value)
    value = float(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def _immediate(argument: Immediate) -> str:
    value = argument.value
    if isinstance(value, int) and value >= 2**63:  # more than a TOML integer holds
        size = DTYPE_SIZES[argument.dtype]
        return f'{{ bytes = "{value.to_bytes(size, "little").hex()}" }}'
    return f"{{ {argument.dtype} = {_number(value, argument.dtype)} }}"


def _bounds(bounds: Bounds, dtype: str) -> list[str]:
    given = (("min", bounds.min), ("max", bounds.max), ("above", bounds.above), ("below", bounds.below))
    parts = [f"{key} = {_number(value, dtype)}" for key, value in given if value is not None]
    return [*parts, "sorted = true"] if bounds.sorted else parts


def _tensor(tensor: Tensor) -> str:
    parts = [f"dtype = {_string(tensor.dtype)}", f"shape = {_list(tensor.shape)}"]
    if tensor.strides is not None:
        parts.append(f"strides = {_list(tensor.strides)}")
    if tensor.init == "values":
        assert tensor.values is not None
        parts.append(f"values = {_list(_number(v, tensor.dtype) for v in tensor.values)}")
    elif tensor.init != "input":
        parts.append(f"init = {_string(tensor.init)}")
    if tensor.init == "full":
        assert tensor.value is not None
        parts.append(f"value = {_number(tensor.value, tensor.dtype)}")
    return f"{{ {', '.join(parts + _bounds(tensor.bounds, tensor.dtype))} }}"


def _scalar(scalar: Scalar) -> str:
    parts = [f"dtype = {_string(scalar.dtype)}"]
    if scalar.value is not None:
        parts.append(f"value = {_number(scalar.value, scalar.dtype)}")
    return f"{{ {', '.join(parts + _bounds(scalar.bounds, scalar.dtype))} }}"
