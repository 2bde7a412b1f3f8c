// The engine's address map: every tensor and variable has a slot of its own, so an address names
// what it points into.
//
// A slot's object starts in its middle: an index that runs off either end stays in the slot, and is
// found out of bounds instead of landing in a neighbour. Low bits are real (objects are 256-byte
// aligned), high bits are not a promise.
#pragma once

#include <cstdint>
#include <optional>

namespace coequal::exec {

enum class Place : uint8_t { Tensor, Shared, Local, Const, Param, Nowhere };

struct Location {
  Place place = Place::Nowhere;
  uint32_t object = 0;  // tensor id, or index of the variable
  int64_t offset = 0;   // bytes from the object's start
  friend bool operator==(const Location&, const Location&) = default;
};

inline constexpr int kTensorShift =
    54;  // generic and global addresses: tensors of up to 2^52 bytes, and as far beyond
inline constexpr int kVariableShift = 20;  // shared, local, const, param addresses
inline constexpr int kWindowShift = 36;    // windows of the variable spaces among generic addresses

// Beyond these a launch is refused.
inline constexpr uint32_t kMostTensors = 500;
inline constexpr int64_t kLargestTensor = int64_t{1} << 52;
// Of a launch of clusters: its shared variables in all of their CTAs.
inline constexpr uint32_t kMostSharedSlots = 4000;

inline constexpr uint64_t tensor_base(uint32_t tensor) {
  return (uint64_t{tensor} + 1) << kTensorShift | uint64_t{1} << (kTensorShift - 1);
}
inline constexpr uint64_t variable_base(uint32_t index) {
  return (uint64_t{index} + 1) << kVariableShift | uint64_t{1} << (kVariableShift - 1);
}
inline constexpr uint64_t window(Place place) {
  return (static_cast<uint64_t>(place) + 1) << kWindowShift;
}

// An address inside one of the variable spaces.
inline Location locate_variable(Place place, uint64_t address) {
  const uint64_t slot = address >> kVariableShift;
  if (slot == 0 || address >> 32) return {};
  return {place, static_cast<uint32_t>(slot - 1),
          static_cast<int64_t>(address) - static_cast<int64_t>(variable_base(slot - 1))};
}

inline Location locate_generic(uint64_t address) {
  const uint64_t slot = address >> kTensorShift;
  if (slot > 0)
    return {Place::Tensor, static_cast<uint32_t>(slot - 1),
            static_cast<int64_t>(address - tensor_base(static_cast<uint32_t>(slot - 1)))};
  const uint64_t w = address >> kWindowShift;
  if (w < 2 || w > 5) return {};
  const Place place = static_cast<Place>(w - 1);
  return locate_variable(place, address - window(place));
}

}  // namespace coequal::exec
