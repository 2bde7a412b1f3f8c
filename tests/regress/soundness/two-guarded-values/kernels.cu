// Every block stores 1 and then 2 where the inputs say so: which block comes last is open.
extern "C" __global__ void stores(const float* x, float* out) {
  if (threadIdx.x != 0) return;
  if (x[0] > 0.0f) out[0] = 1.0f;
  if (x[1] > 0.0f) out[0] = 2.0f;
}
