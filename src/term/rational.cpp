// Conversions and roots of exact rationals.
#include "term/rational.h"

#include <arf.h>

#include <cctype>
#include <cmath>

#include "base/check.h"
#include "term/hash.h"

namespace coequal::term {
namespace {

// Larger decimal exponents are rejected: their exact value would take the memory of the machine.
constexpr int64_t kMaxDecimalExponent = 10000;

uint64_t hash_fmpz(uint64_t hash, const fmpz* value) {
  if (!COEFF_IS_MPZ(*value)) return mix(hash, static_cast<uint64_t>(*value));
  const __mpz_struct* big = COEFF_TO_PTR(*value);
  hash = mix(hash, static_cast<uint64_t>(static_cast<int64_t>(big->_mp_size)));
  for (size_t i = 0; i < mpz_size(big); ++i) hash = mix(hash, mpz_getlimbn(big, i));
  return hash;
}

bool all_digits(std::string_view text) {
  if (text.empty()) return false;
  for (char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  return true;
}

Rational from_digits(const std::string& digits) {
  Rational r;
  CHECK(fmpz_set_str(fmpq_numref(r.get()), digits.c_str(), 10) == 0);
  return r;
}

}  // namespace

Rational Rational::from_double(double value) {
  CHECK(std::isfinite(value));
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return Rational(static_cast<int64_t>(std::ldexp(fraction, 53))) * power_of_two(exponent - 53);
}

std::optional<Rational> Rational::from_text(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  Rational result;
  if (size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view above = text.substr(0, slash), below = text.substr(slash + 1);
    if (!all_digits(above) || !all_digits(below)) return std::nullopt;
    const Rational denominator = from_digits(std::string(below));
    if (denominator.is_zero()) return std::nullopt;
    result = from_digits(std::string(above)) / denominator;
  } else {
    int64_t exponent = 0;
    if (size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
      std::string_view digits = text.substr(e + 1);
      bool down = false;
      if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
        down = digits[0] == '-';
        digits.remove_prefix(1);
      }
      if (!all_digits(digits) || digits.size() > 6) return std::nullopt;
      exponent = std::stoll(std::string(digits));
      if (exponent > kMaxDecimalExponent) return std::nullopt;
      if (down) exponent = -exponent;
      text = text.substr(0, e);
    }
    std::string digits;
    if (size_t dot = text.find('.'); dot != std::string_view::npos) {
      exponent -= static_cast<int64_t>(text.size() - dot - 1);
      digits = std::string(text.substr(0, dot)) + std::string(text.substr(dot + 1));
    } else {
      digits = std::string(text);
    }
    if (!all_digits(digits)) return std::nullopt;
    result = from_digits(digits) * Rational(10).pow(exponent);
  }
  return negative ? -result : result;
}

Rational Rational::power_of_two(int64_t exponent) {
  Rational r(1);
  fmpz* part = exponent < 0 ? fmpq_denref(r.value_) : fmpq_numref(r.value_);
  fmpz_mul_2exp(part, part, static_cast<ulong>(exponent < 0 ? -exponent : exponent));
  return r;
}

std::optional<int64_t> Rational::as_int64() const {
  if (!is_integer() || !fmpz_fits_si(fmpq_numref(value_))) return std::nullopt;
  return fmpz_get_si(fmpq_numref(value_));
}

double Rational::to_double() const {
  arf_t x;
  arf_init(x);
  arf_fmpz_div_fmpz(x, fmpq_numref(value_), fmpq_denref(value_), 53, ARF_RND_NEAR);
  const double d = arf_get_d(x, ARF_RND_NEAR);
  arf_clear(x);
  return d;
}

Rational Rational::floor() const {
  Rational r;
  fmpz_fdiv_q(fmpq_numref(r.value_), fmpq_numref(value_), fmpq_denref(value_));
  return r;
}

Rational Rational::pow(int64_t exponent) const {
  CHECK(!is_zero() || exponent >= 0);
  Rational r;
  fmpq_pow_si(r.value_, value_, exponent);
  return r;
}

std::optional<Rational> Rational::exact_sqrt() const {
  if (sign() < 0) return std::nullopt;
  if (!fmpz_is_square(fmpq_numref(value_)) || !fmpz_is_square(fmpq_denref(value_)))
    return std::nullopt;
  Rational r;
  fmpz_sqrt(fmpq_numref(r.value_), fmpq_numref(value_));
  fmpz_sqrt(fmpq_denref(r.value_), fmpq_denref(value_));
  return r;
}

std::string Rational::to_string() const {
  char* text = fmpq_get_str(nullptr, 10, value_);
  std::string result(text);
  flint_free(text);
  return result;
}

uint64_t Rational::hash() const {
  return hash_fmpz(hash_fmpz(0x71, fmpq_numref(value_)), fmpq_denref(value_));
}

Rational operator/(const Rational& a, const Rational& b) {
  CHECK(!b.is_zero());
  Rational r;
  fmpq_div(r.value_, a.value_, b.value_);
  return r;
}

void end_exact_arithmetic() { flint_cleanup(); }

}  // namespace coequal::term
