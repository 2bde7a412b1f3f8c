// One tensor passed as two pointers.

extern "C" __global__ void add_into(const float* a, const float* b, float* c) {
  const int i = threadIdx.x;
  c[i] = a[i] + b[i];
}

extern "C" __global__ void double_it(float* c) { c[threadIdx.x] *= 2.0f; }

extern "C" __global__ void shift_left(const float* a, float* c, int n) {
  const int i = threadIdx.x;
  // expect: global-race @ next line
  if (i < n - 1) c[i] = a[i + 1];
}

extern "C" __global__ void shift_left_serial(float* c, int n) {
  for (int i = 0; i < n - 1; ++i) c[i] = c[i + 1];
}

extern "C" __global__ void shift_left_two_steps(const float* a, float* c, int n) {
  const int i = threadIdx.x;
  const float v = i < n - 1 ? a[i + 1] : a[i];
  __syncthreads();
  c[i] = v;
}
