// The machine of one launch: CTAs, warps and lanes, what they share and how they are scheduled.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/code.h"
#include "replay/interpreter.h"

namespace coequal::replay {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kNoPc = ~0u;

// What all CTAs of a launch share.
struct LaunchState {
  const ptx::Module& module;
  const Image& image;
  Memory& memory;
  const LaunchConfig& config;
  const RunOptions& options;
  const Budget& budget;
  uint64_t random = 1;
  uint64_t steps = 0;       // thread-instructions
  uint64_t next_check = 0;  // of the budget
  uint32_t max_registers = 0;
  std::optional<Fault> fault = {};
  FloatWatch* watch = nullptr;

  uint64_t next_random();
};

// A copy that waits for its completion.
struct PendingCopy {
  uint8_t* to;
  const uint8_t* from;
  uint32_t bytes, size;  // copied, and zeros up to `size`
};

// An mbarrier object: what the open phase still waits for.
struct Mbarrier {
  uint32_t expected = 0, pending = 0;
  int64_t bytes = 0;
  uint64_t phase = 0;

  void complete() {
    if (pending || bytes) return;
    pending = expected;
    ++phase;
  }
};

// The new value of a cell that an atomic changes. `other` is the value to swap in (cas).
uint64_t combine(const isa::Decoded& d, uint64_t old, uint64_t b, uint64_t other);

// A bulk copy from shared memory that may not have happened yet.
struct BulkStore {
  const Code* code;
  uint64_t from, to, size;    // bytes; of a box `to` is the address of its map
  std::array<int64_t, 8> at;  // coordinates; from the sixth on offsets of im2col
};

class Cta;
class Cluster;

// Lanes that stand at one instruction run together (structure of arrays); the group with the least
// program counter goes first, so that diverged lanes meet again.
class Warp {
 public:
  Warp(LaunchState& launch, Cta& cta, uint32_t index, uint32_t lanes);

  enum class Status : uint8_t { Blocked, Finished, Paused, Fault };
  // At most about `limit` instructions.
  Status run(uint64_t limit);

  bool finished() const { return living_ == 0; }
  bool runnable() const { return running_ != 0; }
  uint32_t living() const { return living_; }
  uint32_t index() const { return index_; }

  // The first of the waiting lanes that stands at another barrier instruction than the first lane
  // while one of the two is .aligned, or kWarpSize.
  uint32_t misplaced(uint32_t lanes) const;
  // Barriers: lanes that wait go on; the result of a reduction goes to those that asked for one.
  void release(uint32_t lanes, uint32_t popc, bool all, bool any);
  // The cluster's barrier: living lanes that have not arrived; those that wait go on.
  uint32_t missing_at_cluster() const { return living_ & ~at_cluster_; }
  uint32_t lanes_at_cluster() const { return at_cluster_; }
  void open_cluster_barrier();
  // Where a waiting lane stands, for messages.
  Fault waiting_fault(const std::string& what) const;
  Fault fault_at(uint32_t lane, std::string what) const;
  uint32_t waiting_lanes() const { return living_ & ~running_; }

 private:
  enum class State : uint8_t { Running, Barrier, Collective, Cluster, Exited };
  struct Frame {
    uint32_t function;
    uint32_t return_pc;
    uint64_t base;
  };
  struct LaneCopies {
    std::vector<std::vector<PendingCopy>> groups;
    std::vector<PendingCopy> open;
    std::vector<std::vector<BulkStore>> bulk_groups;
    std::vector<BulkStore> open_bulk;
  };

  bool select();
  void store_pcs();
  void set_state(uint32_t lane, State state);

  uint64_t read(const Source& source, uint32_t lane) const;
  void write(const Destination& destination, uint32_t lane, uint64_t value);
  uint64_t special(SpecialRegister special, uint32_t lane) const;
  const Source& source(const Code& code, uint32_t i) const;
  const Destination& destination(const Code& code, uint32_t i) const;

  bool fail(FaultKind kind, uint32_t lane, std::string message);
  uint64_t full_address(const Code& code, uint32_t which, uint32_t lane) const;
  // The bytes, or null after a fault.
  uint8_t* locate(uint32_t lane, uint64_t address, uint64_t size, bool is_write);

  // Each returns whether the group goes straight on.
  bool step(const Code& code, uint32_t active);
  void pure(const Code& code, uint32_t active);
  bool load(const Code& code, uint32_t active);
  bool store(const Code& code, uint32_t active);
  bool atomic(const Code& code, uint32_t active);
  bool copy_async(const Code& code, uint32_t active);
  void complete_copies(uint32_t lane, size_t keep);
  bool copy_bulk(const Code& code, uint32_t active);
  // The copy into one CTA's shared memory.
  bool load_bulk(const Code& code, BulkStore& copy, const TensorMap& map, uint64_t to,
                 uint64_t barrier, uint32_t lane);
  bool store_async(const Code& code, uint32_t active);
  bool map_shared(const Code& code, uint32_t active);
  bool cluster_barrier(const Code& code, uint32_t active);
  bool commit_bulk(const Code& code, uint32_t active);
  bool store_bulk(const BulkStore& copy, uint32_t lane);
  bool finish_bulk(uint32_t lane, uint64_t keep);
  bool read_map(uint64_t address, uint32_t lane, TensorMap* map);
  // Calls `one` with the shared and the global address of each element, 0 where it is outside.
  template <class F>
  bool for_box(const TensorMap& map, const std::array<int64_t, 8>& at, uint64_t shared, F one);
  template <class F>
  bool for_pixels(const TensorMap& map, std::array<int64_t, 8> at, uint64_t shared, F one);
  bool mbarrier(const Code& code, uint32_t active);
  Mbarrier* find_mbarrier(uint64_t address, bool is_new, uint32_t lane);
  // The CTA of the cluster whose shared memory the address is in; null if there is none.
  Cta* owner(uint64_t address) const;
  bool branch(const Code& code, uint32_t active);
  bool branch_indexed(const Code& code, uint32_t active);
  bool call(uint32_t active);
  bool call_one(const CallSite& site, uint32_t lane);
  bool leave(uint32_t active);
  void exit_lanes(uint32_t lanes);
  bool barrier(const Code& code, uint32_t active);
  bool collective(const Code& code, uint32_t active);
  bool meet(const Code& code, uint32_t mask, uint32_t arriving);
  bool execute_collective(const Code& code, uint32_t lanes, uint32_t mask);
  void shuffle(const Code& code, uint32_t lanes);
  bool load_matrix(const Code& code, uint32_t lanes);
  bool store_matrix(const Code& code, uint32_t lanes);
  void move_matrix(const Code& code);
  bool multiply_matrices(const Code& code, uint32_t lanes);
  bool move_fragment(const Code& code, uint32_t lanes);
  bool multiply_fragments(const Code& code, uint32_t lanes);
  bool wgmma(const Code& code, uint32_t lanes);
  // A product of a warpgroup with what it was issued with.
  struct Product {
    const Code* code;
    const FunctionCode* function;
    uint64_t* registers;
    uint64_t a, b;  // descriptors
    bool adds;
  };
  bool multiply_wgmma(const Product& product);

  LaunchState& launch_;
  Cta& cta_;
  uint32_t index_;
  uint32_t living_ = 0, running_ = 0;  // lane masks; running: neither exited nor waiting
  // Lanes that have arrived at the cluster's barrier: in its open phase, and not waited since.
  uint32_t at_cluster_ = 0, to_wait_ = 0;

  // The group that runs now; its lanes' pc_ is stale until store_pcs.
  uint32_t group_ = 0, group_pc_ = 0, group_depth_ = 0;
  uint32_t merge_pc_ = kNoPc;  // where other lanes of the same function wait
  bool alone_ = false;         // no other lane is runnable
  const FunctionCode* function_ = nullptr;
  uint64_t* registers_ = nullptr;
  uint64_t selections_ = 0;
  bool yields_ = false;  // the group waits for others: any lane may go next

  std::array<uint32_t, kWarpSize> pc_{}, depth_{}, member_mask_{}, collective_pc_{};
  std::array<State, kWarpSize> state_{};
  std::array<std::vector<Frame>, kWarpSize> frames_;
  std::array<std::vector<uint8_t>, kWarpSize> local_;
  std::array<LaneCopies, kWarpSize> copies_;
  std::vector<Product> open_products_;
  std::vector<std::vector<Product>> product_groups_;
  std::array<Dim3, kWarpSize> tid_;
  std::vector<std::unique_ptr<uint64_t[]>> levels_;  // registers by call depth: index * 32 + lane
  Memory::Allocation* recent_ = nullptr;             // the last one found
};

class Cta {
 public:
  Cta(LaunchState& launch, Cluster& cluster, uint32_t rank, const Dim3& ctaid);

  // Blocked: all that is left waits for other CTAs of the cluster, or for what never comes.
  enum class Status : uint8_t { Finished, Paused, Blocked, Fault };
  Status run(uint64_t limit);
  bool finished() const;
  // That nobody can go on.
  void deadlock();

  const Dim3& ctaid() const { return ctaid_; }
  uint32_t rank() const { return rank_; }
  Cluster& cluster() { return cluster_; }
  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  std::vector<uint8_t>& shared() { return shared_; }
  std::map<uint64_t, Mbarrier>& mbarriers() { return mbarriers_; }  // by shared address
  uint32_t warp_count() const { return static_cast<uint32_t>(warps_.size()); }

  // A lane arrives; `waits` unless it is bar.arrive. `count` 0 stands for all threads of the CTA.
  void arrive(uint32_t barrier, uint32_t count, uint32_t warp, uint32_t lane, bool waits,
              bool predicate);
  // Opens whatever an arrival or an exit has completed.
  void open_barriers();

 private:
  struct Barrier {
    bool active = false;
    uint32_t count = 0;
    uint32_t arrivals = 0;
    std::vector<uint32_t> arrived, waiting;  // lanes by warp
    uint32_t popc = 0;
    bool all = true, any = false;
  };
  bool complete(const Barrier& barrier) const;

  LaunchState& launch_;
  Cluster& cluster_;
  uint32_t rank_;
  Dim3 ctaid_;
  std::vector<uint8_t> shared_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, 16> barriers_;
  std::map<uint64_t, Mbarrier> mbarriers_;
  size_t next_warp_ = 0;
};

// CTAs that run at once; each is alone in one if the launch says nothing of clusters.
class Cluster {
 public:
  Cluster(LaunchState& launch, uint64_t number);

  Cta::Status run(uint64_t limit);
  Cta* cta(uint32_t rank) { return rank < ctas_.size() ? ctas_[rank].get() : nullptr; }
  uint32_t size() const { return static_cast<uint32_t>(ctas_.size()); }
  // Opens the cluster's barrier if an arrival or an exit has completed it.
  void open_barrier();

 private:
  LaunchState& launch_;
  std::vector<std::unique_ptr<Cta>> ctas_;
};

}  // namespace coequal::replay
