// What libdevice computes, by the CUDA library.

extern "C" __global__ void erf_of(const float* x, float* y) { y[threadIdx.x] = erff(x[0]); }

extern "C" __global__ void tanh_of(const float* x, float* y) { y[threadIdx.x] = tanhf(x[0]); }
