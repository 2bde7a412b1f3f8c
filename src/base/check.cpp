#include "base/check.h"

#include <fmt/format.h>

namespace coequal {

void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: check failed: {}", file, line, condition));
}

}  // namespace coequal
