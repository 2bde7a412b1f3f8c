"""CUDA extensions in captured code: host code that runs, launches that are recorded, and what is refused."""

import os
import shutil
from pathlib import Path

import coequal as cq
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not shutil.which("nvcc") or not shutil.which("g++"), reason="needs nvcc and g++")

HERE = Path(__file__).parent
SOURCE = HERE / "host_code.cu"
X = cq.spec((8, 20), "f32")


@pytest.fixture(scope="module")
def host_code():
    from torch.utils import cpp_extension

    real = cpp_extension.load
    with cq.extensions():
        module = cpp_extension.load("host_code", [str(SOURCE)], extra_cuda_cflags=["-O3", "-gencode", "arch=x"])
    assert cpp_extension.load is real
    return module


def line(text):
    number = next(i for i, found in enumerate(SOURCE.read_text().split("\n"), 1) if text in found)
    return f"{SOURCE.name}:{number}"


def failure(fn_a, fn_b, *specs):
    with pytest.raises(cq.NotEquivalent) as raised:
        cq.assert_equivalent(fn_a, fn_b, *specs)
    return raised.value.result


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_templates_dispatch_defaults_and_checks(host_code, dtype):
    cq.assert_equivalent(lambda x: host_code.scale_all(x), lambda x: 3 * x + 2, cq.spec((5, 20), dtype))


def test_keywords_and_the_number_that_is_passed(host_code):
    cq.assert_equivalent(lambda x: host_code.scale_all(factor=-2.0, x=x), lambda x: 2 - 2 * x, X)
    result = failure(lambda x: host_code.scale_all(x, 2.5), lambda x: 2 * x + 2, X)
    assert result.verdict == "inequivalent" and line("y[i] = x[i] * factor") in result.text


def test_a_check_of_host_code_raises_what_pytorch_raises(host_code):
    with pytest.raises(RuntimeError, match="x must be a contiguous CUDA tensor"):
        cq.assert_equivalent(lambda x: host_code.scale_all(x.t()), lambda x: 3 * x.t() + 2, X)


def test_deduced_templates_and_structs_by_value(host_code):
    cq.assert_equivalent(lambda x: host_code.affine(x, 0.5, -1.0), lambda x: x / 2 - 1, X)


def test_structs_with_addresses_inside(host_code):
    cq.assert_equivalent(host_code.accessor, lambda x: x * 1, cq.spec((32,), "f32"))
    result = failure(host_code.accessor, lambda x: x * 1, cq.spec((30,), "f32"))
    assert result.verdict == "defect" and line("y[threadIdx.x] = x[threadIdx.x];") in result.text


def test_two_launches_of_kernels_that_one_file_knows(host_code):
    def of_rows(x):
        return x / x.sum(1, keepdim=True)

    assert cq.assert_equivalent(host_code.normalise, of_rows, X).verdict == "equivalent"


def test_memory_that_is_filled_and_copied(host_code):
    cq.assert_equivalent(host_code.total, lambda x: x.sum().reshape(1), cq.spec((9, 15), "f32"))

    def square_tail(x):
        return torch.cat([x.reshape(-1)[:10], x.reshape(-1)[10:] ** 2]).reshape(x.shape)

    cq.assert_equivalent(host_code.square_tail, square_tail, X)


def test_a_product_of_cublas(host_code):
    cq.assert_equivalent(host_code.product, lambda x, y: 2 * x @ y.T + 3, X, cq.spec((3, 20), "f32"))


def test_views_and_operators_around_a_kernel(host_code):
    def transposed(x):
        return torch.relu(x.t()) - (x @ x.t()).sum()

    cq.assert_equivalent(lambda x: host_code.of_transposed(x, True), transposed, cq.spec((3, 5), "f32"))
    result = failure(lambda x: host_code.of_transposed(x, False), transposed, cq.spec((3, 5), "f32"))
    assert result.verdict == "inequivalent"


def test_numbers_among_tensors(host_code):
    def composed(x):
        return torch.where(x > 0, (1 - x * 2 + x * x).clamp_min(0.5) / 3, 4.0).double()

    cq.assert_equivalent(host_code.with_numbers, composed, X)


def test_what_is_given_may_be_changed_by_both_or_by_none(host_code):
    cq.assert_equivalent(lambda x: host_code.square_given(x * 1), lambda x: x * x, X)
    cq.assert_equivalent(host_code.square_given, lambda x: x.square_(), X)
    result = failure(host_code.square_given, lambda x: x * x, X)
    assert result.verdict == "defect" and result.defects[0].kind == "access-violation"
    result = failure(lambda x: (host_code.square_given(x), x * 1)[1], lambda x: x.mul_(2) / 2 * x / 2, X)
    assert result.verdict == "inequivalent"  # both change it, one to its square, one to its double


def test_a_defect_is_at_its_line(host_code):
    result = failure(lambda x: host_code.copied_too_far(x)[0], lambda x: x * 1, X)
    kinds = {defect.kind for defect in result.defects}
    assert {"out-of-bounds-read", "out-of-bounds-write"} <= kinds and line("if (i <= n)") in result.text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("allocated", "cudaMalloc: memory that is no tensor"),
        ("as_known", "depends on data that is not known"),
    ],
)
def test_what_is_not_modelled_is_refused(host_code, name, reason):
    result = failure(getattr(host_code, name), lambda x: x * 1, cq.spec((32,), "f32"))
    assert result.verdict == "refused" and reason in " ".join(result.text.split())


def test_functions_run_in_captured_code_only(host_code):
    with pytest.raises(ValueError, match="in captured code only"):
        host_code.scale_all(torch.ones(3))


def test_functions_that_do_not_exist(host_code):
    with pytest.raises(AttributeError, match="has no function 'missing'"):
        cq.assert_equivalent(lambda x: host_code.missing(x), lambda x: x * 1, X)


HOST_MEMORY = "host code uses the memory of a tensor on the CPU"
SUM = r"""
__global__ void add(const float* x, const float* y, float* z, int n) {
  int i = threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
torch::Tensor sum_of(torch::Tensor x, torch::Tensor y) {
  auto z = torch::empty_like(x);
  add<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.numel());
  return z;
}
"""


def test_inline_sources_cite_the_file_that_holds_them():
    from torch.utils import cpp_extension

    with cq.extensions():
        module = cpp_extension.load_inline(
            "inline_sum", "torch::Tensor sum_of(torch::Tensor x, torch::Tensor y = {});", SUM, functions="sum_of"
        )
    vector = cq.spec((100,), "f32")
    cq.assert_equivalent(module.sum_of, torch.add, vector, vector)
    result = failure(module.sum_of, torch.sub, vector, vector)
    here = Path(__file__).read_text().split("\n")
    number = next(i for i, found in enumerate(here, 1) if "z[i] = x[i] + y[i]" in found)
    assert f"test_extension.py:{number}" in result.text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("auto n = torch::zeros({2}, torch::kInt32); n.data_ptr<int>()[0] = 1; return x;", HOST_MEMORY),
        ("return x + x.cpu().data_ptr<float>()[0];", HOST_MEMORY),
        ("return x + torch::tensor({1.0f, 2.0f}).to(x.device()).sum();", HOST_MEMORY),
        ("int n = 1; cufftDestroy(n); return x;", "host code calls what is not modelled: cufftDestroy"),
        ("return x.no_such_method();", "host code does not compile: ‘class at::Tensor’ has no member"),
    ],
)
def test_host_code_that_cannot_be_followed_is_refused(body, reason):
    from torch.utils import cpp_extension

    source = f'extern "C" int cufftDestroy(int);\ntorch::Tensor f(torch::Tensor x) {{ {body} }}'
    with cq.extensions():
        module = cpp_extension.load_inline("not_built", source, functions=["f"])
    result = failure(lambda x: module.f(x), lambda x: x * 1, X)
    assert result.verdict == "refused" and reason in " ".join(result.text.split())


REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, index, twice):
        self.calls += 1
        return torch.relu(x * self.weight)[index] * (2 if twice else 1)

def get_inputs():
    return [torch.randn(6, 8).cuda(), torch.tensor([5, 0, 3], device="cuda"), True]

def get_init_inputs():
    return [8]
"""
CANDIDATE = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
__global__ void gathered(const float* x, const float* w, const int64_t* index, float* y, int width) {
  int row = index[blockIdx.x];
  float v = x[row * width + threadIdx.x] * w[threadIdx.x];
  y[blockIdx.x * width + threadIdx.x] = v > 0 ? 2 * v : 0;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor index) {
  auto y = torch::empty({index.size(0), x.size(1)}, x.options());
  gathered<<<index.size(0), x.size(1)>>>(x.data_ptr<float>(), w.data_ptr<float>(), index.data_ptr<int64_t>(),
                                         y.data_ptr<float>(), x.size(1));
  return y;
}
"""
ops = load_inline("gathered", "torch::Tensor forward(torch::Tensor x, torch::Tensor w, torch::Tensor index);", source,
                  functions=["forward"])

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, index, twice):
        assert x.is_cuda and twice
        self.calls.add_(1)
        return ops.forward(x, self.weight, index)
'''


def test_the_command_builds_no_extension(tmp_path):
    (tmp_path / "cases.py").write_text(
        "import torch\nimport coequal as cq\nfrom torch.utils.cpp_extension import load_inline\n"
        f"ops = load_inline('inline_sum', 'torch::Tensor sum_of(torch::Tensor x, torch::Tensor y);', r'''{SUM}''',\n"
        "                  functions=['sum_of'])\n"
        "class Sum(cq.Instance):\n    def setup(self):\n        self.x, self.y = cq.input(100), cq.input(100)\n"
        "    def program_a(self):\n        return cq.capture(ops.sum_of, self.x, self.y)\n"
        "    def program_b(self):\n        return cq.torch(torch.add, self.x, self.y)\n"
    )
    from coequal.cli import main

    assert main(["check", str(tmp_path / "cases.py"), "--quiet"]) == 0


def test_two_files_with_a_module_each(tmp_path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    (tmp_path / "candidate.py").write_text(CANDIDATE)
    (tmp_path / "cases.py").write_text(
        "import coequal as cq\n\nclass Gathered(cq.Modules):\n"
        "    reference = 'reference.py'\n    candidate = 'candidate.py'\n    expect = 'equivalent'\n"
    )
    from coequal.cli import main

    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert main(["check", "cases.py", "--expect", "--quiet"]) == 0
        (tmp_path / "candidate.py").write_text(CANDIDATE.replace("2 * v : 0", "2 * v : v * 0.125f"))
        assert main(["check", "cases.py", "--quiet"]) == 1
    finally:
        os.chdir(before)
