"""Kernels of CuPy without a GPU: raw ones as CUDA C++, elementwise and reduction kernels by what they compute."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coequal._program import Argument, Immediate, Kernel, Launch, OwnLaunch, Recorder, ScalarArgument, TensorArgument
from coequal._record import argument, kept_flags, source_file

_TYPES = {
    "f64": "double", "f32": "float", "f16": "__half", "bf16": "__nv_bfloat16", "bool": "bool", "i64": "long long",
    "i32": "int", "i16": "short", "i8": "signed char", "u64": "unsigned long long", "u32": "unsigned int",
    "u16": "unsigned short", "u8": "unsigned char",
}  # fmt: skip
_NUMPY_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bool": "bool"}
_THREADS = 128


def cupy(kernel: Any, name: str | None = None) -> Kernel | Generated:
    """A kernel of CuPy for launch(): a RawKernel, one of a RawModule by its name, an ElementwiseKernel or a
    ReductionKernel.

    The last two are launched without a grid, with tensors of one shape (a reduction: over the last cells), and stand
    for what they compute, cell by cell; how CuPy divides the work is left out.
    """
    kind = type(kernel).__name__
    if kind in ("ElementwiseKernel", "ReductionKernel"):
        return Generated(kernel)
    if kind == "RawModule" and name is None:
        raise ValueError("cupy: a RawModule needs the name of a kernel")
    if kind not in ("RawKernel", "RawModule"):
        raise ValueError(f"cupy: expected a kernel of CuPy, found {kernel!r}")
    name = name or kernel.name
    flags = tuple(kept_flags(kernel.options))
    path = kernel.file_path
    if path is not None:
        return Kernel(name, path=os.path.abspath(path), kind="cu" if path.endswith(".cu") else "ptx", flags=flags)
    text, plain = kernel.code, name.partition("<")[0]
    if plain != name:  # an instance of a template is compiled where something uses it
        text += f"\nstatic void* coequal_instance = (void*)({name});\n"
    return Kernel(plain, path=source_file(text, plain), kind="cu", flags=flags)


@dataclass(frozen=True)
class Generated(OwnLaunch):
    """An elementwise or reduction kernel; its source follows from the dtypes that it is launched with."""

    kernel: Any

    def launch(self, recorder: Recorder, args: Sequence[Any], grid: Any, block: Any, shared: int) -> None:
        if grid is not None or block is not None or shared:
            raise ValueError(f"{self.kernel.name}: grid and block follow from the arguments")
        parameters = [*self.kernel.in_params, *self.kernel.out_params]
        if len(args) != len(parameters):
            raise ValueError(f"{self.kernel.name}: expected {len(parameters)} arguments, found {len(args)}")
        passed = [argument(a) for a in args]
        types: dict[str, str] = {}  # of the letters that stand for types
        for p, a in zip(parameters, passed):
            if p.dtype is None and (isinstance(a, TensorArgument) or p.ctype not in types):
                types.setdefault(p.ctype, _dtype(a))
        passed = [_typed(a, _numpy_dtype(p.dtype) or types[p.ctype], p.name) for p, a in zip(parameters, passed)]
        declared = [self._declared(p, a) for p, a in zip(parameters, passed)]
        aliases = "".join(f"typedef {_TYPES[dtype]} {letter};\n" for letter, dtype in types.items())
        body, counts = self._body(parameters, passed)
        entry = f"cupy_{self.kernel.name}"  # by itself it could be a function of the mathematical library
        sizes = "".join(f", long long _n{i}" for i in range(len(counts)))
        text = (
            f"#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n{aliases}{self.kernel.preamble}\n"
            f'extern "C" __global__ void {entry}({", ".join(declared)}{sizes}) {{\n{body}}}\n'
        )
        path = source_file(text, entry)
        blocks = max(1, -(-counts[0] // _THREADS))
        arguments = (*passed, *(Immediate("i64", count) for count in counts))
        kernel = Kernel(entry, path=path, kind="cu", label=self.kernel.name)
        recorder.add(Launch(kernel, (blocks,), (_THREADS,), arguments))

    def _declared(self, parameter: Any, passed: Argument) -> str:
        own = parameter.ctype if parameter.dtype is None else _TYPES[_numpy_dtype(parameter.dtype) or ""]
        const = "const " if parameter.is_const else ""
        if isinstance(passed, TensorArgument):
            return f"{const}{own}* {parameter.name if parameter.raw else '_' + parameter.name}"
        return f"{const}{own} {parameter.name}"

    def _body(self, parameters: Sequence[Any], passed: Sequence[Argument]) -> tuple[str, tuple[int, ...]]:
        """With what it counts: cells, or results and the cells of each."""
        inputs = [self._cells(p, a) for p, a in list(zip(parameters, passed))[: self.kernel.nin]]
        outputs = [self._cells(p, a) for p, a in list(zip(parameters, passed))[self.kernel.nin :]]
        read, written = ("".join(line for line, _ in cells) for cells in (inputs, outputs))
        given, results = (_same({n for _, n in cells if n}, self.kernel.name) for cells in (inputs, outputs))
        if type(self.kernel).__name__ == "ElementwiseKernel":
            extra = self.kernel.kwargs
            return (
                f"  {extra.get('loop_prep', '')};\n  const long long i = blockIdx.x * {_THREADS}ll + threadIdx.x;\n"
                f"  if (i < _n0) {{\n{read.format(at='i')}{written.format(at='i')}    {self.kernel.operation};\n  }}\n"
                f"  {extra.get('after_loop', '')};\n"
            ), (_same({n for n in (given, results) if n}, self.kernel.name),)
        if results == 0 or given % results:
            raise ValueError(f"{self.kernel.name}: {results} results of {given} cells")
        k = self.kernel
        start = k.identity or ""
        first = "0" if start else "1"
        initial = f"(_type)({start})" if start else f"[&] {{ const long long _i = _o * _n1;\n{read.format(at='_i')}" \
            f"    return (_type)({k.map_expr}); }}()"  # fmt: skip
        return (
            f"  typedef {k.reduce_type or k.out_params[0].ctype} _type;\n"
            f"  const long long _o = blockIdx.x * {_THREADS}ll + threadIdx.x;\n  if (_o >= _n0) return;\n"
            f"  _type _s = {initial};\n  for (long long _j = {first}; _j < _n1; ++_j) {{\n"
            f"    const long long _i = _o * _n1 + _j;\n{read.format(at='_i')}"
            f"    _type a = _s, b = (_type)({k.map_expr});\n    _s = {k.reduce_expr};\n  }}\n"
            f"{written.format(at='_o')}  _type a = _s;\n  {k.post_map_expr};\n"
        ), (results, given // results)

    def _cells(self, parameter: Any, passed: Argument) -> tuple[str, int]:
        """How a cell gets the parameter's name, and of how many; 0 for what is the same for all."""
        if parameter.raw or not isinstance(passed, TensorArgument):
            return "", 0
        tensor = passed.tensor
        if tensor.strides is not None:
            raise ValueError(f"{self.kernel.name}: '{parameter.name}' has strides")
        own = parameter.ctype if parameter.dtype is None else _TYPES[_numpy_dtype(parameter.dtype) or ""]
        const = "const " if parameter.is_const else ""
        return f"    {const}{own}& {parameter.name} = _{parameter.name}[{{at}}];\n", math.prod(tensor.shape)


def _same(counts: set[int], name: str) -> int:
    if len(counts) > 1:
        raise ValueError(f"{name}: tensors of different sizes are not broadcast, found {sorted(counts)} cells")
    return counts.pop() if counts else 0


def _numpy_dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    name = str(dtype)
    return _NUMPY_NAMES.get(name) or name.replace("uint", "u").replace("int", "i")


def _dtype(passed: Argument) -> str:
    if isinstance(passed, TensorArgument):
        return passed.tensor.dtype
    return passed.scalar.dtype if isinstance(passed, ScalarArgument) else passed.dtype  # type: ignore[union-attr]


def _typed(passed: Argument, dtype: str, name: str) -> Argument:
    """A number in the parameter's dtype; anything else must have it."""
    if isinstance(passed, Immediate):
        return Immediate(dtype, passed.value)
    if _dtype(passed) != dtype:
        raise ValueError(f"'{name}': expected {dtype}, found {_dtype(passed)}")
    return passed

