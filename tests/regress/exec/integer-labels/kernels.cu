// Integer labels from a tensor decide selects and gathers.

extern "C" __global__ void pick(const float* x, const long long* label, float* y, int classes) {
  const int r = threadIdx.x;
  y[r] = x[r * classes + (int)label[r]];
}

extern "C" __global__ void one_hot(const float* x, const long long* label, float* y, int classes) {
  const int r = threadIdx.x;
  float s = 0.0f;
  for (int c = 0; c < classes; ++c) s += label[r] == c ? x[r * classes + c] : 0.0f;
  y[r] = s;
}

extern "C" __global__ void one_hot_short(const float* x, const long long* label, float* y,
                                         int classes) {
  const int r = threadIdx.x;
  float s = 0.0f;
  for (int c = 0; c < classes - 1; ++c) s += label[r] == c ? x[r * classes + c] : 0.0f;
  y[r] = s;
}

extern "C" __global__ void smaller_label(const int* a, const int* b, int* out) {
  const int t = threadIdx.x;
  out[t] = a[t] < b[t] ? a[t] : b[t];
  out[8 + t] = (unsigned)a[t] < (unsigned)b[t];
}

extern "C" __global__ void smaller_label_bits(const int* a, const int* b, int* out) {
  const int t = threadIdx.x;
  out[t] = min(b[t], a[t]);
  out[8 + t] = (a[t] ^ (int)0x80000000) < (b[t] ^ (int)0x80000000) ? 1 : 0;
}
