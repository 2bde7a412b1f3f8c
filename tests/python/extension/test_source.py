"""How CUDA C++ with host code is split in two."""

import pytest

pytest.importorskip("torch")
from coequal._extension._source import Source, SourceError, headers, split, with_struct_entry  # noqa: E402

KERNEL = """
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
#include <math.h>
#define BLOCK 128
__device__ float twice(float x) { return 2 * x; }
template <typename T, int N = 4>
__global__ void __launch_bounds__(BLOCK) scale(const T* __restrict__ x, T* y, T (*f)(T), int n = 3) {
  if (n < N) y[n] = twice(x[n]);  // one
}
static inline int blocks(int n) { return (n + BLOCK - 1) / BLOCK; }
torch::Tensor forward(torch::Tensor x) {
  scale<float><<<dim3(blocks(x.numel())), BLOCK, sizeof(float) * 4>>>(x.data_ptr<float>(), nullptr, nullptr, (1, 2));
  return x;
}
"""


def halves(text):
    return split(Source(text, "a.cu"))


def lines(text):
    """By number: a half says by `#line` where its lines are."""
    found, number = {}, 0
    for line in text.split("\n"):
        if line.startswith("#line"):
            number = int(line.split()[1]) - 1
        else:
            found.setdefault(number, line)
        number += 1
    return found


def test_device_code_has_kernels_and_what_they_call():
    device = halves(KERNEL).device
    assert "twice(float x) { return 2 * x; }" in device and "y[n] = twice(x[n]);" in device
    assert "#include <math.h>" in device and "torch" not in device and "blocks" not in device


def test_host_code_has_launches_that_record():
    host = halves(KERNEL).host
    assert "twice" not in host and "int blocks(int n)" in host and "torch::Tensor forward" in host
    assert "{ ::coequal::record(COEQUAL_UNIT, x, y, f, n); }" in host
    configured = "(::coequal::configure(dim3(blocks(x.numel())), BLOCK, sizeof(float) * 4), scale<float>("
    assert f"{configured}x.data_ptr<float>(), nullptr, nullptr, (1, 2)));" in host
    assert "__launch_bounds__" not in host and "__launch_bounds__(BLOCK)" in halves(KERNEL).device
    assert "CUDAGuard.h" not in host and "<<<" not in host


def test_both_halves_keep_the_lines_of_the_source():
    device, host = (lines(half) for half in (halves(KERNEL).device, halves(KERNEL).host))
    assert "y[n] = twice" in device[9] and "return x;" in host[14]


def test_braces_in_literals_and_comments_do_not_count():
    text = """
__global__ void k(float* y) { /* } */ y[0] = '}'; // {
}
void f(float* y) { printf("{ <<< %s", R"x(})"{)x"); k<<<1, 32>>>(y); }
__global__ void after(int n) {}
"""
    found = halves(text)
    assert "printf" not in found.device and "__global__ void after(int n) {}" in found.device
    assert '"{ <<< %s"' in found.host and "(::coequal::configure(1, 32), k(y));" in found.host


def test_methods_of_the_device_are_not_compiled_for_the_host():
    text = """
struct Op {
  float scale;
  __host__ __device__ explicit Op(float s) : scale(s) {}
  __device__ float operator()(float x) const { return __expf(x) * scale; }
};
template <class F> __global__ void apply(float* y, F f, int) { y[0] = f(y[0]); }
"""
    host = halves(text).host
    assert "__expf" not in host and "explicit Op(float s) : scale(s) {}" in host


def test_launches_in_macros_and_in_parentheses():
    text = """
#define LAUNCH(T) \\
  k<T, 2> \\
    <<<grid, block>>>(x, \\
      n)
void f() { LAUNCH(float); (pick(1))<<<g, b>>>(k2<<<1, 1>>>(0)); ns::k<A<B>><<<1, 2, 3, s>>>(); }
"""
    host = halves(text).host
    assert "(::coequal::configure(grid, block), k<T, 2>" in host
    assert "(::coequal::configure(g, b), (pick(1))((::coequal::configure(1, 1), k2(0))))" in host
    assert "(::coequal::configure(1, 2, 3, s), ns::k<A<B>>());" in host


def test_kernels_that_only_a_file_knows_are_visible():
    text = "namespace { static __global__ void k(int n) { } }\nextern \"C\" { __global__ void c(float* y) { } }"
    host = halves(text).host
    assert "static" not in host and "inline namespace coequal_local" in host and "record(COEQUAL_UNIT, y)" in host


def test_libraries_of_device_code_are_no_business_of_the_host():
    text = """
#include <cub/cub.cuh>
namespace cg = cooperative_groups;
using namespace nvcuda;
using Reduce = cub::BlockReduce<float, 128>;
__global__ void k(float* y) { __shared__ typename Reduce::TempStorage s; y[0] = Reduce(s).Sum(y[0]); }
"""
    device, host = halves(text).device, halves(text).host
    assert "cub" not in host and "cooperative" not in host and "nvcuda" not in host and "record" in host
    assert "cub/cub.cuh" in device and "using Reduce = cub::BlockReduce<float, 128>;" in device


def test_structs_and_the_addresses_inside_are_given_apart():
    kernel = "__global__ void __launch_bounds__(32) k(A x, float* y, int c) { y[c] = x[c]; }"
    text = f"namespace n {{ template <class A> {kernel} }}"
    entry = with_struct_entry(text, "void n::k<Acc<float, 2> >(Acc<float, 2>, float*, int)", {0: (24, [0, 16])})
    assert "__device__ void" in entry and "__launch_bounds__" not in entry and entry.count("__global__") == 1
    assert "coequal_entry(coequal_bytes<24> a0, void* a0_0, void* a0_16, float* a1, int a2)" in entry
    assert "coequal_struct<Acc<float, 2>> s0" in entry and "n::k<Acc<float, 2> >(s0.value, a1, a2);" in entry


def test_device_code_has_the_headers_whose_names_it_uses():
    plain, half = headers("__global__ void k(float* y);"), headers("template __global__ void k<c10::Half>(c10::Half*);")
    assert "<limits>" in plain and "c10" not in plain and "c10/util/Half.h" in half
    assert "TensorAccessor" in headers("__global__ void k(at::PackedTensorAccessor32<float, 2> x);")


def test_quoted_headers_are_put_in_place(tmp_path):
    (tmp_path / "inner.cuh").write_text("#pragma once\n__device__ int one() { return 1; }\n")
    (tmp_path / "outer.cuh").write_text('#pragma once\n#include "inner.cuh"\n')
    text = '#include "outer.cuh"\n#include "inner.cuh"\n#include "missing.h"\n__global__ void k(int* y) { *y = one(); }'
    device = split(Source(text, str(tmp_path / "a.cu"))).device
    assert device.count("int one()") == 1 and '#include "missing.h"' in device
    own = device[device.rindex(f'{tmp_path / "a.cu"}"') :].split("\n")
    assert [line.startswith("__global__") for line in own[:4]] == [False, False, False, True]


def test_what_has_no_end_is_an_error():
    with pytest.raises(SourceError):
        halves("__global__ void k(int* y) { *y = 1;")
