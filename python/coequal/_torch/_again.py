"""Two calls of one function, compared: what a call keeps for the next must not decide what that computes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from coequal._program import Launch, Refused
from coequal._torch._trace import _stand_ins, _storage, _write_arguments


@dataclass
class Call:
    """A traced call. Operators of the namespace `launches_in` are its launches, by their numbers."""

    module: fx.GraphModule
    structure: Any
    launches: Sequence[Launch]
    launches_in: str


def check_second(first: Call, second: Call) -> None:
    """Refuses where the second call computes something else, or uses what the first made of its arguments.

    Both are numbered by what they compute: equal numbers are equal functions of the arguments. A read depends on the
    last write to its storage, so a node's number holds those of the writes before it.
    """
    numbers: dict[object, int] = {}
    ours = _Numbered(first, numbers, None)
    theirs = _Numbered(second, numbers, ours)
    # What only fills a tensor that is kept happens once.
    effects = [number for number, storages in ours.effects if not storages <= theirs.kept]
    if (effects, ours.results) != ([number for number, _ in theirs.effects], theirs.results):
        raise Refused("", "a second call with other tensors computes something else")
    if first.structure != second.structure:
        raise Refused("", "a second call returns something of another structure")


class _Numbered:
    def __init__(self, call: Call, numbers: dict[object, int], before: _Numbered | None) -> None:
        self._call = call
        self._numbers = numbers
        self._before = before
        self._of: dict[fx.Node, int] = {}
        # By storage and layout: two names of the same cells have one number, the writes tell what they hold.
        self._cells: dict[tuple[object, ...], int] = {}
        self._writes: dict[int, int] = dict(before._writes) if before else {}  # the last to each storage
        self._dependent: set[int] = set()  # storages that hold what follows from arguments
        self.kept: set[int] = set()  # storages of the call before that this one uses
        self.effects: list[tuple[int, set[int]]] = []
        self.results: list[object] = []
        inputs = 0
        for node in call.module.graph.nodes:
            if node.op == "placeholder":
                self._of[node] = self._number(("argument", inputs))
                self._cells.update((_place(s), self._of[node]) for s in _stand_ins(node))
                self._dependent.update(map(_storage, _stand_ins(node)))
                inputs += 1
            elif node.op == "output":
                self.results = [self._key(leaf) for leaf in node.args[0]]
            elif node.op == "get_attr":
                self._of[node] = self._constant(node)
            else:
                self._operator(node)

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _key(self, value: Any) -> object:
        """A node with what its storage holds now, anything else as it is written."""
        if isinstance(value, fx.Node):
            return self._of[value], tuple(self._writes.get(_storage(s), -1) for s in _stand_ins(value))
        if isinstance(value, (list, tuple)):
            return tuple(self._key(v) for v in value)
        return repr(value)

    def _operator(self, node: fx.Node) -> None:
        arguments = list(node.args)
        if getattr(node.target, "namespace", "") == self._call.launches_in:
            arguments[0] = repr(self._call.launches[node.args[0]])  # type: ignore[index]
        named = tuple((name, self._key(value)) for name, value in sorted(node.kwargs.items()))
        results = tuple(map(_layout, _stand_ins(node)))
        number = self._number((str(node.target), self._key(arguments), named, results))
        tensors = _stand_ins(node)
        single = isinstance(node.meta.get("val"), torch.Tensor)
        self._of[node] = self._cells.setdefault(_place(tensors[0]), number) if single else number
        storages = {_storage(s) for _, target in _write_arguments(node) for s in _stand_ins(target)}
        if any(_storage(s) in self._dependent for n in node.all_input_nodes for s in _stand_ins(n)):
            self._dependent |= storages
            self._dependent.update(map(_storage, _stand_ins(node)))
        if storages:
            self.effects.append((number, storages))
            self._writes.update(dict.fromkeys(storages, number))
            if storages & self.kept:
                raise Refused("", "a second call writes a tensor that the first has made and kept")

    def _constant(self, node: fx.Node) -> int:
        tensor = getattr(self._call.module, str(node.target))
        if isinstance(tensor, FakeTensor):
            return self._of_before(tensor, node)
        data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        return self._number(("constant", _layout(tensor), hashlib.sha256(data).digest()))

    def _of_before(self, tensor: torch.Tensor, node: fx.Node) -> int:
        """The number of what the call before made, where that does not follow from its arguments."""
        before, storage = self._before, _storage(tensor)
        file, line = node.meta.get("source") or (None, None)
        number = before._cells.get(_place(tensor)) if before else None
        if before is not None and storage in before._dependent:
            raise Refused("", "a second call uses what the first computed from its arguments and kept", file, line)
        if number is not None:
            self.kept.add(storage)
            return number
        raise Refused("", "a tensor that an earlier call made and kept", file, line)


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    return _storage(tensor), *_layout(tensor)


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    return str(tensor.dtype), tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset())
