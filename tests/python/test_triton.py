"""Triton kernels without a GPU: what is passed, how it is compiled, and what the launch becomes."""

import re
from typing import NamedTuple

import coequal as cq
import pytest
from coequal._check import question_of
from coequal._program import Immediate, Recorder, ScalarArgument, TensorArgument
from coequal._record import recording

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
libdevice = pytest.importorskip("triton.language.extra.libdevice")


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def double(v):
    return v + v


@triton.jit
def by_function(x, y, n, F: tl.constexpr, BLOCK: tl.constexpr = 32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, F(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def with_bias(x, bias, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    if bias is not None:
        v += tl.load(bias + at, mask=at < n)
    tl.store(y + at, v, mask=at < n)


@triton.jit
def from_pair(pair, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(pair[0] + at, mask=at < n) + tl.load(pair[1] + at, mask=at < n), mask=at < n)


@triton.jit
def row_sums(x, y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * width + at, mask=at < width, other=0.0), 0))


def launched(*args, arch="sm_80", **options):
    """The one launch that cq.launch records."""
    recorder = Recorder()
    with recording(recorder, arch):
        cq.launch(*args, **options)
    (launch,) = recorder.launches
    return launch


def test_a_launch_has_the_kernels_parameters_in_order():
    x, y = cq.input((100,), "f32"), cq.empty((100,), "f32")
    launch = launched(scale, cq.read(x), cq.write(y, offset=3), 100, 0.5, BLOCK=64, grid=(2,), num_warps=2)
    assert launch.grid == (2, 1, 1) and launch.block == (64,) and launch.kernel.name == "scale"
    # The constexpr has no parameter; two pointers to scratch memory come last.
    assert launch.args == (
        TensorArgument(x, "read"),
        TensorArgument(y, "write", 3),
        Immediate("i32", 100),
        Immediate("f32", 0.5),
        Immediate("u64", 0),
        Immediate("u64", 0),
    )
    assert launch.kernel.text is not None and ".target sm_80" in launch.kernel.text


def test_one_is_a_constant_and_wide_integers_are_wide():
    x, y = cq.input((8,)), cq.empty((8,))
    one = launched(scale, cq.read(x), cq.write(y), 1, 2.0, BLOCK=8, grid=(1,))
    assert [a.dtype for a in one.args if isinstance(a, Immediate)] == ["f32", "u64", "u64"]
    wide = launched(scale, cq.read(x), cq.write(y), 2**40, 2.0, BLOCK=8, grid=(1,))
    assert wide.args[2] == Immediate("i64", 2**40)


def widest_load(launch):
    return max(int(n or 1) for n in re.findall(r"ld\.global(?:\.v(\d))?\.b32", launch.kernel.text))


def test_multiples_of_16_and_aligned_tensors_widen_accesses():
    x, y = cq.input((1024,)), cq.empty((1024,))

    def width(n, offset):
        return widest_load(
            launched(scale, cq.read(x, offset), cq.write(y), n, 2.0, BLOCK=1024, grid=(1,), num_warps=4)
        )

    assert width(512, 0) == 4  # 512 and 256-byte alignment are multiples of 16
    assert width(511, 0) == 1  # the mask may end within a vector
    assert width(512, 1) == 1  # 4 bytes into the tensor


def test_dynamic_shared_memory_and_warps_come_from_the_compiler():
    x, y = cq.input((4, 200)), cq.empty((4,))
    launch = launched(row_sums, cq.read(x), cq.write(y), 200, BLOCK=256, grid=(4,), num_warps=8)
    assert launch.block == (256,) and launch.shared > 0


def test_the_target_is_an_option():
    x, y = cq.input((8,)), cq.empty((8,))
    launch = launched(scale, cq.read(x), cq.write(y), 8, 2.0, BLOCK=8, grid=(1,), arch="sm_90")
    assert ".target sm_90" in launch.kernel.text
    with pytest.raises(ValueError, match="arch: expected a target"):
        launched(scale, cq.read(x), cq.write(y), 8, 2.0, BLOCK=8, grid=(1,), arch="gfx942")


def test_a_grid_may_be_computed_from_the_constants():
    x, y = cq.input((100,)), cq.empty((100,))
    launch = launched(scale, cq.read(x), cq.write(y), 100, 2.0, BLOCK=32, grid=lambda m: (200 // m["BLOCK"],))
    assert launch.grid == (6, 1, 1)


class Both(cq.Instance):
    """Subclasses give program A; program B is twice x by the plain kernel."""

    expect = "equivalent"
    n = 100

    def setup(self):
        self.x, self.y = cq.input((self.n,), "f32"), cq.empty((self.n,), "f32")

    def program_b(self):
        cq.launch(scale, cq.read(self.x), cq.write(self.y), self.n, 2.0, BLOCK=128, grid=(1,))
        return {"y": self.y}


class NestedFunction(Both):
    def program_a(self):
        cq.launch(by_function, cq.read(self.x), cq.write(self.y), self.n, F=double, grid=(4,), num_warps=1)
        return {"y": self.y}


class NoneArgument(Both):
    def program_a(self):
        cq.launch(with_bias, cq.read(self.x), cq.read(self.x), cq.write(self.y), self.n, BLOCK=128, grid=(1,))
        return {"y": self.y}


class NoneLeftOut(Both):
    expect = "inequivalent"

    def program_a(self):
        cq.launch(with_bias, cq.read(self.x), None, cq.write(self.y), self.n, BLOCK=128, grid=(1,))
        return {"y": self.y}


class Pair(NamedTuple):
    left: object
    right: object


class TupleArgument(Both):
    def program_a(self):
        pair = (cq.read(self.x), cq.read(self.x))
        cq.launch(from_pair, pair, cq.write(self.y), self.n, BLOCK=128, grid=(1,))
        return {"y": self.y}


class NamedTupleArgument(Both):
    def program_a(self):
        pair = Pair(cq.read(self.x), cq.read(self.x))
        cq.launch(from_pair, pair, cq.write(self.y), self.n, BLOCK=128, grid=(1,))
        return {"y": self.y}


seen = []
tuned = triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 32}, num_warps=1)], key=["n"]
)(scale)


def block_of(args):
    seen.append(args["x"].shape)
    return triton.next_power_of_2(args["n"])


chosen = triton.heuristics({"BLOCK": block_of})(scale)


class Autotuned(Both):
    def program_a(self):
        cq.launch(tuned, cq.read(self.x), cq.write(self.y), self.n, 2.0, grid=lambda m: (triton.cdiv(100, m["BLOCK"]),))
        return {"y": self.y}


class Heuristic(Both):
    def program_a(self):
        cq.launch(chosen, cq.read(self.x), cq.write(self.y), self.n, 2.0, grid=(1,))
        return {"y": self.y}


def test_an_autotuner_takes_its_first_configuration():
    x, y = cq.input((100,)), cq.empty((100,))
    launch = launched(tuned, cq.read(x), cq.write(y), 100, 2.0, grid=lambda m: (triton.cdiv(100, m["BLOCK"]),))
    assert launch.grid == (2, 1, 1) and launch.block == (64,)


def test_a_heuristic_sees_the_arguments():
    seen.clear()
    assert cq.check(Heuristic).verdict == "equivalent"
    assert seen == [(100,)]


class FreeScalar(cq.Instance):
    """The factor is any positive number, the same in both programs; blocks differ."""

    expect = "equivalent"

    def setup(self):
        self.x, self.y = cq.input((100,)), cq.empty((100,))
        self.factor = cq.scalar("f32", above=0)

    def program_a(self):
        cq.launch(scale, cq.read(self.x), cq.write(self.y), 100, self.factor, BLOCK=64, grid=(2,))
        return {"y": self.y}

    def program_b(self):
        cq.launch(scale, cq.read(self.x), cq.write(self.y), 100, self.factor, BLOCK=32, grid=(4,), num_warps=1)
        return {"y": self.y}


@triton.jit
def hyperbolic(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, libdevice.tanh(tl.load(x + at, mask=at < n)), mask=at < n)


def test_functions_of_libdevice_are_what_they_compute():
    torch = pytest.importorskip("torch")

    class Tanh(Both):
        def program_a(self):
            cq.launch(hyperbolic, cq.read(self.x), cq.write(self.y), self.n, BLOCK=128, grid=(1,), num_warps=1)
            return {"y": self.y}

        def program_b(self):
            return {"y": cq.torch(torch.tanh, self.x)}

    result = cq.check(Tanh)
    assert result.verdict == "equivalent" and ("library-approximation", "inlined code is read as tanh") in result.ledger


def test_several_ctas_are_a_cluster():
    x, y = cq.input((256,)), cq.empty((256,))
    arguments = (cq.read(x), cq.write(y), 256, 2.0)
    launch = launched(scale, *arguments, BLOCK=128, grid=(2,), num_warps=2, num_ctas=2, arch="sm_90")
    assert (launch.grid, launch.cluster, launch.block) == ((4, 1, 1), (2,), (64,))


def test_free_scalars_keep_their_name():
    x, y = cq.input((8,)), cq.empty((8,))
    factor, n = cq.scalar("f32"), cq.scalar("i32", min=1, max=8)
    launch = launched(scale, cq.read(x), cq.write(y), n, factor, BLOCK=8, grid=(1,))
    assert launch.args[2:4] == (ScalarArgument(n), ScalarArgument(factor))
    with pytest.raises(ValueError, match="a scalar without a value is free"):
        launched(scale, cq.read(x), cq.write(y), n, factor, BLOCK=8, grid=lambda m: (triton.cdiv(m["n"], 8),))


def test_lines_are_those_of_the_kernel():
    result = cq.check(NoneLeftOut)
    assert result.witness is not None
    assert result.witness.store_a.file == __file__
    source = with_bias.fn.__code__.co_firstlineno
    assert source < result.witness.store_a.line <= source + 7


def test_mistakes_are_value_errors_or_tritons_own():
    x, y = cq.input((8,)), cq.empty((8,))
    with pytest.raises(ValueError, match="block, shared"):
        launched(scale, cq.read(x), cq.write(y), 8, 2.0, BLOCK=8, grid=(1,), block=32)
    with pytest.raises(KeyError, match="BLOK"):
        launched(scale, cq.read(x), cq.write(y), 8, 2.0, BLOCK=8, BLOK=8, grid=(1,))
    with pytest.raises(TypeError, match="BLOCK"):
        launched(scale, cq.read(x), cq.write(y), 8, 2.0, grid=(1,))


def test_the_real_driver_and_caches_are_left_as_they_were():
    before = dict(vars(triton.runtime.driver))
    x, y = cq.input((8,)), cq.empty((8,))
    launched(scale, cq.read(x), cq.write(y), 8, 2.0, BLOCK=8, grid=(1,))
    assert vars(triton.runtime.driver) == before
    assert all(str(device).startswith("coequal:") for device in scale.device_caches)


def test_kernels_are_shared_between_instances():
    assert question_of(FreeScalar).texts.keys() == question_of(FreeScalar).texts.keys()
    assert len(question_of(FreeScalar).texts) == 2


class MeasuringTuner(triton.runtime.Autotuner):
    def run(self, *args, **kwargs):
        raise AssertionError("nothing can be measured")


@triton.jit
def scale_small(x, y, n, factor, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 32)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, factor * tl.load(x + at, mask=at < n), mask=at < n)


def test_a_tuner_takes_the_first_configuration_that_compiles_whatever_its_class():
    configs = [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 32}, num_warps=1)]
    tuner = MeasuringTuner(scale_small, ["x", "y", "n", "factor", "BLOCK"], configs, ["n"], None, None)
    x, y = cq.input((100,)), cq.empty((100,))
    launch = launched(tuner, cq.read(x), cq.write(y), 100, 2.0, grid=lambda m: (triton.cdiv(100, m["BLOCK"]),))
    assert launch.grid == (4, 1, 1) and launch.block == (32,)


def zeroing(args):
    args["y"].zero_()


hooked = triton.autotune(configs=[triton.Config({"BLOCK": 64}, pre_hook=zeroing)], key=["n"])(scale)


def test_a_hook_that_writes_is_refused_by_name():
    class Hooked(Both):
        def program_a(self):
            cq.launch(hooked, cq.read(self.x), cq.write(self.y), self.n, 2.0, grid=(2,))
            return {"y": self.y}

    result = cq.check(Hooked)
    assert result.verdict == "refused" and "zero_" in result.text


def test_numbers_outside_single_precision():
    def scaled(factor):
        class Scaled(Both):
            def program_a(self):
                cq.launch(scale, cq.read(self.x), cq.write(self.y), self.n, factor, BLOCK=128, grid=(1,))
                return {"y": self.y}

        return cq.check(Scaled)

    assert scaled(float("nan")).verdict == "refused" and "NaN" in scaled(float("nan")).text
    assert scaled(1e39).verdict == scaled(float("inf")).verdict != "equivalent"
