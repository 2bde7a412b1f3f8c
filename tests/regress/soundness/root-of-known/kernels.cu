// The root of a known number that has no known factors, held against a threshold.
extern "C" __global__ void known_norm(const float* x, int* y) {
  double sum = 0;
  for (int i = 0; i < 2; ++i) sum += ((double)x[i] + 1e-6) * ((double)x[i] + 1e-6);
  y[0] = sqrt(sum) - (double)3.16f < (double)0.1f;
}
extern "C" __global__ void below(int* y) { y[0] = 1; }
extern "C" __global__ void above(int* y) { y[0] = 0; }
