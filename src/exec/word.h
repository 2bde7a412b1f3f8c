// What one lane holds in one register: untyped bits, moving integers, or a term.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/provenance.h"
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
  Provenance object;  // of a Concrete word that holds an address
  MotionId motion = 0;
  uint32_t history = 0;  // of a symbolic one, where histories are kept: see tensor::Histories
  uint64_t bits = 0;
  Term term;

  static Word concrete(uint64_t bits, MotionId motion = 0, Provenance object = {}) {
    Word w;
    w.tag = Tag::Concrete;
    w.bits = bits;
    w.motion = motion;
    w.object = object;
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
  // A known integer that does not tell where an object lies.
  bool is_number() const { return tag == Tag::Concrete && !object.is_address(); }
  // Whether `bits` hold the value (for a Real: its IEEE value).
  bool has_bits() const { return tag == Tag::Concrete || (tag == Tag::Real && shadow); }
};

inline bool same_word(const Word& a, const Word& b) {
  if (a.tag != b.tag) return false;
  if (a.tag == Tag::Unset) return true;
  if (a.tag == Tag::Concrete)
    return a.bits == b.bits && a.motion == b.motion && a.object == b.object;
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
  // Lanes that hold a known number that is the same for all CTAs of the class: what most integer
  // registers hold.
  uint32_t plain() const { return concrete_ & ~moving_ & ~addresses_; }
  // Lanes that hold known bits, an address, an integer that moves, a value whose bits are known.
  uint32_t concrete() const { return concrete_; }
  uint32_t addresses() const { return addresses_; }
  uint32_t moving() const { return moving_; }
  uint32_t known() const { return concrete_ | shadows_; }
  Tag tag(int lane) const { return tag_[lane]; }
  term::FloatFormat format(int lane) const { return format_[lane]; }
  uint64_t bits(int lane) const { return bits_[lane]; }
  MotionId motion(int lane) const { return moving_ >> lane & 1 ? motion_[lane] : 0; }
  Provenance object(int lane) const {
    return addresses_ >> lane & 1 ? object_[lane] : Provenance{};
  }
  // Of a Real, Bits or Bool lane.
  const Term& term(int lane) const { return (*terms_)[lane]; }

  Bank() = default;
  Bank(const Bank& other) { *this = other; }
  Bank(Bank&&) = default;
  Bank& operator=(Bank&&) = default;
  Bank& operator=(const Bank& other) {
    if (this == &other) return *this;
    concrete_ = other.concrete_;
    moving_ = other.moving_;
    addresses_ = other.addresses_;
    shadows_ = other.shadows_;
    tag_ = other.tag_;
    format_ = other.format_;
    bits_ = other.bits_;
    if (moving_) motion_ = other.motion_;
    if (addresses_) object_ = other.object_;
    terms_ = other.terms_ ? std::make_unique<Terms>(*other.terms_) : nullptr;
    histories_ = other.histories_ ? std::make_unique<Histories>(*other.histories_) : nullptr;
    return *this;
  }

  Word get(int lane) const {
    Word w;
    w.tag = tag_[lane];
    w.bits = bits_[lane];
    w.motion = motion(lane);
    if (w.tag >= Tag::Real) {
      w.shadow = shadows_ >> lane & 1;
      w.format = format_[lane];
      w.term = (*terms_)[lane];
      if (histories_) w.history = (*histories_)[lane];
    } else {
      w.object = object(lane);
    }
    return w;
  }
  void set(int lane, const Word& w) {
    if (w.tag == Tag::Concrete) {
      set_concrete(lane, w.bits, w.motion, w.object);
      return;
    }
    describe(lane, w.tag, w.motion, {});
    bits_[lane] = w.bits;
    if (w.tag >= Tag::Real) {
      if (w.tag == Tag::Real && w.shadow) shadows_ |= 1u << lane;
      format_[lane] = w.format;
      set_term(lane, w.term);
      if (w.history || histories_) set_history(lane, w.history);
    }
  }
  void set_concrete(int lane, uint64_t value, MotionId motion = 0, Provenance object = {}) {
    describe(lane, Tag::Concrete, motion, object);
    bits_[lane] = value;
  }
  // A real that is no constant.
  void set_real(int lane, const Term& value, term::FloatFormat f) {
    describe(lane, Tag::Real, 0, {});
    format_[lane] = f;
    bits_[lane] = 0;
    set_term(lane, value);
    if (histories_) (*histories_)[lane] = 0;
  }
  // Of a symbolic lane.
  void set_history(int lane, uint32_t history) {
    if (!histories_) histories_ = std::make_unique<Histories>();
    (*histories_)[lane] = history;
  }

 private:
  using Terms = std::array<Term, kWarpSize>;
  using Histories = std::array<uint32_t, kWarpSize>;

  void describe(int lane, Tag tag, MotionId motion, Provenance object) {
    const uint32_t bit = 1u << lane;
    tag_[lane] = tag;
    concrete_ = tag == Tag::Concrete ? concrete_ | bit : concrete_ & ~bit;
    moving_ &= ~bit;
    addresses_ &= ~bit;
    shadows_ &= ~bit;
    if (motion) {
      moving_ |= bit;
      motion_[lane] = motion;
    }
    if (object.is_address()) {
      addresses_ |= bit;
      object_[lane] = object;
    }
  }
  void set_term(int lane, const Term& value) {
    if (!terms_) terms_ = std::make_unique<Terms>();
    (*terms_)[lane] = value;
  }

  uint32_t concrete_ = 0, moving_ = 0, addresses_ = 0, shadows_ = 0;
  std::array<Tag, kWarpSize> tag_{};
  std::array<term::FloatFormat, kWarpSize> format_{};
  std::array<uint64_t, kWarpSize> bits_{};
  std::array<MotionId, kWarpSize> motion_{};    // of lanes in moving_
  std::array<Provenance, kWarpSize> object_{};  // of lanes in addresses_
  std::unique_ptr<Terms> terms_;
  std::unique_ptr<Histories> histories_;  // of lanes with a term; none: all 0
};

// The registers of one warp.
using Registers = std::vector<Bank>;

}  // namespace coequal::exec
