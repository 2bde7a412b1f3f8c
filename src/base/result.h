// A value or a Diagnostic. Same member names as std::expected, which this compiler does not have
// yet.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/diagnostic.h"

namespace coequal {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& value() const& {
    CHECK(has_value());
    return std::get<0>(state_);
  }
  T& value() & {
    CHECK(has_value());
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(has_value());
    return std::get<0>(std::move(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Diagnostic& error() const& {
    CHECK(!has_value());
    return std::get<1>(state_);
  }
  Diagnostic&& error() && {
    CHECK(!has_value());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Diagnostic> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Diagnostic error) : error_(std::move(error)) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  const Diagnostic& error() const {
    CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Diagnostic> error_;
};

}  // namespace coequal
