"""A pair: a kernel with one defect and its repaired twin, from one text.

In the text of a kernel's body a line that starts with '-' is the defective twin's alone, one that starts with '+'
the repaired one's; '//!' ends a line that the defect must name. $NAME is replaced by a parameter. 't', 'b' and 'i' are
the thread, the block and both together, N and G their numbers.
"""

import dataclasses
import re
import string

# C type -> dtype of a tensor.
DTYPES = {"float": "f32", "double": "f64", "int": "i32", "unsigned": "u32", "short": "i16", "unsigned char": "u8",
          "long long": "i64", "float2": "f32", "float4": "f32", "int4": "i32"}


@dataclasses.dataclass
class Tensor:
    name: str
    ctype: str
    shape: list[int]
    access: str = "read"
    init: str = ""
    offset: int = 0
    dtype: str = ""

    def declaration(self) -> str:
        init = self.init or ("input" if self.access != "write" else "empty")
        return '%s = { dtype = "%s", shape = %s, init = "%s" }' % (
            self.name, self.dtype or DTYPES[self.ctype], self.shape, init)

    def parameter(self) -> str:
        return "%s%s* %s" % ("const " if self.access == "read" else "", self.ctype, self.name)

    def argument(self) -> str:
        offset = ", offset = %d" % self.offset if self.offset else ""
        return '{ %s = "%s"%s }' % (self.access, self.name, offset)


@dataclasses.dataclass
class Pair:
    name: str
    kind: str
    body: str
    block: list[int] | int = 32
    grid: list[int] | int = 1
    shared: int = 0
    tensors: list[Tensor] = dataclasses.field(default_factory=list)
    # What the repaired twin computes, without any sharing; none: it is checked alone.
    reference: str = ""
    # Whether two runs of the defective twin differ, or one faults, where orders and fills differ.
    shows: bool = True
    values: dict[str, object] = dataclasses.field(default_factory=dict)
    # Blocks of a cluster; these need sm_90.
    cluster: int = 1

    def threads(self) -> int:
        n = 1
        for extent in [self.block] if isinstance(self.block, int) else self.block:
            n *= extent
        return n

    def blocks(self) -> int:
        n = 1
        for extent in [self.grid] if isinstance(self.grid, int) else self.grid:
            n *= extent
        return n

    def kernel(self, twin: str, body: str) -> tuple[str, list[int]]:
        """The twin's text, and which of its lines the defect must name (from 1)."""
        dropped, kept = ("+", "-") if twin == "bad" else ("-", "+")
        lines = ['extern "C" __global__ void %s_%s(%s) {' % (
            self.name, twin, ", ".join(t.parameter() for t in self.tensors)),
            "  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
            "  const int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);",
            "  const int i = b * %d + t;" % self.threads(), "  (void)i;"]
        named = []
        values = {"N": self.threads(), "G": self.blocks(), **self.values}
        for line in string.Template(body).substitute(values).splitlines():
            if not line.strip() or line.startswith(dropped):
                continue
            if line.startswith(kept):
                line = " " + line[1:]
            if line.endswith("//!"):
                named.append(len(lines) + 1)
            lines.append(line)
        return "\n".join(lines + ["}", ""]), named

    def instance(self, source: str, twin: str) -> str:
        def launch(kernel: str) -> list[str]:
            grid = self.grid if isinstance(self.grid, list) else [self.grid]
            block = self.block if isinstance(self.block, list) else [self.block]
            cluster = ["cluster = [%d]" % self.cluster] if self.cluster > 1 else []
            return ['kernel = "%s"' % kernel, "grid = %s" % grid, "block = %s" % block, *cluster,
                    "shared = %d" % self.shared,
                    "args = [%s]" % ", ".join(t.argument() for t in self.tensors)]
        lines = ["[tensors]"] + [t.declaration() for t in {t.name: t for t in self.tensors}.values()]
        flags = ['flags = ["-arch=sm_90"]'] if self.cluster > 1 else []
        lines += ["[program_a]", 'source = "%s"' % source, *flags, "[[program_a.launch]]"]
        lines += launch(self.name + "_" + twin)
        if twin == "good" and self.reference:
            lines += ["[program_b]", 'source = "%s"' % source, *flags, "[[program_b.launch]]"]
            lines += launch(self.name + "_ref")
            outputs = [t.name for t in self.tensors if t.access != "read" and not t.name.startswith("tmp")]
            lines.insert(0, "outputs = [%s]" % ", ".join('"%s"' % o for o in outputs))
        return "\n".join(lines) + "\n"


def identifier(*parts: object) -> str:
    return re.sub(r"\W+", "_", "_".join(str(p) for p in parts)).strip("_").lower()
