// A product of double precision on the tensor cores and one element at a time.
#include <mma.h>

template <int kSkip>
__device__ void product(const double* a, const double* b, double* c, int n, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 4, double, row_major> left;
  fragment<matrix_b, 8, 8, 4, double, col_major> right;
  fragment<accumulator, 8, 8, 4, double> sum;
  const int row = 8 * blockIdx.y, column = 8 * blockIdx.x;
  load_matrix_sync(sum, c + row * n + column, n, mem_row_major);
  for (int i = 0; i < k; i += 4 + kSkip) {
    load_matrix_sync(left, a + row * k + i, k);
    load_matrix_sync(right, b + column * k + i, k);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}

extern "C" __global__ void tiled(const double* a, const double* b, double* c, int n, int k) {
  product<0>(a, b, c, n, k);
}

extern "C" __global__ void tiled_in_part(const double* a, const double* b, double* c, int n, int k) {
  product<4>(a, b, c, n, k);
}

extern "C" __global__ void naive(const double* a, const double* b, double* c, int n, int k) {
  const int row = blockIdx.y, column = threadIdx.x;
  double sum = c[row * n + column];
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  c[row * n + column] = sum;
}
