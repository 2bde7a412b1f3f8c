"""Instances as classes: what they declare, what the engine reads, and what is wrong with them."""

import tomllib

import coequal as cq
import numpy as np
import pytest
from coequal._check import question_of
from kernels import DOUBLE, SHIFT, TRIPLE


class Doubled(cq.Instance):
    """Twice by one kernel, twice by the same. And a second sentence."""

    def setup(self):
        self.x = cq.input((40,), "f32", min=-1, below=3)
        self.y = cq.empty((40,), "f32")

    def program_a(self):
        cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
        return {"y": self.y}

    def program_b(self):
        cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=(2,), block=(32, 1))
        return {"y": self.y}


def toml_of(case):
    return tomllib.loads(question_of(case).toml)


def test_an_instance_is_the_toml_form_with_ptx_beside_it():
    question = question_of(Doubled)
    read = tomllib.loads(question.toml)
    (name,) = question.texts
    assert name.startswith("scale-") and name.endswith(".ptx")
    assert read["tensors"] == {
        "x": {"dtype": "f32", "shape": [40], "min": -1.0, "below": 3.0},
        "y": {"dtype": "f32", "shape": [40], "init": "empty"},
    }
    assert read["outputs"] == ["y"]
    assert read["program_a"]["launch"] == [
        {
            "source": name,
            "kernel": "scale",
            "grid": [2],
            "block": [32],
            "args": [{"read": "x"}, {"write": "y"}, {"i32": 40}],
        }
    ]


def test_every_kind_of_declaration_arrives():
    class Every(cq.Instance):
        def setup(self):
            self.a = cq.zeros((2, 3), "f16", strides=(4, 1))
            self.b = cq.full(4, -0.5, "bf16")
            self.c = cq.values([[1, 2], [3, 4]], "i64")
            self.d = cq.values(np.array([0.1, float("-inf")]), "f32")
            self.e = cq.input((3,), "i32", min=0, max=9, sorted=True)
            self.flags = cq.values([True, False], "bool")
            self.s = cq.scalar("f32", above=0)
            self.n = cq.scalar("u64", value=2**40)
            self.many = [cq.zeros(1), cq.zeros(2)]

        def program_a(self):
            cq.launch(cq.ptx(SHIFT, "shift"), cq.read(self.e), cq.write(self.a, offset=2), self.s, grid=1, block=4)
            cq.launch(cq.ptx(SHIFT, "shift"), self.b, self.many[1], np.float32(0.25), grid=1, block=4, shared=16)
            kernel = cq.ptx(SHIFT, "shift")
            cq.launch(kernel, 2**40, cq.readwrite(self.c), 2**63, grid=2, block=4, cluster=2, cooperative=True)
            cq.launch(kernel, True, np.int8(-1), -1, grid=1, block=1)

    read = toml_of(Every)
    assert read["tensors"]["a"] == {"dtype": "f16", "shape": [2, 3], "strides": [4, 1], "init": "zeros"}
    assert read["tensors"]["b"] == {"dtype": "bf16", "shape": [4], "init": "full", "value": -0.5}
    assert read["tensors"]["c"] == {"dtype": "i64", "shape": [2, 2], "values": [1, 2, 3, 4]}
    assert read["tensors"]["d"]["values"] == [0.1, float("-inf")]
    assert read["tensors"]["e"] == {"dtype": "i32", "shape": [3], "min": 0, "max": 9, "sorted": True}
    assert read["tensors"]["flags"]["values"] == [1, 0]
    assert read["tensors"]["many.1"]["shape"] == [2]
    assert read["scalars"] == {"s": {"dtype": "f32", "above": 0.0}, "n": {"dtype": "u64", "value": 2**40}}
    first, second, third, fourth = read["program_a"]["launch"]
    assert first["args"] == [{"read": "e"}, {"write": "a", "offset": 2}, {"scalar": "s"}]
    assert second["args"] == [{"readwrite": "b"}, {"readwrite": "many.1"}, {"f32": 0.25}] and second["shared"] == 16
    # 2^63 is more than a TOML integer holds: the bytes of a u64 stand for it.
    assert third["args"] == [{"i64": 2**40}, {"readwrite": "c"}, {"bytes": "0000000000000080"}]
    assert fourth["args"] == [{"bool": 1}, {"i8": -1}, {"i32": -1}]
    assert third["cluster"] == [2] and third["cooperative"] is True
    assert "program_b" not in read


def test_outputs_are_named_by_program_a_and_mapped_in_program_b():
    class Mapped(Doubled):
        def setup(self):
            super().setup()
            self.other = cq.empty((40,), "f32")

        def program_a(self):
            return {"result": super().program_a()["y"]}

        def program_b(self):
            cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.other), 40, grid=2, block=32)
            return {"result": self.other}

    read = toml_of(Mapped)
    assert read["outputs"] == ["result"] and read["program_b"]["outputs"] == {"result": "other"}
    result = cq.check(Mapped)
    assert result.verdict == "equivalent" and result.cells["proved_exact"] == 40


def test_a_tensor_or_a_tuple_is_an_output_too():
    class Single(Doubled):
        def program_a(self):
            return super().program_a()["y"]

        def program_b(self):
            return super().program_b()["y"]

    class Pair(Doubled):
        def program_a(self):
            return super().program_a()["y"], self.x

        def program_b(self):
            return super().program_b()["y"], self.x

    assert toml_of(Single)["outputs"] == ["out"]
    assert toml_of(Pair)["outputs"] == ["out0", "out1"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: cq.input((4, -1)), "shape: expected integers of 0 or more"),
        (lambda: cq.input((4,), "float32"), "no dtype 'float32'"),
        (lambda: cq.values([[1, 2], [3]], "i32"), "lists of equal lengths"),
        (lambda: cq.values([1, 2, 3], "i32", shape=(2,)), "expected 2 values"),
        (lambda: cq.full((2,), "a"), "value: expected a number"),
        (lambda: cq.read(3), "expected a tensor"),
        (lambda: cq.launch(cq.ptx(DOUBLE, "scale"), grid=1, block=1), "launches and operators belong in a program"),
        (lambda: cq.cuda("absent.cu", "k"), "there is no file 'absent.cu'"),
    ],
)
def test_what_is_wrong_is_a_value_error(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def in_program_a(launch, **attributes):
    members = {"setup": Doubled.setup, "program_a": launch, "program_b": None, **attributes}
    return type("Wrong", (cq.Instance,), members)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        (lambda self: cq.launch(cq.ptx(DOUBLE, "scale"), self.x, self.y, 1, grid=1), "needs block="),
        (lambda self: cq.launch(cq.ptx(DOUBLE, "scale"), self.x, self.y, 1, grid=1, block=1, BLOCK=3), "'BLOCK'"),
        (lambda self: cq.launch(cq.ptx(DOUBLE, "scale"), self.x, "y", grid=1, block=1), "found 'y'"),
        (lambda self: cq.launch(print, grid=1), "expected a Triton function"),
        (lambda self: cq.launch(cq.ptx(DOUBLE, "scale"), self.x, self.y, 1, grid=0, block=1), "grid"),
        (lambda self: {"y": 3}, "a program returned .*expected a dict of tensors by name"),
        (lambda self: {"y": self.y}, "program_a launches nothing"),
    ],
)
def test_a_wrong_program_is_a_value_error(launch, message):
    with pytest.raises(ValueError, match=message):
        cq.check(in_program_a(launch))


def test_a_kernel_that_does_not_fit_is_an_invalid_result():
    result = cq.check(in_program_a(lambda self: cq.launch(cq.ptx(DOUBLE, "scale"), self.x, grid=1, block=1)))
    assert result.verdict == "invalid" and "takes 3 arguments, 1 are given" in result.text
    result = cq.check(in_program_a(lambda self: cq.launch(cq.ptx(DOUBLE, "other"), self.x, grid=1, block=1)))
    assert result.verdict == "invalid" and "no kernel 'other'" in result.text


def test_programs_must_return_the_same_outputs():
    class Other(Doubled):
        def program_b(self):
            return {"z": super().program_b()["y"]}

    with pytest.raises(ValueError, match=r"program_a returns \[y\], program_b returns \[z\]"):
        cq.check(Other)


def test_expectations_arrive():
    class Wanted(Doubled):
        expect = cq.Defect("out-of-bounds-read", program="b")
        no_assume = ("constant-snap",)
        budget = 5

    read = toml_of(Wanted)
    assert read["expect"] == {"verdict": "defect", "defect": "out-of-bounds-read", "program": "b"}
    assert read["assume"]["off"] == ["constant-snap"] and read["budget"] == {"seconds": 5.0}
    assert cq.check(Wanted).as_expected is False
    Wanted.expect = "equivalent"
    assert cq.check(Wanted).as_expected is True
    Wanted.expect = "same"
    with pytest.raises(ValueError, match="expected one of equivalent"):
        cq.check(Wanted)


def test_what_cannot_be_recorded_is_refused_and_the_other_program_is_still_checked():
    class Partly(Doubled):
        def program_a(self):
            cq.launch(cq.ptx(DOUBLE, "scale"), cq.read(self.x), cq.write(self.y), 41, grid=2, block=32)
            return {"y": self.y}

        def program_b(self):
            raise cq.Refused("aten.magic", "this operator is not modelled", "model.py", 12)

    result = cq.check(Partly)  # 41 elements of 40: A is wrong whatever B is
    assert result.verdict == "defect"
    assert {d.kind for d in result.defects} == {"out-of-bounds-read", "out-of-bounds-write"}
    assert result.report["refusals"][0]["reason"] == "this operator is not modelled"
    assert result.report["refusals"][0]["line"] == 12

    class NotAtAll(Doubled):
        def program_a(self):
            raise cq.Refused("aten.magic", "this operator is not modelled")

    result = cq.check(NotAtAll)
    assert result.verdict == "refused" and "aten.magic" in result.text


def test_triple_is_not_double():
    class Tripled(Doubled):
        def program_b(self):
            cq.launch(cq.ptx(TRIPLE, "scale"), cq.read(self.x), cq.write(self.y), 40, grid=2, block=32)
            return {"y": self.y}

    assert cq.check(Tripled).verdict == "inequivalent"
