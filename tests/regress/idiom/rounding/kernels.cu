// Rounding to an integer by adding and removing a constant that leaves no bits for a fraction.

extern "C" __global__ void library(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = rintf(x[i]);
}

extern "C" __global__ void by_constant(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rn(x[i], 12582912.0f), -12582912.0f);
}

extern "C" __global__ void downward(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rd(x[i], 12582912.0f), -12582912.0f);
}

extern "C" __global__ void floor_of(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = floorf(x[i]);
}

// Half of the constant leaves one bit.
extern "C" __global__ void to_halves(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rn(x[i], 6291456.0f), -6291456.0f);
}

extern "C" __global__ void toward_zero(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rz(x[i], 12582912.0f), -12582912.0f);
}

// Removing the constant is exact, in whatever mode.
extern "C" __global__ void removed_downward(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rd(__fadd_rn(x[i], 12582912.0f), -12582912.0f);
}

extern "C" __global__ void by_least_constant(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rn(x[i], 8388608.0f), -8388608.0f);
}

extern "C" __global__ void by_least_constant_of_size(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fadd_rn(__fadd_rn(fabsf(x[i]), 8388608.0f), -8388608.0f);
}

extern "C" __global__ void library_of_size(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = rintf(fabsf(x[i]));
}

extern "C" __global__ void to_halves_below_zero(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] < 0.0f ? 0.5f * rintf(2.0f * x[i]) : rintf(x[i]);
}
