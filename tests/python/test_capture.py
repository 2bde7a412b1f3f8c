"""Host code as a program, and two functions against each other."""

import coequal as cq
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def double_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2.0 * tl.load(x + at, mask=at < n), mask=at < n)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 32),)](x, y, out, x.numel(), BLOCK=32, num_warps=1)
    return out


VECTOR = cq.spec((50,), "f32")


def test_a_wrapper_is_its_operator():
    result = cq.assert_equivalent(add, torch.add, VECTOR, VECTOR)
    assert result.verdict == "equivalent" and result.cells["proved_exact"] == 50 and result.name == "add-add"


def test_a_difference_fails_with_the_witness_and_both_lines():
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(add, lambda x, y: x - y, VECTOR, VECTOR)
    text = str(failure.value)
    assert "inequivalent  add-reference: out[0] differs" in text and "witness for out[0]" in text
    assert text.count(f"{__file__}:") == 2 and "tl.store(out + at" in text
    assert failure.value.result.witness is not None


def test_launches_keep_their_place_among_operators():
    def in_between(x):
        before = x + 1  # read before the launch changes x's copy
        work = x.clone()
        double_in_place[(1,)](work, 50, BLOCK=64, num_warps=2)
        work += 1
        double_in_place[(1,)](work, 50, BLOCK=64, num_warps=2)
        return before * work

    cq.assert_equivalent(in_between, lambda x: (x + 1) * (4 * x + 2), VECTOR)


def test_an_expression_is_computed_before_a_launch_writes_what_it_reads():
    def stale(x):
        work = x * 1
        old = work + 3
        double_in_place[(1,)](work, 50, BLOCK=64, num_warps=2)
        return old, work

    cq.assert_equivalent(stale, lambda x: (x + 3, 2 * x), VECTOR)


def test_views_point_into_their_tensor():
    def second_half(x):
        work = x.clone()
        double_in_place[(1,)](work[25:], 25, BLOCK=32, num_warps=1)
        return work

    def rows_of_a_transpose(x):
        out = torch.zeros(4, 6)
        for row in range(4):
            add_kernel[(1,)](x.t()[row], x.t()[row], out[row], 6, BLOCK=8, num_warps=1)
        return out

    cq.assert_equivalent(second_half, lambda x: torch.cat([x[:25], 2 * x[25:]]), VECTOR)
    # The kernel ignores strides: a row of a transpose is not contiguous.
    with pytest.raises(cq.NotEquivalent):
        cq.assert_equivalent(rows_of_a_transpose, lambda x: 2 * x.t(), cq.spec((6, 4), "f32"))
    cq.assert_equivalent(
        rows_of_a_transpose, lambda x: 2 * x.t(), cq.spec((6, 4), "f32", strides=(1, 6))
    )


def test_results_may_be_a_dict_and_arguments_are_passed_on():
    def scaled(x, factor, *, bias):
        return {"low": x * factor, "high": x * factor + bias}

    cq.assert_equivalent(
        lambda x, f: scaled(x, f, bias=1), lambda x, f: {"high": f * x + 1, "low": f * x}, VECTOR, cq.spec(None, "f32")
    )


def test_host_code_takes_the_way_of_a_gpu():
    def guarded(x, y):
        assert x.is_cuda and not x.is_cpu and x.device.type == "cuda" and torch.cuda.is_available()
        with torch.cuda.device(x.device):
            out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
            add_kernel[(2,)](x, y.to("cuda").cuda(), out, x.numel(), BLOCK=32, num_warps=1)
        return out + torch.zeros(50, device="cuda:0")

    def with_fallback(x, y):
        return add(x, y) if x.is_cuda else x - y

    cq.assert_equivalent(guarded, torch.add, VECTOR, VECTOR)
    cq.assert_equivalent(with_fallback, torch.add, VECTOR, VECTOR)
    assert not torch.cuda.is_available() or torch.cuda.get_device_name() != "coequal"


def test_unwritten_memory_is_a_defect():
    def forgets_the_tail(x, y):
        out = torch.empty_like(x)
        add_kernel[(1,)](x, y, out, 32, BLOCK=32, num_warps=1)
        return out

    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(forgets_the_tail, torch.add, VECTOR, VECTOR)
    assert failure.value.result.verdict == "defect"
    assert failure.value.result.defects[0].kind == "uninitialized-read"


def test_host_code_that_reads_data_is_refused():
    def depends(x):
        return x if x[0] > 0 else -x

    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(depends, torch.abs, VECTOR)
    assert failure.value.result.verdict == "refused"


class Scaled(torch.nn.Module):
    def __init__(self, epsilon=0.5):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(50))
        self.register_buffer("count", torch.zeros(1))
        self.epsilon = epsilon

    def forward(self, x):
        self.count.add_(1)
        return x * (self.weight + self.epsilon)


class ScaledByKernel(Scaled):
    steps = 1

    def forward(self, x):
        self.count.add_(self.steps)
        return add(x * self.weight, x * 0.5)


def test_parameters_are_inputs_shared_by_name():
    result = cq.assert_equivalent(Scaled(), ScaledByKernel(), VECTOR)
    assert result.cells["total"] == 51  # the buffer is an output, too
    # At the initial weights of 1 and an epsilon of 0.5 both are 1.5 x.
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(Scaled(), lambda x: 1.5 * x, VECTOR)
    assert failure.value.result.witness.inputs["weight"].shape == (50,)
    with pytest.raises(cq.NotEquivalent):
        cq.assert_equivalent(Scaled(0.25), ScaledByKernel(), VECTOR)


def test_buffers_that_a_module_writes_are_compared():
    module = ScaledByKernel()
    module.steps = 2
    with pytest.raises(cq.NotEquivalent, match="count"):
        cq.assert_equivalent(Scaled(), module, VECTOR)


def test_a_module_in_an_instance():
    layer = torch.nn.Linear(4, 3)

    class Captured(cq.Instance):
        def setup(self):
            self.x = cq.input((2, 4))
            self.state = cq.module_state(layer)

        def program_a(self):
            return {"y": cq.capture(layer, self.x, state=self.state)}

        def program_b(self):
            weight, bias = self.state["weight"], self.state["bias"]
            return {"y": cq.torch(lambda x, w, b: x @ w.t() + b, self.x, weight, bias)}

    assert cq.check(Captured).verdict == "equivalent"


@triton.jit
def set_one(x):
    tl.store(x, 1)


def test_contents_that_a_launch_or_another_view_changes_are_not_known():
    def set_by_a_launch(x):
        flag = torch.tensor([0], dtype=torch.int32, device="cuda")
        view = flag.view(())
        set_one[(1,)](flag)
        return x + 1 if view.item() else x

    def set_by_another_view(x):
        flag = torch.tensor([0.0])
        view = flag.view(())
        flag.copy_(x[:1])
        return x + 1 if view.item() else x

    def set_by_a_number(x):
        flag = torch.tensor([0])
        flag += 1
        return x + 1 if flag.item() else x

    outside = torch.zeros(1)

    def outside_by_a_launch(x):
        set_one[(1,)](outside)
        return x + 1 if outside.item() else x

    def outside_by_an_operator(x):
        outside.view(()).copy_(x[0])
        return x + 1 if outside[0] > 0 else x

    for function in (set_by_a_launch, set_by_another_view, outside_by_a_launch, outside_by_an_operator):
        with pytest.raises(cq.NotEquivalent) as failure:
            cq.assert_equivalent(function, lambda x: x * 1, VECTOR)
        assert failure.value.result.verdict == "refused"
    cq.assert_equivalent(set_by_a_number, lambda x: x + 1, VECTOR)


class Address:
    """Something that is no tensor, with the two members that Triton asks for."""

    def __init__(self, tensor, offset):
        self.dtype, self.address = tensor.dtype, tensor.data_ptr() + offset * tensor.element_size()

    def data_ptr(self):
        return self.address


def test_a_launch_takes_anything_with_an_address():
    def second_half(x):
        work = x.clone()
        double_in_place[(1,)](Address(work[5:], 20), 25, BLOCK=32, num_warps=1)
        return work

    cq.assert_equivalent(second_half, lambda x: torch.cat([x[:25], 2 * x[25:]]), VECTOR)


def test_a_compiled_kernel_may_be_launched_itself():
    def twice(x):
        work = x.clone()
        kernel = double_in_place[(1,)](work, 50, BLOCK=64, num_warps=2)
        kernel[(1, 1, 1)](work, 50)  # without its constants
        kernel[(1, 1, 1)](work, 50, 64)
        return work

    cq.assert_equivalent(twice, lambda x: 8 * x, VECTOR)


class DoubledByKernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return add(x, x)

    @staticmethod
    def backward(ctx, gradient):
        out = torch.empty(gradient.shape, device=gradient.device)
        add_kernel[(2,)](gradient, gradient, out, gradient.numel(), BLOCK=32, num_warps=1)
        return out


def test_backward_functions_allocate_on_the_device():
    def gradient(x, by):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(DoubledByKernel.apply(x), x, by)

    cq.assert_equivalent(gradient, lambda x, by: (2 * by,), VECTOR, VECTOR)


def test_host_code_may_read_what_follows_from_known_data():
    def computed(x):
        lengths = torch.tensor([3, 1, 4], device="cuda")
        lengths[1] = 5
        return x * (lengths != 4).sum().item() + lengths.cumsum(0)[-1].item()

    def partly_unknown(x):
        lengths = torch.tensor([3.0, 1.0, 4.0])
        lengths[1:2].copy_(x[:1])
        return x * lengths.sum().item()

    cq.assert_equivalent(computed, lambda x: 2 * x + 12, VECTOR)
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(partly_unknown, lambda x: 2 * x, VECTOR)
    assert failure.value.result.verdict == "refused"


def differ(fn_a, fn_b, *specs):
    """The verdict of two functions that are not equivalent."""
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(fn_a, fn_b, *specs)
    return failure.value.result.verdict


def twice_returned(x):
    y = x * 2
    return y, y


def test_one_tensor_under_two_names_is_compared_with_both():
    def wrong_first(x):
        return x * 3, x * 2

    cq.assert_equivalent(twice_returned, lambda x: (x + x, x * 2), VECTOR)
    cq.assert_equivalent(twice_returned, twice_returned, VECTOR)
    assert differ(twice_returned, wrong_first, VECTOR) == "inequivalent"
    assert differ(wrong_first, twice_returned, VECTOR) == "inequivalent"
    assert differ(twice_returned, lambda x: (x * 2, x * 3), VECTOR) == "inequivalent"
    # Of other dtypes and strides, too.
    strided = cq.spec((3, 5), "f16", strides=(1, 4))
    cq.assert_equivalent(lambda x: (x, x), lambda x: (x + 0, x * 1), strided)
    assert differ(lambda x: (x, x), lambda x: (x + 0, x.reshape(5, 3).t() * 1), strided) == "inequivalent"


def test_what_only_returns_its_argument_is_a_program():
    for dtype in ("f64", "bf16", "i8", "bool"):
        cq.assert_equivalent(lambda x: x, lambda x: x.clone(), cq.spec((300,), dtype))
    assert differ(lambda x: x, lambda x: x + 1, VECTOR) == "inequivalent"
    assert differ(lambda x: x + 1, lambda x: x, VECTOR) == "inequivalent"
    cq.assert_equivalent(lambda x: x, lambda x: x, VECTOR)
    assert differ(lambda x: x.view(5, 10), lambda x: x.view(5, 10) * 2, VECTOR) == "inequivalent"


def test_one_declared_tensor_for_two_arguments_is_one_storage():
    x = cq.input((8,))

    def before(x, y):
        result = x * 2
        y.add_(1)
        return result

    def after(x, y):
        y.add_(1)
        return x * 2

    assert differ(before, after, x, x) == "inequivalent"
    cq.assert_equivalent(after, lambda x, y: (y.add_(1), y + y)[1], x, x)
    cq.assert_equivalent(before, after, cq.input((8,)), cq.input((8,)))


def test_tensors_in_lists_and_dicts_are_watched():
    def kept(given):
        return given[0]["a"] + given[1]

    def changed(given):
        result = given[0]["a"] + given[1]
        given[0]["a"].mul_(2)
        return result

    def changed_otherwise(given):
        result = given[0]["a"] + given[1]
        given[0]["a"].add_(given[0]["a"])
        return result

    given = [{"a": VECTOR}, cq.input((50,))]
    cq.assert_equivalent(kept, lambda given: given[1] + given[0]["a"], given)
    assert differ(kept, changed, given) == "defect"
    assert differ(changed, kept, given) == "defect"
    cq.assert_equivalent(changed, changed_otherwise, given)
    assert differ(changed, lambda given: changed(given) + 0 * given[0]["a"].add_(1), given) == "inequivalent"


def test_a_changed_argument_may_have_the_name_of_a_result():
    def by(factor):
        def scale(out, budget):
            out.mul_(factor)
            return budget * 1

        return scale

    cq.assert_equivalent(by(2), by(2), VECTOR, VECTOR)
    assert differ(by(2), by(3), VECTOR, VECTOR) == "inequivalent"


class Counting(torch.nn.Module):
    def __init__(self, step, in_place=False, name="steps"):
        super().__init__()
        self.step, self.in_place, self.name = step, in_place, name
        self.register_buffer(name, torch.zeros(()))

    def forward(self, x):
        before = getattr(self, self.name)
        if self.in_place:
            before.add_(self.step)
        else:
            setattr(self, self.name, before + self.step)
        return x * 2


class CountingWrong(Counting):
    def forward(self, x):
        super().forward(x)
        return x * 3


def test_a_buffer_that_a_module_replaces_is_compared():
    cq.assert_equivalent(Counting(1), Counting(1, in_place=True), VECTOR)
    assert differ(Counting(1), Counting(7), VECTOR) == "inequivalent"
    assert differ(Counting(1, in_place=True), Counting(7), VECTOR) == "inequivalent"
    # The buffer and the result have one name.
    cq.assert_equivalent(Counting(1, name="out"), Counting(1, name="out"), VECTOR)
    assert differ(Counting(1, name="out"), CountingWrong(1, name="out"), VECTOR) == "inequivalent"


def test_without_cells_the_question_is_vacuous():
    assert differ(lambda x: x * 2, lambda x: x * 2, cq.spec((0,), "f32")) == "unknown"


def test_what_a_call_keeps_for_the_next_must_not_decide():
    kept = {}

    def keeps_its_result(x):
        if "result" not in kept:
            kept["result"] = x * 2
        return kept["result"]

    def keeps_work_space(x):
        if "work" not in kept:
            kept["work"] = torch.empty(50)
            double_in_place[(1,)](kept["work"].zero_(), 50, BLOCK=64, num_warps=1)
        kept["work"].copy_(x)
        return kept["work"] * 2

    def right_at_first(x):
        kept["calls"] = kept.get("calls", 0) + 1
        return x * (1 + kept["calls"])

    def fails_later(x):
        kept["failed"] = kept.get("failed", 0) + 1
        assert kept["failed"] < 2
        return x * 2

    def wrong_without_what_it_keeps(x):
        if "late" not in kept:
            kept["late"] = torch.full((50,), 2.0)
            return x * 3
        return x * kept["late"]

    for function in (keeps_its_result, keeps_work_space, right_at_first, fails_later, wrong_without_what_it_keeps):
        assert differ(lambda x: x * 2, function, VECTOR) == "refused", function
    # Also in a later check, and for the other program.
    assert differ(keeps_its_result, lambda x: x * 2, VECTOR) == "refused"
    assert differ(keeps_its_result, lambda x: kept["result"], VECTOR) == "refused"


def test_a_call_may_keep_what_follows_from_no_argument():
    kept = {}

    def ramp(key, n):
        def scaled(x):
            if key not in kept:
                kept[key] = torch.zeros(n)
                kept[key] += torch.arange(float(n))
                add_kernel[(2,)](kept[key], kept[key], kept[key], n, BLOCK=32, num_warps=1)
            return x * kept[key]

        return scaled

    cq.assert_equivalent(ramp("right", 50), lambda x: 2 * x * torch.arange(50.0), VECTOR)
    assert differ(ramp("wrong", 50), lambda x: x * torch.arange(50.0), VECTOR) == "inequivalent"


@triton.jit
def scale_by_maps(source, target, factor, N: tl.constexpr):
    target.store([0, 0], source.load([0, 0]) * factor)


def test_what_is_written_through_a_map_is_compared():
    from triton.tools.tensor_descriptor import TensorDescriptor

    def scaled(factor, back=False):
        def scale(x):
            out = torch.empty_like(x)
            maps = [TensorDescriptor.from_tensor(t, [16, 16]) for t in (x, x if back else out)]
            scale_by_maps[(1,)](*maps, factor, N=16)
            return x + 0 if back else out

        return scale

    x = cq.spec((16, 16), "f32")
    cq.assert_equivalent(scaled(2.0), lambda x: x + x, x, arch="sm_90")
    cq.assert_equivalent(scaled(2.0, back=True), lambda x: x.mul_(2) + 0, x, arch="sm_90")
    with pytest.raises(cq.NotEquivalent) as failure:
        cq.assert_equivalent(scaled(2.0, back=True), lambda x: 2 * x, x, arch="sm_90")
    assert failure.value.result.verdict == "inequivalent"
