"""The engine of Coequal."""

from collections.abc import Mapping, Sequence


version: str = '0.1.0'

class Text:
    """PTX in memory, shared by the instances that name it."""

    def __init__(self, text: str) -> None: ...

class Instance:
    """A valid instance, ready to be checked."""

    def __init__(self, text: str, file: str, name: str, texts: Mapping[str, Text], unrecorded: Sequence[tuple[str, str, str, str, int]] = []) -> None:
        """
        Reads the TOML form; `texts` holds the sources that are no files. `unrecorded` has rows of (program, construct, reason, file, line).
        """

    def open_inputs(self) -> dict:
        """
        Zeros, or the nearest values within the bounds, for what the instance leaves open, by name: dtype, shape, contents.
        """

class ModuleCache:
    """Parsed PTX that checks share."""

    def __init__(self) -> None: ...

class Report:
    """The results of one call of check()."""

    def json(self) -> str:
        """The JSON report."""

    def text(self, index: int, verbose: bool = False, color: bool = False, quiet: bool = False) -> str:
        """One result as the command prints it."""

    def __len__(self) -> int: ...

    @property
    def interrupted(self) -> bool: ...

def check(instances: Sequence[object], options: dict, modules: ModuleCache, progress: object | None = None, interruptible: bool = False) -> Report:
    """
    Checks instances. `progress` is called with (done, total, file, verdict).
    """

def main(arguments: Sequence[str], form: object) -> int:
    """The coequal command; returns its exit code."""

def default_cache_dir() -> str:
    """The folder of cached PTX; empty if there is none."""

def assumptions() -> set[str]:
    """The names of all assumptions."""
