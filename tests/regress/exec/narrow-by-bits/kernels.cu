// A float to a bf16 by arithmetic on its bits.
#include <cuda_bf16.h>

#define KERNEL(name, bits)                                             \
  extern "C" __global__ void name(const float* x, unsigned short* y) { \
    const unsigned word = __float_as_uint(x[threadIdx.x]);             \
    y[threadIdx.x] = static_cast<unsigned short>((bits) >> 16);        \
  }

extern "C" __global__ void converted(const float* x, __nv_bfloat16* y) {
  y[threadIdx.x] = __float2bfloat16(x[threadIdx.x]);
}

KERNEL(ties_to_even, word + 0x7fff + ((word >> 16) & 1))
KERNEL(ties_away, word + 0x8000)
KERNEL(wrong_bit, word + 0x7fff + ((word >> 17) & 1))
KERNEL(whole_unit, word + 0xffff)
