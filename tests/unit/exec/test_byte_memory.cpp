// Words at byte positions: partial overwrites, joins, and bytes that were never written.
#include <gtest/gtest.h>

#include "exec/byte_memory.h"

namespace coequal::exec {
namespace {

// Known words only; what was never written reads as 0xee, and is counted.
class KnownJoiner : public WordJoiner {
 public:
  Word extract(const Word& word, int, int first, int count) override {
    return Word::concrete(word.bits >> (8 * first) & ((uint64_t{1} << (8 * count)) - 1));
  }
  Word concat(const Word& low, int low_width, const Word& high, int) override {
    return Word::concrete(low.bits | high.bits << (8 * low_width));
  }
  Word unwritten(int64_t, int width) override {
    unwritten_bytes += width;
    uint64_t bits = 0;
    for (int i = 0; i < width; ++i) bits |= uint64_t{0xee} << (8 * i);
    return Word::concrete(bits);
  }
  int unwritten_bytes = 0;
};

TEST(ByteMemory, ReadsBackWholeAndInPart) {
  ByteMemory memory(16);
  KnownJoiner join;
  memory.store(4, 4, Word::concrete(0x44332211));
  EXPECT_EQ(memory.load(4, 4, join).bits, 0x44332211u);
  EXPECT_EQ(memory.load(5, 2, join).bits, 0x3322u);
  EXPECT_EQ(memory.load(7, 1, join).bits, 0x44u);
  EXPECT_EQ(join.unwritten_bytes, 0);
}

TEST(ByteMemory, PartialOverwriteKeepsTheRest) {
  ByteMemory memory(16);
  KnownJoiner join;
  memory.store(0, 8, Word::concrete(0x8877665544332211));
  memory.store(2, 2, Word::concrete(0xbbaa));
  memory.store(7, 1, Word::concrete(0xcc));
  EXPECT_EQ(memory.load(0, 4, join).bits, 0xbbaa2211u);
  EXPECT_EQ(memory.load(4, 4, join).bits, 0xcc776655u);
  EXPECT_EQ(memory.load(1, 2, join).bits, 0xaa22u);
}

TEST(ByteMemory, ReadsAcrossWords) {
  ByteMemory memory(16);
  KnownJoiner join;
  memory.store(0, 4, Word::concrete(0x04030201));
  memory.store(4, 4, Word::concrete(0x08070605));
  EXPECT_EQ(memory.load(2, 4, join).bits, 0x06050403u);
}

TEST(ByteMemory, ShiftedOverwriteOfOneWord) {
  ByteMemory memory(16);
  KnownJoiner join;
  memory.store(0, 4, Word::concrete(0x04030201));
  memory.store(2, 4, Word::concrete(0x0d0c0b0a));
  memory.store(0, 4, Word::concrete(0x44434241));
  EXPECT_EQ(memory.load(0, 4, join).bits, 0x44434241u);
  EXPECT_EQ(memory.load(4, 2, join).bits, 0x0d0cu);
}

TEST(ByteMemory, UnwrittenBytesAreAskedFor) {
  ByteMemory memory(16);
  KnownJoiner join;
  memory.store(4, 2, Word::concrete(0x2211));
  EXPECT_EQ(memory.load(4, 4, join).bits, 0xeeee2211u);
  EXPECT_EQ(join.unwritten_bytes, 2);
  EXPECT_TRUE(memory.written(5));
  EXPECT_FALSE(memory.written(6));
}

TEST(ByteMemory, ManyOverwritesReuseTheirEntries) {
  ByteMemory memory(8);
  KnownJoiner join;
  for (uint64_t i = 0; i < 1000; ++i) {
    memory.store(static_cast<int64_t>(i % 5), 4, Word::concrete(i));
    EXPECT_EQ(memory.load(static_cast<int64_t>(i % 5), 4, join).bits, i);
  }
}

}  // namespace
}  // namespace coequal::exec
