// Branches inside branches inside loops, by thread index.

extern "C" __global__ void nested(const float* x, float* y) {
  const int t = threadIdx.x;
  float s = x[t];
  for (int k = 0; k < 3; ++k) {
    if (t & (1 << k)) {
      if (t > 20) {
        s = s * x[k];
        if (t == 31) break;
      } else {
        s = s + x[k];
      }
    } else if (k == 1) {
      if (t % 8 == 0) {
        y[t] = -1.0f;
        return;
      }
      s = s - x[31 - t];
    }
  }
  y[t] = s;
}

__device__ float step(const float* x, float s, int t, int k) {
  const bool bit = t >> k & 1;
  if (bit && t > 20) return s * x[k];
  if (bit) return s + x[k];
  return k == 1 ? s - x[31 - t] : s;
}

extern "C" __global__ void flat(const float* x, float* y) {
  const int t = threadIdx.x;
  const float s0 = step(x, x[t], t, 0);
  const float s2 = t == 31 ? s0 : step(x, step(x, s0, t, 1), t, 2);
  y[t] = t == 0 || t == 8 || t == 16 || t == 24 ? -1.0f : s2;
}

extern "C" __global__ void flat_no_break(const float* x, float* y) {
  const int t = threadIdx.x;
  const float s0 = step(x, x[t], t, 0);
  const float s2 = step(x, step(x, s0, t, 1), t, 2);
  y[t] = t % 8 == 0 ? -1.0f : s2;
}
