#include "instance/instance.h"

#include <algorithm>

#include "base/check.h"

namespace coequal::instance {
namespace {

// value = 0.d1d2d3... * 10^exponent, d1 not zero; no digits for zero.
struct Decimal {
  bool negative = false;
  bool infinite = false;
  std::string digits;
  int64_t exponent = 0;
};

Decimal parse_decimal(std::string_view text) {
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  if (text == "inf") {
    decimal.infinite = true;
    return decimal;
  }
  int64_t point = -1;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.')
      point = static_cast<int64_t>(decimal.digits.size());
    else if (text[at] >= '0' && text[at] <= '9')
      decimal.digits += text[at];
    else
      break;
  }
  if (point < 0) point = static_cast<int64_t>(decimal.digits.size());
  if (at < text.size()) {
    CHECK(text[at] == 'e' || text[at] == 'E');
    point += std::stoll(std::string(text.substr(at + 1)));
  }
  size_t zeros = std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, zeros);
  decimal.exponent = point - static_cast<int64_t>(zeros);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) decimal.negative = false;
  return decimal;
}

int compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.infinite || b.infinite) return int(a.infinite) - int(b.infinite);
  if (a.digits.empty() || b.digits.empty()) return int(!a.digits.empty()) - int(!b.digits.empty());
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  // Digits of one weight: shorter ones are followed by zeros, so text order is number order.
  int order = a.digits.compare(b.digits);
  return (order > 0) - (order < 0);
}

}  // namespace

Number Number::of(int64_t value) {
  return {std::to_string(value), static_cast<double>(value), value, true};
}

int compare(const Number& a, const Number& b) {
  Decimal left = parse_decimal(a.text), right = parse_decimal(b.text);
  if (left.negative != right.negative) return left.negative ? -1 : 1;
  int order = compare_magnitudes(left, right);
  return left.negative ? -order : order;
}

std::optional<int64_t> checked_numel(const std::vector<int64_t>& shape) {
  // A dimension of extent 0 makes it 0, whatever the product of the others.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t product = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  return product;
}

std::optional<int64_t> checked_storage_elements(const std::vector<int64_t>& shape,
                                                const std::vector<int64_t>& strides) {
  CHECK(shape.size() == strides.size());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach)) return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  if (__builtin_add_overflow(last, int64_t{1}, &last)) return std::nullopt;
  return last;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    // What overflows here is reached by no cell, or fails the check of the storage size.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[d], 1), &stride)) stride = INT64_MAX;
  }
  return strides;
}

int64_t Tensor::numel() const {
  std::optional<int64_t> count = checked_numel(shape);
  CHECK(count.has_value());
  return *count;
}

int64_t Tensor::storage_elements() const {
  std::optional<int64_t> count = checked_storage_elements(shape, strides);
  CHECK(count.has_value());
  return *count;
}

bool Tensor::is_contiguous() const {
  std::vector<int64_t> dense = contiguous_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != dense[d]) return false;
  return true;
}

const std::string& Program::tensor_of(const std::string& output) const {
  auto found = outputs.find(output);
  return found == outputs.end() ? output : found->second;
}

namespace {

bool any_argument(const Program& program, const std::string& tensor, Access not_this) {
  for (const Launch& launch : program.launches)
    for (const Argument& argument : launch.args) {
      if (argument.kind == Argument::Kind::TensorMap && argument.map.tensor == tensor) return true;
      if (argument.kind == Argument::Kind::Tensor && argument.name == tensor &&
          argument.access != not_this)
        return true;
    }
  return false;
}

}  // namespace

bool may_write(const Program& program, const std::string& tensor) {
  return any_argument(program, tensor, Access::Read);
}

bool may_read(const Program& program, const std::string& tensor) {
  return any_argument(program, tensor, Access::Write);
}

std::string_view expected_verdict_name(ExpectedVerdict verdict) {
  switch (verdict) {
    case ExpectedVerdict::Equivalent:
      return "equivalent";
    case ExpectedVerdict::Inequivalent:
      return "inequivalent";
    case ExpectedVerdict::Defect:
      return "defect";
    case ExpectedVerdict::Unknown:
      return "unknown";
    case ExpectedVerdict::Refused:
      return "refused";
  }
  CHECK(false);
  return "";
}

const Tensor* Instance::find_tensor(std::string_view wanted) const {
  for (const Tensor& tensor : tensors)
    if (tensor.name == wanted) return &tensor;
  return nullptr;
}

const Scalar* Instance::find_scalar(std::string_view wanted) const {
  for (const Scalar& scalar : scalars)
    if (scalar.name == wanted) return &scalar;
  return nullptr;
}

Options options_for(const Instance& instance, const Options& asked) {
  Options options = asked;
  const BudgetRequest& wish = instance.budget;
  if (wish.seconds && !asked.given.count("budget_seconds")) options.budget_seconds = *wish.seconds;
  if (wish.cells && !asked.given.count("cells")) options.cells = *wish.cells;
  if (wish.exact_only && !asked.given.count("exact_only")) options.exact_only = *wish.exact_only;
  for (const std::string& name : instance.assume_on)
    if (!asked.no_assume.count(name)) options.assume.insert(name);
  for (const std::string& name : instance.assume_off)
    if (!asked.assume.count(name)) options.no_assume.insert(name);
  return options;
}

}  // namespace coequal::instance
