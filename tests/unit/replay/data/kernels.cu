// Small kernels of the kinds that libraries have; kernels.ptx is their PTX (nvcc -ptx -arch=sm_80).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void row_softmax(const float* in, float* out, int columns) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float largest = -INFINITY;
  for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, in[row * columns + c]);
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += expf(in[row * columns + c] - largest);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  for (int c = lane; c < columns; c += 32) out[row * columns + c] = expf(in[row * columns + c] - largest) / sum;
}

extern "C" __global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[16][17];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  const int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
  if (tx < n && ty < n) out[ty * n + tx] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void histogram(const int* in, int* out, int count, int bins) {
  extern __shared__ int local[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i] % bins], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&out[b], local[b]);
}

// The last block to finish adds up what all have written.
extern "C" __global__ void sum_in_one_launch(const float* in, float* partial, unsigned* done, float* out, int count) {
  __shared__ float warps[8];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float block = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) block += warps[w];
    partial[blockIdx.x] = block;
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += ((volatile float*)partial)[b];
    *out = total;
  }
}

extern "C" __global__ void halves(const __half2* a, const __half2* b, __half2* out, const __nv_bfloat16* c, float* wide, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = __hfma2(a[i], b[i], __float2half2_rn(0.5f));
  wide[i] = __bfloat162float(c[i]) * 3.0f;
}

// Division and remainder by a runtime value, a 64-bit product, a switch.
extern "C" __global__ void integers(const int* in, long long* out, int n, int divisor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = in[i];
  long long r;
  switch (i % 5) {
    case 0: r = v / divisor; break;
    case 1: r = v % divisor; break;
    case 2: r = (long long)v * v * v; break;
    case 3: r = __popc(v) * 100 + __clz(v); break;
    default: r = __umulhi((unsigned)v, 0x80000001u); break;
  }
  out[i] = r;
}
