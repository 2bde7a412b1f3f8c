// A product of 16 x 16 and 16 x 8 halves on tensor cores, by mma.sync with its register layout and
// by ldmatrix.
#include <cuda_fp16.h>

__device__ void multiply(float* d, const unsigned* a, const unsigned* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// b is stored by columns: b[column][k].
extern "C" __global__ void by_layout(const __half* a, const __half* b, float* c) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
  const unsigned ra[4] = {*(const unsigned*)(a + group * 16 + pair),
                          *(const unsigned*)(a + (group + 8) * 16 + pair),
                          *(const unsigned*)(a + group * 16 + pair + 8),
                          *(const unsigned*)(a + (group + 8) * 16 + pair + 8)};
  const unsigned rb[2] = {*(const unsigned*)(b + group * 16 + pair),
                          *(const unsigned*)(b + group * 16 + pair + 8)};
  float d[4] = {};
  multiply(d, ra, rb);
  c[group * 8 + pair] = d[0];
  c[group * 8 + pair + 1] = d[1];
  c[(group + 8) * 8 + pair] = d[2];
  c[(group + 8) * 8 + pair + 1] = d[3];
}

// The second and the third register of a are exchanged.
extern "C" __global__ void by_wrong_layout(const __half* a, const __half* b, float* c) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
  const unsigned ra[4] = {*(const unsigned*)(a + group * 16 + pair),
                          *(const unsigned*)(a + group * 16 + pair + 8),
                          *(const unsigned*)(a + (group + 8) * 16 + pair),
                          *(const unsigned*)(a + (group + 8) * 16 + pair + 8)};
  const unsigned rb[2] = {*(const unsigned*)(b + group * 16 + pair),
                          *(const unsigned*)(b + group * 16 + pair + 8)};
  float d[4] = {};
  multiply(d, ra, rb);
  c[group * 8 + pair] = d[0];
  c[group * 8 + pair + 1] = d[1];
  c[(group + 8) * 8 + pair] = d[2];
  c[(group + 8) * 8 + pair + 1] = d[3];
}

extern "C" __global__ void by_ldmatrix(const __half* a, const __half* b, float* c) {
  __shared__ __align__(16) __half sa[16 * 16], sb[8 * 16];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) sa[i] = a[i];
  for (int i = t; i < 128; i += 32) sb[i] = b[i];
  __syncthreads();
  unsigned ra[4], rb[2];
  const unsigned pa = (unsigned)__cvta_generic_to_shared(sa + t % 16 * 16 + t / 16 * 8);
  const unsigned pb = (unsigned)__cvta_generic_to_shared(sb + t % 8 * 16 + t / 8 % 2 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(pa)
               : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1])
               : "r"(pb)
               : "memory");
  float d[4] = {};
  multiply(d, ra, rb);
  const int group = t / 4, pair = t % 4 * 2;
  c[group * 8 + pair] = d[0];
  c[group * 8 + pair + 1] = d[1];
  c[(group + 8) * 8 + pair] = d[2];
  c[(group + 8) * 8 + pair + 1] = d[3];
}

extern "C" __global__ void plain(const __half* a, const __half* b, float* c) {
  const int i = threadIdx.y, j = threadIdx.x;
  float s = 0.0f;
  for (int k = 0; k < 16; ++k) s += __half2float(a[i * 16 + k]) * __half2float(b[j * 16 + k]);
  c[i * 8 + j] = s;
}
