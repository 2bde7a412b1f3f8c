// Small helpers for laying out text in fixed columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coequal::report {

// 1048576 as "1,048,576".
std::string grouped(int64_t number);

std::string trimmed(std::string_view text);

// At most `width` columns, the end replaced by "..." where it does not fit; never splits a UTF-8
// sequence.
std::string shorten(std::string_view text, size_t width);

// Breaks at spaces so that lines have at most `width` columns where a single word is not longer;
// later lines are indented by `rest`. Line feeds of the text are kept as breaks. Ends in a line
// feed.
std::string wrap(std::string_view text, int first, int rest, size_t width = 98);

// Columns of UTF-8 text: its code points.
size_t columns(std::string_view text);

}  // namespace coequal::report
