// CHECK for what soundness rests on (on in every build), DCHECK for the rest.
#pragma once

#include <stdexcept>
#include <string>

namespace coequal {

// A broken invariant of ours. Thrown by CHECK, caught at the border of the library, exit code 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace coequal

#define CHECK(condition) \
  ((condition) ? void(0) : ::coequal::check_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define DCHECK(condition) void(0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
