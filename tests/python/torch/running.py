"""Runs a traced function on numbers: its kernels, one after the other, in the interpreter of `coequal run`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from coequal._lower import Program, _Writer
from coequal._program import Bounds, Recorder, Scalar, Tensor
from coequal._torch import trace
from coequal._torch._value import DTYPE_NAMES
from coequal.instance import Instance

ROOT = Path(__file__).resolve().parents[3]
COEQUAL = os.environ.get("COEQUAL", str(ROOT / "build/release/coequal"))


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.uint16).numpy()
    return tensor.contiguous().numpy()


def _tensor(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    tensor = torch.from_numpy(array.copy())
    return tensor.view(torch.bfloat16) if dtype == torch.bfloat16 else tensor.to(dtype)


def run(folder: Path, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> list[Any]:
    """The results of fn, flat, computed by the kernels that it becomes. Tensors among the arguments are inputs."""
    recorder = Recorder()
    names: dict[str, torch.Tensor] = {}
    declared: dict[str, Any] = {}

    def declare(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        name = f"x{len(names)}"
        names[name] = value
        bounds = Bounds() if value.dtype.is_floating_point or value.numel() == 0 else Bounds(min=int(value.min()))
        declared[name] = Tensor(name, DTYPE_NAMES[value.dtype], tuple(value.shape), bounds=bounds)
        return declared[name]

    returned = trace(recorder, fn, [declare(a) for a in args], {k: declare(v) for k, v in (kwargs or {}).items()})
    flat = [returned] if not isinstance(returned, (tuple, list)) else list(returned)
    outputs = {f"out{i}": t for i, t in enumerate(flat) if isinstance(t, Tensor)}
    program = Program("a", recorder.launches, recorder.temporaries, outputs)
    question = _Writer(declared, [program]).question("case", "case.py", Instance())
    path = question.save(folder)
    command = [COEQUAL, "run", str(path)]
    labels = {id(t): name for name, t in question.tensors.items()}
    for name, tensor in names.items():
        np.save(folder / f"{name}.npy", _array(tensor))
        command += ["--input", f"{labels[id(declared[name])]}={folder / name}.npy"]
    for name, tensor in outputs.items():
        command += ["--output", f"{labels[id(tensor)]}={folder / name}.npy"]
    if recorder.launches:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    results = []
    for i, result in enumerate(flat):
        if not isinstance(result, Tensor):
            results.append(result)
        elif result in declared.values() and not recorder.launches:
            results.append(names[next(n for n, d in declared.items() if d is result)])
        else:
            dtype = next(dtype for dtype, name in DTYPE_NAMES.items() if name == result.dtype)
            results.append(_tensor(np.load(folder / f"out{i}.npy"), dtype))
    return results


def agree(folder: Path, fn: Callable[..., Any], *args: Any, tolerance: float = 1e-9, **kwargs: Any) -> None:
    """Asserts that the kernels of fn compute what PyTorch computes."""
    copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    wanted = fn(*copies, **kwargs)
    wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    found = run(folder, fn, args, kwargs)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted):
        if not isinstance(theirs, torch.Tensor):
            assert ours == theirs
            continue
        theirs = theirs.detach()
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


__all__ = ["Scalar", "agree", "run"]
