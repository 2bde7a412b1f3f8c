// GradScaler's "found inf": any block sets the flag to 1.
extern "C" __global__ void per_block(const float* g, float* found, float* gs, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = g[i];
    if (!(fabsf(v) <= 1000.f)) *found = 1.f;
    gs[i] = v * 0.5f;
  }
}
extern "C" __global__ void one_block(const float* g, float* found, float* gs, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = g[i];
    if (!(fabsf(v) <= 1000.f)) *found = 1.f;
    gs[i] = v * 0.5f;
  }
}
