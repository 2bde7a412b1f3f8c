"""Splits CUDA C++ with PyTorch host code in two: device code without the host's, and host code that records launches.

Only what a brace matcher can tell is used: items at namespace level, the words in front of a body, where a launch
begins and ends. What a compiler must know (types, overloads, templates) is left to the compilers of both halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Words that only host code has.
_HOST_WORDS = re.compile(r"\b(?:torch|at|c10|pybind11|py)\s*::|\bTensor\b|<<<|\bPYBIND11_MODULE\b|\bTORCH_\w+")
# Libraries for device code; host.h knows none of their names.
_DEVICE_WORDS = re.compile(r"\b(?:cub|cute|cutlass|cg|cooperative_groups|nvcuda|thrust|wmma)\b")
_HALVES = re.compile(r"\b(?:at|c10)\s*::\s*(?:Half|BFloat16)\b")
# Headers that host.h stands for; of the others, those that only device code needs.
_PYTORCH = re.compile(r"(?:torch|ATen|c10|pybind11)/|Python\.h")
_IN_HOST_HEADER = re.compile(r"torch/(?:extension|torch|all|types|python|script)\.h|ATen/cuda/|c10/cuda/|ATen/ATen\.h")
_DEVICE_HEADERS = re.compile(r"cub/|thrust/|cuda/|cute/|cutlass/|cooperative_groups|mma\.h|curand|nv/|cuda_pipeline")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")[^\n]*', re.MULTILINE)
_LITERALS = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'
    r"(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"


class SourceError(Exception):
    """A source that cannot be split."""


@dataclass(frozen=True)
class Source:
    """A text with the file and line where the user has it."""

    text: str
    file: str
    line: int = 1


@dataclass(frozen=True)
class Halves:
    device: str
    host: str


def split(source: Source, folders: Sequence[Path] = ()) -> Halves:
    """Device code and host code of a source; quoted headers in the folders are put in their places."""
    text = _local_line(source.line, source.file) + _with_headers(source, folders, set())
    text = re.sub(r"\bnamespace\s*\{", "inline namespace coequal_local {", text)  # names must agree between the halves
    code = _blanked(text)
    items = list(_items(code, 0, len(code)))
    return Halves(_device(text, code, items), _host(text, code, items))


def _local_line(line: int, file: str) -> str:
    return f'#line {line} "{file}"\n'


def _with_headers(source: Source, folders: Sequence[Path], seen: set[Path]) -> str:
    """The text with the user's own headers in place of their includes, each once."""

    def header(match: re.Match[str]) -> str:
        name = match[2]
        if name is None:
            return match[0]
        for folder in (Path(source.file).parent, *folders):
            path = (folder / name).resolve()
            if not path.is_file():
                continue
            if path in seen:
                return ""
            seen.add(path)
            inner = re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+once", "", path.read_text(), flags=re.MULTILINE)
            after = source.line + source.text.count("\n", 0, match.end()) + 1
            body = _with_headers(Source(inner, str(path)), folders, seen)
            return f"\n{_local_line(1, str(path))}{body}\n{_local_line(after, source.file).rstrip()}"
        return match[0]

    return _INCLUDE.sub(header, source.text)


def _blanked(text: str) -> str:
    """The text with blanks for comments, literals and directives: what is left has braces that match."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == '"':  # the quotes of extern "C" tell it from other blocks
            return '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'
        return re.sub(r"[^\n]", " ", found)

    return _DIRECTIVE.sub(blank, _LITERALS.sub(blank, text))


@dataclass(frozen=True)
class _Item:
    """Of a namespace or a class: where it begins, where its body does, and where it ends."""

    kind: str  # "function", "class", "simple", "brace": an end of a namespace
    start: int
    body: int  # the opening brace, or the end where there is none
    end: int


def _match(code: str, at: int) -> int:
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        if code[i] in _OPENING:
            depth += 1
        elif code[i] in _CLOSING:
            depth -= 1
            if depth == 0:
                return i + 1
    raise SourceError(f"'{code[at]}' has no end")


_CLASS = re.compile(r"(?:template\s*<.*>\s*)?(?:(?:typedef|static|const)\s+)*(?:class|struct|union|enum)\b", re.DOTALL)


def _items(code: str, start: int, end: int) -> Iterator[_Item]:
    at = start
    while at < end:
        if code[at].isspace() or code[at] == ";":
            at += 1
            continue
        if code[at] == "}":
            yield _Item("brace", at, at, at + 1)
            at += 1
            continue
        label = re.compile(r"(?:public|private|protected)\s*:(?!:)").match(code, at)
        if label:
            yield _Item("brace", at, at, label.end())
            at = label.end()
            continue
        item = _item(code, at, end)
        yield item
        at = item.end


def _item(code: str, start: int, end: int) -> _Item:
    at = start
    while at < end:
        if code[at] in "([":
            at = _match(code, at)
            continue
        if code[at] == ";":
            return _Item("simple", start, at + 1, at + 1)
        if code[at] == "{":
            header = code[start:at]
            if re.fullmatch(r"(?:inline\s+)?namespace\b[^;({]*", header) or re.fullmatch(r'extern\s+"\s*"\s*', header):
                return _Item("brace", start, at, at + 1)
            after = _match(code, at)
            if _CLASS.match(header) and not re.search(r"\)\s*(?:const\s*)?$", header):
                semicolon = code.find(";", after, end)
                return _Item("class", start, at, (semicolon + 1) if semicolon >= 0 else after)
            if "(" in header and not re.search(r"(?<![=!<>+\-*/%&|^])=(?!=)", _outside_parentheses(header)):
                if re.match(r"\s*[,{]", code[after:end]):  # a brace of a constructor's initialisers
                    at = after
                    continue
                return _Item("function", start, at, after)
            at = after
            continue
        at += 1
    return _Item("simple", start, end, end)


def _outside_parentheses(header: str) -> str:
    kept, at = [], 0
    header = re.sub(r"\boperator\s*\W+?(?=\s*\()", "operator", header)
    while at < len(header):
        if header[at] in "([":
            at = _match(header, at)
        elif header.startswith("template", at):
            opened = re.compile(r"template\s*<").match(header, at)
            at = _angles(header, opened.end() - 1) if opened else at + 8
        else:
            kept.append(header[at])
            at += 1
    return "".join(kept)


def _angles(code: str, at: int) -> int:
    """The place behind the '>' that closes the '<' at `at`."""
    depth = 0
    while at < len(code):
        if code[at] in _OPENING:
            at = _match(code, at)
            continue
        depth += {"<": 1, ">": -1}.get(code[at], 0)
        at += 1
        if depth == 0:
            return at
    raise SourceError("'<' has no end")


def _blank_lines(text: str) -> str:
    """As many lines, with the directives among them (a conditional must keep its end)."""
    return "\n" * text.count("\n")


def _header(code: str, item: _Item) -> str:
    return code[item.start : item.body]


def _has(header: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", header) is not None


# --- Device code: everything but the functions of the host and what mentions PyTorch.


def _device(text: str, code: str, items: Sequence[_Item]) -> str:
    parts, at = [], 0
    for item in items:
        parts.append(text[at : item.start])
        own = text[item.start : item.end]
        if not _is_device(code, item):
            own = _blank_lines(own)
        elif _has(_header(code, item), "__global__"):
            own = _visible(text, item) + text[item.body : item.end]
        parts.append(own)
        at = item.end
    parts.append(text[at:])

    def include(match: re.Match[str]) -> str:
        return "" if _PYTORCH.match(match[1] or match[2]) else match[0]

    return _INCLUDE.sub(include, "".join(parts))


def _is_device(code: str, item: _Item) -> bool:
    if item.kind == "brace":
        return True
    header, own = _header(code, item), code[item.start : item.end]
    if _has(header, "__global__") or _has(header, "__device__"):
        return True
    if item.kind == "function" and not _has(header, "constexpr"):
        return False
    return _HOST_WORDS.search(_HALVES.sub("", own)) is None


# What PyTorch's headers include by the way.
_STANDARD = ("algorithm", "cfloat", "climits", "cmath", "cstdint", "limits", "type_traits", "utility")


def headers(device: str) -> str:
    """What declares the names that device code takes from PyTorch's headers; the whole of them costs a minute."""
    used = _blanked(device)
    lines = [f"#include <{name}>" for name in _STANDARD]
    if re.search(r"\b(?:at|c10|torch)\s*::|\bC10_", used):
        lines += ["#include <c10/util/Half.h>", "#include <c10/util/BFloat16.h>"]
        lines += ["namespace at { using c10::Half; using c10::BFloat16; }", "namespace torch { using namespace at; }"]
    if "acc_type" in used:
        lines.append("#include <ATen/AccumulateType.h>")
    if re.search(r"\w*TensorAccessor\w*|\b(?:Restrict|Default)PtrTraits\b", used):
        lines.append("#include <ATen/core/TensorAccessor.h>")
    return "".join(line + "\n" for line in lines)


# --- Kernels that are given structs with addresses inside.

STRUCT_ENTRY = "coequal_entry"
_STRUCTS = """
template <class T> union coequal_struct { T value; unsigned char bytes[sizeof(T)]; __device__ coequal_struct() {} };
template <int N> struct coequal_bytes { alignas(8) unsigned char bytes[N]; };
"""


def with_struct_entry(device: str, signature: str, layouts: Mapping[int, tuple[int, Sequence[int]]]) -> str:
    """The device code with a kernel STRUCT_ENTRY that puts addresses into structs and does what the kernel of this
    signature does. `layouts` has, for parameters that are such structs, their size and where in them addresses are:
    such a one becomes its bytes, and then the addresses."""
    called, types = _parameter_list(signature.removeprefix("void "))
    declared, filled, passed = [], [], []
    for i, own in enumerate(map(str.strip, types)):
        if i not in layouts:
            declared.append(f"{own} a{i}")
            passed.append(f"a{i}")
            continue
        size, places = layouts[i]
        declared += [f"coequal_bytes<{size}> a{i}", *(f"void* a{i}_{at}" for at in places)]
        filled.append(f"coequal_struct<{own}> s{i}; memcpy(s{i}.bytes, a{i}.bytes, {size});")
        filled += [f"memcpy(s{i}.bytes + {at}, &a{i}_{at}, 8);" for at in places]
        passed.append(f"s{i}.value")
    name = re.split(r"<|::", re.sub(r"<.*", "", called, flags=re.DOTALL))[-1].strip()
    code = _blanked(device)
    parts, at = [], 0
    for item in _items(code, 0, len(code)):
        if _has(_header(code, item), "__global__") and _has(_header(code, item), name):
            header = _without_attributes(device[item.start : item.body])
            parts += [device[at : item.start], re.sub(r"\b__global__\b", "__device__", header)]
            at = item.body
    text = "".join([*parts, device[at:]])
    body = " ".join([*filled, f"{called}({', '.join(passed)});"])
    return f'{text}\n{_STRUCTS}extern "C" __global__ void {STRUCT_ENTRY}({", ".join(declared)}) {{ {body} }}\n'


# --- Host code: the bodies of kernels record, functions of the device are gone.


def _host(text: str, code: str, items: Sequence[_Item]) -> str:
    body = _host_items(text, code, items, 0, len(text))
    body = _recording_launches(body)

    def include(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return "" if _IN_HOST_HEADER.match(name) or _DEVICE_HEADERS.match(name) else match[0]

    return _INCLUDE.sub(include, body)


def _host_items(text: str, code: str, items: Sequence[_Item], start: int, end: int) -> str:
    parts, at = [], start
    for item in items:
        parts.append(text[at : item.start])
        parts.append(_host_item(text, code, item))
        at = item.end
    parts.append(text[at:end])
    return "".join(parts)


def _host_item(text: str, code: str, item: _Item) -> str:
    own, header = text[item.start : item.end], _header(code, item)
    if item.kind in ("simple", "class") and _DEVICE_WORDS.search(code[item.start : item.end]):
        return _blank_lines(own)
    if item.kind == "class":
        last = _match(code, item.body)
        inner = list(_items(code, item.body + 1, last - 1)) if not re.match(r".*\benum\b", header, re.DOTALL) else []
        body = _host_items(text, code, inner, item.body + 1, last - 1)
        return text[item.start : item.body + 1] + body + text[last - 1 : item.end]
    if _has(header, "__global__"):
        plain = _without_attributes(_visible(text, item))
        if item.kind == "simple":
            return plain + text[item.body : item.end]
        record = f"{{ ::coequal::record(COEQUAL_UNIT{''.join(', ' + name for name in _parameters(header))}); }}"
        return plain + record + _blank_lines(text[item.body : item.end])
    if _has(header, "__device__") and not _has(header, "__host__") and "(" in header:
        return _blank_lines(own)
    return own


def _visible(text: str, kernel: _Item) -> str:
    """What stands before a kernel's body, without what would change its name or hide it."""
    return re.sub(r"\b(?:static|inline|__forceinline__|__inline__)\b", "", text[kernel.start : kernel.body])


def _without_attributes(kernel: str) -> str:
    """What stands before a kernel's body, without what only nvcc knows."""
    attributes = re.compile(
        r"\b__(?:launch_bounds|cluster_dims|block_size|maxnreg)__\s*(?=\()|\b__grid_constant__"
    )
    while True:
        found = attributes.search(kernel)
        if found is None:
            return kernel
        end = _match(kernel, found.end()) if kernel[found.end() :].startswith("(") else found.end()
        kernel = kernel[: found.start()] + _blank_lines(kernel[found.start() : end]) + kernel[end:]


def _parameter_list(header: str) -> tuple[str, list[str]]:
    """What stands before a kernel's parameters, and each of them."""
    opened = header.rstrip()
    if not opened.endswith(")"):
        raise SourceError(f"a kernel without parameters: {' '.join(opened.split())[:80]}")
    depth, at = 0, len(opened)
    while True:
        at -= 1
        depth += (opened[at] == ")") - (opened[at] == "(")
        if depth == 0:
            return opened[:at], _split(opened[at + 1 : -1])


def _parameters(header: str) -> list[str]:
    """The names of a kernel's parameters, packs as `args...`."""
    names = []
    for parameter in _parameter_list(header)[1]:
        declared = re.split(r"(?<![=!<>])=(?!=)", parameter)[0]
        declared = re.sub(r"\[[^\]]*\]\s*$", "", declared).strip()
        if not declared or declared == "void":
            continue
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", declared)
        name = pointer[1] if pointer else re.findall(r"\w+", declared)[-1]
        names.append(name + ("..." if "..." in declared else ""))
    return names


def _split(text: str) -> list[str]:
    """At the commas outside of all brackets, '<' among them."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{<") - (c in ")]}>")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _recording_launches(text: str) -> str:
    """`kernel<<<grid, block>>>(x)` becomes `(configure(grid, block), kernel(x))`, in macros as well."""
    while True:
        code = _LITERALS.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        at = code.rfind("<<<")  # the last one first: a launch may stand in what another one is given
        if at < 0:
            return text
        start = _kernel_start(code, at)
        closing = _chevrons(code, at + 3)
        opened = re.compile(r"(?:\s|\\\n)*\(").match(code, closing + 3)
        if opened is None:
            raise SourceError("a launch without arguments")
        end = _match(code, opened.end() - 1)
        text = (
            f"{text[:start]}(::coequal::configure({text[at + 3 : closing]}), {text[start:at]}"
            f"{text[closing + 3 : end]}){text[end:]}"
        )


def _chevrons(code: str, at: int) -> int:
    """Where the '>>>' that ends a configuration is."""
    while at < len(code):
        if code[at] in _OPENING:
            at = _match(code, at)
        elif code.startswith(">>>", at):
            return at
        else:
            at += 1
    raise SourceError("'<<<' has no end")


def _kernel_start(code: str, end: int) -> int:
    """Where the expression in front of '<<<' begins: a name with its template arguments, or one in parentheses."""
    at = end
    while code[at - 1].isspace() or code[at - 1] == "\\":
        at -= 1
    last = code[at - 1]
    if last in ">)":
        depth = 0
        while True:
            at -= 1
            depth += (code[at] in ")]}>") - (code[at] in "([{<")
            if depth == 0:
                break
    name = re.search(r"[\w:#]*$" if last == ")" else r"[\w:#]*\s*$", code[:at])
    assert name
    return name.start()
