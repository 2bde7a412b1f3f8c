// Named counters and stage times of one check; printed with -v and in the JSON report.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace coequal {

struct Statistics {
  std::map<std::string, int64_t> counters;
  std::map<std::string, double> seconds;

  void count(const std::string& name, int64_t by = 1) { counters[name] += by; }
  void merge(const Statistics& other) {
    for (const auto& [name, n] : other.counters) counters[name] += n;
    for (const auto& [name, s] : other.seconds) seconds[name] += s;
  }
};

// Adds the time of its own lifetime to a stage.
class StageTimer {
 public:
  StageTimer(Statistics& statistics, std::string stage)
      : statistics_(statistics), stage_(std::move(stage)), start_(Clock::now()) {}
  ~StageTimer() {
    statistics_.seconds[stage_] += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Statistics& statistics_;
  std::string stage_;
  Clock::time_point start_;
};

}  // namespace coequal
