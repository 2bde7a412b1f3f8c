// Double-precision arithmetic and conversions.

extern "C" __global__ void in_double(const double* x, const float* z, double* y) {
  const int t = threadIdx.x;
  const double d = x[t], f = z[t];
  y[4 * t] = fma(d, f, -d);
  y[4 * t + 1] = d / (1.0 + f * f);
  y[4 * t + 2] = sqrt(d * d + f * f);
  y[4 * t + 3] = fmax(d, f) - fmin(d, f);
}

extern "C" __global__ void rearranged(const double* x, const float* z, double* y) {
  const int t = threadIdx.x;
  const double d = x[t];
  const float f = z[t];
  y[4 * t] = d * ((double)f - 1.0);
  y[4 * t + 1] = d * (1.0 / ((double)f * f + 1.0));
  y[4 * t + 2] = sqrt((double)(f * f) + d * d);
  y[4 * t + 3] = fabs(d - f);
}

extern "C" __global__ void rearranged_wrong(const double* x, const float* z, double* y) {
  const int t = threadIdx.x;
  const double d = x[t];
  const float f = z[t];
  y[4 * t] = d * ((double)f - 1.0);
  y[4 * t + 1] = d * (1.0 / ((double)f * f + 1.0));
  y[4 * t + 2] = sqrt((double)(f * f) + d * d);
  y[4 * t + 3] = d - f;
}
