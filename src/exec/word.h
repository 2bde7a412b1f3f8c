// What one lane holds in one register: untyped bits, moving integers, or a term.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/motion.h"
#include "term/store.h"

namespace coequal::exec {

using tensor::MotionId;
using term::Term;

enum class Tag : uint8_t {
  Unset,     // never written: poison
  Concrete,  // bits, and how they move over the CTAs of the class
  Real,  // a float of `format`; with `shadow`, made of constants and indices alone: bits hold its
         // IEEE value
  Bits,  // a symbolic machine word (Bv term)
  Bool,  // a symbolic predicate
};

struct Word {
  Tag tag = Tag::Unset;
  bool shadow = false;
  term::FloatFormat format = term::FloatFormat::F32;
  MotionId motion = 0;
  uint64_t bits = 0;
  Term term;

  static Word concrete(uint64_t bits, MotionId motion = 0) {
    Word w;
    w.tag = Tag::Concrete;
    w.bits = bits;
    w.motion = motion;
    return w;
  }
  static Word real(const Term& term, term::FloatFormat format) {
    Word w;
    w.tag = Tag::Real;
    w.format = format;
    w.term = term;
    return w;
  }
  static Word symbolic(const Term& term) {
    Word w;
    w.tag = Tag::Bits;
    w.term = term;
    return w;
  }
  static Word boolean(const Term& term) {
    Word w;
    w.tag = Tag::Bool;
    w.term = term;
    return w;
  }
  // Whether `bits` hold the value (for a Real: its IEEE value).
  bool has_bits() const { return tag == Tag::Concrete || (tag == Tag::Real && shadow); }
};

inline bool same_word(const Word& a, const Word& b) {
  if (a.tag != b.tag) return false;
  if (a.tag == Tag::Unset) return true;
  if (a.tag == Tag::Concrete) return a.bits == b.bits && a.motion == b.motion;
  if (a.term != b.term) return false;
  if (a.tag != Tag::Real) return true;
  if (a.format != b.format || a.shadow != b.shadow) return false;
  return !a.shadow || (a.bits == b.bits && a.motion == b.motion);
}

inline constexpr int kWarpSize = 32;

// One register of a warp, a field per lane in arrays; terms are allocated when the first lane needs
// one.
class Bank {
 public:
  std::array<Tag, kWarpSize> tag{};
  std::array<uint8_t, kWarpSize> shadow{};
  std::array<term::FloatFormat, kWarpSize> format{};
  std::array<uint64_t, kWarpSize> bits{};
  std::array<MotionId, kWarpSize> motion{};

  Bank() = default;
  Bank(const Bank& other) { *this = other; }
  Bank(Bank&&) = default;
  Bank& operator=(Bank&&) = default;
  Bank& operator=(const Bank& other) {
    tag = other.tag;
    shadow = other.shadow;
    format = other.format;
    bits = other.bits;
    motion = other.motion;
    terms_ = other.terms_ ? std::make_unique<Terms>(*other.terms_) : nullptr;
    return *this;
  }

  Word get(int lane) const {
    Word w;
    w.tag = tag[lane];
    w.bits = bits[lane];
    w.motion = motion[lane];
    if (w.tag >= Tag::Real) {
      w.shadow = shadow[lane];
      w.format = format[lane];
      w.term = (*terms_)[lane];
    }
    return w;
  }
  void set(int lane, const Word& w) {
    tag[lane] = w.tag;
    bits[lane] = w.bits;
    motion[lane] = w.motion;
    if (w.tag >= Tag::Real) {
      shadow[lane] = w.shadow;
      format[lane] = w.format;
      if (!terms_) terms_ = std::make_unique<Terms>();
      (*terms_)[lane] = w.term;
    }
  }
  void set_concrete(int lane, uint64_t value, MotionId m = 0) {
    tag[lane] = Tag::Concrete;
    bits[lane] = value;
    motion[lane] = m;
  }
  // A real that is no constant.
  void set_real(int lane, const Term& value, term::FloatFormat f) {
    tag[lane] = Tag::Real;
    shadow[lane] = false;
    format[lane] = f;
    bits[lane] = 0;
    motion[lane] = 0;
    if (!terms_) terms_ = std::make_unique<Terms>();
    (*terms_)[lane] = value;
  }
  const Term& term(int lane) const { return (*terms_)[lane]; }

 private:
  using Terms = std::array<Term, kWarpSize>;
  std::unique_ptr<Terms> terms_;
};

// The registers of one warp.
using Registers = std::vector<Bank>;

}  // namespace coequal::exec
