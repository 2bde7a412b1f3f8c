// The worker threads of a run, shared by its instances and, inside one, by classes of CTAs and
// cells.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace coequal {

// Thread-safe. Whoever runs work holds a claim on as many threads as it uses, so that all together
// there are no more than there may be.
class Workers {
 public:
  explicit Workers(int threads = 1) : free_(threads) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  class Claim {
   public:
    Claim(Workers& workers, int count) : workers_(&workers), count_(count) {}
    Claim(Claim&& other) noexcept
        : workers_(other.workers_), count_(std::exchange(other.count_, 0)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() { workers_->free_ += count_; }
    int count() const { return count_; }

   private:
    Workers* workers_;
    int count_;
  };

  // Up to `most` threads, those that nobody uses now.
  Claim claim(int most) {
    int free = free_.load(), taken;
    do {
      taken = std::clamp(free, 0, std::max(most, 0));
    } while (!free_.compare_exchange_weak(free, free - taken));
    return {*this, taken};
  }
  // Threads for so many tasks beside the thread at hand, each with a copy of so many bytes; all
  // copies together take at most half of the memory limit.
  Claim claim_with_copies(size_t tasks, size_t bytes, int64_t memory_mib) {
    const size_t copies = (static_cast<size_t>(memory_mib) << 19) / std::max<size_t>(bytes, 1);
    return claim(static_cast<int>(std::min(tasks, copies)) - 1);
  }

 private:
  std::atomic<int> free_;
};

// Calls f(0) here and f(1) .. f(helpers) on threads of their own; the first exception comes out
// once all have returned.
template <class F>
void run_beside(int helpers, F&& f) {
  std::vector<std::exception_ptr> failed(static_cast<size_t>(helpers) + 1);
  const auto guarded = [&](size_t i) {
    try {
      f(static_cast<int>(i));
    } catch (...) {
      failed[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < failed.size(); ++i) threads.emplace_back(guarded, i);
    guarded(0);
  }
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
}

}  // namespace coequal
