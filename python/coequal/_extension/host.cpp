// Tells Python of launches, and gives storages the addresses that host code sees.
#include "host.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

namespace coequal {
namespace {

namespace py = pybind11;

thread_local Configuration next_launch;
thread_local void** addresses = nullptr;

py::tuple dimensions(dim3 d) { return py::make_tuple(d.x, d.y, d.z); }

// The symbol that holds an address, exactly.
std::string symbol_of(void* address) {
  Dl_info info;
  ElfW(Sym)* symbol = nullptr;
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) ||
      !info.dli_sname || !symbol ||
      static_cast<char*>(address) >= static_cast<char*>(info.dli_saddr) + symbol->st_size)
    refuse("launch", "the kernel has no name that the host can see");
  return info.dli_sname;
}

std::string demangled(const std::string& symbol) {
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr);
  std::string found = text ? text : symbol;
  std::free(text);
  return found;
}

void place(const at::Tensor& tensor, uint64_t address) {
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      at::DataPtr(reinterpret_cast<void*>(address), tensor.storage().device()));
}

}  // namespace

// It outlives the interpreter.
py::object& listener() {
  static py::object& object = *new py::object();
  return object;
}

void configure(const Configuration& launch) { next_launch = launch; }
void pass_by_address(void** values) { addresses = values; }
void** passed_by_address() { return addresses; }

void record_launch(int unit, void* caller, std::vector<Argument> arguments) {
  const Configuration launch = next_launch;
  addresses = nullptr;
  const std::string symbol = symbol_of(caller);
  py::gil_scoped_acquire gil;
  py::list passed;
  for (const Argument& a : arguments) passed.append(py::make_tuple(a.dtype, py::bytes(a.bytes)));
  listener().attr("launch")(unit, symbol, demangled(symbol), dimensions(launch.grid),
                            dimensions(launch.block), launch.shared, launch.cooperative, passed);
}

void refuse(const char* construct, const char* reason) {
  tell("refuse", construct, reason);
  throw std::runtime_error(reason);
}

}  // namespace coequal

PYBIND11_MODULE(coequal_host, m) {
  m.def("listen", [](py::object object) { coequal::listener() = std::move(object); });
  m.def("place", &coequal::place);
}
