// The results that the manual's formulas give for the known operands.

extern "C" __global__ void expected(const unsigned* want, unsigned* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = want[i];
}
