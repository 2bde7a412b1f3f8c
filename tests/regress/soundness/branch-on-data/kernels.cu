// Branches and loops whose conditions depend on the data.

extern "C" __global__ void branched(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  if (x[i] > 1.0f) {
    y[i] = x[i] * x[i];
  } else if (x[i] < -1.0f) {
    y[i] = -x[i];
  } else {
    y[i] = 1.0f;
  }
}

extern "C" __global__ void selected(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], m = fmaxf(v, 1.0f);
  y[i] = v < -1.0f ? -v : m * m;
}

extern "C" __global__ void selected_wrong(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], m = fmaxf(fabsf(v), 1.0f);
  y[i] = m * m;
}

// Stores only where the data says so.
extern "C" __global__ void sparse_store(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n && x[i] > 0.0f) y[i] = x[i];
}

extern "C" __global__ void dense_store(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

// A neighbour is written where the data says so.
extern "C" __global__ void write_neighbour(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  // expect: global-race @ next line
  y[x[i] > 0.0f ? i : (i + 1) % n] = x[i];
}
