// Constant expressions (PTX ISA manual, "Constant Expressions"): 64-bit integers and doubles.
#include <fmt/format.h>

#include <bit>

#include "ptx/parser.h"

namespace coequal::ptx {
namespace {

double to_double(Constant c) {
  switch (c.type) {
    case ScalarType::F32:
      return std::bit_cast<float>(static_cast<uint32_t>(c.bits));
    case ScalarType::F64:
      return std::bit_cast<double>(c.bits);
    case ScalarType::U64:
      return static_cast<double>(c.bits);
    default:
      return static_cast<double>(static_cast<int64_t>(c.bits));
  }
}

Constant make_double(double value) { return {ScalarType::F64, std::bit_cast<uint64_t>(value)}; }
Constant make_bool(bool value) { return {ScalarType::S64, value}; }

int precedence(std::string_view op) {
  if (op == "||") return 1;
  if (op == "&&") return 2;
  if (op == "|") return 3;
  if (op == "^") return 4;
  if (op == "&") return 5;
  if (op == "==" || op == "!=") return 6;
  if (op == "<" || op == ">" || op == "<=" || op == ">=") return 7;
  if (op == "<<" || op == ">>") return 8;
  if (op == "+" || op == "-") return 9;
  if (op == "*" || op == "/" || op == "%") return 10;
  return 0;
}

template <class T>
std::optional<bool> compare(std::string_view op, T a, T b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  return std::nullopt;
}

bool is_true(Constant c) { return c.is_float() ? to_double(c) != 0 : c.bits != 0; }

}  // namespace

bool Parser::at_constant() const {
  return token_.kind == Token::Kind::Integer || token_.kind == Token::Kind::Float ||
         token_.is('-') || token_.is('+') || token_.is('~') || token_.is('!') || token_.is('(') ||
         (token_.is_word() && token_.text == "WARP_SZ");
}

Constant Parser::expression() {
  const Nesting nesting(*this);
  const Constant condition = binary_expression(1);
  if (!token_.is('?')) return condition;
  advance();
  const Constant a = expression();
  expect(':', "between the arms of '?'");
  const Constant b = expression();
  return is_true(condition) ? a : b;
}

Constant Parser::binary_expression(int least_precedence) {
  const Nesting nesting(*this);
  Constant left = unary_expression();
  while (token_.kind == Token::Kind::Punct && !failed()) {
    const int p = precedence(token_.text);
    if (p == 0 || p < least_precedence) break;
    const Token op = token_;
    advance();
    const Constant right = binary_expression(p + 1);
    left = combine(op, op.text, left, right);
  }
  return left;
}

Constant Parser::combine(const Token& at, std::string_view op, Constant a, Constant b) {
  if (op == "&&") return make_bool(is_true(a) && is_true(b));
  if (op == "||") return make_bool(is_true(a) || is_true(b));
  if (a.is_float() || b.is_float()) {
    const double x = to_double(a), y = to_double(b);
    if (auto truth = compare(op, x, y)) return make_bool(*truth);
    if (op == "+") return make_double(x + y);
    if (op == "-") return make_double(x - y);
    if (op == "*") return make_double(x * y);
    if (op == "/") return make_double(x / y);
    fail(at, fmt::format("expected integers around '{}'", op));
    return {};
  }
  const uint64_t x = a.bits, y = b.bits;
  const bool is_unsigned = a.type == ScalarType::U64 || b.type == ScalarType::U64;
  const auto sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
  if (auto truth = is_unsigned ? compare(op, x, y) : compare(op, sx, sy)) return make_bool(*truth);
  const ScalarType type = is_unsigned ? ScalarType::U64 : ScalarType::S64;
  if (op == "+") return {type, x + y};
  if (op == "-") return {type, x - y};
  if (op == "*") return {type, x * y};
  if (op == "&") return {type, x & y};
  if (op == "|") return {type, x | y};
  if (op == "^") return {type, x ^ y};
  if (op == "<<") return {a.type, y < 64 ? x << y : 0};
  if (op == ">>") {
    if (a.type == ScalarType::U64) return {a.type, y < 64 ? x >> y : 0};
    return {a.type, static_cast<uint64_t>(sx >> std::min<uint64_t>(y, 63))};
  }
  if (y == 0) {
    fail(at, fmt::format("expected a divisor other than zero after '{}'", op));
    return {};
  }
  if (is_unsigned) return {type, op == "/" ? x / y : x % y};
  // The one quotient that overflows wraps.
  if (sy == -1) return {type, op == "/" ? 0 - x : 0};
  return {type, static_cast<uint64_t>(op == "/" ? sx / sy : sx % sy)};
}

Constant Parser::unary_expression() {
  const Nesting nesting(*this);
  if (failed()) return {};
  if (token_.is('+')) {
    advance();
    return unary_expression();
  }
  if (token_.is('-')) {
    advance();
    Constant c = unary_expression();
    if (c.type == ScalarType::F32) {
      c.bits ^= uint64_t{1} << 31;
    } else if (c.type == ScalarType::F64) {
      c.bits ^= uint64_t{1} << 63;
    } else {
      c.bits = 0 - c.bits;
    }
    return c;
  }
  if (token_.is('!')) {
    advance();
    return make_bool(!is_true(unary_expression()));
  }
  if (token_.is('~')) {
    const Token at = token_;
    advance();
    Constant c = unary_expression();
    if (c.is_float()) fail(at, "expected an integer after '~'");
    c.bits = ~c.bits;
    return c;
  }
  return primary_expression();
}

Constant Parser::primary_expression() {
  if (token_.kind == Token::Kind::Integer || token_.kind == Token::Kind::Float) {
    const Constant c{token_.type, token_.bits};
    advance();
    return c;
  }
  if (token_.is_word() && token_.text == "WARP_SZ") {
    advance();
    return {ScalarType::S64, 32};
  }
  if (!accept('(')) {
    fail_expected("a constant");
    return {};
  }
  if (token_.kind == Token::Kind::DotWord) {
    const Token cast = token_;
    advance();
    expect(')', "after the type of a cast");
    Constant c = unary_expression();
    if (cast.text != "s64" && cast.text != "u64") {
      fail(cast, "expected '.s64' or '.u64' in a cast");
    } else if (c.is_float()) {
      fail(cast, "expected an integer after a cast");
    }
    c.type = cast.text == "u64" ? ScalarType::U64 : ScalarType::S64;
    return c;
  }
  const Constant c = expression();
  expect(')', "after a constant expression");
  return c;
}

// Any number of "+ constant" and "- constant".
int64_t Parser::offset_terms() {
  uint64_t sum = 0;
  while (token_.is('+') || token_.is('-')) {
    const Token sign = token_;
    advance();
    const Constant c = binary_expression(10);
    if (c.is_float()) fail(sign, "expected an integer offset");
    sum = sign.is('+') ? sum + c.bits : sum - c.bits;
  }
  return static_cast<int64_t>(sum);
}

}  // namespace coequal::ptx
