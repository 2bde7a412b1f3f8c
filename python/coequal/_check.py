"""Checking instances: one, many, and two functions against each other in a test."""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from coequal import _core
from coequal._capture import capture, module_state
from coequal._lower import Question, output_tensors, record
from coequal._program import Number, Tensor
from coequal.instance import Instance, input, scalar
from coequal.result import Result, make_result

Case: TypeAlias = "Instance | type[Instance] | str | os.PathLike[str]"

_modules = _core.ModuleCache()

# Options that hold where a call does not give its own, and who is told of each report and its results.
defaults: ContextVar[Mapping[str, Any]] = ContextVar("coequal_defaults", default=MappingProxyType({}))
observed: ContextVar[Callable[[str, list[Result]], None] | None] = ContextVar("coequal_observed", default=None)

# Keywords of check() that are called differently in the engine.
_OPTION_NAMES = {"budget": "budget_seconds", "memory": "memory_mib"}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in {**defaults.get(), **{k: v for k, v in given.items() if v is not None}}.items():
        if name == "cells":
            value = -1 if value == "all" else value
        if name == "proof":
            if value not in ("any", "exact"):
                raise ValueError(f"proof: expected 'exact' or 'any', found {value!r}")
            options["exact_only"] = value == "exact"
            continue
        if name == "budget":
            value = float(value)
        if name in ("assume", "no_assume"):
            value = [value] if isinstance(value, str) else list(value)
        options[_OPTION_NAMES.get(name, name)] = value
    return options


def name_of(case: Instance | type[Instance]) -> tuple[str, str]:
    """The name of an instance, and how reports call it: its file and its class."""
    cls = case if isinstance(case, type) else type(case)
    try:
        file = os.path.relpath(inspect.getfile(cls))
    except (TypeError, OSError, ValueError):
        file = "<python>"
    return cls.__name__, f"{file}::{cls.__qualname__}"


def question_of(case: Instance | type[Instance], arch: str = "sm_80", file: str | None = None) -> Question:
    """The instance as the engine reads it; ValueError where it is wrong."""
    name, default_file = name_of(case)
    return record(case() if isinstance(case, type) else case, name, file or default_file, arch)


def _prepare(case: Case, arch: str) -> tuple[_core.Instance, Question | None]:
    if isinstance(case, str | os.PathLike):
        path = Path(case)
        return _core.Instance(path.read_text(), os.fspath(path), path.stem, {}), None
    question = question_of(case, arch)
    return question.engine_instance(), question


def _run(
    prepared: Sequence[tuple[_core.Instance, Question | None]],
    options: dict[str, Any],
    progress: Callable[[int, int, str, str], None] | None = None,
) -> tuple[list[Result], bool]:
    main = threading.current_thread() is threading.main_thread()
    report = _core.check([instance for instance, _ in prepared], options, _modules, progress, main)
    text = report.json()
    entries = json.loads(text)["instances"]
    results = [
        make_result(entry, report.text(i), instance, question)
        for i, (entry, (instance, question)) in enumerate(zip(entries, prepared))
    ]
    observer = observed.get()
    if observer:
        observer(text, results)
    return results, report.interrupted


def check(
    case: Case,
    *,
    budget: float | None = None,
    cells: int | str | None = None,
    proof: str | None = None,
    assume: Iterable[str] | None = None,
    no_assume: Iterable[str] | None = None,
    arch: str | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    whole_grid: bool | None = None,
    nvcc: str | None = None,
    memory: int | None = None,
) -> Result:
    """Decides an instance: a class, an object of it, or the path of a TOML file.

    Options are those of the command (`coequal list options`). Raises ValueError where the instance is wrong, and
    KeyboardInterrupt when interrupted; every verdict, `refused` and `unknown` included, is a result.
    """
    given = dict(locals())
    case = given.pop("case")
    options = _options(given)
    results, interrupted = _run([_prepare(case, options.get("arch", "sm_80"))], options)
    if interrupted:
        raise KeyboardInterrupt
    return results[0]


@dataclass(frozen=True)
class Sweep:
    """The results of many checks, in the order in which they were asked for; fewer if interrupted."""

    results: tuple[Result, ...]
    interrupted: bool = False

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Any:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def counts(self) -> dict[str, int]:
        """How many results there are of each verdict."""
        found: dict[str, int] = {}
        for result in self.results:
            found[result.verdict] = found.get(result.verdict, 0) + 1
        return found

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.counts().items()))
        return f"<{len(self.results)} instances: {counted or 'none'}{', interrupted' if self.interrupted else ''}>"


def sweep(cases: Iterable[Case], *, batch: int = 64, **options: Any) -> Sweep:
    """Checks many instances, `batch` at a time on all cores; options are those of check().

    On a terminal a line shows the progress. An interruption (Ctrl-C) returns what was finished.
    """
    engine_options = _options(options)
    arch = engine_options.get("arch", "sm_80")
    results: list[Result] = []
    pending = iter(cases)
    with _Progress(len(cases) if isinstance(cases, Sequence) else None) as progress:
        while True:
            prepared: list[tuple[_core.Instance, Question | None]] = []
            try:
                for case in pending:
                    prepared.append(_prepare(case, arch))
                    if len(prepared) == batch:
                        break
            except KeyboardInterrupt:
                return Sweep(tuple(results), True)
            if not prepared:
                return Sweep(tuple(results))
            done, interrupted = _run(prepared, engine_options, progress.show)
            results += [r for r in done if r.verdict != "interrupted"]
            if interrupted:
                return Sweep(tuple(results), True)


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int | None) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> _Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, done: int, total: int, file: str, verdict: str) -> None:
        if self._bar:
            self._bar.update(self._task, advance=1, description=f"{verdict}  {file}")


@dataclass(frozen=True)
class Spec:
    """How an argument of two functions under test is declared: a tensor, or a scalar without a shape."""

    shape: tuple[int, ...] | None
    dtype: str
    declared: dict[str, Any]

    def declare(self) -> Any:
        if self.shape is None:
            return scalar(self.dtype, **self.declared)
        return input(self.shape, self.dtype, **self.declared)


def spec(
    shape: int | Iterable[int] | None,
    dtype: str = "f32",
    *,
    min: Number | None = None,
    max: Number | None = None,
    above: Number | None = None,
    below: Number | None = None,
    sorted: bool = False,
    strides: Iterable[int] | None = None,
) -> Spec:
    """An argument for assert_equivalent: a tensor of any values within its bounds; a shape of None: a scalar."""
    declared: dict[str, Any] = {"min": min, "max": max, "above": above, "below": below}
    if shape is None:
        return Spec(None, dtype, declared)
    return Spec(
        (shape,) if isinstance(shape, int) else tuple(shape), dtype, {**declared, "sorted": sorted, "strides": strides}
    )


class NotEquivalent(AssertionError):
    """Two functions differ, or could not be shown not to; `result` says which."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"not shown to be equivalent\n{result.text}")
        self.result = result


def assert_equivalent(
    fn_a: Callable[..., Any],
    fn_b: Callable[..., Any],
    *specs: Any,
    name: str | None = None,
    **options: Any,
) -> Result:
    """Asserts that two functions compute the same for all values of their arguments.

    Each function is host code as it stands: it may allocate tensors, call PyTorch operators and launch kernels, and
    returns a tensor, a tuple or a dict of tensors. It is called once, without a GPU. A spec (`spec(shape, dtype)`)
    declares an argument; anything else is passed on as it is. Parameters and buffers of modules are inputs, shared by
    name, and buffers that both have are compared, too. Options are those of check().
    """
    __tracebackhide__ = True
    case = _Functions(fn_a, fn_b, specs)
    label = name or f"{_function_name(fn_a)}-{_function_name(fn_b)}"
    engine_options = _options(options)
    question = record(case, label, label, engine_options.get("arch", "sm_80"))
    results, interrupted = _run([(question.engine_instance(), question)], engine_options)
    if interrupted:
        raise KeyboardInterrupt
    if results[0].verdict != "equivalent":
        raise NotEquivalent(results[0])
    return results[0]


class _Functions(Instance):
    def __init__(self, fn_a: Callable[..., Any], fn_b: Callable[..., Any], specs: Sequence[Any]) -> None:
        self._functions = {"a": fn_a, "b": fn_b}
        self._specs = specs

    def setup(self) -> None:
        declared = [a.declare() if isinstance(a, Spec) else a for a in self._specs]
        self._arguments = {_argument_name(self._functions["a"], i): a for i, a in enumerate(declared)}
        vars(self).update(self._arguments)
        self._modules = {letter: fn for letter, fn in self._functions.items() if hasattr(fn, "named_parameters")}
        self._state: dict[str, Tensor] = {}
        for module in self._modules.values():
            for name, tensor in module_state(module).items():
                known = self._state.setdefault(name, tensor)
                if (known.dtype, known.shape) != (tensor.dtype, tensor.shape):
                    raise ValueError(f"'{name}' is {known.dtype} {known.shape} and {tensor.dtype} {tensor.shape}")
        vars(self).update(self._state)
        buffers = [{name for name, _ in m.named_buffers()} for m in self._modules.values()]
        self._buffers = set.intersection(*buffers) if len(buffers) == 2 else set()

    def program_a(self) -> Any:
        return self._program("a")

    def program_b(self) -> Any:
        return self._program("b")

    def _program(self, letter: str) -> Any:
        fn, arguments = self._functions[letter], self._arguments.values()
        if letter not in self._modules:
            return capture(fn, *arguments)
        state = {name: self._state[name] for name in module_state(fn)}
        outputs = output_tensors(capture(fn, *arguments, state=state))
        return {**outputs, **{name: self._state[name] for name in sorted(self._buffers)}}


def _function_name(fn: Callable[..., Any]) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return "reference" if name == "<lambda>" else name


def _argument_name(fn: Callable[..., Any], index: int) -> str:
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        names = []
    return names[index] if index < len(names) and names[index] not in ("args", "kwargs") else f"arg{index}"
