"""One instance for several shapes, configurations and targets, as one table."""

import coequal as cq
import pytest
from coequal._sweep import ragged, sizes_of
from kernels import DOUBLE


class Doubled(cq.Instance):
    n, threads = 40, 64

    def setup(self):
        self.x, self.y = cq.input(self.n), cq.empty(self.n)

    def program_a(self):
        kernel = cq.ptx(DOUBLE, "scale")
        cq.launch(kernel, cq.read(self.x), cq.write(self.y), self.n, grid=1, block=self.threads)
        return {"y": self.y}

    def program_b(self):
        grid = -(-self.n // 32)
        cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), self.n, grid=grid, block=32)
        return {"y": self.y}


def test_shapes_are_values_of_integer_attributes():
    assert sizes_of(Doubled) == {"n": 40, "threads": 64}
    sweep = cq.sweep(Doubled, shapes=[{}, {"n": 65}, {"n": 65, "threads": 96}])
    # One block of 64 threads does not reach the cell 64.
    assert [r.verdict for r in sweep] == ["equivalent", "defect", "equivalent"]
    assert sweep[1].defects[0].kind == "uninitialized-read" and "[n=65]" in sweep[1].report["file"]
    assert [dict(row.sizes) for row in sweep.rows] == [{}, {"n": 65}, {"n": 65, "threads": 96}]


def test_targets_are_columns_of_one_table():
    sweep = cq.sweep(Doubled, targets=[80, "sm_90"], shapes=[{"n": 8}])
    assert [row.target for row in sweep.rows] == ["sm_80", "sm_90"] and sweep.counts() == {"equivalent": 2}
    head, first, second, last = str(sweep).split("\n")
    assert head.split() == ["instance", "sizes", "target", "verdict", "seconds"]
    assert first.split()[:4] == ["Doubled", "n=8", "sm_80", "equivalent"] and second.split()[2] == "sm_90"
    assert last == "2 instances: 2 equivalent" and f"<pre>{head}" in sweep._repr_html_()


def test_a_shape_that_is_wrong_is_a_line_of_its_own():
    sweep = cq.sweep(Doubled, shapes=[{"m": 3}, {"n": -1}, {"n": 4}])
    assert sweep.counts() == {"invalid": 2, "equivalent": 1} and len(sweep) == 1
    assert "no integer attribute 'm'; it has: n, threads" in str(sweep)
    assert "expected integers of 0 or more" in str(sweep)


def test_shapes_need_a_class(tmp_path):
    with pytest.raises(ValueError, match="are for classes"):
        cq.sweep(tmp_path / "case.toml", shapes=[{"n": 1}])
    with pytest.raises(ValueError, match="configs: expected 'autotune'"):
        cq.sweep(Doubled, configs="all")


triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.autotune([triton.Config({"BLOCK": n}, num_warps=w) for n, w in ((16, 1), (64, 2), (128, 4))], key=["n"])
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # Only blocks of 16 are masked as they should be.
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n if BLOCK == 16 else at <= n)


class Tuned(cq.Instance):
    n = 100

    def setup(self):
        self.x, self.y = cq.input(self.n), cq.empty(self.n)

    def program_a(self):
        grid = lambda meta: (triton.cdiv(self.n, meta["BLOCK"]),)  # noqa: E731
        cq.launch(tuned, cq.read(self.x), cq.write(self.y), self.n, grid=grid)
        return {"y": self.y}


def test_every_configuration_of_a_tuner_is_checked():
    assert cq.check(Tuned).verdict == "equivalent"  # the first that fits
    sweep = cq.sweep(Tuned, configs="autotune")
    assert [row.result and row.result.verdict for row in sweep.rows] == ["equivalent", "defect", None]
    assert "BLOCK: 64" in sweep.rows[1].config and sweep[1].defects[0].kind == "out-of-bounds-write"
    assert "no configuration of tuned fits" in sweep.rows[2].problem and "BLOCK: 128" in sweep.rows[2].config


def test_ragged_shapes_are_around_the_blocks_of_the_kernels():
    assert ragged(Tuned) == [{}, *({"n": n} for n in (1, 15, 16, 17, 33))]
    sweep = cq.sweep(Tuned, shapes="ragged", configs="autotune")
    assert len(sweep.rows) == 18 and sweep.rows[1].result.verdict == "defect"
