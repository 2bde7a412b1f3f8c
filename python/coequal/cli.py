"""The coequal command of the package: the engine's own, which also reads instances in Python."""

from __future__ import annotations

import os
import re
import sys
import traceback
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

from coequal import _core
from coequal._capture import extensions
from coequal._check import question_of
from coequal._record import load_module
from coequal.instance import Instance

_USES_COEQUAL = re.compile(r"^\s*(import|from)\s+coequal\b", re.MULTILINE)
_USES_TORCH = re.compile(r"^\s*(import|from)\s+torch\b", re.MULTILINE)


class PythonForm:
    """Instances as classes: `cases.py` names all of a file, `cases.py::Case` one."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}

    def owns(self, argument: str) -> bool:
        return argument.partition("::")[0].endswith(".py")

    def has_instances(self, path: str) -> bool:
        if not path.endswith(".py"):
            return False
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            return False
        return "Instance" in text and _USES_COEQUAL.search(text) is not None

    def names(self, argument: str) -> list[str]:
        path, _, wanted = argument.partition("::")
        if wanted:
            return [argument]
        try:
            classes = instance_classes(self._module(path))
        except ValueError:
            return [argument]  # reading it says why
        return [f"{path}::{cls.__name__}" for cls in classes] or [argument]

    def read(self, name: str, arch: str) -> _core.Instance:
        path, _, wanted = name.partition("::")
        classes = {cls.__name__: cls for cls in instance_classes(self._module(path))}
        if not classes:
            raise ValueError("no subclass of coequal.Instance in this file")
        if wanted not in classes:
            raise ValueError(f"no instance '{wanted}' in this file; it has: {', '.join(classes)}")
        try:
            return question_of(classes[wanted], arch, name).engine_instance()
        except Exception as error:
            raise ValueError(explain(error, path)) from error

    def _module(self, path: str) -> ModuleType:
        if path not in self._modules:
            if not os.path.isfile(path):
                raise ValueError(f"no such file '{path}'")
            try:
                with extensions() if _USES_TORCH.search(Path(path).read_text()) else nullcontext():
                    self._modules[path] = load_module(path)
            except (Exception, SystemExit) as error:
                raise ValueError(explain(error, path)) from error
        return self._modules[path]


def instance_classes(module: ModuleType) -> list[type[Instance]]:
    """The instances that a module defines, in the order of the file; bases without programs are none."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Instance)
        and value.__module__ == module.__name__
        and value.program_a is not Instance.program_a
    ]


def explain(error: BaseException, path: str) -> str:
    """One line on an exception of a user's file, with the place in that file."""
    real = os.path.realpath(path)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.realpath(f.filename) == real]
    where = f" (line {frames[-1].lineno})" if frames else ""
    text = str(error).strip()
    kind = "" if isinstance(error, ValueError) and text else f"{type(error).__name__}: "
    return f"{kind}{text}{where}"


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    # Where the engine looks for a CUDA compiler that is a package: beside this one.
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    try:
        return _core.main(["coequal", *arguments], PythonForm())
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
