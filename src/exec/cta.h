// Executes one CTA for a whole class of CTAs: threads concrete, the block index concolic.
//
// Warps run one after another to synchronisation points; inside a warp, lanes that went different ways are fragments, and the
// fragment with the lowest position runs first, so that they meet again. Where CTAs of the class would do something else than
// the representative (branch, predicate, bounds, alignment, coincidence of addresses), they leave the class.
// Effects are collected here and become pieces only when execution ends.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "exec/address.h"
#include "exec/byte_memory.h"
#include "exec/data_index.h"
#include "exec/launch.h"
#include "exec/sync.h"
#include "exec/word.h"
#include "tensor/motion.h"

namespace coequal::exec {

// A byte range whose value is one interleaving's, found by an earlier run of the same class.
struct RacedPlace {
  Place place;
  uint32_t object;
  int64_t granule;  // four bytes
  friend auto operator<=>(const RacedPlace&, const RacedPlace&) = default;
};

struct CtaOutcome {
  tensor::ClassPieces pieces;
  std::vector<Defect> defects;
  std::vector<Suspicion> suspicions;
  std::set<std::string> notes;
  std::vector<Refusal> refusals;
  std::set<RacedPlace> raced;
  std::set<TensorId> written_unexpectedly;  // stored to although no argument says so: reads must be kept from the start
  bool aborted = false;       // execution did not reach the end
  bool out_of_budget = false;
  int64_t thread_instructions = 0;
};

class CtaExecutor : private WordJoiner, private term::MotionReconciler {
 public:
  // `ctas`: the CTAs that may share the class, the representative first. `tracked`: tensors whose reads are kept.
  CtaExecutor(Session& session, const ProgramState& state, const Launch& launch, std::vector<tensor::Cta> ctas,
              const std::set<TensorId>& tracked, const std::set<RacedPlace>& raced);
  ~CtaExecutor() override;

  CtaOutcome run();

 private:
  enum class Wait : uint8_t { Run, Barrier, Warp };
  // A branch on data: its lanes run both arms, one after the other, to the branch's post-dominator, where registers are
  // joined by the condition. Whatever an arm does carries the guard.
  struct Fork {
    std::shared_ptr<Fork> parent;
    int depth = 1;
    uint32_t mask = 0;
    uint32_t reconverge = 0;                    // Cfg::kExit: both arms run to the end
    uint32_t other_target = 0;                  // where the second arm starts
    bool second = false;                        // which arm is running
    uint32_t arrived = 0;                       // lanes of this arm that are done
    std::array<Term, kWarpSize> condition;      // of the first arm
    std::array<Term, kWarpSize> guard;          // of the arm that is running, with all outer ones
    std::vector<std::pair<uint32_t, Bank>> saved;  // registers that an arm may write: before the fork, then after arm one
  };
  // Lanes of a warp at one position.
  struct Fragment {
    uint32_t mask = 0;
    uint32_t pc = 0;
    Wait wait = Wait::Run;
    bool forced = false;   // a warp collective that goes on without its missing lanes
    std::shared_ptr<Fork> fork;
  };
  struct Warp {
    uint32_t index = 0;
    uint32_t living = 0;
    std::vector<Fragment> fragments;
    Registers registers;
    Bank condition_code;
  };
  enum class Step : uint8_t { Next, Jumped, Parked, Ended, Aborted };

  struct AsyncCopy {
    uint32_t instruction = 0;
    uint32_t variable = 0;
    int64_t offset = 0;
    std::vector<std::pair<Word, int>> parts;  // value, width in bytes
  };
  struct ThreadState {
    std::vector<ByteMemory> locals;
    std::vector<AsyncCopy> open_copies;                 // not committed
    std::vector<std::vector<AsyncCopy>> copy_groups;    // committed, oldest first
    Word barrier_predicate;
  };
  struct SharedVariable {
    std::string name;
    ByteMemory memory;
    RaceShadow shadow;
    absl::flat_hash_map<int64_t, tensor::Origin> pending_copies;  // per byte
  };
  struct GlobalEntry {
    MotionId motion = 0;
    Word word;
    tensor::Origin origin;
    bool guarded = false;  // every store to it was under a guard on data
    Term guard;            // then: the condition that one of them happens
    bool before_atomics = false;
  };
  struct GlobalTensor {
    bool tracked = false;
    bool declared = false, may_read = false, may_write = false;
    absl::flat_hash_map<int64_t, GlobalEntry> stores;   // by storage cell of the representative
    std::vector<MotionId> store_motions;
    std::vector<tensor::AtomicUpdate> atomics;
    absl::flat_hash_set<int64_t> atomic_cells;
    RaceShadow shadow;
    std::vector<tensor::GlobalRead> reads;
    absl::flat_hash_set<std::tuple<int64_t, MotionId, uint32_t>> read_seen;
  };

  // cta.cpp: scheduling and control
  void run_warp(Warp& warp);
  Step run_fragment(Warp& warp, size_t index);
  Step step(Warp& warp, Fragment& fragment, const isa::Decoded& d);
  Step branch(Warp& warp, Fragment& fragment, uint32_t taken, uint32_t target);
  void leave(Warp& warp, const Fragment& fragment, uint32_t mask);
  size_t body_size() const { return kernel_.decoded.body.size(); }
  // cta_fork.cpp: branches on data
  Step fork(Warp& warp, Fragment& fragment, uint32_t symbolic, uint32_t taken, uint32_t target);
  // Lanes of an arm are done: the other arm starts, or the registers are joined and the lanes go on.
  void arrive(Warp& warp, std::shared_ptr<Fork> fork, uint32_t mask);
  const std::vector<uint32_t>& registers_written(uint32_t branch_pc);
  Word join(uint32_t reg, const Term& condition, const Word& first, const Word& second);
  // The condition on data under which the lane does what it does now; invalid: always.
  Term guard(int lane) const;
  Term conjunction(const Term& a, const Term& b);
  // Reports a defect that holds under the guard (at once if there is none).
  void report_under(const Term& guard, Defect defect, bool race);
  bool branch_on_poison(const Term& condition, int lane, uint32_t thread, uint32_t pc);
  bool release_warp_waits();
  bool release_barrier();
  void complete_barrier(const std::vector<std::pair<Warp*, Fragment*>>& waiting);
  void merge(Warp& warp);
  void finish(CtaOutcome& out);

  // cta_value.cpp: operands, pure instructions, motions
  Word operand(const Warp& warp, int lane, const ptx::Operand& op, int width);
  Word special(const Warp& warp, int lane, const std::string& name);
  std::optional<uint64_t> symbol_address(const ptx::Operand& op);
  void write(Warp& warp, int lane, const ptx::Operand& op, const Word& word);
  void execute_pure(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  void execute_mov(Warp& warp, uint32_t mask, const isa::Decoded& d);
  Word pure_lane(const isa::Decoded& d, const Word* src, const uint64_t* result, size_t which);
  Term term_of(const Word& word, const isa::OperandType& type);
  Word word_of(const Term& term, const isa::OperandType& type);
  Term real_of_bits(uint64_t bits, term::FloatFormat format);
  MotionId result_motion(const isa::Decoded& d, const Word* src, size_t sources, uint64_t rep, size_t which);
  void narrow_predicate(const isa::Decoded& d, const Word* src, size_t sources, uint64_t rep, size_t which);
  bool extends_exactly(uint64_t bits, MotionId motion, int width, bool is_signed) const;
  // The word without motion: CTAs that hold another value leave.
  uint64_t concretize(const Word& word, int width);
  Word refused(const isa::Decoded& d, const std::string& reason);
  Word refused_at(uint32_t pc, const std::string& reason);
  // What a reported defect leaves behind: the cells that depend on it are undecided because of it.
  Word tainted_word(int width);
  Term poison_term(const std::string& what, term::Type type, int64_t cell, PoisonSource source);
  // The refusal that some refused leaf below the term stands for, if there is one.
  const Refusal* refusal_below(const Term& t) const;
  // Lanes of `mask` for which the guard holds; data guards come back in `symbolic`.
  uint32_t guard_mask(Warp& warp, uint32_t mask, const ptx::Operand& guard, uint32_t* symbolic);

  Word extract(const Word& word, int width, int first, int count) override;
  Word concat(const Word& low, int low_width, const Word& high, int high_width) override;
  Word unwritten(int64_t offset, int width) override;

  // cta_memory.cpp
  Step execute_load(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_store(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_atomic(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_copy_async(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  void wait_copies(uint32_t thread, size_t outstanding);
  struct Address {
    Location location;
    MotionId motion = 0;
    Term when;             // an address that depends on data: the condition that it is this one
  };
  // Where an operand points: one place, or under an address that depends on data each place that it can be. Empty after a
  // refusal or a reported defect.
  std::vector<Address> addresses(Warp& warp, int lane, const ptx::Operand& op, ptx::StateSpace space, uint32_t pc);
  std::vector<Address> data_addresses(const Term& base, int64_t offset, ptx::StateSpace space, uint32_t pc);
  std::optional<Location> locate(uint64_t address, ptx::StateSpace space, uint32_t pc);
  int64_t size_of(const Location& at) const;
  bool check(const Address& at, int width, int alignment, bool is_write, uint32_t thread, uint32_t pc);
  ByteMemory& local(uint32_t thread, uint32_t variable);
  Word widened(const Word& word, int from, int to, bool is_signed);
  Word load_at(const Address& at, int width, uint32_t thread, uint32_t pc, const isa::Decoded& d);
  void store_at(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  void atomic_at(const Address& at, int width, tensor::AtomicKind kind, const Word& value, uint32_t warp, int lane, const isa::Decoded& d,
                 uint32_t pc);
  // Bounds and alignment of an access; CTAs that differ leave. False if the representative's is a defect (reported).
  bool check_global(const Address& at, int width, int alignment, bool is_write, uint32_t thread, uint32_t pc);
  bool check_variable(const Address& at, int64_t size, int width, int alignment, bool is_write, uint32_t thread,
                      uint32_t pc);
  Word load_global(const Address& at, int width, uint32_t thread, uint32_t pc, bool non_coherent);
  // The content of a cell; `by` names the load, and is absent where the engine itself looks (a guarded store's old content).
  Word load_cell(TensorId tensor, int64_t cell, MotionId motion, std::optional<tensor::Origin> by);
  Word select_word(const Term& condition, const Word& then, const Word& otherwise, int width);
  void report_at(const Term& under, DefectKind kind, std::string message, coequal::Access at);
  void store_global(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  Word load_shared(const Address& at, int width, uint32_t thread, uint32_t pc);
  void store_shared(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  Word load_param(const Location& at, int width, uint32_t pc);
  MotionId cell_motion(MotionId bytes, int element_size);
  // CTAs for which the moving cell meets another stored cell than the representative's leave.
  void separate(GlobalTensor& tensor, int64_t cell, MotionId motion);
  bool is_raced(Place place, uint32_t object, int64_t offset, int width) const;
  void report_races(Place place, uint32_t object, int64_t offset, int width,
                    const AccessHistory::Conflicts& conflicts, const AccessEvent& now);
  // Checks an access against the history of its place and reports what conflicts.
  void track(RaceShadow& shadow, Place place, uint32_t object, int64_t offset, int width, const AccessEvent& now,
             bool same_value);
  AccessEvent event(uint32_t thread, uint32_t pc, Role role, uint8_t atomic_op = 0) const;

  // cta_warp.cpp: collectives
  Step execute_shuffle(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step execute_vote(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step execute_warp_barrier(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // The member mask of each lane; false if lanes that it names are still to come (the fragment waits).
  bool members_present(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d,
                       const ptx::Operand& member_operand, std::array<uint32_t, kWarpSize>& members);

  // Reports
  SourceSpan span(uint32_t pc) const;
  coequal::Access access(coequal::Access::Kind kind, uint32_t thread, uint32_t pc) const;
  std::string tensor_index(TensorId tensor, int64_t byte_offset) const;
  void report(DefectKind kind, std::string message, std::vector<coequal::Access> accesses);
  Step abort(uint32_t pc, std::string reason);
  void equalize(MotionId a, MotionId b) override { motions_->equalize(a, b); }

  Session& session_;
  term::TermStore& store_;
  const ProgramState& state_;
  const Launch& launch_;
  const Kernel& kernel_;
  const std::set<RacedPlace>& raced_before_;
  std::shared_ptr<tensor::MotionTable> motions_;
  uint32_t threads_ = 0;
  std::vector<Warp> warps_;
  std::vector<ThreadState> thread_states_;
  HappensBefore order_;
  std::vector<SharedVariable> shared_;
  std::vector<const ptx::Variable*> local_variables_;
  std::vector<const ptx::Variable*> const_variables_;
  absl::flat_hash_map<const ptx::Variable*, std::pair<Place, uint32_t>> symbols_;
  std::vector<GlobalTensor> tensors_;
  absl::flat_hash_map<std::string, term::GroupId> poison_groups_;
  absl::flat_hash_map<std::pair<uint64_t, int>, Term> real_constants_;
  std::map<std::pair<DefectKind, std::pair<uint32_t, uint32_t>>, size_t> defect_index_;
  std::string unwritten_name_;
  const Fork* fork_ = nullptr;                    // of the fragment that runs
  uint32_t predicated_ = 0;                       // lanes whose instruction carries a guard on data of its own
  std::array<Term, kWarpSize> predicate_;
  Term when_;                                     // of the address at hand, if it depends on data
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> written_registers_;  // by position of the branch
  std::array<Bank, 8> scratch_;  // special registers and negated predicates as operands
  CtaOutcome out_;
};

}  // namespace coequal::exec
