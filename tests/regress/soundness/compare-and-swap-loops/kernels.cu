// Atomic operations made of compare-and-swap loops, and loops that look like them.
#include <cuda_fp16.h>

extern "C" __global__ void add_double(const double* x, double* y) {
  unsigned long long* a = (unsigned long long*)(y + threadIdx.x % 4);
  unsigned long long old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed,
                    __double_as_longlong(x[blockIdx.x * 32 + threadIdx.x] + __longlong_as_double(assumed)));
  } while (assumed != old);
}

extern "C" __global__ void add_double_serial(const double* x, double* y) {
  double sum = y[threadIdx.x];
  for (int k = threadIdx.x; k < 64; k += 4) sum += x[k];
  y[threadIdx.x] = sum;
}

// Leaves early where the maximum is reached already.
extern "C" __global__ void max_float_early(const float* x, float* y) {
  const float v = x[blockIdx.x * 32 + threadIdx.x];
  int *a = (int*)y, old = *a, assumed;
  while (v > __int_as_float(old)) {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_int(v));
    if (old == assumed) break;
  }
}

extern "C" __global__ void max_float(const float* x, float* y) {
  const float v = x[blockIdx.x * 32 + threadIdx.x];
  int *a = (int*)y, old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_int(fmaxf(v, __int_as_float(assumed))));
  } while (old != assumed);
}

extern "C" __global__ void min_float(const float* x, float* y) {
  const float v = x[blockIdx.x * 32 + threadIdx.x];
  int *a = (int*)y, old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_int(fminf(v, __int_as_float(assumed))));
  } while (old != assumed);
}

extern "C" __global__ void max_float_serial(const float* x, float* y) {
  float most = y[0];
  for (int k = 0; k < 64; ++k) most = fmaxf(most, x[k]);
  y[0] = most;
}

extern "C" __global__ void add_half(const __half* x, __half* y) {
  unsigned short* a = (unsigned short*)(y + 1);
  unsigned short old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __half_as_ushort(__hadd(x[threadIdx.x], __ushort_as_half(assumed))));
  } while (old != assumed);
}

// A half of a word; the other half stays as it is.
extern "C" __global__ void add_half_in_word(const __half* x, __half* y) {
  unsigned* a = (unsigned*)y;
  unsigned old = *a, assumed;
  do {
    assumed = old;
    const __half sum = __hadd(__ushort_as_half((unsigned short)(old >> 16)), x[threadIdx.x]);
    old = atomicCAS(a, assumed, (old & 0xffffu) | (unsigned)__half_as_ushort(sum) << 16);
  } while (old != assumed);
}

extern "C" __global__ void add_half_serial(const __half* x, __half* y) {
  __half sum = y[1];
  for (int k = 0; k < 32; ++k) sum = __hadd(sum, x[k]);
  y[1] = sum;
}

extern "C" __global__ void product_shared(const float* x, float* y) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 1.0f;
  __syncthreads();
  unsigned *a = (unsigned*)&s, old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_uint(x[threadIdx.x] * __uint_as_float(assumed)));
  } while (assumed != old);
  __syncthreads();
  if (threadIdx.x == 0) y[0] = s;
}

extern "C" __global__ void product_serial(const float* x, float* y) {
  float p = 1.0f;
  for (int k = 0; k < 32; ++k) p *= x[k];
  y[0] = p;
}

// 2 * old + x: the order matters.
extern "C" __global__ void no_commuting(const float* x, float* y) {
  unsigned *a = (unsigned*)y, old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_uint(x[threadIdx.x] + 2.0f * __uint_as_float(assumed)));
  } while (assumed != old);
}

// What is added depends on how often the loop turned.
extern "C" __global__ void counts_turns(const float* x, float* y) {
  unsigned *a = (unsigned*)y, old = *a, assumed;
  int turns = 0;
  do {
    assumed = old;
    ++turns;
    old = atomicCAS(a, assumed, __float_as_uint(x[threadIdx.x] * turns + __uint_as_float(assumed)));
  } while (assumed != old);
}

// Gives up where the swap fails.
extern "C" __global__ void one_try(const float* x, float* y) {
  unsigned *a = (unsigned*)y, old = *a;
  atomicCAS(a, old, __float_as_uint(x[threadIdx.x] + __uint_as_float(old)));
}

// A sum whose old value is stored, too.
extern "C" __global__ void keeps_old(const float* x, float* y, float* z) {
  unsigned *a = (unsigned*)y, old = *a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, __float_as_uint(x[threadIdx.x] + __uint_as_float(assumed)));
  } while (assumed != old);
  z[threadIdx.x] = __uint_as_float(old);
}

extern "C" __global__ void lock(const float* x, float* y, int* mutex) {
  while (atomicCAS(mutex, 0, 1) != 0) {
  }
  __threadfence();
  y[0] += x[threadIdx.x];
  __threadfence();
  atomicExch(mutex, 0);
}

// A loop inside a loop.
extern "C" __global__ void add_all_double(const double* x, double* y) {
  for (int k = threadIdx.x; k < 64; k += 8) {
    unsigned long long* a = (unsigned long long*)(y + k % 4);
    unsigned long long old = *a, assumed;
    do {
      assumed = old;
      old = atomicCAS(a, assumed, __double_as_longlong(x[k] + __longlong_as_double(assumed)));
    } while (assumed != old);
  }
}

// The other half of the word is stored beside the loop.
extern "C" __global__ void add_beside_store(const __half* x, __half* y) {
  if (threadIdx.x == 32) {
    // expect: global-race @ next line
    y[0] = x[1];
  }
  if (threadIdx.x != 0) return;
  unsigned* a = reinterpret_cast<unsigned*>(y);
  unsigned old = *a, assumed;
  do {
    assumed = old;
    const __half sum = __hadd(__ushort_as_half((unsigned short)(old >> 16)), x[0]);
    // expect: global-race @ next line
    old = atomicCAS(a, assumed, (old & 0xffffu) | (unsigned)__half_as_ushort(sum) << 16);
  } while (assumed != old);
}

extern "C" __global__ void add_and_store(const __half* x, __half* y) {
  y[0] = x[1];
  y[1] = __hadd(y[1], x[0]);
}
