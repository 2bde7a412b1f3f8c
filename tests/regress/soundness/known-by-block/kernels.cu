// One block per segment; the last segment is empty, so its mean is 0 / 0 for every input.
extern "C" __global__ void mean_a(const float* x, const float* len, float* out) {
  const int t = threadIdx.x, b = blockIdx.x;
  out[b * 32 + t] = x[b * 32 + t] / len[b];
}
extern "C" __global__ void mean_b(const float* x, const float* len, float* out) {
  const int t = threadIdx.x, b = blockIdx.x;
  const float n = len[b];
  out[b * 32 + t] = n == 0.f ? 7.f : x[b * 32 + t] / n;
}
// The same with a mask: never reads u where mask is set, and it always is.
extern "C" __global__ void masked(const float* x, const float* len, float* out) {
  __shared__ float u[32];
  const int t = threadIdx.x, b = blockIdx.x;
  const float p = ((volatile float*)u)[t];
  out[b * 32 + t] = len[b] >= 0.f ? x[b * 32 + t] : p;
}
