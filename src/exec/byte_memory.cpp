#include "exec/byte_memory.h"

namespace coequal::exec {

void ByteMemory::store(int64_t offset, int width, const Word& word) {
  Byte* at = bytes_.data() + offset;
  // A store over the same bytes as an earlier one reuses its entry.
  if (at[0].entry && at[0].index == 0) {
    Entry& entry = entries_[at[0].entry - 1];
    if (entry.width == width && entry.users == width) {
      entry.word = word;
      return;
    }
  }
  uint32_t id;
  if (free_.empty()) {
    entries_.emplace_back();
    id = static_cast<uint32_t>(entries_.size());
  } else {
    id = free_.back();
    free_.pop_back();
  }
  for (int i = 0; i < width; ++i) {
    if (at[i].entry && --entries_[at[i].entry - 1].users == 0) free_.push_back(at[i].entry);
    at[i] = {id, static_cast<uint8_t>(i)};
  }
  Entry& entry = entries_[id - 1];
  entry.word = word;
  entry.width = static_cast<uint8_t>(width);
  entry.users = static_cast<uint8_t>(width);
}

Word ByteMemory::load(int64_t offset, int width, WordJoiner& joiner) const {
  const Byte* at = bytes_.data() + offset;
  Word result;
  int done = 0;
  while (done < width) {
    const Byte& first = at[done];
    int count = 1;
    while (done + count < width && at[done + count].entry == first.entry &&
           (first.entry == 0 || at[done + count].index == first.index + count))
      ++count;
    Word part;
    if (first.entry == 0) {
      part = joiner.unwritten(offset + done, count);
    } else {
      const Entry& entry = entries_[first.entry - 1];
      part = first.index == 0 && count == entry.width
                 ? entry.word
                 : joiner.extract(entry.word, entry.width, first.index, count);
    }
    result = done == 0 ? part : joiner.concat(result, done, part, count);
    done += count;
  }
  return result;
}

}  // namespace coequal::exec
