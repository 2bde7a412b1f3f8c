// Reading and writing of .npy files: a magic number, a header in Python's notation, the elements.
#include "cli/npy.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace coequal::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Diagnostic unreadable(const std::string& path, const std::string& why) {
  return make_diagnostic(DiagnosticCode::FileNotFound, {}, path, why);
}

// What follows the key in the header's dictionary, up to the end.
std::string_view after_key(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    const size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    header.remove_prefix(at + quoted.size());
    const size_t start = header.find_first_not_of(" :");
    return start == std::string_view::npos ? "" : header.substr(start);
  }
  return "";
}

bool read_shape(std::string_view text, std::vector<int64_t>& shape) {
  if (!text.starts_with('(')) return false;
  text.remove_prefix(1);
  while (true) {
    const size_t start = text.find_first_not_of(" ,");
    if (start == std::string_view::npos) return false;
    text.remove_prefix(start);
    if (text.front() == ')') return true;
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0) return false;
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

std::string npy_type(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return "<f8";
    case DType::F32:
      return "<f4";
    case DType::F16:
      return "<f2";
    case DType::TF32:
      return "<u4";
    case DType::BF16:
      return "<u2";
    case DType::F8E4M3:
    case DType::F8E5M2:
      return "|u1";
    case DType::Bool:
      return "|b1";
    default:
      break;
  }
  const int size = dtype_size(dtype);
  return std::string(size == 1 ? "|" : "<") + (is_signed_integer(dtype) ? "i" : "u") +
         std::to_string(size);
}

Result<NpyArray> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, "no such file");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(text[i])); };
  if (!text.starts_with(kMagic) || text.size() < 12) return unreadable(path, "no .npy file");
  const size_t version = byte(6);
  if (version != 1 && version != 2)
    return unreadable(path, fmt::format(".npy version {} is not known", version));
  size_t length = byte(8) | byte(9) << 8, start = 10;
  if (version == 2) length |= byte(10) << 16 | byte(11) << 24, start = 12;
  if (length > text.size() - start) return unreadable(path, "the header is cut short");
  const std::string_view header = std::string_view(text).substr(start, length);

  NpyArray array;
  const std::string_view type = after_key(header, "descr");
  const size_t end = type.empty() ? std::string_view::npos : type.find(type.front(), 1);
  if (end == std::string_view::npos || (type.front() != '\'' && type.front() != '"'))
    return unreadable(path, "elements with fields are not supported");
  array.type = type.substr(1, end - 1);
  if (!read_shape(after_key(header, "shape"), array.shape))
    return unreadable(path, "the header has no shape");
  if (!after_key(header, "fortran_order").starts_with("False") && array.shape.size() > 1)
    return unreadable(path, "column-major arrays are not supported");
  array.bytes.assign(text.begin() + static_cast<std::ptrdiff_t>(start + length), text.end());
  return array;
}

Result<void> write_npy(const std::string& path, const NpyArray& array) {
  std::string shape = "(";
  for (const int64_t extent : array.shape) shape += std::to_string(extent) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}", array.type, shape);
  // The elements begin at a multiple of 64 bytes, after a line feed.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(array.bytes.data()),
             static_cast<std::streamsize>(array.bytes.size()));
  file.close();
  if (!file)
    return make_diagnostic(DiagnosticCode::FileNotWritten, {}, path, "it cannot be written");
  return {};
}

}  // namespace coequal::cli
