"""What a check found."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coequal import _core
from coequal._lower import Question

if TYPE_CHECKING:
    import numpy as np

_NUMPY_NAMES = {
    "f64": "float64", "f16": "float16", "bool": "bool",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A line of a source."""

    file: str | None
    line: int | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file and self.line else self.file or "?"


@dataclass(frozen=True)
class Witness:
    """An input on which an output cell differs."""

    cell: str
    a: str  # the exact values
    b: str
    store_a: Place
    store_b: Place
    replay: str | None  # what both programs do with it in IEEE arithmetic
    changed: tuple[tuple[str, str, str], ...]  # inputs that are not what they are by default: name, index, value
    instance: _core.Instance = field(repr=False)

    @functools.cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Every free tensor and scalar; dtypes that numpy lacks are float32."""
        arrays = {name: _array(*contents) for name, contents in self.instance.open_inputs().items()}
        for name, index, value in self.changed:
            arrays[name][tuple(int(i) for i in index.split(",")) if index else ()] = _number(value)
        return arrays


@dataclass(frozen=True)
class Access:
    kind: str
    thread: tuple[int, ...]
    block: tuple[int, ...]
    tensor: str
    index: str
    place: Place


@dataclass(frozen=True)
class FoundDefect:
    kind: str
    program: str
    message: str
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class Result:
    """The verdict on one instance and what explains it; `report` is its entry of the JSON report in full."""

    name: str
    verdict: str
    witness: Witness | None
    defects: tuple[FoundDefect, ...]
    ledger: tuple[tuple[str, str], ...]  # assumptions that the verdict rests on: name, detail
    statistics: Mapping[str, float]  # counts, and seconds by stage as "seconds.execute"
    report: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)  # as the command prints it
    question: Question | None = field(repr=False, default=None)  # None: read from a file

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is the one that the instance expects; None if it expects none."""
        return self.report["as_expected"]

    @property
    def cells(self) -> Mapping[str, int]:
        return self.report["cells"]

    def save(self, folder: str | Path) -> Path:
        """Writes the instance as a TOML file with its sources, for `coequal check` and `coequal run`."""
        if self.question is None or not self.question.toml:
            raise ValueError("this result has no instance to save")
        return self.question.save(folder)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{self.text.splitlines()[0].strip()}>"

    def _repr_html_(self) -> str:
        colour = {"equivalent": "green", "unknown": "darkorange", "refused": "darkorange"}.get(self.verdict, "crimson")
        head, _, rest = self.text.partition("\n")
        return f"<pre><b style='color:{colour}'>{html.escape(head)}</b>\n{html.escape(rest)}</pre>"


def make_result(report: Mapping[str, Any], text: str, instance: _core.Instance, question: Question | None) -> Result:
    seconds = {f"seconds.{stage}": value for stage, value in report["seconds"].items()}
    return Result(
        name=report["name"],
        verdict=report["verdict"],
        witness=_witness(report["witness"], instance) if report["witness"] else None,
        defects=tuple(_defect(d) for d in report["defects"]),
        ledger=tuple((a["name"], a["detail"]) for a in report["assumptions"]),
        statistics={**report["counters"], **seconds},
        report=report,
        text=text,
        question=question,
    )


def _defect(found: Mapping[str, Any]) -> FoundDefect:
    accesses = tuple(
        Access(a["kind"], tuple(a["thread"]), tuple(a["block"]), a["tensor"], a["index"], Place(a["file"], a["line"]))
        for a in found["accesses"]
    )
    return FoundDefect(found["kind"], found["program"], found["message"], accesses)


def _witness(found: Mapping[str, Any], instance: _core.Instance) -> Witness:
    a, b = found["a"], found["b"]
    changed = tuple((i["name"], i["index"], i["value"]) for i in found["inputs"])
    places = Place(a["file"], a["line"]), Place(b["file"], b["line"])
    return Witness(found["cell"], a["exact"], b["exact"], *places, found["replay"], changed, instance)


def _array(dtype: str, shape: tuple[int, ...], contents: bytes) -> np.ndarray:
    import numpy as np

    if dtype == "bf16":
        raw = np.frombuffer(contents, "uint16").astype("uint32") << 16
        return raw.view("float32").reshape(shape)
    if dtype in ("f8e4m3", "f8e5m2"):  # what numpy cannot hold starts as zero
        return np.zeros(shape, "float32")
    return np.frombuffer(contents, _NUMPY_NAMES.get(dtype, "float32")).reshape(shape).copy()


def _number(text: str) -> float | int:
    try:
        exact = Fraction(text)
    except ValueError:
        return float(text) if text in ("inf", "-inf") else 0
    return exact.numerator if exact.denominator == 1 else float(exact)
