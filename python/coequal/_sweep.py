"""Many checks at once: of several instances, or of one for several shapes, configurations and targets."""

from __future__ import annotations

import html
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from coequal import _core
from coequal._check import Case, engine_options, name_of, prepare, question_of, run
from coequal._lower import Question
from coequal._record import Notes, noting
from coequal.instance import Instance
from coequal.result import Result

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """One check of a sweep: what it was asked for, and its result; without one, the reason."""

    name: str
    sizes: Sizes
    config: str
    target: str
    result: Result | None
    problem: str = ""

    def cells(self) -> tuple[str, ...]:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        if self.result is None:
            return self.name, sizes, self.config, self.target, "invalid", "", self.problem
        seconds = sum(value for key, value in self.result.statistics.items() if key.startswith("seconds."))
        reason = self.result.text.split("\n")[0].partition(": ")[2]
        return self.name, sizes, self.config, self.target, self.result.verdict, f"{seconds:.1f}", reason


@dataclass(frozen=True)
class Sweep:
    """The results of many checks, in the order in which they were asked for; fewer if interrupted."""

    rows: tuple[Row, ...]
    interrupted: bool = False

    @property
    def results(self) -> tuple[Result, ...]:
        return tuple(row.result for row in self.rows if row.result is not None)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Any:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def counts(self) -> dict[str, int]:
        """How many results there are of each verdict, and how many checks could not be made."""
        found: dict[str, int] = {}
        for row in self.rows:
            verdict = row.result.verdict if row.result else "invalid"
            found[verdict] = found.get(verdict, 0) + 1
        return found

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.counts().items()))
        return f"<{len(self.rows)} instances: {counted or 'none'}{', interrupted' if self.interrupted else ''}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        """A table with a line for each check; columns in which nothing stands are left out."""
        table = [("instance", "sizes", "configuration", "target", "verdict", "seconds", "")]
        table += [row.cells() for row in self.rows]
        columns = [column for column in zip(*table) if any(column[1:])]
        widths = [max(map(len, column)) for column in columns]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in zip(*columns))
        return "\n".join(line.rstrip() for line in (*lines, repr(self)[1:-1]))


def sweep(
    cases: Case | Iterable[Case],
    *,
    shapes: Iterable[Sizes] | Literal["ragged"] | None = None,
    configs: Literal["autotune"] | None = None,
    targets: Iterable[int | str] | None = None,
    batch: int = 64,
    **options: Any,
) -> Sweep:
    """Checks many instances, `batch` at a time on all cores; options are those of check().

    Of classes, each is checked for all combinations of: `shapes`, values for its integer attributes by name, or
    "ragged": those around multiples of its kernels' block sizes; `configs="autotune"`: all configurations of its
    autotuned kernels, in place of the first that fits; `targets`: 80 or "sm_80". Print the result for a table.

    On a terminal a line shows the progress. An interruption (Ctrl-C) returns what was finished.
    """
    given = engine_options(options)
    archs = [t if isinstance(t, str) else f"sm_{t}" for t in targets or (given.pop("arch", "sm_80"),)]
    several = isinstance(cases, Iterable) and not isinstance(cases, str)
    asked: Iterable[Case] = cases if several else [cases]  # type: ignore[assignment,list-item]
    total = len(cases) if isinstance(cases, Sequence) and shapes is configs is targets is None else None
    rows: list[Row] = []
    pending = _variants(asked, shapes, configs, archs)
    with _Progress(total) as progress:
        while True:
            variants: list[_Variant] = []
            try:
                for variant in pending:
                    variants.append(variant)
                    if len(variants) == batch:
                        break
            except KeyboardInterrupt:
                return Sweep(tuple(rows), True)
            if not variants:
                return Sweep(tuple(rows))
            results, interrupted = _results(variants, given, progress)
            rows += [v.row(results.get(i)) for i, v in enumerate(variants) if v.problem or i in results]
            if interrupted:
                return Sweep(tuple(rows), True)


@dataclass(frozen=True)
class _Variant:
    name: str
    sizes: Sizes
    config: str
    arch: str
    target: str  # as the table has it
    prepared: tuple[_core.Instance, Question | None] | None
    problem: str = ""

    def row(self, result: Result | None) -> Row:
        return Row(self.name, self.sizes, self.config, self.target, result, self.problem)


def _results(
    variants: Sequence[_Variant], options: dict[str, Any], progress: _Progress
) -> tuple[dict[int, Result], bool]:
    """By place; those of one target are checked together."""
    results: dict[int, Result] = {}
    for arch in dict.fromkeys(v.arch for v in variants):
        places = [i for i, v in enumerate(variants) if v.arch == arch and v.prepared]
        prepared = [v.prepared for v in variants if v.arch == arch and v.prepared]
        done, interrupted = run(prepared, {**options, "arch": arch}, progress.show)
        results.update((i, r) for i, r in zip(places, done) if r.verdict != "interrupted")
        if interrupted:
            return results, True
    return results, False


def _variants(
    cases: Iterable[Case],
    shapes: Iterable[Sizes] | Literal["ragged"] | None,
    configs: Literal["autotune"] | None,
    archs: Sequence[str],
) -> Iterator[_Variant]:
    if configs not in (None, "autotune"):
        raise ValueError(f"configs: expected 'autotune', found {configs!r}")
    for case in cases:
        if not (isinstance(case, Instance) or isinstance(case, type)):
            if shapes or configs:
                raise ValueError(f"shapes and configs are for classes, found '{case}'")
            for arch in archs:
                target = arch if len(archs) > 1 else ""
                yield _Variant(str(case), {}, "", arch, target, prepare(case, arch))
            continue
        plain = shapes is None and configs is None and len(archs) == 1
        proposed = ragged(case, archs[0]) if shapes == "ragged" else [{}] if shapes is None else list(shapes)
        for sizes in proposed:
            for arch in archs:
                yield from _configured(case, sizes, configs is not None, arch, arch if len(archs) > 1 else "", plain)


def _configured(
    case: Instance | type[Instance], sizes: Sizes, all_configs: bool, arch: str, target: str, plain: bool
) -> Iterator[_Variant]:
    name, file = name_of(case)
    index = 0
    while True:
        notes = Notes(config=index if all_configs else None)
        prepared, problem = None, ""
        try:
            with noting(notes):
                label = ", ".join([*(f"{k}={v}" for k, v in sizes.items()), *notes.names])
                question = question_of(_sized(case, sizes), arch, f"{file}[{label}]" if label else file)
            prepared = question.engine_instance(), question
        except ValueError as error:
            if plain:
                raise
            problem = str(error)
        yield _Variant(name, sizes, "; ".join(notes.names), arch, target, prepared, problem)
        index += 1
        if not all_configs or index >= notes.configs:
            return


def _sized(case: Instance | type[Instance], sizes: Sizes) -> Instance:
    """An object of the class with these attributes."""
    cls = case if isinstance(case, type) else type(case)
    known = sizes_of(cls)
    for name in sizes:
        if name not in known:
            raise ValueError(f"{cls.__name__} has no integer attribute '{name}'; it has: {', '.join(known) or 'none'}")
    if isinstance(case, Instance) and not sizes:
        return case
    sized = cls()
    for name, size in sizes.items():
        setattr(sized, name, size)
    return sized


def sizes_of(cls: type[Instance]) -> dict[str, int]:
    """The integer attributes of a class."""
    members = inspect.getmembers_static(cls) if sys.version_info >= (3, 11) else inspect.getmembers(cls)
    return {
        name: value
        for name, value in members
        if isinstance(value, int) and not isinstance(value, bool) and not name.startswith("_")
        and not hasattr(Instance, name)
    }  # fmt: skip


def ragged(case: Instance | type[Instance], arch: str = "sm_80") -> list[dict[str, int]]:
    """Sizes at which a kernel may go wrong: as they are, and each in turn 1, around a block and around two."""
    cls = case if isinstance(case, type) else type(case)
    notes = Notes()
    with noting(notes):
        question_of(_sized(case, {}), arch)
    found: list[dict[str, int]] = [{}]
    for name, size in sizes_of(cls).items():
        around = {n for b in notes.blocks for n in (b - 1, b, b + 1, 2 * b + 1)}
        proposed = sorted({1, *(n for n in around if 1 < n <= 4 * size)} - {size})
        found += [{name: n} for n in proposed]
    return found


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
