// Arrays in constant memory and in global memory, with initialisers.

__constant__ float weights[5] = {1.0f, 4.0f, 6.0f, 4.0f, 1.0f};
__constant__ short steps[2][3] = {{1, -1, 2}, {-2, 3, -3}};
__device__ int counts[4] = {7, 0, -5};

extern "C" __global__ void smooth(const float* x, float* y) {
  float s = 0.0f;
  for (int j = 0; j < 5; ++j) s += weights[j] * x[threadIdx.x + j];
  y[threadIdx.x] = s;
}

extern "C" __global__ void smooth_written_out(const float* x, float* y) {
  const float* p = x + threadIdx.x;
  y[threadIdx.x] = p[0] + p[4] + 4.0f * (p[1] + p[3]) + 6.0f * p[2];
}

extern "C" __global__ void smooth_narrow(const float* x, float* y) {
  const float* p = x + threadIdx.x;
  y[threadIdx.x] = p[0] + p[4] + 4.0f * (p[1] + p[2] + p[3]);
}

extern "C" __global__ void tables(int* out) {
  const int t = threadIdx.x;
  out[t] = t < 6 ? steps[t / 3][t % 3] : counts[t - 6];
}

extern "C" __global__ void tables_written_out(int* out) {
  out[0] = 1;
  out[1] = -1;
  out[2] = 2;
  out[3] = -2;
  out[4] = 3;
  out[5] = -3;
  out[6] = 7;
  out[7] = 0;
  out[8] = -5;
  out[9] = 0;
}
