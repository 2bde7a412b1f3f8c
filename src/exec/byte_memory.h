// Contents of shared and local memory: words at byte positions, read back whole, in part or joined.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "exec/word.h"

namespace coequal::exec {

// Makes the word that other words' bytes form together: implemented by the executor, which knows
// the term store.
class WordJoiner {
 public:
  virtual ~WordJoiner() = default;
  // Bytes [first, first + count) of `word`, which is `width` bytes wide.
  virtual Word extract(const Word& word, int width, int first, int count) = 0;
  // Low part first.
  virtual Word concat(const Word& low, int low_width, const Word& high, int high_width) = 0;
  // A word of never written bytes at `offset`.
  virtual Word unwritten(int64_t offset, int width) = 0;
};

class ByteMemory {
 public:
  explicit ByteMemory(int64_t size = 0) : bytes_(static_cast<size_t>(size)) {}
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

  // The caller has checked that [offset, offset + width) is inside.
  void store(int64_t offset, int width, const Word& word);
  Word load(int64_t offset, int width, WordJoiner& joiner) const;
  bool written(int64_t offset) const { return bytes_[offset].entry != 0; }

 private:
  struct Byte {
    uint32_t entry = 0;  // 1 + index into entries_; 0: never written
    uint8_t index = 0;   // which byte of the entry
  };
  struct Entry {
    Word word;
    uint8_t width = 0;
    uint8_t users = 0;  // bytes that still show it
  };

  std::vector<Byte> bytes_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
};

}  // namespace coequal::exec
