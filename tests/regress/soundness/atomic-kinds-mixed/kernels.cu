// Atomic operations of two kinds on one cell do not commute.

extern "C" __global__ void add_and_max(const int* x, int* total) {
  const int t = threadIdx.x;
  if (t % 2)
    atomicAdd(total, x[t]);
  else
    atomicMax(total, x[t]);
}

extern "C" __global__ void add_all(const int* x, int* total) { atomicAdd(total, x[threadIdx.x]); }

extern "C" __global__ void max_all(const int* x, int* total) { atomicMax(total, x[threadIdx.x]); }

extern "C" __global__ void add_then_max(const int* x, int* total, int n) {
  int sum = *total;
  for (int i = 0; i < n; ++i) sum += x[i];
  for (int i = 0; i < n; ++i) sum = max(sum, x[i]);
  *total = sum;
}

extern "C" __global__ void max_then_add(const int* x, int* total, int n) {
  int sum = *total;
  for (int i = 0; i < n; ++i) sum = max(sum, x[i]);
  for (int i = 0; i < n; ++i) sum += x[i];
  *total = sum;
}
