// A maximum of floats by integer atomics on their bits: signed for numbers from zero on, unsigned and reversed below.

extern "C" __global__ void max_on_bits(const float* x, float* y) {
  const float v = x[threadIdx.x];
  if (v >= 0.0f)
    atomicMax((int*)y, __float_as_int(v));
  else
    atomicMin((unsigned*)y, __float_as_uint(v));
}

extern "C" __global__ void min_on_bits_shared(const float* x, float* y) {
  __shared__ float s;
  if (threadIdx.x == 0) s = y[0];
  __syncthreads();
  const float v = x[threadIdx.x];
  if (v < 0.0f)
    atomicMax((unsigned*)&s, __float_as_uint(v));
  else
    atomicMin((int*)&s, __float_as_int(v));
  __syncthreads();
  if (threadIdx.x == 0) y[0] = s;
}

// Numbers below zero are in the wrong order.
extern "C" __global__ void max_signed_only(const float* x, float* y) { atomicMax((int*)y, __float_as_int(x[threadIdx.x])); }

extern "C" __global__ void max_serial(const float* x, float* y) {
  float m = y[0];
  for (int k = 0; k < 32; ++k) m = fmaxf(m, x[k]);
  y[0] = m;
}

extern "C" __global__ void min_serial(const float* x, float* y) {
  float m = y[0];
  for (int k = 0; k < 32; ++k) m = fminf(m, x[k]);
  y[0] = m;
}
