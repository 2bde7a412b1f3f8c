"""Checking instances: one, many, and two functions against each other in a test."""

from __future__ import annotations

import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from coequal import _core
from coequal._functions import Functions, Spec
from coequal._lower import Question, record
from coequal.instance import Instance
from coequal.result import Result, make_result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from coequal.instance import Declared

Case: TypeAlias = "Instance | type[Instance] | str | os.PathLike[str]"

_modules = _core.ModuleCache()

# Options that hold where a call does not give its own, and who is told of each report and its results.
defaults: ContextVar[Mapping[str, Any]] = ContextVar("coequal_defaults", default=MappingProxyType({}))
observed: ContextVar[Callable[[str, list[Result]], None] | None] = ContextVar("coequal_observed", default=None)

# Keywords of check() that are called differently in the engine.
_OPTION_NAMES = {"budget": "budget_seconds", "memory": "memory_mib"}


def engine_options(given: dict[str, Any]) -> dict[str, Any]:
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


def prepare(case: Case, arch: str) -> tuple[_core.Instance, Question | None]:
    if isinstance(case, str | os.PathLike):
        path = Path(case)
        return _core.Instance(path.read_text(), os.fspath(path), path.stem, {}), None
    question = question_of(case, arch)
    return question.engine_instance(), question


def run(
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
    options = engine_options(given)
    results, interrupted = run([prepare(case, options.get("arch", "sm_80"))], options)
    if interrupted:
        raise KeyboardInterrupt
    return results[0]


def spec(shape: int | Iterable[int] | None, dtype: str = "f32", **declared: Unpack[Declared]) -> Spec:
    """An argument for assert_equivalent: a tensor of any values within its bounds, with the keywords of input(); a
    shape of None: a scalar, with those of scalar()."""
    extents = None if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    asked = Spec(extents, dtype, dict(declared))
    asked.declare()  # says what is wrong
    return asked


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
    returns a tensor, a tuple or a dict of tensors. It is called twice, without a GPU, and refused where
    the second call uses what the first computed and kept. A spec (`spec(shape, dtype)`)
    declares an argument; anything else is passed on as it is. Parameters and buffers of modules are inputs, shared by
    name, and buffers that both have are compared, too. Options are those of check().
    """
    __tracebackhide__ = True
    case = Functions(fn_a, fn_b, specs)
    label = name or f"{_function_name(fn_a)}-{_function_name(fn_b)}"
    given = engine_options(options)
    question = record(case, label, label, given.get("arch", "sm_80"))
    results, interrupted = run([(question.engine_instance(), question)], given)
    if interrupted:
        raise KeyboardInterrupt
    if results[0].verdict != "equivalent":
        raise NotEquivalent(results[0])
    return results[0]


def _function_name(fn: Callable[..., Any]) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return "reference" if name == "<lambda>" else name
