// Adding and removing 1.5 * 2^23 rounds to an integer, known numbers and those made of indices as well.
#define KERNEL(name, value) \
  extern "C" __global__ void name(const float* x, float* y) { int t = threadIdx.x; float v = x[t]; y[t] = value; }
KERNEL(added, (v + 12582912.f) - 12582912.f)
KERNEL(itself, v)
KERNEL(nearest, rintf(v))
KERNEL(bits, (float)(__float_as_int(v + 12582912.f) - 0x4b400000))
KERNEL(index_added, (t * 0.3f + 12582912.f) - 12582912.f)
KERNEL(index_itself, t * 0.3f)
KERNEL(index_nearest, rintf(t * 0.3f))
KERNEL(power, expf(t * 1.25f) * expf(t * 1.25f))
KERNEL(power_of_half, expf(t * 1.25f) * expf(t * 1.25f) * 0.5f)
KERNEL(power_of_double, expf(t * 2.5f))
