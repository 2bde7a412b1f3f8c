// gelu by the error function and by the hyperbolic tangent are two functions.

extern "C" __global__ void exact(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
}

extern "C" __global__ void quotient(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v * (erff(v / 1.41421356237309505f) + 1.0f) / 2.0f;
}

extern "C" __global__ void by_tanh(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.79788456080286536f * (v + 0.044715f * v * v * v)));
}

extern "C" __global__ void complement(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v * (1.0f - 0.5f * erfcf(v * 0.70710678118654752f));
}

extern "C" __global__ void by_sigmoid(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v / (1.0f + __expf(-2.0f * 0.79788456080286536f * (v + 0.044715f * v * v * v)));
}

// 0.0447 in place of 0.044715.
extern "C" __global__ void by_rounded_tanh(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.79788456080286536f * (v + 0.0447f * v * v * v)));
}
