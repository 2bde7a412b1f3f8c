// CTAs: scheduling of warps, barriers, and the launch as a whole.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "replay/machine.h"

namespace coequal::replay {

uint64_t LaunchState::next_random() {  // xorshift64*
  random ^= random >> 12;
  random ^= random << 25;
  random ^= random >> 27;
  return random * 0x2545f4914f6cdd1d;
}

Cta::Cta(LaunchState& launch, Cluster& cluster, uint32_t rank, const Dim3& ctaid)
    : launch_(launch), cluster_(cluster), rank_(rank), ctaid_(ctaid) {
  shared_.assign(launch.image.static_shared + launch.config.shared_bytes, launch.options.fill);
  const uint32_t threads = static_cast<uint32_t>(launch.config.block.count());
  for (uint32_t first = 0; first < threads; first += kWarpSize)
    warps_.push_back(std::make_unique<Warp>(launch, *this, first / kWarpSize,
                                            std::min(kWarpSize, threads - first)));
  for (Barrier& barrier : barriers_) {
    barrier.arrived.assign(warps_.size(), 0);
    barrier.waiting.assign(warps_.size(), 0);
  }
}

void Cta::arrive(uint32_t id, uint32_t count, uint32_t warp, uint32_t lane, bool waits,
                 bool predicate) {
  Barrier& barrier = barriers_[id];
  const uint32_t bit = 1u << lane;
  barrier.active = true;
  barrier.count = std::max(barrier.count, count);
  barrier.arrived[warp] |= bit;
  ++barrier.arrivals;
  if (waits) barrier.waiting[warp] |= bit;
  barrier.popc += predicate;
  barrier.all = barrier.all && predicate;
  barrier.any = barrier.any || predicate;
}

// Lanes that a warp does not have, or that have exited, arrive with the last living one: counts are
// in whole warps.
bool Cta::complete(const Barrier& barrier) const {
  uint32_t arrivals = barrier.arrivals;
  bool all_living = true;
  for (const auto& warp : warps_) {
    const uint32_t arrived = barrier.arrived[warp->index()];
    if (warp->living() & ~arrived) all_living = false;
    if (arrived && !(warp->living() & ~arrived))
      arrivals += kWarpSize - static_cast<uint32_t>(std::popcount(arrived));
  }
  return barrier.count == 0 ? all_living : arrivals >= barrier.count;
}

void Cta::open_barriers() {
  for (Barrier& barrier : barriers_) {
    if (!barrier.active || !complete(barrier)) continue;
    for (const auto& warp : warps_)
      if (const uint32_t lane = warp->misplaced(barrier.waiting[warp->index()]); lane < kWarpSize)
        launch_.fault = warp->fault_at(lane, "lanes of one warp wait at different barriers");
    if (launch_.fault) return;
    for (const auto& warp : warps_)
      if (const uint32_t lanes = barrier.waiting[warp->index()])
        warp->release(lanes, barrier.popc, barrier.all, barrier.any);
    barrier.active = false;
    barrier.count = barrier.arrivals = barrier.popc = 0;
    barrier.all = true;
    barrier.any = false;
    std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
    std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
  }
}

void Cta::deadlock() {
  uint64_t waiting = 0;
  const Warp* first = nullptr;
  for (const auto& warp : warps_) {
    waiting += static_cast<uint64_t>(std::popcount(warp->waiting_lanes()));
    if (!first && warp->waiting_lanes()) first = warp.get();
  }
  CHECK(first);
  launch_.fault =
      first->waiting_fault(fmt::format("{} thread{} of the CTA wait{} for others that never come",
                                       waiting, waiting == 1 ? "" : "s", waiting == 1 ? "s" : ""));
}

bool Cta::finished() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const auto& w) { return w->finished(); });
}

Cluster::Cluster(LaunchState& launch, uint64_t number) : launch_(launch) {
  const Dim3 &grid = launch.config.grid, &size = launch.config.cluster;
  const Dim3 clusters{grid.x / size.x, grid.y / size.y, grid.z / size.z};
  const Dim3 first{static_cast<uint32_t>(number % clusters.x) * size.x,
                   static_cast<uint32_t>(number / clusters.x % clusters.y) * size.y,
                   static_cast<uint32_t>(number / clusters.x / clusters.y) * size.z};
  for (uint32_t rank = 0; rank < size.count(); ++rank)
    ctas_.push_back(
        std::make_unique<Cta>(launch, *this, rank,
                              Dim3{first.x + rank % size.x, first.y + rank / size.x % size.y,
                                   first.z + rank / size.x / size.y}));
}

void Cluster::open_barrier() {
  bool some = false;
  for (const auto& cta : ctas_)
    for (const auto& warp : cta->warps()) {
      if (warp->missing_at_cluster()) return;
      some |= warp->lanes_at_cluster() != 0;
    }
  if (!some) return;
  for (const auto& cta : ctas_)
    for (const auto& warp : cta->warps()) warp->open_cluster_barrier();
}

Cta::Status Cluster::run(uint64_t limit) {
  if (ctas_.size() == 1) {
    const Cta::Status status = ctas_[0]->run(limit);
    if (status != Cta::Status::Blocked) return status;
    ctas_[0]->deadlock();
    return Cta::Status::Fault;
  }
  const uint64_t until = launch_.steps + limit;
  while (true) {
    bool finished = true, blocked = true;
    uint64_t turn = 1 << 16;
    std::vector<Cta*> order;
    for (const auto& cta : ctas_) order.push_back(cta.get());
    switch (launch_.options.order) {
      case Order::Forward:
        break;
      case Order::Backward:
        std::reverse(order.begin(), order.end());
        break;
      case Order::Interleaved:
        turn = 1;
        break;
      case Order::Random:
        for (size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[launch_.next_random() % i]);
        turn = 1 + launch_.next_random() % 256;
        break;
    }
    Cta* stuck = nullptr;
    for (Cta* cta : order) {
      if (cta->finished()) continue;
      const uint64_t before = launch_.steps;
      const Cta::Status status = cta->run(turn);
      if (status == Cta::Status::Fault) return status;
      finished &= status == Cta::Status::Finished;
      blocked &= status == Cta::Status::Blocked && launch_.steps == before;
      if (status == Cta::Status::Blocked) stuck = cta;
    }
    if (finished) return Cta::Status::Finished;
    if (blocked) {
      stuck->deadlock();
      return Cta::Status::Fault;
    }
    if (launch_.steps >= until) return Cta::Status::Paused;
  }
}

Cta::Status Cta::run(uint64_t limit) {
  constexpr uint64_t kTurn = 1 << 14;  // so that a warp that spins lets others go on
  const uint64_t until = launch_.steps + limit;
  while (true) {
    std::vector<Warp*> runnable;
    bool all_finished = true;
    for (const auto& warp : warps_) {
      if (warp->runnable()) runnable.push_back(warp.get());
      all_finished = all_finished && warp->finished();
    }
    if (all_finished) return Status::Finished;
    if (runnable.empty()) return Status::Blocked;
    uint64_t turn = kTurn;
    switch (launch_.options.order) {
      case Order::Forward:
        break;
      case Order::Backward:
        std::reverse(runnable.begin(), runnable.end());
        break;
      case Order::Interleaved:
        turn = 1;
        break;
      case Order::Random:
        runnable = {runnable[launch_.next_random() % runnable.size()]};
        turn = 1 + launch_.next_random() % 64;
        break;
    }
    for (Warp* warp : runnable) {
      if (!warp->runnable()) continue;
      if (warp->run(turn) == Warp::Status::Fault) return Status::Fault;
    }
    if (launch_.steps >= until) return Status::Paused;
  }
}

}  // namespace coequal::replay
