// A cell's page and its place in the page are quotient and remainder of a slot that is read.

extern "C" __global__ void store_paged(const float* x, const int* slot, float* cache, int page, int pitch) {
  const int s = slot[blockIdx.x];
  if (s >= 0) cache[s / page * pitch + s % page] = x[blockIdx.x];
}

extern "C" __global__ void load_paged(const float* cache, const int* slot, float* y, int page, int pitch) {
  const int s = slot[threadIdx.x];
  y[threadIdx.x] = cache[s / page * pitch + s % page];
}

// Pages of three cells in rows of four.
extern "C" __global__ void load_by_cases(const float* cache, const int* slot, float* y) {
  const int s = slot[threadIdx.x];
  float v = cache[9];
  for (int k = 0; k < 6; ++k)
    if (s == k) v = cache[k < 3 ? k : k + 1];
  y[threadIdx.x] = s == 6 ? cache[8] : v;
}

extern "C" __global__ void load_by_cases_wrong(const float* cache, const int* slot, float* y) {
  const int s = slot[threadIdx.x];
  float v = cache[9];
  for (int k = 0; k < 6; ++k)
    if (s == k) v = cache[k];
  y[threadIdx.x] = s == 6 ? cache[8] : v;
}
