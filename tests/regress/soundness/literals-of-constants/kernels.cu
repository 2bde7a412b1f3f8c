// Literals that are roundings of what they stand for, alone or computed from several, and literals that are not.

extern "C" __global__ void ln_ten(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 2.302585093f * __log10f(fabsf(x) + 1.0f);
}

extern "C" __global__ void ln_ten_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = __logf(fabsf(x) + 1.0f);
}

extern "C" __global__ void ln_ten_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 2.3025857f * __log10f(fabsf(x) + 1.0f);
}

extern "C" __global__ void root_pi(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 1.7724538509f * x;
}

extern "C" __global__ void root_pi_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x / 0.5641895835f;
}

extern "C" __global__ void root_pi_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 1.7724540f * x;
}

extern "C" __global__ void root_two_pi(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 2.50662827463f * x;
}

extern "C" __global__ void root_two_pi_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x / 0.3989422804f;
}

extern "C" __global__ void root_two_pi_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 2.506629f * x;
}

extern "C" __global__ void degrees(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.01745329252f * x;
}

extern "C" __global__ void degrees_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x * 3.14159265359f / 180.0f;
}

extern "C" __global__ void degrees_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.01745330f * x;
}

extern "C" __global__ void two_thirds(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.6666666667f * x;
}

extern "C" __global__ void two_thirds_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 2.0f * x / 3.0f;
}

extern "C" __global__ void two_thirds_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.666667f * x;
}

extern "C" __global__ void root_three(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.86602540378f * x;
}

extern "C" __global__ void root_three_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = sqrtf(0.75f) * x;
}

extern "C" __global__ void root_three_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 0.866026f * x;
}

extern "C" __global__ void scaled_base(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = exp2f(x * (0.3f * 1.44269504089f));
}

extern "C" __global__ void scaled_base_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = __expf(0.3f * x);
}

extern "C" __global__ void scaled_base_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = exp2f(x * (0.3001f * 1.44269504089f));
}

extern "C" __global__ void attention_scale(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = exp2f(x * (0.11180339887f * 1.44269504089f));
}

extern "C" __global__ void attention_scale_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = __expf(x / sqrtf(80.0f));
}

extern "C" __global__ void attention_scale_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = exp2f(x * (0.1118f * 1.44269504089f));
}

extern "C" __global__ void sum_of_tenths(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = (x + 0.3f) - 0.1f - 0.2f;
}

extern "C" __global__ void sum_of_tenths_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = x;
}

extern "C" __global__ void sum_of_tenths_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = (x + 0.3f) - 0.1f - 0.2000001f;
}

extern "C" __global__ void split_pi(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = fmaf(x, 3.14159274101f, x * -8.74227766e-8f);
}

extern "C" __global__ void split_pi_exact(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = 3.14159265359f * x;
}

extern "C" __global__ void split_pi_off(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = fmaf(x, 3.14159274101f, x * -8.7423e-8f) + 1e-9f;
}
