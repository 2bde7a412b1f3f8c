// Source of mixed.ptx: constants, a noinline call, an indirect branch, shuffles, inlining and inline assembly.
// Made by: nvcc -ptx -lineinfo -arch=sm_80 mixed.cu -o mixed.ptx, with the path in .file cut to the name.
namespace demo {

__constant__ float weights[2][3] = {{1.0f, 2.0f, 3.0f}, {0.5f}};
__device__ int counter = 7;
__device__ int* where = &counter;

__device__ __noinline__ float twice(float x) { return x * 2.0f + weights[1][0]; }

__device__ __forceinline__ float square(float x) { return x * x; }

__device__ __forceinline__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return square(x);
}

template <typename T, int N>
__global__ void scale(T* out, const T* in, int n) {
  __shared__ T tile[N];
  const int i = blockIdx.x * N + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (i < n) out[i] = twice(tile[N - 1 - threadIdx.x]) + warp_sum(in[0]);
}

template __global__ void scale<float, 128>(float*, const float*, int);
template __global__ void scale<float, 64>(float*, const float*, int);

}  // namespace demo

extern "C" __global__ void __launch_bounds__(128) pick(int* out, int n) {
  extern __shared__ int buffer[];
  buffer[threadIdx.x] = n;
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %0, 0;\n\t@p bra DONE;\n\tst.global.u32 [%1], 3;\n\tDONE:\n\t}" ::"r"(n),
      "l"(out));
  switch (n) {
    case 0: out[0] = 3; break;
    case 1: out[1] = *demo::where; break;
    case 2: out[5] = buffer[1]; break;
    case 3: atomicAdd(&demo::counter, 2); break;
    case 4: out[9] = out[2] / n; break;
    case 5: out[3] = out[4]; break;
    default: out[6] = buffer[threadIdx.x ^ 1];
  }
}
