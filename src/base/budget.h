// Time, memory and interruption limits of one check, asked by every long loop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace coequal {

// Thread-safe. A spent budget never throws: callers stop and report what they have.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;

  Budget() = default;
  explicit Budget(double seconds, const std::atomic<bool>* interrupted = nullptr)
      : deadline_(after(seconds)), interrupted_(interrupted) {}

  bool interrupted() const { return interrupted_ && interrupted_->load(std::memory_order_relaxed); }
  bool spent() const { return interrupted() || Clock::now() >= deadline_; }
  double seconds_left() const {
    return std::chrono::duration<double>(deadline_ - Clock::now()).count();
  }
  // A budget that ends after `seconds` or with this one, whichever is sooner.
  Budget slice(double seconds) const {
    Budget part = *this;
    part.deadline_ = std::min(deadline_, after(seconds));
    return part;
  }

 private:
  // Decades are as good as no limit; much more would not fit the clock.
  static Clock::time_point after(double seconds) {
    constexpr double kLongest = 1e9;
    if (!(seconds < kLongest)) return Clock::time_point::max();
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  Clock::time_point deadline_ = Clock::time_point::max();
  const std::atomic<bool>* interrupted_ = nullptr;
};

}  // namespace coequal
