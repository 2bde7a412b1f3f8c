// Threads shared by nested work.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "base/workers.h"

namespace coequal {
namespace {

TEST(Workers, AClaimTakesWhatIsFreeAndGivesItBack) {
  Workers workers(4);
  {
    const Workers::Claim three = workers.claim(3);
    EXPECT_EQ(three.count(), 3);
    const Workers::Claim rest = workers.claim(3);
    EXPECT_EQ(rest.count(), 1);
    EXPECT_EQ(workers.claim(1).count(), 0);
  }
  EXPECT_EQ(workers.claim(9).count(), 4);
  EXPECT_EQ(workers.claim(-1).count(), 0);
}

TEST(RunBeside, CallsEachIndexOnce) {
  std::array<std::atomic<int>, 4> calls{};
  run_beside(3, [&](int i) { ++calls[static_cast<size_t>(i)]; });
  for (const auto& c : calls) EXPECT_EQ(c, 1);
}

TEST(RunBeside, AnExceptionComesOutWhenAllHaveReturned) {
  std::atomic<int> returned = 0;
  EXPECT_THROW(run_beside(2,
                          [&](int i) {
                            if (i == 1) throw std::runtime_error("no");
                            ++returned;
                          }),
               std::runtime_error);
  EXPECT_EQ(returned, 2);
}

}  // namespace
}  // namespace coequal
