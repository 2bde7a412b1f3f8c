// Results as JSON, one object for a run; docs/report.schema.json is its schema.
#pragma once

#include <string>

#include "report/result.h"

namespace coequal::report {

// Indented text that ends in a line feed. Always valid JSON: bytes that are not UTF-8 are replaced.
std::string write_json(const RunResult& run);

}  // namespace coequal::report
