// A product of 16 x 16 halves by the fragment interface.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void by_fragments(const __half* a, const __half* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < 32; k += 16) {
    wmma::load_matrix_sync(fa, a + k, 32);
    wmma::load_matrix_sync(fb, b + k * 16, 16);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void plain(const __half* a, const __half* b, float* c) {
  const int i = threadIdx.y, j = threadIdx.x;
  float s = 0.0f;
  for (int k = 0; k < 32; ++k) s += __half2float(a[i * 32 + k]) * __half2float(b[k * 16 + j]);
  c[i * 16 + j] = s;
}

extern "C" __global__ void plain_transposed(const __half* a, const __half* b, float* c) {
  const int i = threadIdx.y, j = threadIdx.x;
  float s = 0.0f;
  for (int k = 0; k < 32; ++k) s += __half2float(a[i * 32 + k]) * __half2float(b[k * 16 + j]);
  c[j * 16 + i] = s;
}
