// Vector loads and stores of two and four elements, of several types.

extern "C" __global__ void four_floats(const float* x, float* y) {
  const float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];
  reinterpret_cast<float4*>(y)[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
}

extern "C" __global__ void one_float(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i ^ 3];
}

extern "C" __global__ void one_float_wrong(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i ^ 1];
}

extern "C" __global__ void two_doubles(const double* x, double* y) {
  const double2 v = reinterpret_cast<const double2*>(x)[threadIdx.x];
  reinterpret_cast<double2*>(y)[threadIdx.x] = make_double2(v.x + v.y, v.x - v.y);
}

extern "C" __global__ void one_double(const double* x, double* y) {
  const int i = threadIdx.x;
  y[i] = i % 2 == 0 ? x[i + 1] + x[i] : x[i - 1] - x[i];
}

extern "C" __global__ void four_bytes(const unsigned char* x, unsigned char* y) {
  const uchar4 v = reinterpret_cast<const uchar4*>(x)[threadIdx.x];
  reinterpret_cast<uchar4*>(y)[threadIdx.x] = make_uchar4(v.y, v.x, v.w, v.z);
}

extern "C" __global__ void one_byte(const unsigned char* x, unsigned char* y) {
  y[threadIdx.x] = x[threadIdx.x ^ 1];
}

extern "C" __global__ void two_shorts(const short* x, int* y) {
  const short2 v = reinterpret_cast<const short2*>(x)[threadIdx.x];
  y[threadIdx.x] = v.x + v.y;
}

extern "C" __global__ void one_short(const short* x, int* y) {
  y[threadIdx.x] = (int)x[2 * threadIdx.x + 1] + (int)x[2 * threadIdx.x];
}
