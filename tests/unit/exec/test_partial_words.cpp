// Words at byte positions: partial overwrites and joins.
#include <gtest/gtest.h>

#include "exec/byte_memory.h"

namespace coequal::exec {
namespace {

// Of known words; a byte that was never written reads as 0xee.
class Bytes : public WordJoiner {
 public:
  Word extract(const Word& word, int, int first, int count) override {
    return Word::concrete(word.bits >> (8 * first) & ((1ull << (8 * count)) - 1));
  }
  Word concat(const Word& low, int low_width, const Word& high, int) override {
    return Word::concrete(low.bits | high.bits << (8 * low_width));
  }
  Word unwritten(int64_t offset, int width) override {
    asked.emplace_back(offset, width);
    return Word::concrete(0xeeeeeeeeeeeeeeeeull >> (64 - 8 * width));
  }
  std::vector<std::pair<int64_t, int>> asked;
};

TEST(PartialWords, AWordComesBackWhole) {
  ByteMemory memory(16);
  Bytes bytes;
  memory.store(4, 4, Word::concrete(0x11223344));
  EXPECT_EQ(memory.load(4, 4, bytes).bits, 0x11223344u);
  EXPECT_EQ(memory.load(5, 2, bytes).bits, 0x2233u);
  EXPECT_TRUE(bytes.asked.empty());
  EXPECT_TRUE(memory.written(7));
  EXPECT_FALSE(memory.written(8));
}

TEST(PartialWords, PartialOverwrites) {
  ByteMemory memory(16);
  Bytes bytes;
  memory.store(0, 8, Word::concrete(0x8877665544332211));
  memory.store(2, 2, Word::concrete(0xbbaa));
  EXPECT_EQ(memory.load(0, 8, bytes).bits, 0x88776655bbaa2211u);
  memory.store(3, 4, Word::concrete(0x44332211));
  EXPECT_EQ(memory.load(0, 8, bytes).bits, 0x8844332211aa2211u);
  EXPECT_EQ(memory.load(1, 4, bytes).bits, 0x2211aa22u);
  // The bytes of the first word that are left still are the first word's.
  memory.store(0, 4, Word::concrete(0));
  EXPECT_EQ(memory.load(0, 8, bytes).bits, 0x8844332200000000u);
  EXPECT_TRUE(bytes.asked.empty());
}

TEST(PartialWords, WordsAreJoined) {
  ByteMemory memory(8);
  Bytes bytes;
  for (int i = 0; i < 4; ++i) memory.store(i, 1, Word::concrete(0x10u + static_cast<uint64_t>(i)));
  EXPECT_EQ(memory.load(0, 4, bytes).bits, 0x13121110u);
}

TEST(PartialWords, UnwrittenBytesAreAskedForOnce) {
  ByteMemory memory(8);
  Bytes bytes;
  memory.store(0, 2, Word::concrete(0x1234));
  EXPECT_EQ(memory.load(0, 4, bytes).bits, 0xeeee1234u);
  EXPECT_EQ(bytes.asked, (std::vector<std::pair<int64_t, int>>{{2, 2}}));
}

// Entries are used again once nothing shows them; what is still shown must not change.
TEST(PartialWords, ManyOverwrites) {
  ByteMemory memory(64);
  Bytes bytes;
  std::vector<uint8_t> plain(64, 0xee);
  uint64_t random = 1;
  for (int turn = 0; turn < 2000; ++turn) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    const int width = 1 << (random >> 60 & 3);
    const int64_t offset = static_cast<int64_t>((random >> 40) % static_cast<uint64_t>(65 - width));
    for (int i = 0; i < width; ++i)
      plain[static_cast<size_t>(offset + i)] = static_cast<uint8_t>(random >> (4 * i));
    uint64_t word = 0;
    for (int i = 0; i < width; ++i)
      word |= uint64_t{plain[static_cast<size_t>(offset + i)]} << (8 * i);
    memory.store(offset, width, Word::concrete(word));
    for (int64_t at = 0; at < 64; at += 4) {
      uint64_t expected = 0;
      for (int i = 0; i < 4; ++i)
        expected |= uint64_t{plain[static_cast<size_t>(at + i)]} << (8 * i);
      ASSERT_EQ(memory.load(at, 4, bytes).bits, expected);
    }
  }
}

}  // namespace
}  // namespace coequal::exec
