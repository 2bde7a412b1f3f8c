"""The pytest plugin: instance classes are tests, and checks inside tests follow markers and leave reports.

    @pytest.mark.coequal(budget=10)     # options of check(), for every check of the test or class
    pytest --coequal-report DIR         # the JSON report of each check, and a reproducer of each that fails
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coequal._check import NotEquivalent, check, defaults, observed
from coequal.instance import Instance
from coequal.result import Result


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("coequal")
    group.addoption(
        "--coequal-report",
        metavar="DIR",
        help="write the JSON report of each check into this folder, and the instance of each that fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "coequal(budget=..., cells=..., proof=..., ...): options of coequal.check for the checks of a test"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    if not (isinstance(obj, type) and issubclass(obj, Instance)):
        return None
    if obj.program_a is Instance.program_a or obj.__module__ != collector.module.__name__:
        return []
    return InstanceItem.from_parent(collector, name=name, case=obj)


class InstanceFailed(AssertionError):
    def __init__(self, result: Result) -> None:
        super().__init__(result.text)
        self.result = result


class InstanceItem(pytest.Item):
    """A test that passes when the verdict is the expected one, or `equivalent` where none is expected."""

    def __init__(self, *, case: type[Instance], **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        marks = getattr(case, "pytestmark", [])
        for mark in marks if isinstance(marks, list) else [marks]:
            self.add_marker(getattr(pytest.mark, mark.name)(*mark.args, **mark.kwargs))

    def runtest(self) -> None:
        result = check(self.case)
        if not (result.verdict == "equivalent" if result.as_expected is None else result.as_expected):
            raise InstanceFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, InstanceFailed):
            expected = self.case.expect
            wanted = "" if expected is None else f"expected {expected}\n"
            return f"{wanted}{excinfo.value.result.text}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        try:
            line: int | None = inspect.getsourcelines(self.case)[1] - 1
        except OSError:
            line = None
        return self.path, line, self.name


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    options: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("coequal"))):
        options.update(mark.kwargs)
    folder = item.config.getoption("--coequal-report")
    count = 0

    def write(report: str, results: list[Result]) -> None:
        nonlocal count
        count += 1
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.nodeid).strip("-") + (f"-{count}" if count > 1 else "")
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{slug}.json").write_text(report)
        for result in results:
            if result.verdict != "equivalent" and not result.as_expected and result.question and result.question.toml:
                result.save(path / slug)

    token = defaults.set(options)
    observer = observed.set(write if folder else None)
    try:
        yield
    finally:
        defaults.reset(token)
        observed.reset(observer)


__all__ = ["InstanceItem", "NotEquivalent"]
