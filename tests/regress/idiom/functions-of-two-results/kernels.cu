// Library functions that give two results.

__device__ float sine_of_both(float x) {
  float s, c;
  sincosf(x, &s, &c);
  return s;
}

__device__ float cosine_of_both(float x) {
  float s, c;
  sincosf(x, &s, &c);
  return c;
}

__device__ float squares_of_both(float x) {
  float s, c;
  sincosf(x, &s, &c);
  return s * s + c * c;
}

__device__ float sine_of_both_pi(float x) {
  float s, c;
  sincospif(x, &s, &c);
  return s;
}

__device__ float fraction(float x) {
  float whole;
  return modff(x, &whole);
}

extern "C" __global__ void both_sine(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = sine_of_both(x);
}

extern "C" __global__ void sine(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = sinf(x);
}

extern "C" __global__ void both_cosine(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = cosine_of_both(x);
}

extern "C" __global__ void cosine(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = cosf(x);
}

extern "C" __global__ void both_squares(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = squares_of_both(x);
}

extern "C" __global__ void one(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 1.0f + 0.0f * x;
}

extern "C" __global__ void both_pi(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = sine_of_both_pi(x);
}

extern "C" __global__ void sine_pi(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = sinpif(x);
}

extern "C" __global__ void fraction_of(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = fraction(x);
}

extern "C" __global__ void less_whole(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x - truncf(x);
}

extern "C" __global__ void less_floor(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x - floorf(x);
}
