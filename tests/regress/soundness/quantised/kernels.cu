// Numbers rounded to bytes: clamped before they become integers, or after.

extern "C" __global__ void clamped_words(const float* x, const float* scale, signed char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = static_cast<signed char>(
      max(-127, min(127, __float2int_rn(x[i] / scale[blockIdx.x]))));
}

extern "C" __global__ void clamped_numbers(const float* x, const float* scale, signed char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = static_cast<signed char>(
      fminf(fmaxf(rintf(x[i] / scale[blockIdx.x]), -127.0f), 127.0f));
}

extern "C" __global__ void clamped_to_all_words(const float* x, const float* scale, signed char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = static_cast<signed char>(
      max(-128, min(127, __float2int_rn(x[i] / scale[blockIdx.x]))));
}

extern "C" __global__ void unclamped(const float* x, const float* scale, signed char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = static_cast<signed char>(__float2int_rn(x[i] / scale[blockIdx.x]));
}

// To unsigned bytes with a zero point, by 64-bit and by unsigned words.
extern "C" __global__ void shifted_long(const float* x, const float* scale, unsigned char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const long long v = __float2ll_rn(x[i] / scale[blockIdx.x] + 128.0f);
  y[i] = static_cast<unsigned char>(v < 0 ? 0 : v > 255 ? 255 : v);
}

extern "C" __global__ void shifted_unsigned(const float* x, const float* scale, unsigned char* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = static_cast<unsigned char>(min(255u, __float2uint_rn(x[i] / scale[blockIdx.x] + 128.0f)));
}
