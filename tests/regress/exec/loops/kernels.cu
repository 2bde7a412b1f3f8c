// Loops with break, continue and several exits.

extern "C" __global__ void odd_terms(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) {
    if (j % 2 == 0) continue;
    if (j > threadIdx.x) break;
    s += x[j];
  }
  y[threadIdx.x] = s;
}

extern "C" __global__ void odd_terms_stepped(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 1; j < n && j <= threadIdx.x; j += 2) s += x[j];
  y[threadIdx.x] = s;
}

extern "C" __global__ void odd_terms_short(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 1; j < n && j < threadIdx.x; j += 2) s += x[j];
  y[threadIdx.x] = s;
}

// Steps of the Collatz map until 1, at most 20: thread t starts at t + 1.
extern "C" __global__ void collatz(int* out) {
  int v = threadIdx.x + 1, k = 0;
  while (v != 1) {
    if (++k == 20) break;
    v = v % 2 ? 3 * v + 1 : v / 2;
  }
  out[threadIdx.x] = k;
}

extern "C" __global__ void copy(const int* want, int* out) { out[threadIdx.x] = want[threadIdx.x]; }
