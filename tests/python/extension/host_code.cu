// Host code of many kinds around small kernels.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda() && x.is_contiguous(), #x " must be a contiguous CUDA tensor")

constexpr int kThreads = 64;
inline int blocks_for(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }

struct Affine {
  float scale, offset;
  __device__ float operator()(float x) const { return __fmaf_rn(scale, x, offset); }
};

template <typename T, int N>
__global__ void __launch_bounds__(kThreads * 2) scale(const T* __restrict__ x, T* __restrict__ y, T factor, int64_t n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * factor + T(N);
}

template <class F>
__global__ void apply(const float* x, float* y, F f, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}

namespace {
__global__ void row_sums(const float* x, float* sums, int columns) {
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum += x[blockIdx.x * columns + c];
  sums[blockIdx.x] = sum;
}
}  // namespace

static __global__ void divide(const float* x, const float* sums, float* y, int columns) {
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    y[blockIdx.x * columns + c] = x[blockIdx.x * columns + c] / sums[blockIdx.x];
}

__global__ void add_to_total(const float* x, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
}

__global__ void square_in_place(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= x[i];
}

__global__ void past_the_end(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = x[i];
}

// PyTorch's types and dispatch, on the current stream.
torch::Tensor scale_all(torch::Tensor x, double factor) {
  CHECK_INPUT(x);
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale_all", [&] {
    scale<scalar_t, 2><<<blocks_for(x.numel()), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<scalar_t>(factor), x.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}

// Template arguments that are deduced, and a struct that is passed by value.
torch::Tensor affine(torch::Tensor x, double a, double b) {
  auto y = torch::zeros({x.size(0), x.size(1)}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
  apply<<<dim3(blocks_for(x.numel())), dim3(kThreads)>>>(x.const_data_ptr<float>(), y.data_ptr<float>(),
                                                        Affine{float(a), float(b)}, int(x.numel()));
  return y;
}

// Two launches through a scratch tensor; kernels that only this file knows.
torch::Tensor normalise(torch::Tensor x) {
  auto sums = at::empty({x.size(0)}, x.options());
  auto y = torch::empty_like(x);
  row_sums<<<x.size(0), 1>>>(x.data_ptr<float>(), (float*)sums.data_ptr(), x.size(1));
  auto kernel = divide;
  kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), sums.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}

// Memory that is filled, then added to.
torch::Tensor total(torch::Tensor x) {
  auto sum = torch::empty({1}, x.options());
  cudaMemsetAsync(sum.data_ptr<float>(), 0, sizeof(float), at::cuda::getCurrentCUDAStream());
  add_to_total<<<blocks_for(x.numel()), kThreads>>>(x.data_ptr<float>(), sum.data_ptr<float>(), x.numel());
  return sum;
}

// A launch by addresses, of a part of a copy.
torch::Tensor square_tail(torch::Tensor x) {
  auto y = torch::empty_like(x);
  cudaMemcpyAsync(y.data_ptr(), x.data_ptr(), x.numel() * sizeof(float), cudaMemcpyDeviceToDevice, 0);
  float* from = y.data_ptr<float>() + 10;
  int n = x.numel() - 10;
  void* arguments[] = {&from, &n};
  const cudaError_t error = cudaLaunchKernel((void*)square_in_place, dim3(blocks_for(n)), dim3(kThreads), arguments);
  TORCH_CHECK(error == cudaSuccess, cudaGetErrorString(error));
  return y;
}

// Operators of PyTorch before and after a kernel; the kernel reads a view as if it had the memory's order.
torch::Tensor of_transposed(torch::Tensor x, bool contiguous) {
  auto t = x.t();
  if (contiguous) t = t.contiguous();
  auto y = torch::empty({t.size(0), t.size(1)}, x.options());
  const int n = x.numel();
  scale<float, 0><<<blocks_for(n), kThreads>>>(t.data_ptr<float>(), y.data_ptr<float>(), 1.0f, n);
  return torch::relu(y) - torch::mm(x, t).sum();
}

// Numbers among tensors, and operators in place.
torch::Tensor with_numbers(torch::Tensor x) {
  auto y = 1.0 - x * 2.0;
  y.add_(x.pow(2)).clamp_min_(0.5);
  return torch::where(x > 0, y / 3, torch::full_like(x, 4.0)).to(torch::kFloat64);
}

torch::Tensor square_given(torch::Tensor x) {
  square_in_place<<<blocks_for(x.numel()), kThreads>>>(x.data_ptr<float>(), x.numel());
  return x;
}

std::vector<torch::Tensor> copied_too_far(torch::Tensor x) {
  auto y = torch::empty_like(x);
  past_the_end<<<blocks_for(x.numel() + 1), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return {y, x};
}

template <typename Accessor>
__global__ void through_accessor(Accessor x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

torch::Tensor accessor(torch::Tensor x) {
  auto y = torch::empty_like(x);
  through_accessor<<<1, 32>>>(x.packed_accessor32<float, 1, torch::RestrictPtrTraits>(), y.data_ptr<float>());
  return y;
}

// cuBLAS takes columns for rows: x y^T is computed as (y x^T)^T.
torch::Tensor product(torch::Tensor x, torch::Tensor y) {
  const int m = x.size(0), n = y.size(0), k = x.size(1);
  auto z = torch::ones({m, n}, x.options());
  const float alpha = 2, beta = 3;
  cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &alpha, y.data_ptr<float>(), k,
              x.data_ptr<float>(), k, &beta, z.data_ptr<float>(), n);
  return z;
}

torch::Tensor allocated(torch::Tensor x) {
  float* own = nullptr;
  cudaMalloc(&own, 4);
  return x;
}

torch::Tensor as_known(torch::Tensor x) { return x[0].item<float>() > 0 ? x + 1 : x; }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale_all", &scale_all, py::arg("x"), py::arg("factor") = 3.0);
  m.def("affine", &affine);
  m.def("normalise", &normalise);
  m.def("total", &total);
  m.def("square_tail", &square_tail);
  m.def("of_transposed", &of_transposed);
  m.def("with_numbers", &with_numbers);
  m.def("square_given", &square_given);
  m.def("copied_too_far", &copied_too_far);
  m.def("accessor", &accessor);
  m.def("product", &product);
  m.def("allocated", &allocated);
  m.def("as_known", &as_known);
}
