// Several threads write the same cell without order.

extern "C" __global__ void all_set(float* y) { y[0] = 1.0f; }

extern "C" __global__ void all_store_input(const float* x, float* y) { y[0] = x[0]; }

extern "C" __global__ void one_stores(const float* x, float* y) {
  if (threadIdx.x == 0) y[0] = x[0];
}

extern "C" __global__ void one_sets(float* y) {
  if (threadIdx.x == 0) y[0] = 1.0f;
}

extern "C" __global__ void index_as_value(float* y) {
  // expect: global-race @ next line
  y[0] = (float)threadIdx.x;
}

extern "C" __global__ void reader_beside(float* flag, float* y) {
  const int t = threadIdx.x;
  if (t >= 32) {
    flag[0] = 1.0f;
  } else {
    // expect: global-race @ next line
    y[t] = flag[0];
  }
}

extern "C" __global__ void reader_beside_shared(float* y) {
  __shared__ float flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0.0f;
  __syncthreads();
  if (t >= 32) {
    flag = 1.0f;
  } else {
    // expect: shared-race @ next line
    y[t] = flag;
  }
}

extern "C" __global__ void reader_after_barrier(float* y) {
  __shared__ float flag;
  const int t = threadIdx.x;
  if (t >= 32) flag = 1.0f;
  __syncthreads();
  if (t < 32) y[t] = flag;
}

extern "C" __global__ void ones(float* y) { y[threadIdx.x] = 1.0f; }
