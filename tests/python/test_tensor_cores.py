"""Triton's products and fused attention on tensor cores: mma.sync (8.0) and wgmma (9.0), loads by pointers and by
tensor maps, and warps with tasks of their own. Each is compared with a plain loop, at ragged sizes, over several blocks
and several steps of the inner loop."""

import coequal as cq
import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
torch = pytest.importorskip("torch")

M, N, K = 80, 72, 80

PLAIN = r"""
#include <cuda_fp16.h>
extern "C" __global__ void plain(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += __half2float(a[i / n * k + j]) * __half2float(b[j * n + i % n]);
  c[i] = __float2half(sum);
}
"""


@triton.jit
def by_pointers(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        steps = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * k + steps[None, :], mask=(rows[:, None] < m) & (steps[None, :] < k), other=0.0)
        y = tl.load(
            b + steps[:, None] * n + columns[None, :], mask=(steps[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(x, y, total)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def by_maps(a, b, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIAL: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, k, BK, warp_specialize=SPECIAL):
        total = tl.dot(a.load([row, start]), b.load([start, column]), total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, dims = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + rows[:, None] * D + dims[None, :], mask=rows[:, None] < n, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    norm = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        keys = start + tl.arange(0, BN)
        y = tl.load(k + keys[None, :] * D + dims[:, None], mask=keys[None, :] < n, other=0.0)
        score = tl.where(keys[None, :] < n, tl.dot(x, y) * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        weight = tl.exp(score - higher[:, None])
        rescale = tl.exp(top - higher)
        z = tl.load(v + keys[:, None] * D + dims[None, :], mask=keys[:, None] < n, other=0.0)
        norm = norm * rescale + tl.sum(weight, 1)
        total = tl.dot(weight.to(tl.float16), z, total * rescale[:, None])
        top = higher
    tl.store(out + rows[:, None] * D + dims[None, :], total / norm[:, None], mask=rows[:, None] < n)


class Product(cq.Instance):
    def setup(self):
        self.a, self.b = cq.input((M, K), "f16"), cq.input((K, N), "f16")
        self.c = cq.empty((M, N), "f16")

    def program_b(self):
        cq.launch(cq.cuda(PLAIN, "plain"), cq.read(self.a), cq.read(self.b), cq.write(self.c), M, N, K,
                  grid=(-(-M * N // 128),), block=128)  # fmt: skip
        return {"c": self.c}


class ByPointers(Product):
    def program_a(self):
        cq.launch(by_pointers, cq.read(self.a), cq.read(self.b), cq.write(self.c), M, N, K, BM=64, BN=64, BK=32,
                  grid=(2, 2), num_warps=4)  # fmt: skip
        return {"c": self.c}


class ByMaps(Product):
    special = False

    def program_a(self):
        a, b, c = (cq.tensor_map(t, box) for t, box in
                   ((self.a, (64, 32)), (self.b, (32, 64)), (self.c, (64, 64))))  # fmt: skip
        cq.launch(by_maps, a, b, c, K, BM=64, BN=64, BK=32, SPECIAL=self.special,
                  grid=(2, 2), num_warps=4)  # fmt: skip
        return {"c": self.c}


class Specialized(ByMaps):
    special = True


class OneRowLess(ByMaps):
    expect = "inequivalent"

    def program_a(self):
        part = cq.tensor_map(self.a, (64, 32), shape=(M - 1, K), strides=(K, 1))
        cq.launch(by_maps, part, cq.tensor_map(self.b, (32, 64)), cq.tensor_map(self.c, (64, 64)), K,
                  BM=64, BN=64, BK=32, SPECIAL=False, grid=(2, 2), num_warps=4)  # fmt: skip
        return {"c": self.c}


class Attention(cq.Instance):
    n, d = 80, 16

    def setup(self):
        self.q, self.k, self.v = (cq.input((self.n, self.d), "f16") for _ in range(3))
        self.out = cq.empty((self.n, self.d), "f32")

    def program_a(self):
        cq.launch(attention, cq.read(self.q), cq.read(self.k), cq.read(self.v), cq.write(self.out), self.n, 0.25,
                  D=self.d, BM=64, BN=32, grid=(2,), num_warps=4)  # fmt: skip
        return {"out": self.out}

    def program_b(self):
        def plain(q, k, v):
            return torch.softmax(q.float() @ k.float().T * 0.25, -1) @ v.float()

        return {"out": cq.torch(plain, self.q, self.k, self.v)}


# The plugin runs the instances above for 8.0.
@pytest.mark.parametrize("case", [ByPointers, ByMaps, Attention])
def test_on_the_tensor_cores_of_9_0(case):
    result = cq.check(case, arch="sm_90", budget=300)
    assert result.verdict == "equivalent", result


def test_warps_with_tasks_of_their_own():
    # Triton 3.9 cannot halve the box of a descriptor: both groups of warps that multiply make, and store, the whole
    # tile. All else is in order.
    result = cq.check(Specialized, arch="sm_90", budget=300)
    assert {d.kind for d in result.defects} == {"global-race"}, result
    assert {a.tensor for d in result.defects for a in d.accesses} == {"c"}, result
    assert not result.report["refusals"]


def test_blocks_of_a_cluster_share_a_tile():
    class TwoCtas(Product):
        def program_a(self):
            cq.launch(by_pointers, cq.read(self.a), cq.read(self.b), cq.write(self.c), M, N, K, BM=64, BN=64, BK=32,
                      grid=(2, 2), num_warps=4, num_ctas=2)  # fmt: skip
            return {"c": self.c}

    result = cq.check(TwoCtas, arch="sm_90", budget=300)
    assert result.verdict == "equivalent", result


def test_what_a_map_leaves_out_reads_as_zero():
    result = cq.check(OneRowLess, arch="sm_90", budget=300)
    assert result.verdict == "inequivalent", result
    assert f"[{M - 1}," in result.witness.cell
