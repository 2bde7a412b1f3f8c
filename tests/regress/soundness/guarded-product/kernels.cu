// A product of two words under a condition on data, as a choice and as a branch.
extern "C" __global__ void choice(const int* a, const int* b, const float* x, int* y) {
  int i = threadIdx.x;
  y[i] = (x[i] < 3.0f ? a[i] * b[i] : 0) + (a[i] << 1);
}

extern "C" __global__ void branch(const int* a, const int* b, const float* x, int* y) {
  int i = threadIdx.x;
  int sum = a[i] + a[i];
  if (!(x[i] >= 3.0f)) sum += b[i] * a[i];
  y[i] = sum;
}
