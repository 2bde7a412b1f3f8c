// SHA-256 (FIPS 180-4): names the contents of files, so that the cache rests on no weaker claim.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace coequal::toolchain {

class Sha256 {
 public:
  void add(std::string_view bytes);
  // A field that cannot run into the next one: its length goes in first.
  void add_field(std::string_view bytes);
  // 64 hexadecimal digits. Ends the object's use.
  std::string finish();

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_{};
  uint64_t length_ = 0;
};

std::string sha256(std::string_view bytes);

}  // namespace coequal::toolchain
