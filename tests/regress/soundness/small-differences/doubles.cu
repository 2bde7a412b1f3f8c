// The same in double precision.

extern "C" __global__ void mixed(const double* px, const double* pz, const double* pw, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = px[i];
  const double z = pz[i];
  const double w = pw[i];
  y[i] = 0.1 * x + 0.2 * z + 0.3 * w + 0.7 * (x * z) + 0.9 * (z * w);
}

extern "C" __global__ void mixed_more(const double* px, const double* pz, const double* pw, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = px[i];
  const double z = pz[i];
  const double w = pw[i];
  y[i] = 0.1 * x + 0.2 * z + 0.3 * w + 0.7 * (x * z) + 0.9 * (z * w) + 1e-12 * w;
}
