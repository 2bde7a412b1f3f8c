// What host code of a CUDA extension is compiled against: PyTorch itself, CUDA's types, and
// launches that are recorded.
#pragma once

#include <cuda_runtime.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#else
using cublasHandle_t = void*;
#endif

namespace cooperative_groups {}

// What PyTorch defines for nvcc alone.
namespace torch::headeronly {
template <typename T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
}  // namespace torch::headeronly
namespace at {
using torch::headeronly::RestrictPtrTraits;
}

namespace coequal {

// One argument of a kernel as it is passed: an address, or bytes that are a number of a dtype or a
// struct.
struct Argument {
  const char* dtype;  // "pointer", "f32", ..., "" for a struct
  std::string bytes;
};

struct Configuration {
  dim3 grid, block;
  size_t shared = 0;
  bool cooperative = false;
};

// Of the launch that follows in this thread.
void configure(const Configuration& launch);
inline void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t = nullptr) {
  configure(Configuration{grid, block, shared});
}
// Gives the values of the launch that follows by their addresses, as cudaLaunchKernel does;
// nullptr: it is over.
void pass_by_address(void** values);
void** passed_by_address();
// Records a launch. `unit` is the source of the kernel, `caller` an address in its host function.
void record_launch(int unit, void* caller, std::vector<Argument> arguments);

// The object of Python that is told. By itself a function with this type would be hidden.
__attribute__((visibility("default"))) pybind11::object& listener();

template <class... T>
void tell(const char* what, T&&... values) {
  pybind11::gil_scoped_acquire gil;
  listener().attr(what)(std::forward<T>(values)...);
}

// A type without __restrict__, which traits do not know.
template <class T>
T unqualified(T);

template <class T>
const char* dtype_of() {
  if constexpr (std::is_pointer_v<T>) return "pointer";
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    constexpr bool is_signed = std::is_enum_v<T> || std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? "i8" : "u8";
    if constexpr (sizeof(T) == 2) return is_signed ? "i16" : "u16";
    if constexpr (sizeof(T) == 4) return is_signed ? "i32" : "u32";
    if constexpr (sizeof(T) == 8) return is_signed ? "i64" : "u64";
  }
  return "";
}

// The body of every kernel on the host. A launch calls the kernel, so that the compiler chooses the
// overload, deduces template arguments and converts what is passed; which kernel this is, its own
// address tells.
template <class... T>
__attribute__((noinline)) void record(int unit, const T&... values) {
  void** const addresses = passed_by_address();
  size_t next = 0;
  const auto argument = [&](const auto& value) {
    using Value = decltype(unqualified(value));
    const void* const from = addresses ? addresses[next++] : static_cast<const void*>(&value);
    return Argument{dtype_of<Value>(), std::string(static_cast<const char*>(from), sizeof(Value))};
  };
  std::vector<Argument> arguments;
  (arguments.push_back(argument(values)), ...);
  record_launch(unit, __builtin_return_address(0), std::move(arguments));
}

[[noreturn]] void refuse(const char* construct, const char* reason);

}  // namespace coequal

// The runtime's functions that are templates in sources of nvcc alone.

template <class Function>
cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class Function>
cudaError_t cudaFuncSetCacheConfig(Function*, cudaFuncCache) {
  return cudaSuccess;
}
template <class Symbol>
cudaError_t cudaMemcpyToSymbol(const Symbol&, const void*, size_t, size_t = 0, int = 0) {
  coequal::refuse("cudaMemcpyToSymbol",
                  "variables of device code that the host writes are not modelled");
}
template <class Symbol>
cudaError_t cudaMemcpyToSymbolAsync(const Symbol&, const void*, size_t, size_t = 0, int = 0,
                                    cudaStream_t = nullptr) {
  coequal::refuse("cudaMemcpyToSymbolAsync",
                  "variables of device code that the host writes are not modelled");
}
template <class Symbol>
cudaError_t cudaGetSymbolAddress(void**, const Symbol&) {
  coequal::refuse("cudaGetSymbolAddress", "addresses of variables of device code are not modelled");
}

// PyTorch's view of the device, of which there is one.

namespace c10::cuda {

class CUDAStream {
 public:
  operator cudaStream_t() const { return nullptr; }
  cudaStream_t stream() const { return nullptr; }
  void synchronize() const {}
  DeviceIndex device_index() const { return 0; }
  Device device() const { return Device(kCUDA, 0); }
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) {
  coequal::refuse("getStreamFromPool", "launches on several streams are not modelled");
}
inline DeviceIndex current_device() { return 0; }
inline DeviceIndex device_count() { return 1; }
inline void set_device(DeviceIndex) {}
inline void device_synchronize() {}

struct CUDAGuard {
  explicit CUDAGuard(DeviceIndex) {}
  explicit CUDAGuard(Device) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<DeviceIndex>) {}
  explicit OptionalCUDAGuard(std::optional<Device>) {}
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream) {}
};

}  // namespace c10::cuda

namespace at::cuda {

using namespace c10::cuda;
using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;

inline cudaDeviceProp* getDeviceProperties(int64_t = 0) {
  static cudaDeviceProp properties = [] {
    cudaDeviceProp found;
    cudaGetDeviceProperties(&found, 0);
    return found;
  }();
  return &properties;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(); }
inline int warp_size() { return 32; }
inline cublasHandle_t getCurrentCUDABlasHandle() { return nullptr; }
inline bool is_available() { return true; }

}  // namespace at::cuda

namespace torch::cuda {
inline bool is_available() { return true; }
inline c10::DeviceIndex device_count() { return 1; }
inline void synchronize(int64_t = -1) {}
}  // namespace torch::cuda

#define C10_CUDA_CHECK(call)                                                      \
  do {                                                                            \
    const cudaError_t coequal_error = (call);                                     \
    TORCH_CHECK(coequal_error == cudaSuccess, cudaGetErrorString(coequal_error)); \
  } while (0)
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#define C10_CUDA_ERROR_HANDLED(call) (call)
#define C10_CUDA_IGNORE_ERROR(call) (void)(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)0)
