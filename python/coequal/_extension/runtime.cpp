// The CUDA runtime for host code that is recorded: launches and copies are told to Python, the rest
// answers for one device that does everything at once. Linked into each extension: a library of the
// same functions may be loaded.
#include <cstring>

#include "host.h"

using coequal::refuse;
using coequal::tell;

namespace {

uint64_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

cudaError_t launch_by_address(const void* kernel, dim3 grid, dim3 block, void** arguments,
                              size_t shared, bool cooperative) {
  coequal::configure({grid, block, shared, cooperative});
  static void* none[1] = {};
  coequal::pass_by_address(arguments ? arguments : none);
  // Its body takes the values from the addresses, so nothing has to be passed.
  reinterpret_cast<void (*)()>(const_cast<void*>(kernel))();
  coequal::pass_by_address(nullptr);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t) {
  return launch_by_address(kernel, grid, block, arguments, shared, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t) {
  return launch_by_address(kernel, grid, block, arguments, shared, true);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  tell("fill", number(to), value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    refuse("cudaMemcpy", "copies between host and device are not modelled");
  tell("copy", number(to), number(from), bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMalloc(void**, size_t) {
  refuse("cudaMalloc", "memory that is no tensor is not modelled");
}
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t) {
  refuse("cudaMallocAsync", "memory that is no tensor is not modelled");
}
cudaError_t cudaFree(void*) { return cudaSuccess; }

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "coequal");
  p->major = 8, p->minor = 0;
  p->multiProcessorCount = 108, p->warpSize = 32;
  p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048,
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 166912,
  p->sharedMemPerMultiprocessor = 167936;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->totalGlobalMem = size_t{1} << 36, p->l2CacheSize = 40 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = p.sharedMemPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = p.sharedMemPerBlockOptin;
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    default:
      refuse("cudaDeviceGetAttribute", "this attribute of the device is not known");
  }
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          size_t) {
  *blocks = std::max(1, 2048 / std::max(threads, 1));
  return cudaSuccess;
}

// On one stream everything is in order.
cudaError_t cudaStreamCreate(cudaStream_t*) {
  refuse("cudaStreamCreate", "launches on several streams are not modelled");
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) {
  refuse("cudaStreamCreateWithFlags", "launches on several streams are not modelled");
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = nullptr, cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = nullptr, cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

#ifdef CUBLAS_VERSION
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return *handle = nullptr, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,
                                         int m, int n, int k, const float* alpha, const float* a,
                                         int lda, long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int count) {
  tell("multiply", ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, std::make_tuple(count, m, n, k), *alpha,
       std::make_tuple(number(a), lda, stride_a), std::make_tuple(number(b), ldb, stride_b), *beta,
       std::make_tuple(number(c), ldc, stride_c));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                              int m, int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  return cublasSgemmStridedBatched(handle, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c,
                                   ldc, 0, 1);
}
#endif

}  // extern "C"
