// Which object an address is of.
//
// Where objects lie is not known to a program, so the numbers of the engine's address map are
// never values: a word that holds an address carries the object, arithmetic that does not depend
// on where the object lies sheds it, and what remains is refused where it reaches a value, a branch
// or another object's memory.
#pragma once

#include <cstdint>

#include "exec/address.h"

namespace coequal::exec {

class Provenance {
 public:
  // A number.
  constexpr Provenance() = default;
  // An address at a distance from the object's start.
  static constexpr Provenance of(Place place, uint32_t object) {
    if (object >= kMostObjects) return mixed();
    return Provenance(
        static_cast<uint16_t>((static_cast<uint32_t>(place) + 1) << kObjectBits | object));
  }
  // A function of the addresses of several objects.
  static constexpr Provenance mixed() { return Provenance(kMixed); }

  constexpr bool is_address() const { return code_ != 0; }
  constexpr bool is_mixed() const { return code_ == kMixed; }
  // Some function of the address, such as its upper half: not a distance from the object.
  constexpr bool is_derived() const { return code_ >> kFormBits != kWhole; }
  // Of these the lower or the upper 32 bits.
  constexpr bool is_lower() const { return code_ >> kFormBits == kLower; }
  constexpr bool is_upper() const { return code_ >> kFormBits == kUpper && !is_mixed(); }
  constexpr Provenance derived() const { return as(kFunction); }
  constexpr Provenance lower() const { return is_derived() ? derived() : as(kLower); }
  constexpr Provenance upper() const { return is_derived() ? derived() : as(kUpper); }
  // Of an address that is not mixed.
  constexpr Place place() const {
    const int known = (code_ & kObject) >> kObjectBits;
    return known == 0 ? Place::Nowhere : static_cast<Place>(known - 1);
  }
  constexpr uint32_t object() const { return code_ & (kMostObjects - 1); }
  constexpr uint16_t code() const { return code_; }

  // Of what is computed from both.
  friend constexpr Provenance operator|(Provenance a, Provenance b) {
    if (!a.is_address()) return b.derived();
    if (!b.is_address()) return a.derived();
    return a.derived() == b.derived() ? a.derived() : mixed();
  }
  // Of a word of 64 bits with these lower and upper ones: an address if they are of addresses of
  // one object, which is not mixed up with another address of it.
  static constexpr Provenance joined(Provenance low, Provenance high) {
    const bool halves = high.is_upper() && (low.is_lower() || !low.is_derived());
    return halves && low.derived() == high.derived() ? high.as(kWhole) : low | high;
  }
  friend constexpr bool operator==(Provenance, Provenance) = default;

 private:
  static constexpr int kObjectBits = 11, kFormBits = 14;
  static constexpr uint32_t kMostObjects = 1u << kObjectBits;
  static constexpr uint16_t kObject = (1u << kFormBits) - 1, kMixed = 0xffff;
  static constexpr uint16_t kWhole = 0, kFunction = 1, kLower = 2, kUpper = 3;
  explicit constexpr Provenance(uint16_t code) : code_(code) {}
  constexpr Provenance as(uint16_t form) const {
    if (!is_address() || is_mixed()) return *this;
    return Provenance(static_cast<uint16_t>(form << kFormBits | (code_ & kObject)));
  }
  uint16_t code_ = 0;
};

// Where an address of the object points, by its distance from the object's start; Nowhere if the
// object cannot be reached through that kind of address. `generic`: an address of generic or global
// memory, else one of the object's own space.
inline Location locate_object(Provenance of, uint64_t address, bool generic) {
  if (of.is_mixed() || !of.is_address()) return {};
  const Place place = of.place();
  if (place == Place::Tensor)
    return generic ? Location{place, of.object(),
                              static_cast<int64_t>(address - tensor_base(of.object()))}
                   : Location{};
  const uint64_t base = variable_base(of.object());
  if (generic) return {place, of.object(), static_cast<int64_t>(address - window(place) - base)};
  return {place, of.object(),
          static_cast<int32_t>(static_cast<uint32_t>(address) - static_cast<uint32_t>(base))};
}

}  // namespace coequal::exec
