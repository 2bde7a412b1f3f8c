"""Compiles the host halves of CUDA extensions, against headers that are compiled once for each version of PyTorch."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from coequal import _core
from coequal._program import Refused

_HERE = Path(__file__).parent
_FLAGS = ("-std=c++20", "-O0", "-g0", "-w", "-fPIC", "-fvisibility=default")


def import_host() -> Any:
    """The module that stands for the device under extensions."""
    return _import("coequal_host", _host_folder() / f"coequal_host{_suffix()}")


def build(name: str, sources: Sequence[str], flags: Sequence[str]) -> Any:
    """The extension module of C++ sources that call record() where they would launch."""
    host = _host_folder()
    key = _hash(host.name, name, *sources, *flags)
    folder = _cache() / "extensions" / key
    module = folder / f"{name}{_suffix()}"
    if not module.exists():
        with _locked(folder), tempfile.TemporaryDirectory(dir=folder) as scratch:
            if not module.exists():
                objects = _compile(Path(scratch), sources, [f"-I{host}", *flags])
                _link(module, [*objects, host / "runtime.o", host / f"coequal_host{_suffix()}"])
    return _import(name, module)


@functools.cache
def _host_folder() -> Path:
    """Where host.h and its module are compiled."""
    texts = [(_HERE / name).read_text() for name in ("host.h", "host.cpp", "runtime.cpp")]
    folder = _cache() / "host" / _hash(torch.__version__, torch.__file__, sys.version, _compiler_version(), *texts)
    module, runtime = folder / f"coequal_host{_suffix()}", folder / "runtime.o"
    if not runtime.exists():
        with _locked(folder):
            if not runtime.exists():
                shutil.copy(_HERE / "host.h", folder)
                _run([*_command(), "-x", "c++-header", "host.h", "-o", "host.h.gch"], folder)
                objects = _compile(folder, texts[1:], [f"-I{folder}"])
                _link(module, objects[:1])
                objects[1].rename(runtime)
    return folder


def _compile(folder: Path, sources: Sequence[str], flags: Sequence[str]) -> list[Path]:
    """The objects of sources, which are compiled beside each other."""
    running = []
    for i, source in enumerate(sources):
        (folder / f"{i}.cpp").write_text(source)
        command = [*_command(), *flags, "-c", f"{i}.cpp", "-o", f"{i}.o"]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        running.append(subprocess.Popen(command, cwd=folder, **output))
    outputs = [process.communicate()[0] for process in running]
    for process, output in zip(running, outputs):
        if process.returncode:
            raise _refusal(output)
    return [folder / f"{i}.o" for i in range(len(sources))]


def _link(module: Path, parts: Sequence[Path]) -> None:
    scratch = parts[0].with_suffix(".so")
    libraries = Path(torch.__file__).parent / "lib"
    command = [
        _compiler(), "-shared", "-o", str(scratch), *map(str, parts), f"-L{libraries}", "-lc10", "-ltorch_cpu",
        "-ltorch_python", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,--warn-unresolved-symbols",
    ]  # fmt: skip
    output = _run(command, module.parent)
    missing = {m for m in re.findall(r"undefined reference to `([^']*)'", output) if not re.match("_?Py", m)}
    if missing:
        raise Refused(min(missing), "host code calls what is not modelled: " + ", ".join(sorted(missing)))
    os.replace(scratch, module)


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise _refusal(done.stdout)
    return done.stdout


def _refusal(output: str) -> Refused:
    error = re.search(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", output, re.MULTILINE)
    if error is None:
        return Refused("", f"host code does not compile: {output.strip()[-400:]}")
    return Refused("", f"host code does not compile: {error[3]}", error[1], int(error[2]))


def _command() -> list[str]:
    root = Path(torch.__file__).parent / "include"
    folders = (root, root / "torch" / "csrc" / "api" / "include", sysconfig.get_paths()["include"], cuda_headers())
    return [_compiler(), *_FLAGS, *(f"-I{folder}" for folder in folders)]


@functools.cache
def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "c++"):
        if name and shutil.which(name):
            return name
    raise Refused("", "host code of CUDA extensions needs a C++ compiler, and there is no g++")


@functools.cache
def _compiler_version() -> str:
    return subprocess.run([_compiler(), "--version"], capture_output=True, text=True).stdout


@functools.cache
def cuda_headers() -> Path:
    """The folder of the CUDA toolkit's headers."""
    nvcc = shutil.which("nvcc")
    places = [
        *(Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ),
        *([Path(nvcc).resolve().parent.parent / "include"] if nvcc else []),
        *sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/*/include")),
        Path("/usr/local/cuda/include"),
    ]
    for place in places:
        if (place / "cuda_runtime.h").is_file():
            return place
    raise Refused("", "host code of CUDA extensions needs the headers of a CUDA toolkit")


def _cache() -> Path:
    return Path(_core.default_cache_dir() or ".coequal").resolve()


def _suffix() -> str:
    return sysconfig.get_config_var("EXT_SUFFIX")


def _hash(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:24]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Of several processes that need the same, one makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_imported: dict[Path, Any] = {}


def _import(name: str, path: Path) -> Any:
    if path not in _imported:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _imported[path] = module
    return _imported[path]

