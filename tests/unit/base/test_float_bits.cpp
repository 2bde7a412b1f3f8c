// IEEE arithmetic on bit patterns against the host's, and against values written down exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "base/float_bits.h"

namespace coequal {
namespace {

constexpr std::pair<FloatRounding, int> kHostModes[] = {
    {FloatRounding::NearestEven, FE_TONEAREST},
    {FloatRounding::TowardZero, FE_TOWARDZERO},
    {FloatRounding::Down, FE_DOWNWARD},
    {FloatRounding::Up, FE_UPWARD},
};

class HostRounding {
 public:
  explicit HostRounding(int mode) { std::fesetround(mode); }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
};

template <class F>
struct Host;
template <>
struct Host<float> {
  using Bits = uint32_t;
  static constexpr FloatSpec kSpec = kF32;
};
template <>
struct Host<double> {
  using Bits = uint64_t;
  static constexpr FloatSpec kSpec = kF64;
};

template <class F>
F value_of(uint64_t bits) {
  return std::bit_cast<F>(static_cast<typename Host<F>::Bits>(bits));
}
template <class F>
uint64_t bits_of(F value) {
  return std::bit_cast<typename Host<F>::Bits>(value);
}

// Volatile operands and results keep the operation between the changes of the rounding mode.
template <class F, class Op>
uint64_t on_host(int mode, F a, F b, F c, Op op) {
  volatile F x = a, y = b, z = c;
  volatile F result;
  {
    const HostRounding rounding(mode);
    result = op(x, y, z);
  }
  return bits_of<F>(result);
}

template <class F>
void expect_same(uint64_t ours, uint64_t host, const char* what, uint64_t a, uint64_t b,
                 uint64_t c) {
  if (std::isnan(value_of<F>(host))) {
    EXPECT_TRUE(float_is_nan(Host<F>::kSpec, ours)) << what << std::hex << " " << a << " " << b;
  } else {
    EXPECT_EQ(ours, host) << what << std::hex << " " << a << " " << b << " " << c << " ours "
                          << ours << " host " << host;
  }
}

template <class F>
void compare_with_host(uint64_t a, uint64_t b, uint64_t c) {
  constexpr FloatSpec spec = Host<F>::kSpec;
  const F x = value_of<F>(a), y = value_of<F>(b), z = value_of<F>(c);
  for (const auto& [rounding, mode] : kHostModes) {
    const FloatOptions options{rounding, false};
    expect_same<F>(float_add(spec, a, b, options),
                   on_host<F>(mode, x, y, z, [](F p, F q, F) { return p + q; }), "add", a, b, c);
    expect_same<F>(float_sub(spec, a, b, options),
                   on_host<F>(mode, x, y, z, [](F p, F q, F) { return p - q; }), "sub", a, b, c);
    expect_same<F>(float_mul(spec, a, b, options),
                   on_host<F>(mode, x, y, z, [](F p, F q, F) { return p * q; }), "mul", a, b, c);
    expect_same<F>(float_div(spec, a, b, options),
                   on_host<F>(mode, x, y, z, [](F p, F q, F) { return p / q; }), "div", a, b, c);
    expect_same<F>(float_sqrt(spec, a, options),
                   on_host<F>(mode, x, y, z, [](F p, F, F) { return std::sqrt(p); }), "sqrt", a, b,
                   c);
    expect_same<F>(float_fma(spec, a, b, c, options),
                   on_host<F>(mode, x, y, z, [](F p, F q, F r) { return std::fma(p, q, r); }),
                   "fma", a, b, c);
    expect_same<F>(float_round_integral(spec, a, rounding),
                   on_host<F>(mode, x, y, z, [](F p, F, F) { return std::nearbyint(p); }),
                   "integral", a, b, c);
  }
  EXPECT_EQ(float_less(spec, a, b), x < y);
  EXPECT_EQ(float_equal(spec, a, b), x == y);
}

template <class F>
std::vector<uint64_t> special_values() {
  using L = std::numeric_limits<F>;
  std::vector<F> values = {0,
                           1,
                           2,
                           3,
                           F(0.5),
                           F(1.5),
                           F(2.5),
                           L::max(),
                           L::min(),
                           L::denorm_min(),
                           L::infinity(),
                           L::quiet_NaN(),
                           L::epsilon(),
                           1 + L::epsilon(),
                           1 - L::epsilon() / 2,
                           L::min() - L::denorm_min(),
                           1 / L::epsilon(),
                           F(0.1),
                           F(1e10),
                           F(1e-10)};
  std::vector<uint64_t> out;
  for (F v : values) {
    out.push_back(bits_of<F>(v));
    out.push_back(bits_of<F>(-v));
  }
  return out;
}

template <class F>
void special_against_host() {
  const std::vector<uint64_t> values = special_values<F>();
  for (uint64_t a : values)
    for (uint64_t b : values)
      for (uint64_t c : values) compare_with_host<F>(a, b, c);
}

// Exponents near each other make cancellation, ties and sticky bits frequent.
template <class F>
void random_against_host(uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr FloatSpec spec = Host<F>::kSpec;
  const uint64_t mask = spec.width() == 64 ? ~uint64_t{0} : (uint64_t{1} << spec.width()) - 1;
  const auto near = [&](uint64_t like) {
    const int64_t field =
        static_cast<int64_t>((like >> spec.fraction_bits) & ((1 << spec.exponent_bits) - 1));
    const int64_t limit = (1 << spec.exponent_bits) - 1;
    const int64_t moved =
        std::clamp<int64_t>(field + static_cast<int64_t>(random() % 61) - 30, 0, limit);
    uint64_t fraction = random() & ((uint64_t{1} << spec.fraction_bits) - 1);
    if (random() % 4 == 0) fraction &= ~uint64_t{0} << (spec.fraction_bits - 3);
    return ((random() & 1) << (spec.width() - 1)) |
           (static_cast<uint64_t>(moved) << spec.fraction_bits) | fraction;
  };
  for (int i = 0; i < 40000; ++i) {
    const uint64_t a = random() & mask;
    const uint64_t b = i % 2 ? random() & mask : near(a);
    // The product's exponent, so that c cancels against it now and then.
    const uint64_t product = float_mul(spec, a, b);
    compare_with_host<F>(a, b, i % 3 ? near(product) : random() & mask);
  }
}

TEST(FloatBits, SingleSpecialValuesAgreeWithHost) { special_against_host<float>(); }
TEST(FloatBits, DoubleSpecialValuesAgreeWithHost) { special_against_host<double>(); }
TEST(FloatBits, SingleRandomValuesAgreeWithHost) { random_against_host<float>(1); }
TEST(FloatBits, DoubleRandomValuesAgreeWithHost) { random_against_host<double>(2); }

TEST(FloatBits, DoubleToSingleAgreesWithHost) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    uint64_t a = random();
    if (i % 2)
      a = (a & 0x800fffffffffffff) |
          ((896 - 30 + random() % 330) << 52);  // in and around the range
    for (const auto& [rounding, mode] : kHostModes) {
      volatile double x = std::bit_cast<double>(a);
      volatile float host;
      {
        const HostRounding set(mode);
        host = static_cast<float>(x);
      }
      expect_same<float>(float_convert(kF32, kF64, a, {rounding, false}), bits_of<float>(host),
                         "convert", a, 0, 0);
    }
  }
}

TEST(FloatBits, IntegersAgreeWithHost) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 50000; ++i) {
    const uint64_t u = random() >> (random() % 64);
    const int64_t s = static_cast<int64_t>(random()) >> (random() % 64);
    for (const auto& [rounding, mode] : kHostModes) {
      volatile uint64_t vu = u;
      volatile int64_t vs = s;
      volatile float fu, fs;
      volatile double du, ds;
      {
        const HostRounding set(mode);
        fu = static_cast<float>(vu);
        fs = static_cast<float>(vs);
        du = static_cast<double>(vu);
        ds = static_cast<double>(vs);
      }
      EXPECT_EQ(float_from_unsigned(kF32, u, rounding), bits_of<float>(fu));
      EXPECT_EQ(float_from_signed(kF32, s, rounding), bits_of<float>(fs));
      EXPECT_EQ(float_from_unsigned(kF64, u, rounding), bits_of<double>(du));
      EXPECT_EQ(float_from_signed(kF64, s, rounding), bits_of<double>(ds));
    }
    const double d = std::ldexp(static_cast<double>(s), -static_cast<int>(random() % 70));
    for (const auto& [rounding, mode] : kHostModes) {
      volatile double x = d;
      double integral;
      {
        const HostRounding set(mode);
        volatile double rounded = std::nearbyint(x);
        integral = rounded;
      }
      const uint64_t bits = bits_of<double>(d);
      const double low = std::clamp(integral, -2147483648.0, 2147483647.0);
      EXPECT_EQ(float_to_signed(kF64, bits, 32, rounding),
                static_cast<uint32_t>(static_cast<int64_t>(low)));
      EXPECT_EQ(float_to_unsigned(kF64, bits, 32, rounding),
                static_cast<uint64_t>(std::clamp(integral, 0.0, 4294967295.0)));
    }
  }
}

TEST(FloatBits, ConversionToIntegersClamps) {
  const FloatRounding rn = FloatRounding::NearestEven;
  EXPECT_EQ(float_to_signed(kF32, bits_of(1e10f), 32, rn), 0x7fffffffu);
  EXPECT_EQ(float_to_signed(kF32, bits_of(-1e10f), 32, rn), 0x80000000u);
  EXPECT_EQ(float_to_unsigned(kF32, bits_of(-1.0f), 32, rn), 0u);
  EXPECT_EQ(float_to_unsigned(kF32, bits_of(1e20f), 64, rn), ~uint64_t{0});
  EXPECT_EQ(float_to_signed(kF32, bits_of(9.3e18f), 64, rn), 0x7fffffffffffffffu);
  EXPECT_EQ(float_to_signed(kF32, bits_of(-200.0f), 8, rn), 0x80u);
  EXPECT_EQ(float_to_signed(kF32, bits_of(-3.0f), 8, rn), 0xfdu);
  EXPECT_EQ(float_to_signed(kF32, 0x7fc00000, 32, rn), 0u);
  EXPECT_EQ(float_to_unsigned(kF32, 0x7fc00000, 32, rn), 0u);
  EXPECT_EQ(float_to_signed(kF32, 0x7f800000, 16, rn), 0x7fffu);
  EXPECT_EQ(float_to_signed(kF32, bits_of(2.5f), 32, FloatRounding::NearestAway), 3u);
  EXPECT_EQ(float_to_signed(kF32, bits_of(2.5f), 32, rn), 2u);
}

// --- Narrow formats, by their definition: (-1)^s * 1.f * 2^(e - bias), 0.f * 2^(1 - bias) for e =
// 0.

double defined_value(FloatSpec s, uint64_t bits) {
  const int bias = (1 << (s.exponent_bits - 1)) - 1;
  const int field = static_cast<int>((bits >> s.fraction_bits) & ((1u << s.exponent_bits) - 1));
  const double fraction =
      std::ldexp(static_cast<double>(bits & ((1u << s.fraction_bits) - 1)), -s.fraction_bits);
  const double magnitude =
      field ? std::ldexp(1 + fraction, field - bias) : std::ldexp(fraction, 1 - bias);
  return (bits >> (s.width() - 1)) & 1 ? -magnitude : magnitude;
}

uint64_t largest_finite(FloatSpec s) {
  const uint64_t infinity = ((uint64_t{1} << s.exponent_bits) - 1) << s.fraction_bits;
  return s.has_infinity ? infinity - 1 : (uint64_t{1} << (s.width() - 1)) - 2;
}

// Rounding of a positive number by looking for its neighbours among all numbers of the format.
class Neighbours {
 public:
  explicit Neighbours(FloatSpec s) : spec_(s) {
    for (uint64_t bits = 0; bits <= largest_finite(s); ++bits)
      values_.push_back(defined_value(s, bits));
    // The first number beyond the range decides what rounds to infinity.
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }

  uint64_t round(double x, FloatRounding rounding) const {
    const bool negative = std::signbit(x);
    const double magnitude = std::fabs(x);
    size_t above = static_cast<size_t>(std::lower_bound(values_.begin(), values_.end(), magnitude) -
                                       values_.begin());
    size_t chosen = above;
    if (above == values_.size()) {
      chosen = values_.size() - 1;
      if (rounding == FloatRounding::TowardZero ||
          rounding == (negative ? FloatRounding::Up : FloatRounding::Down))
        chosen = values_.size() - 2;
    } else if (values_[above] != magnitude) {
      const size_t below = above - 1;
      const double up = values_[above] - magnitude, down = magnitude - values_[below];
      switch (rounding) {
        case FloatRounding::NearestEven:
          chosen = up < down || (up == down && above % 2 == 0) ? above : below;
          break;
        case FloatRounding::NearestAway:
          chosen = up <= down ? above : below;
          break;
        case FloatRounding::TowardZero:
          chosen = below;
          break;
        case FloatRounding::Down:
          chosen = negative ? above : below;
          break;
        case FloatRounding::Up:
          chosen = negative ? below : above;
          break;
      }
    }
    return chosen | (negative ? uint64_t{1} << (spec_.width() - 1) : 0);
  }
  double at(size_t i) const { return values_[i]; }
  size_t size() const { return values_.size(); }

 private:
  FloatSpec spec_;
  std::vector<double> values_;
};

constexpr FloatRounding kAllModes[] = {FloatRounding::NearestEven, FloatRounding::TowardZero,
                                       FloatRounding::Down, FloatRounding::Up,
                                       FloatRounding::NearestAway};

class NarrowFormat : public testing::TestWithParam<FloatSpec> {};

TEST_P(NarrowFormat, EveryNumberHasItsDefinedValue) {
  const FloatSpec s = GetParam();
  for (uint64_t bits = 0; bits < uint64_t{1} << s.width(); ++bits) {
    const uint64_t magnitude = bits & ((uint64_t{1} << (s.width() - 1)) - 1);
    if (magnitude > largest_finite(s)) {
      const bool infinite = s.has_infinity && magnitude == largest_finite(s) + 1;
      EXPECT_EQ(float_is_infinite(s, bits), infinite);
      EXPECT_EQ(float_is_nan(s, bits), !infinite);
      continue;
    }
    const double value = defined_value(s, bits);
    EXPECT_EQ(float_to_double(s, bits), value);
    EXPECT_EQ(float_from_double(s, value), bits);
    const FloatParts parts = float_parts(s, bits);
    EXPECT_EQ(
        std::ldexp(static_cast<double>(parts.mantissa), parts.exponent) * (parts.negative ? -1 : 1),
        value);
    EXPECT_EQ(float_is_subnormal(s, bits),
              magnitude != 0 && magnitude < (uint64_t{1} << s.fraction_bits));
    EXPECT_EQ(float_is_zero(s, bits), magnitude == 0);
    EXPECT_EQ(float_sign(s, bits), bits != magnitude);
  }
}

TEST_P(NarrowFormat, RoundsNeighboursMidpointsAndPointsBeside) {
  const FloatSpec s = GetParam();
  const Neighbours all(s);
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const double low = all.at(i), high = all.at(i + 1), middle = (low + high) / 2;
    for (double x : {low, std::nextafter(low, high), std::nextafter(middle, low), middle,
                     std::nextafter(middle, high), std::nextafter(high, low)})
      for (FloatRounding rounding : kAllModes)
        for (double y : {x, -x}) {
          const uint64_t want = all.round(y, rounding);
          const uint64_t got = float_from_double(s, y, {rounding, false});
          const uint64_t magnitude = want & ((uint64_t{1} << (s.width() - 1)) - 1);
          if (magnitude > largest_finite(s) && !s.has_infinity) {
            EXPECT_TRUE(float_is_nan(s, got));
            EXPECT_EQ(float_convert(s, kF64, bits_of(y), {rounding, false}, true) & 0x7f,
                      largest_finite(s));
          } else {
            EXPECT_EQ(got, want) << y;
          }
        }
  }
}

// A result of + * / sqrt rounded to double first rounds the same: 53 >= 2 p + 2.
TEST_P(NarrowFormat, ArithmeticAgreesWithRoundedDoubles) {
  const FloatSpec s = GetParam();
  if (!s.has_infinity) return;
  const Neighbours all(s);
  std::mt19937_64 random(5);
  const uint64_t limit = largest_finite(s), sign = uint64_t{1} << (s.width() - 1);
  for (uint64_t a = 0; a <= limit; ++a) {
    const double x = defined_value(s, a);
    EXPECT_EQ(float_sqrt(s, a), all.round(std::sqrt(x), FloatRounding::NearestEven));
    for (FloatRounding rounding : kAllModes) {
      double integral = std::floor(x);
      const double rest = x - integral;
      const bool odd = std::fmod(integral, 2) == 1;
      if ((rounding == FloatRounding::Up && rest > 0) ||
          (rounding == FloatRounding::NearestAway && rest >= 0.5) ||
          (rounding == FloatRounding::NearestEven && (rest > 0.5 || (rest == 0.5 && odd))))
        integral += 1;
      EXPECT_EQ(float_to_double(s, float_round_integral(s, a, rounding)), integral);
    }
    const uint64_t b = random() % (limit + 1) | (random() & 1 ? sign : 0);
    const double y = defined_value(s, b);
    if (x + y != 0) {
      EXPECT_EQ(float_add(s, a, b), all.round(x + y, FloatRounding::NearestEven));
    }
    EXPECT_EQ(float_mul(s, a, b), all.round(x * y, FloatRounding::NearestEven));
    if (y != 0) {
      EXPECT_EQ(float_div(s, a, b), all.round(x / y, FloatRounding::NearestEven));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, NarrowFormat, testing::Values(kF16, kBF16, kE5M2, kE4M3));

TEST(FloatBits, Flush) {
  const FloatOptions ftz{FloatRounding::NearestEven, true};
  EXPECT_EQ(float_add(kF32, 0x00000001, 0x00000001, ftz), 0u);
  EXPECT_EQ(float_add(kF32, 0x807fffff, 0x80000000, ftz), 0x80000000u);
  EXPECT_EQ(float_mul(kF32, 0x00800000, 0x3f000000, ftz), 0u);  // 2^-126 / 2
  EXPECT_EQ(float_mul(kF32, 0x80800000, 0x3f000000, ftz), 0x80000000u);
  EXPECT_EQ(float_mul(kF32, 0x00800000, 0x3f000000), 0x00400000u);
  EXPECT_EQ(float_add(kF32, 0x00400000, 0x3f800000, ftz), 0x3f800000u);
}

TEST(FloatBits, CanonicalNan) {
  EXPECT_EQ(float_add(kF32, 0x7fc00123, 0), 0x7fffffffu);
  EXPECT_EQ(float_sub(kF32, 0x7f800000, 0x7f800000), 0x7fffffffu);
  EXPECT_EQ(float_mul(kF16, 0x7c00, 0), 0x7fffu);
  EXPECT_EQ(float_sqrt(kBF16, 0xbf80), 0x7fffu);
  EXPECT_EQ(float_convert(kE4M3, kF32, 0xffc00000), 0x7fu);
}

TEST(FloatBits, MinAndMax) {
  const uint64_t nan = 0x7fc00000, one = 0x3f800000, minus_zero = 0x80000000;
  EXPECT_EQ(float_min(kF32, nan, one), one);
  EXPECT_EQ(float_max(kF32, one, nan), one);
  EXPECT_EQ(float_min(kF32, nan, one, true), 0x7fffffffu);
  EXPECT_EQ(float_max(kF32, nan, nan), 0x7fffffffu);
  EXPECT_EQ(float_min(kF32, 0, minus_zero), minus_zero);
  EXPECT_EQ(float_max(kF32, minus_zero, 0), 0u);
  EXPECT_EQ(float_min(kF32, 0xbf800000, 0xc0000000), 0xc0000000u);
}

TEST(FloatBits, SaturatingConversion) {
  EXPECT_EQ(float_convert(kE4M3, kF32, bits_of(1e6f), {}, true), 0x7eu);  // 448
  EXPECT_EQ(float_convert(kE4M3, kF32, bits_of(-1e6f), {}, true), 0xfeu);
  EXPECT_EQ(float_convert(kE5M2, kF32, 0x7f800000, {}, true), 0x7bu);  // 57344
  EXPECT_EQ(float_convert(kE5M2, kF32, 0x7f800000), 0x7cu);
  EXPECT_EQ(float_convert(kF16, kF32, bits_of(65520.0f)), 0x7c00u);
  EXPECT_EQ(float_convert(kF16, kF32, bits_of(65519.0f)), 0x7bffu);
}

TEST(FloatBits, TensorFloatRoundsAwayFromZero) {
  // 1 + 2^-11 is half of the last place of tf32.
  EXPECT_EQ(float_convert(kTF32, kF32, 0x3f801000, {FloatRounding::NearestAway, false}),
            (0x3f801000u + 0x1000u) >> 13);
  EXPECT_EQ(float_convert(kTF32, kF32, 0x3f801000), 0x3f800000u >> 13);
}

}  // namespace
}  // namespace coequal
