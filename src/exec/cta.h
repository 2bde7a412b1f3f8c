// Executes one CTA, or one cluster of them, for a whole class: threads concrete, the block index
// concolic.
//
// Warps run one after another to synchronisation points; inside a warp, lanes that went different
// ways are fragments, and the fragment with the lowest position runs first, so that they meet
// again. Where CTAs of the class would do something else than the representative (branch,
// predicate, bounds, alignment, coincidence of addresses), they leave the class. Effects are
// collected here and become pieces only when execution ends.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <map>
#include <set>
#include <string>
#include <vector>

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

// A load of four bytes that races with a store, in an epoch of its CTA and at a clock of its
// thread.
struct RacedLoad {
  static constexpr uint32_t kEveryThread = ~0u;
  Place place;
  uint32_t object;
  int64_t granule;
  uint32_t epoch;
  uint32_t thread;  // kEveryThread: all but `storing`, at any clock
  uint32_t clock;
  uint32_t load;  // its instruction, if of one thread
  uint32_t storing = 0;
  friend auto operator<=>(const RacedLoad&, const RacedLoad&) = default;
};

struct Raced {
  std::set<RacedPlace> places;
  std::map<RacedLoad, Defect> loads;  // with the race that each one is in
};

// Conditions on data that an execution takes as given, and the CTAs of the class as executions
// before it have left them (paths.h).
struct Path {
  std::vector<std::pair<Term, bool>> conditions{};
  std::shared_ptr<tensor::MotionTable> motions{};
};

struct CtaOutcome {
  tensor::ClassPieces pieces;
  Term split{};  // execution has to go on one way and the other from here
  std::vector<Defect> defects;
  std::vector<Suspicion> suspicions;
  std::set<std::string> notes;
  Assumptions assumptions;
  std::vector<Refusal> refusals;
  Raced raced;
  std::vector<coequal::Access> waiting;     // for what other CTAs have not done yet
  std::set<TensorId> written_unexpectedly;  // stored to although no argument says so: reads must be
                                            // kept from the start
  // Whether two stores leave the same bits depends on how their values came about: nothing here
  // counts, the class has to be executed with histories.
  bool wants_histories = false;
  bool aborted = false;  // execution did not reach the end
  bool out_of_budget = false;
  int64_t thread_instructions = 0;
};

// How many CTAs took a number, by counter: those of earlier classes, or all of them once that is
// known.
using TicketCounts = std::map<std::pair<TensorId, int64_t>, int64_t>;

inline constexpr char kFilledByHost[] =
    "what this variable of module scope holds is not known: the host fills it, or it is declared "
    "only ('symbols' names the tensor that it holds)";

class CtaExecutor : private WordJoiner, private term::MotionReconciler {
 public:
  // `ctas`: the CTAs that may share the class, the representative first. `tracked`: tensors whose
  // reads are kept.
  CtaExecutor(Session& session, const ProgramState& state, const Launch& launch,
              std::vector<tensor::Cta> ctas, const std::set<TensorId>& tracked, const Raced& raced,
              const TicketCounts& tickets, const TicketCounts* known, const LastPhase* last,
              const std::vector<Round>& rounds, const Path& path, bool keeps_histories);
  ~CtaExecutor() override;

  CtaOutcome run();

 private:
  enum class Wait : uint8_t { Run, Barrier, Warp, Mbarrier, Flag, Cluster };
  // A branch on data: its lanes run both arms, one after the other, to the branch's post-dominator,
  // where registers are joined by the condition. Whatever an arm does carries the guard.
  struct Fork {
    std::shared_ptr<Fork> parent;
    int depth = 1;
    uint32_t mask = 0;
    uint32_t reconverge = 0;                    // Cfg::kExit: both arms run to the end
    uint32_t other_target = 0;                  // where the second arm starts
    bool second = false;                        // which arm is running
    uint32_t arrived = 0;                       // lanes of this arm that are done
    std::array<uint32_t, 2> ended{};            // by arm: lanes that end the launch there
    std::array<Term, kWarpSize> condition;      // of the first arm
    std::array<uint32_t, kWarpSize> history{};  // of the predicate
    std::array<Term, kWarpSize> guard;          // of the arm that is running, with all outer ones
    std::vector<std::pair<uint32_t, Bank>>
        saved;  // registers that an arm may write: before the fork, then after arm one
  };
  // Lanes of a warp at one position.
  struct Fragment {
    uint32_t mask = 0;
    uint32_t pc = 0;
    Wait wait = Wait::Run;
    bool forced = false;  // a warp collective that goes on without its missing lanes
    // Waiting at a warp collective: lanes that it names and that are not here; those of them that
    // have executed what comes after it, and where first.
    uint32_t absent = 0, passed = 0, passed_at = 0;
    bool arrived = false;  // a barrier has counted it
    std::shared_ptr<Fork> fork;
  };
  // A product of a warpgroup, as far as one of its warps has to do with it: issued, and not known
  // to be complete.
  struct Wgmma {
    const isa::Decoded* text = nullptr;
    uint32_t read = 0;  // of shared memory; an index into async_reads_
    // Its target registers: what they will hold, and what stands there until then.
    std::vector<std::pair<uint32_t, Bank>> results;
    std::vector<std::pair<uint32_t, Bank>> marks;
    // The registers of A as they were.
    std::vector<std::pair<uint32_t, Bank>> factors;
  };
  struct Warp {
    uint32_t index = 0;
    uint32_t living = 0;
    std::vector<Fragment> fragments;
    Registers registers;
    Bank condition_code;
    std::vector<Wgmma> open_products;                // not committed
    std::vector<std::vector<Wgmma>> product_groups;  // committed, oldest first
    absl::flat_hash_map<uint32_t, Bank> fenced;      // registers that products may read, by number
    size_t group_steps = 0;                          // wgmma instructions so far
    uint32_t at_cluster = 0;  // lanes that have arrived at the cluster's barrier in its open phase
    uint32_t to_wait = 0;     // lanes that have arrived there and not waited since
  };
  enum class Step : uint8_t { Next, Jumped, Parked, Ended, Aborted };

  // A point of a thread's execution.
  struct Moment {
    uint32_t thread = 0, epoch = 0, clock = 0;
  };
  struct Address {
    Location location;
    MotionId motion = 0;
    Term when;  // an address that depends on data: the condition that it is this one
  };
  using Addresses = absl::InlinedVector<Address, 1>;
  struct AsyncCopy {
    uint32_t id = 0;
    uint32_t instruction = 0;
    uint32_t variable = 0;
    int64_t offset = 0;
    std::vector<std::pair<Word, int>> parts;  // value, width in bytes
    uint32_t tensor = 0;                      // where it is copied from
    std::vector<int64_t> cells;
  };
  // One element of a bulk copy: where it stands in a shared variable and in global memory.
  struct BulkElement {
    int64_t at = 0;
    Address global;
    bool inside = true;  // else it is outside the tensor: it reads as a constant and is not written
  };
  // Bulk copies from shared memory that a thread committed together.
  struct BulkGroup {
    std::vector<uint32_t> reads;                                   // indices into async_reads_
    std::vector<std::tuple<TensorId, int64_t, uint32_t>> written;  // tensor, cell, copy
  };
  // A phase of an mbarrier. It is over for threads that know all its arrivals, if these are all
  // that it waited for and tell of themselves, and for those that know somebody who has waited for
  // it.
  struct PhaseEnd {
    std::vector<Moment> arrivals, seen;
    bool silent = false;  // known to be over only to those who waited for it
  };
  // A copy that is not known to be complete.
  struct PendingCopy {
    uint32_t copy = 0;
    tensor::Origin origin;
    std::shared_ptr<const PhaseEnd> done;
  };
  struct ThreadState {
    std::vector<ByteMemory> locals;
    std::vector<AsyncCopy> open_copies;               // not committed
    std::vector<std::vector<AsyncCopy>> copy_groups;  // committed, oldest first
    BulkGroup open_bulk;
    std::vector<BulkGroup> bulk_groups;  // committed, oldest first
    Word barrier_predicate;
    // What it releases to those who see a flag that it sets: what came before its last fence. And
    // what it has seen, which its next fence acquires.
    HappensBefore::Clock fenced, seen;
  };
  // One of the CTA's barriers. Its rounds are told apart by time here; that they are so in every
  // schedule is checked at each arrival.
  struct Barrier {
    uint32_t expected = 0;       // threads that this round counts; 0: every living one
    uint32_t arrived = 0;        // a warp counts as 32, whatever its size
    uint32_t warps = 0;          // warps that arrived in this round
    bool counts = false;         // some arrival of this round named a count
    HappensBefore::Clock clock;  // of those that arrived
    std::vector<std::pair<uint32_t, uint32_t>> waiting;  // warp, position of its instruction
    std::vector<uint32_t> seen_warps;
    // The last round: its epoch, and threads that waited, with their clocks when they went on.
    bool used = false;
    uint32_t last_epoch = 0;
    std::vector<std::pair<uint32_t, uint32_t>> departed;
  };
  struct Mbarrier {
    uint64_t serial = 0;  // tells objects apart that were made at one place
    uint32_t expected = 0, pending = 0;
    int64_t bytes = 0;     // that are still to come
    uint64_t phase = 0;    // the open one
    Moment made{};         // when it was initialised
    uint32_t made_by = 0;  // ... by which instruction
    uint32_t rank = 0;     // whose shared memory it is in
    // The open phase and the two before.
    std::shared_ptr<PhaseEnd> open = std::make_shared<PhaseEnd>(),
                              before = std::make_shared<PhaseEnd>(),
                              earlier = std::make_shared<PhaseEnd>();
    // What arrivals release: those of any CTA of the cluster, and those of the object's own.
    struct Released {
      HappensBefore::Clock wide;
      HappensBefore::Clock near;     // empty where there is one CTA
      HappensBefore::Clock reached;  // what has happened by then, though nothing orders memory
    };
    Released released;
    // What belongs to the open phase and is not yet known to come before one of its arrivals, with
    // its instruction.
    struct Loose {
      Moment when;
      uint32_t instruction = 0;
      // Lanes of its warp that met it later, with their moments: it is known to who knows one.
      std::shared_ptr<const std::vector<Moment>> met{};
    };
    std::vector<Loose> loose;
    std::map<uint64_t, Released> done;    // of completed phases
    std::map<uint32_t, uint64_t> waited;  // the last phase that a thread waited for
    // Copies that the open phase stands for: variable and byte, or tensor and cell; and the copy.
    std::vector<std::tuple<uint32_t, int64_t, uint32_t>> copies, sources;
    std::vector<uint32_t> reads;  // of copies' sources in shared memory: indices into async_reads_
  };
  // A read of shared memory by the asynchronous proxy. It is over for threads that know of one of
  // `done`.
  struct AsyncRead {
    tensor::Origin origin;
    uint64_t owner = 0;  // reads of one owner end in their order
    std::vector<Moment> done;
    std::shared_ptr<const PhaseEnd> end{};  // or that it is over is known with this phase
  };
  // Ordinary writes of a thread at one moment, and the proxy fences that came after them.
  struct GenericWrite {
    Moment when;
    std::vector<Moment> fences;
  };
  struct SharedVariable {
    std::string name;
    uint32_t alignment = 1;
    ByteMemory memory;
    RaceShadow shadow;
    absl::flat_hash_map<int64_t, PendingCopy> pending_copies;  // per byte
    std::map<int64_t, Mbarrier> mbarriers;                     // by byte offset
    std::set<int64_t> invalidated{};                           // objects that are no more
    // By 16 bytes: indices into async_reads_.
    absl::flat_hash_map<int64_t, std::vector<uint32_t>> readers{};
    // By 4 bytes: the last ordinary writes, indices into generic_writes_ with their instructions.
    absl::flat_hash_map<int64_t, absl::InlinedVector<std::pair<uint32_t, uint32_t>, 1>> generic{};
  };
  struct GlobalEntry {
    MotionId motion = 0;
    Word word;
    tensor::Origin origin;
    bool guarded = false;  // every store to it was under a guard on data
    Term guard;            // then: the condition that one of them happens
    Word stored{};         // what each store put there, if that is one value
    bool before_atomics = false;
    bool other_writes = false;  // see tensor::CellStore
    Moment when{};
    std::optional<Moment> fence{};  // the first one that is known to come after it
    bool released = false;          // that fence comes before the ticket, or see tensor::CellStore
    bool behind = false;            // the store comes after the ticket
    uint32_t order = 0;             // see tensor::FlagUpdate
  };
  // The cells that accesses of one motion touch.
  struct Touched {
    MotionId motion = 0;
    int64_t low = INT64_MAX, high = INT64_MIN;
    absl::flat_hash_set<int64_t> cells;
  };
  struct GlobalTensor {
    bool tracked = false;
    bool declared = false, may_read = false, may_write = false;
    bool constant = false;                             // a variable of constant memory
    absl::flat_hash_map<int64_t, GlobalEntry> stores;  // by storage cell of the representative
    std::vector<Touched> read_cells, written_cells;    // written: by atomics too
    std::vector<tensor::AtomicUpdate> atomics;
    std::vector<std::pair<Moment, std::optional<Moment>>> atomic_moments;  // with their fences
    absl::flat_hash_map<int64_t, std::vector<uint32_t>>
        atomics_of;                             // by cell: indices into atomics, in their order
    absl::flat_hash_set<uint32_t> overwritten;  // atomics that a later store of the CTA replaced
    absl::flat_hash_map<int64_t, std::vector<PendingCopy>>
        copied_from;  // cells that copies are still to read
    absl::flat_hash_map<int64_t, std::pair<Moment, PendingCopy>>
        copied_to;  // ... or to write, since when
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
  // At what cannot be done in one arm of a branch on data: the outermost condition is to be given.
  Step split(const Warp& warp, int lane, uint32_t pc, const std::string& reason);
  // Takes the guard of the instruction, which depends on data, for the lane's.
  void guard_by_data(const Warp& warp, int lane, const isa::Decoded& d, uint32_t thread);
  void end_lanes(Warp& warp, uint32_t mask);
  Step branch_by_index(Warp& warp, Fragment& fragment, uint32_t active, const isa::Decoded& d);
  // A call's begin: its frame holds nothing of an earlier call. Or a call of what has no body.
  Step execute_call(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  bool memory_spent() const {
    return store_.bytes() >> 20 >= static_cast<size_t>(session_.options.memory_mib);
  }
  size_t body_size() const { return kernel_.decoded.body.size(); }
  // cta_fork.cpp: branches on data
  Step fork(Warp& warp, Fragment& fragment, uint32_t symbolic, uint32_t taken, uint32_t target);
  // Lanes of an arm are done: the other arm starts, or the registers are joined and the lanes go
  // on.
  void arrive(Warp& warp, std::shared_ptr<Fork> fork, uint32_t mask);
  // Lanes come to what ends the whole launch, `what`: a defect of the inputs that lead there, so
  // that what these lanes would do later does not matter.
  Step end_launch(Warp& warp, Fragment& fragment, uint32_t mask, const std::string& what);
  // What happens to a lane there under its guard. False if nothing guards it.
  bool report_end(int lane, uint32_t thread, uint32_t pc, const std::string& what);
  const std::vector<uint32_t>& registers_written(uint32_t branch_pc);
  // `decided_by`: the history of the condition.
  Word join(uint32_t reg, const Term& condition, uint32_t decided_by, const Word& first,
            const Word& second);
  // The condition on data under which the lane does what it does now; invalid: always.
  Term guard(int lane) const;
  Term conjunction(const Term& a, const Term& b);
  // The value where the guard holds: selects whose condition is part of it are decided.
  Term under(const Term& guard, Term value);
  // Reports a defect that holds under the guard (at once if there is none).
  void report_under(const Term& guard, Defect defect, bool race);
  bool branch_on_poison(const Term& condition, int lane, uint32_t thread, uint32_t pc);
  void merge(Warp& warp);
  void finish(CtaOutcome& out);

  // cta_barrier.cpp: barriers of the CTA or of part of it
  Step reach_barrier(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // Called when no warp can run: counts arrivals and opens barriers. False if nothing can go on
  // (reported if that is the last resort).
  bool release_barrier(bool last_resort = true);
  enum class Arrival : uint8_t { Counted, Missing, Failed };
  Arrival arrive_at_barrier(Warp& warp);
  bool open_barriers();
  void complete_barrier(Barrier& barrier);
  void report_deadlock();
  // Id and thread count (0: the whole CTA) that the lanes of the fragment name; nothing after an
  // abort.
  std::optional<std::pair<uint32_t, uint32_t>> barrier_operands(const Warp& warp,
                                                                const Fragment& fragment);
  // cta_value.cpp: operands, pure instructions, motions
  Word operand(const Warp& warp, int lane, const ptx::Operand& op, int width);
  Word special(const Warp& warp, int lane, const std::string& name);
  std::optional<Word> symbol_address(const ptx::Operand& op);
  void write(Warp& warp, int lane, const ptx::Operand& op, const Word& word);
  void execute_pure(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  void execute_mov(Warp& warp, uint32_t mask, const isa::Decoded& d);
  Word pure_lane(const isa::Decoded& d, const Word* src, const uint64_t* result, size_t which);
  Term term_of(const Word& word, const isa::OperandType& type);
  Word word_of(const Term& term, const isa::OperandType& type);
  Term real_of_bits(uint64_t bits, term::FloatFormat format);
  MotionId result_motion(const isa::Decoded& d, const Word* src, size_t sources, uint64_t rep,
                         size_t which);
  void narrow_predicate(const isa::Decoded& d, const Word* src, size_t sources, uint64_t rep,
                        size_t which);
  bool extends_exactly(uint64_t bits, MotionId motion, int width, bool is_signed) const;
  // cta_address.cpp: words that hold addresses
  // The object that result `which` of known operands holds an address of; nothing if it depends on
  // where objects lie and holds no address.
  std::optional<Provenance> object_of_result(const isa::Decoded& d, const Word* src, size_t sources,
                                             size_t which);
  // Whether result `which` is the same wherever the operands' object lies, as far as its alignment
  // allows: a low bit, say. Tried at one place per address bit and at others.
  // `along`: whether it is at the same distance from the object, as after rounding an address up.
  bool same_wherever(const isa::Decoded& d, const Word* src, size_t sources, size_t which,
                     bool along, uint32_t alignment) const;
  uint32_t alignment_of(Provenance object) const;
  // Of a word of which these are the halves.
  Provenance joined_halves(const Word& low, const Word& high);
  // An address in a term: a leaf that is refused as a value.
  Term address_leaf(const Word& word, int width);
  // The term with such leaves replaced by the engine's numbers, to be located.
  Term with_addresses_known(const Term& t);
  // A word as other threads see it: the address of a thread's local variable is nothing to them.
  Word leaving_thread(const Word& word, uint32_t pc);
  // A result of the type that is undecided because of the refusal that `why` stands for.
  Word undefined_by(const Word& refused, const isa::OperandType& type);
  // The word without motion: CTAs that hold another value leave.
  uint64_t concretize(const Word& word, int width);
  Word refused(const isa::Decoded& d, const std::string& reason);
  Word refused_at(uint32_t pc, const std::string& reason);
  // What a reported defect leaves behind: the cells that depend on it are undecided because of it.
  Word tainted_word(int width);
  Term poison_term(const std::string& what, term::Type type, int64_t cell, PoisonSource source);
  // A register that nothing was written to, as the instruction at hand reads it.
  Term unset_term(term::Type type);
  // Keeps where something that nothing was written to is read first, if the value is that.
  void note_read(const Term& value, uint32_t thread, uint32_t pc, const std::string& where,
                 const std::string& index);
  // The refusal that some refused leaf below the term stands for, if there is one.
  const Refusal* refusal_below(const Term& t) const;
  // Lanes of `mask` for which the guard holds; data guards come back in `symbolic`.
  uint32_t guard_mask(Warp& warp, uint32_t mask, const ptx::Operand& guard, uint32_t* symbolic);

  // cta_history.cpp: how values came about, where `histories_` are kept
  bool same_machine_word(const Word& a, const Word& b) const {
    return same_word(a, b) && (!histories_ || a.history == b.history);
  }
  uint32_t history_of(const Word& word);
  // Of an operation that `what` names, which has no text of its own.
  uint32_t history_by(const char* what, uint64_t payload, uint32_t a, uint32_t b = 0,
                      bool exact = true);
  uint32_t history_of_all(const char* what, std::span<const Word> words);
  // Of the operands of a pure instruction, a row per source, before it is executed.
  using OperandHistories = std::vector<std::array<uint32_t, kWarpSize>>;
  OperandHistories operand_histories(const Warp& warp, uint32_t mask, const isa::Decoded& d);
  // Gives its results theirs.
  void set_histories(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc,
                     const OperandHistories& operands);
  // A word of memory with a history of its own, if it has none.
  Word remembered(const Word& word);
  // Whether two words with equal terms are the same bits; nothing if that has to be found out with
  // histories.
  std::optional<Agreement> same_bits_of_equal(const Word& a, const Word& b);
  bool is_integral(const Term& value);
  Agreement agreement(const AccessEvent& a, const AccessEvent& b);

  Word extract(const Word& word, int width, int first, int count) override;
  Word concat(const Word& low, int low_width, const Word& high, int high_width) override;
  Word unwritten(int64_t offset, int width) override;

  // cta_memory.cpp, cta_global.cpp (contents of cells), cta_atomic.cpp, cta_async.cpp
  // How the elements of a tensor are read.
  static isa::OperandType element_type(DType dtype);
  Step execute_load(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  // cta_alike.cpp: the load if the lanes' addresses are alike, nothing asked of one lane alone, and
  // nothing wrong with it; otherwise false, and nothing is done.
  bool load_alike(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_store(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_atomic(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_copy_async(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  void wait_copies(uint32_t thread, size_t outstanding);
  // Where an operand points: one place, or under an address that depends on data each place that it
  // can be. Empty after a refusal or a reported defect.
  Addresses addresses(Warp& warp, int lane, const ptx::Operand& op, ptx::StateSpace space,
                      uint32_t pc, bool is_write);
  Addresses data_addresses(const Term& base, int64_t offset, ptx::StateSpace space, uint32_t thread,
                           uint32_t pc, bool is_write);
  // An access to no tensor or variable at all.
  void report_wild(uint64_t address, ptx::StateSpace space, uint32_t thread, uint32_t pc,
                   bool is_write);
  std::optional<Location> locate(uint64_t address, ptx::StateSpace space) const;
  // Whether an address of the space can point into the tensor.
  bool is_of(TensorId tensor, ptx::StateSpace space) const {
    const ptx::StateSpace own =
        tensors_[tensor].constant ? ptx::StateSpace::Const : ptx::StateSpace::Global;
    return space == own || space == ptx::StateSpace::Generic;
  }
  int64_t size_of(const Location& at) const;
  bool check(const Address& at, int width, int alignment, bool is_write, uint32_t thread,
             uint32_t pc);
  ByteMemory& local(uint32_t thread, uint32_t variable);
  Word widened(const Word& word, int from, int to, bool is_signed);
  Word load_at(const Address& at, int width, uint32_t thread, uint32_t pc, const isa::Decoded& d);
  void store_at(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  // The kind of update that an operation is; nothing if such operations do not commute.
  static std::optional<tensor::AtomicKind> gathered_kind(isa::AtomOp op, ptx::ScalarType type);
  void atomic_at(const Address& at, ptx::ScalarType scalar, tensor::AtomicKind kind,
                 const Word& value, uint32_t warp, int lane, const isa::Decoded& d, uint32_t pc);
  // cta_mbarrier.cpp
  Step execute_mbarrier(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step wait_at_mbarrier(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // Whether the wait stands in a loop that does nothing else and is left by its answer alone.
  bool only_waits(uint32_t pc);
  // `rank`: whose object at that place; kNoRank: the one that the operand says.
  static constexpr uint32_t kNoRank = ~0u;
  Mbarrier* mbarrier(Warp& warp, int lane, const ptx::Operand& op, ptx::StateSpace space,
                     uint32_t pc, uint32_t rank = kNoRank);
  bool arrive_at_mbarrier(Mbarrier& b, uint32_t thread, uint32_t count, uint32_t pc);
  // Whether the operation's order reaches other CTAs of the cluster.
  bool reaches_cluster(uint32_t pc);
  bool is_over(const PhaseEnd& phase, uint32_t thread) const;
  // Whether the thread knows that it has happened: whoever has waited for bytes knows that their
  // copy was issued, although that releases nothing.
  bool has_reached(const Moment& m, uint32_t thread) const;
  bool has_passed(const PhaseEnd& phase, uint32_t thread) const;
  // Lanes execute something that none of them goes beyond before all have come: what they did
  // before has happened by then, although nothing orders memory.
  void note_meeting(const Warp& warp, uint32_t lanes);
  void complete_phase(Mbarrier& b);
  // Whether what the thread does to the object comes behind its initialisation; reported if not.
  bool knows_object(const Mbarrier& b, const Location& at, uint32_t thread, uint32_t pc);
  // Whether the thread knows that the phases before the open one are over; refused if not.
  bool knows_phase(const Mbarrier& b, uint32_t thread, uint32_t pc);
  // What an arrival returns: it names the open phase.
  Word mbarrier_state(const Mbarrier& b);
  // UINT64_MAX: one that is complete and orders nothing new.
  std::optional<uint64_t> awaited_phase(Warp& warp, int lane, const Mbarrier& b,
                                        const isa::Decoded& d, uint32_t pc);
  // A copy's bytes are there once the phase is complete.
  void land(const AsyncCopy& copy, Mbarrier& b);
  bool release_mbarrier_waits();
  // cta_bulk.cpp: copies of blocks and of boxes of a tensor
  Step execute_bulk_copy(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step execute_bulk_group(const Warp& warp, uint32_t mask, const isa::Decoded& d);
  // What is copied, in the order of shared memory, and from where on; nothing after a refusal or a
  // reported defect.
  std::optional<std::pair<Location, std::vector<BulkElement>>> bulk_elements(Warp& warp, int lane,
                                                                             const isa::Decoded& d,
                                                                             uint32_t pc,
                                                                             const TensorMap** map);
  bool block_elements(const Address& global, int64_t size, bool is_write, uint32_t thread,
                      uint32_t pc, const Location& shared, std::vector<BulkElement>& out);
  bool box_elements(const Warp& warp, int lane, const TensorMap& map, const ptx::Operand& where,
                    uint32_t pc, const Location& shared, std::vector<BulkElement>& out);
  bool pixel_elements(const Warp& warp, int lane, const TensorMap& map, const ptx::Operand& where,
                      const ptx::Operand& offsets, uint32_t pc, const Location& shared,
                      std::vector<BulkElement>& out);
  // Whether rows of so many bytes can be put there as the map swizzles them; refused if not.
  bool suits_swizzle(const TensorMap& map, int64_t row, uint32_t variable, uint32_t pc);
  void bulk_load(Warp& warp, int lane, const isa::Decoded& d, uint32_t pc, Mbarrier& b,
                 const Location& to, const std::vector<BulkElement>& elements,
                 const TensorMap* map);
  void bulk_store(Warp& warp, int lane, const isa::Decoded& d, uint32_t pc, const Location& from,
                  const std::vector<BulkElement>& elements);
  const TensorMap* tensor_map(Warp& warp, int lane, const ptx::Operand& op, uint32_t pc);
  // Reports an access to a cell of global memory that a bulk copy is still to write.
  void touches_unfinished(TensorId tensor, int64_t cell, bool is_write, uint32_t thread,
                          uint32_t pc);
  // The CTAs that a multicast copy goes to; nothing after a refusal.
  std::optional<std::vector<uint32_t>> copy_targets(Warp& warp, int lane, const isa::Decoded& d,
                                                    uint32_t pc);
  Step execute_store_async(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  // A copy of known words into shared memory, whose bytes count at the mbarrier.
  void land_bulk(AsyncCopy copy, Mbarrier& b, uint32_t thread, uint32_t pc);

  // cta_cluster.cpp: the CTAs of a cluster
  uint32_t rank_of(uint32_t thread) const { return thread / rank_stride_; }
  uint32_t shared_count() const { return static_cast<uint32_t>(shared_.size()) / ranks_; }
  tensor::Cta cta_of(uint32_t thread) const;
  // From the variable that an address names to the one that the thread reaches; false after a
  // report.
  bool settle(Location& at, ptx::StateSpace space, uint32_t thread, uint32_t pc, bool is_write);
  // The same place of another CTA's shared memory.
  Location in_rank(Location at, uint32_t rank) const;
  // An access of a thread to the shared memory of another CTA, which must have started.
  bool note_remote(uint32_t rank, uint32_t thread, uint32_t pc);
  void check_remote();
  Word cluster_register(const Warp& warp, int lane, const std::string& name);
  Step execute_mapa(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step reach_cluster_barrier(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // If all living threads have arrived, those that wait go on.
  void open_cluster_barrier();
  // cta_ticket.cpp: the last CTA of those that share a counter
  struct Ticket {
    tensor::Ticket place;
    Moment when;
    uint32_t instruction = 0;
    uint64_t start = 0, step = 0;
    int width = 0;
    bool wraps = false;  // the last one sets the counter to zero
    bool slot = false;   // stands for the block index, which the kernel does not read
    std::optional<uint32_t>
        effect_behind;  // a store of a CTA that is not the last, after its ticket
    Term number;        // stands for all numbers but the last; invalid: it is known
  };
  Moment moment(uint32_t thread) const;
  bool is_before(const Moment& m, uint32_t thread) const;
  bool behind_ticket(uint32_t thread) const;
  // Whether a fence behind the ticket comes before what the thread does now.
  bool has_acquired(uint32_t thread) const;
  // A store to global memory.
  void note_effect(uint32_t thread, uint32_t pc);
  // Reports what keeps the ticket from meaning what it is taken to mean.
  void check_ticket();
  bool reads_ctaid() const;
  void execute_fence(const Warp& warp, uint32_t mask, const isa::Decoded& d);
  std::optional<Word> take_ticket(const Address& at, uint64_t step, uint32_t thread,
                                  const isa::Decoded& d, uint32_t pc);
  // A predicate that is the same for all numbers but the last becomes known.
  void decide_by_ticket(Warp& warp, uint32_t mask, const isa::Decoded& d);
  // Whether what the first execution wrote to the cell is ordered before the read; else reported.
  bool reads_released(TensorId tensor, int64_t cell, MotionId motion, bool weak, uint32_t thread,
                      uint32_t pc);
  // cta_wait.cpp: loops that wait until another thread has stored something
  struct WaitLoop {
    std::set<uint32_t> blocks, written;  // written: registers
  };
  // An update by this CTA of a cell that some thread may wait for.
  struct OwnUpdate {
    tensor::FlagUpdate::Kind kind;
    Term value;
    Word before, after;  // what the cell held
    Moment when;
    HappensBefore::Clock clock;  // what it releases inside the CTA
    uint32_t round = 0;
  };
  // A wait that is over.
  struct Pass {
    tensor::FlagPass what;
    Location at;
    Moment when;
    std::optional<Moment> acquired;
    int64_t through = -1;  // all that other CTAs did up to this round comes before it
  };
  // An access to global memory, and the first fence that is known to come after it.
  struct Effect {
    uint32_t order;
    Moment when;
    std::optional<Moment> fence;
  };
  // The old value of an addition: which of several depends on the schedule.
  struct OldNumber {
    Location at;
    MotionId motion = 0;
    int width = 0;
    uint64_t step = 0;
    uint32_t round = 0;
    size_t own = 0;                     // which update of the CTA it is
    std::pair<int64_t, uint32_t> base;  // round and order of the last update known before
  };
  // What somebody did to a cell that is waited for.
  struct Seen {
    tensor::FlagUpdate::Kind kind;
    Term value;
    uint32_t cta = 0, round = 0, order = 0, thread = 0;
    bool scope_cta = false;
    const OwnUpdate* mine = nullptr;  // of this CTA
  };
  bool find_waits();
  const WaitLoop* wait_loop(uint32_t pc);
  Step wait_for_flag(Warp& warp, Fragment& fragment, uint32_t mask);
  bool waits_for_flag() const;
  // If something that waits look at has changed: lanes whose wait is over go on.
  bool release_flag_waits();
  // Goes on to the next round, if there is one.
  bool next_round();
  // Where the lane goes on, if its wait is over; else nothing, which after a refusal does not
  // matter.
  std::optional<uint32_t> try_pass(Warp& warp, int lane, uint32_t pc);
  // One turn of the loop for one lane whose load gave `value`: where it is left, `pc` if it is not;
  // nothing if that is not known. `keep`: the registers that it wrote.
  std::optional<uint32_t> turn(Warp& warp, int lane, uint32_t pc, const Word& value, bool keep);
  std::optional<bool> truth(const Warp& warp, int lane, const ptx::Operand& guard);
  // By other CTAs than the class's with that ordinal, in rounds from .. to - 1.
  std::vector<Seen> seen_updates(const Location& at, MotionId motion, size_t ordinal, uint32_t from,
                                 uint32_t to) const;
  // Whether the thread knows of it: it finds the cell as the update left it, or as a later one did.
  bool is_base(const Seen& s, const Location& at, uint32_t thread) const;
  // What may come after a wait of the round at hand.
  std::vector<Seen> later_updates(const Location& at, MotionId motion) const;
  // What an addition may have returned; nothing while that is not known.
  std::optional<std::vector<uint64_t>> old_values(const OldNumber& number);
  // All sums of some of the numbers, but for that of all if `partial`; nothing if they are too
  // many.
  static std::optional<std::vector<uint64_t>> sums(const std::vector<uint64_t>& numbers,
                                                   bool partial);
  int64_t known_through(const tensor::FlagPass& pass) const;
  void acquire(Pass& pass, uint32_t thread);
  // False after a report: a flag that another CTA set by a weak store.
  bool waits_for_strong(const Location& at, MotionId motion, uint32_t thread, uint32_t pc);
  void report_scope(const Location& at, MotionId motion, const Seen& s, uint32_t thread,
                    uint32_t pc);
  void note_update(const Location& at, MotionId motion, tensor::FlagUpdate::Kind kind,
                   const Word& before, const Word& value, const Word& after, int width,
                   uint32_t thread, const isa::Decoded& d, uint32_t pc);
  void note_weak_store(const Location& at, uint32_t thread, uint32_t pc);
  // What a cell of global or shared memory holds.
  Word content_at(const Address& at, int width);
  // Numbers an access to global memory.
  uint32_t note_access(uint32_t thread);
  void fence_flags(uint32_t thread, bool between_ctas);
  const ProgramState& contents_in(uint32_t round) const {
    return round ? rounds_[round - 1].after : state_;
  }
  // Whether what other CTAs did to the cell in earlier rounds comes before an access; else
  // reported.
  bool ordered_with_rounds(TensorId tensor, int64_t cell, MotionId motion, bool writes,
                           uint32_t thread, uint32_t pc);
  // Whether who has waited for the cell up to that update knows an access of a CTA.
  bool knows(const Round::Cell& cell, uint32_t round, uint32_t last, uint32_t cta, uint32_t at,
             uint32_t order, std::set<std::tuple<Round::Cell, uint32_t, uint32_t>>& asked) const;
  // The old value of the addition that the thread has just made.
  Word old_number(const Address& at, const Word& step, int width, uint32_t thread, uint32_t pc);
  Step execute_exchange(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);

  // cta_cas.cpp: loops around a compare-and-swap
  struct CasLoop {
    std::set<uint32_t> loads;  // that give the value which the first turn expects
    std::set<uint32_t> exits;  // branches that leave the loop before the swap
    std::set<uint32_t> tests;  // comparisons of what the swap returned with what it expected
    std::optional<term::FloatFormat> format;  // as what a turn computes with the value
  };
  // What a thread's last such load gave.
  struct OpaqueOld {
    Location at;
    MotionId motion = 0;
    Word word;
  };
  void find_cas_loops();
  std::optional<CasLoop> cas_loop(uint32_t cas) const;
  // The blocks of the innermost loop around one; none if it stands in no loop.
  std::set<uint32_t> innermost_loop(uint32_t block) const;
  const CasLoop* cas_load(uint32_t pc) const;
  const CasLoop* cas_test(uint32_t pc) const;
  // A branch on an old value that leaves such a loop before its swap.
  bool is_cas_exit(const Term& condition, uint32_t pc) const;
  bool mentions_opaque(const Term& t) const;
  Word opaque_old(const CasLoop& loop, const Address& at, int width, uint32_t thread, uint32_t pc);
  // The operation and operand that make `result` out of `old`.
  std::optional<std::pair<tensor::AtomicKind, Term>> update_of(const Term& result, const Term& old);
  void split_opaque(const Term& g, Term& on_old, Term& rest);
  Step execute_cas(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc);
  Step swap_at(const Address& at, int width, const Word& expected, const Word& stored,
               const Term& early, uint32_t warp, int lane, const isa::Decoded& d, uint32_t pc,
               const std::string& unknown);
  // Bounds and alignment of an access; CTAs that differ leave. False if the representative's is a
  // defect (reported).
  bool check_global(const Address& at, int width, int alignment, bool is_write, uint32_t thread,
                    uint32_t pc);
  bool check_variable(const Address& at, int64_t size, int width, int alignment, bool is_write,
                      uint32_t thread, uint32_t pc);
  // `weak`: without order of its own.
  // `copies`: for a bulk copy, whose end the caller keeps.
  Word load_global(const Address& at, int width, uint32_t thread, uint32_t pc, bool non_coherent,
                   bool weak, bool copies = false);
  // The content of a cell; `by` names the load, and is absent where the engine itself looks (a
  // guarded store's old content).
  Word load_cell(TensorId tensor, int64_t cell, MotionId motion, std::optional<tensor::Origin> by);
  // What a load finds between the elements of a strided tensor: a defect if it matters.
  Word between_elements(TensorId tensor, int64_t cell, MotionId motion, const tensor::Origin& by);
  Word older_content(TensorId tensor, int64_t cell, MotionId motion);
  Word select_word(const Term& condition, const Word& then, const Word& otherwise, int width);
  bool is_complete(const PendingCopy& copy, uint32_t thread) const;
  // Reports a read of what an asynchronous copy is still to write.
  bool reads_copied(const SharedVariable& variable, int64_t offset, int width, uint32_t thread,
                    uint32_t pc);
  // Reports a write to what an asynchronous copy is still to write, or an asynchronous operation to
  // read.
  void overwrites_copy(const SharedVariable& variable, int64_t offset, int width, uint32_t thread,
                       uint32_t pc);
  // Reports a write to what an asynchronous copy is still to read; the copy is worth nothing then.
  void overwrites_source(TensorId tensor, int64_t cell, uint32_t thread, uint32_t pc);
  void report_at(const Term& under, DefectKind kind, std::string message, coequal::Access at);
  void store_global(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  Word load_variable(const Location& at, const ByteMemory& memory, int width,
                     std::optional<tensor::Origin> by = std::nullopt);
  Word load_shared(const Address& at, int width, uint32_t thread, uint32_t pc);
  void store_shared(const Address& at, int width, const Word& word, uint32_t thread, uint32_t pc);
  Word load_param(const Location& at, int width, uint32_t pc);
  MotionId cell_motion(MotionId bytes, int element_size);
  // CTAs for which the moving cell meets another of the cells than the representative's does leave:
  // what coincides, and so what an access sees and what it conflicts with, is the same for all that
  // stay.
  void separate(const std::vector<Touched>& cells, int64_t cell, MotionId motion);
  static void touch(std::vector<Touched>& cells, int64_t cell, MotionId motion);
  // A value with the updates that atomics of this CTA made to the cell so far.
  Word with_atomics(const GlobalTensor& tensor, DType dtype, int64_t cell, const Word& value);
  Word old_value(uint32_t pc);
  std::optional<tensor::AtomicKind> float_order(tensor::AtomicKind kind, const Term& value,
                                                const Term& guard);
  Term combined(tensor::AtomicKind kind, bool floats, const Term& a, const Term& b);
  bool is_raced(Place place, uint32_t object, int64_t offset, int width) const;
  void report_races(Place place, uint32_t object, int64_t offset, int width,
                    const AccessHistory::Finding& found, const AccessEvent& now);
  // An access that nothing guards, of a place that no other thread has accessed.
  bool track_own(RaceShadow& shadow, int64_t offset, int width, uint32_t thread, uint32_t pc,
                 Role role, const Word* value) {
    return !fork_ && !predicated_ && !when_.valid() &&
           shadow.own(thread, pc, role, offset, width, value, order_);
  }
  // Checks an access against the history of its place and reports what conflicts.
  void track(RaceShadow& shadow, Place place, uint32_t object, int64_t offset, int width,
             const AccessEvent& now);
  // The defect that a load is in the middle of, as an earlier run of the class found: what it
  // returns is nobody's, and a defect if it matters.
  std::optional<Word> raced_load(Place place, uint32_t object, int64_t offset, int width,
                                 uint32_t thread, uint32_t pc);
  void note_raced_loads(Place place, uint32_t object, int64_t offset, int width,
                        const AccessHistory::Finding& found, const AccessEvent& now);
  Defect race_between(Place place, uint32_t object, int64_t offset, int width,
                      const AccessEvent& earlier, const AccessEvent& now) const;
  AccessEvent event(uint32_t thread, uint32_t pc, Role role, uint16_t atomic_op = 0) const;
  // Of an atomic, as operations of which kinds and scopes commute.
  uint16_t atomic_class(tensor::AtomicKind kind, uint32_t thread, const isa::Decoded& d) const;
  AccessEvent read_event(uint32_t thread, uint32_t pc, int64_t offset, int width) const;
  // `width` 0: a store of no thread's own, such as a copy's.
  AccessEvent write_event(uint32_t thread, uint32_t pc, int64_t offset, const Word& value,
                          int width = 0) const;

  // cta_proxy.cpp: accesses of the asynchronous proxy to shared memory
  void note_generic_write(SharedVariable& variable, int64_t offset, int width, uint32_t thread,
                          uint32_t pc);
  void fence_proxy(uint32_t thread);
  // Reports ordinary writes to the bytes that no proxy fence orders before what the thread does
  // now.
  bool crosses_proxy(const SharedVariable& variable, int64_t offset, int width, uint32_t thread,
                     uint32_t pc);
  // A write by the asynchronous proxy, from now on.
  void async_write(SharedVariable& variable, int64_t offset, int width);
  uint32_t new_async_read(uint32_t thread, uint32_t pc, uint64_t owner);
  // Bytes that the asynchronous proxy reads for the lanes of a warp; false if what it finds there
  // is nobody's (reported).
  bool async_read(const Location& at, int width, uint32_t warp, uint32_t lanes, uint32_t pc,
                  uint32_t read);
  // Reports a write to what the asynchronous proxy may still read.
  void overwrites_async_read(const SharedVariable& variable, int64_t offset, int width,
                             uint32_t thread, uint32_t pc);

  // cta_wgmma.cpp: products of warpgroups
  Step execute_wgmma(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step multiply_wgmma(Warp& warp, const isa::Decoded& d, uint32_t pc);
  // A matrix in shared memory, of which a warp reads rows of 16 bytes: `outer` by `inner` elements
  // of `type`, inner ones along k. Empty after a refusal.
  std::vector<Term> described_matrix(Warp& warp, const ptx::Operand& descriptor,
                                     ptx::ScalarType type, int first, int outer, int inner,
                                     bool transposed, uint32_t read, uint32_t pc);
  // Whether the variable starts at a multiple of the bytes: assumed of the dynamic part, else
  // refused.
  bool aligned_by_launch(uint32_t variable, uint32_t bytes, uint32_t pc);
  void finish_product(Warp& warp, const Wgmma& product);
  // Whether all warps of each warpgroup have executed the same instructions of warpgroups.
  void check_warpgroups();
  Word undefined_product(const std::string& what, const std::string& message, uint32_t thread,
                         uint32_t pc);

  // cta_warp.cpp: collectives
  // Lanes that execute a collective together, each at its own position.
  struct Meeting {
    uint32_t mask = 0;
    std::array<const isa::Decoded*, kWarpSize> text{};
    std::array<uint32_t, kWarpSize> members{};
    const isa::Decoded& at(int lane) const { return *text[static_cast<size_t>(lane)]; }
    // The lanes that the lane exchanges values with, itself among them: present, named by it, with
    // the same mask.
    uint32_t partners(int lane) const {
      uint32_t found = 0;
      for (int other = 0; other < kWarpSize; ++other)
        if (mask >> other & members[static_cast<size_t>(lane)] >> other & 1 &&
            members[static_cast<size_t>(other)] == members[static_cast<size_t>(lane)])
          found |= 1u << other;
      return found;
    }
  };
  static bool is_collective(isa::Op op);
  static const ptx::Operand& member_operand(const isa::Decoded& d);
  uint32_t pc_of(const isa::Decoded& d) const {
    return static_cast<uint32_t>(&d - kernel_.decoded.body.data());
  }
  // Lanes come to a collective; they wait while living lanes that they name are still to come.
  Step reach_collective(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // Reads the member masks; the named living lanes that are not in the meeting come back.
  uint32_t name_members(const Warp& warp, Meeting& meeting);
  // When nothing else can run: lets collectives meet across positions, or go on without lanes that
  // do not come.
  bool release_warp_waits();
  Step meet(Warp& warp, const Meeting& meeting);
  // Lanes that a waiting collective names and that go on behind it do not take part, even if they
  // exit before it could notice: whether they have is a matter of the schedule.
  void note_passing(Warp& warp, const Fragment& fragment);
  void report_passed(const Warp& warp, uint32_t leaving);
  bool comes_after(uint32_t pc, uint32_t collective);
  Step execute_shuffle(Warp& warp, const Meeting& meeting);
  Step execute_vote(Warp& warp, const Meeting& meeting);
  Step execute_match(Warp& warp, const Meeting& meeting);
  Step execute_redux(Warp& warp, const Meeting& meeting);
  Step execute_elect(Warp& warp, const Meeting& meeting);
  Step execute_warp_barrier(Warp& warp, const Meeting& meeting);
  Term same_bits(const Word& a, const Word& b, int width);

  // cta_matrix.cpp
  // Whether all 32 lanes are here; if not, `step` is what follows.
  bool whole_warp(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d, Step* step);
  Step execute_mma(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step execute_matrix_move(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  Step execute_wmma(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d);
  // Element `index` of those that a register holds, and a register that holds some.
  Term element(const Warp& warp, int lane, const ptx::Operand& reg, ptx::ScalarType type,
               int index);
  Word packed(const std::vector<Term>& elements, ptx::ScalarType type);
  // Row-major matrices of m x k, k x n and m x n: a * b + c.
  std::vector<Term> multiply(const isa::Decoded& d, int m, int n, int k, const std::vector<Term>& a,
                             const std::vector<Term>& b, std::vector<Term> c, bool integers,
                             bool signed_a, bool signed_b);

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
  const Raced& raced_before_;
  const TicketCounts& tickets_;
  const TicketCounts* known_tickets_;
  const LastPhase* last_;
  std::shared_ptr<tensor::MotionTable> motions_;
  // CTAs of the cluster, and numbers of threads from one to the next: those beyond a CTA's own are
  // nobody's.
  uint32_t ranks_ = 1, rank_stride_ = 0;
  uint32_t threads_ = 0;  // numbers of threads
  std::vector<Warp> warps_;
  std::vector<ThreadState> thread_states_;
  HappensBefore order_;
  std::shared_ptr<tensor::Histories> histories_;  // none: not kept
  // By position: what an instruction does, as a number, and whether it rounds nothing.
  absl::flat_hash_map<uint32_t, std::pair<uint64_t, bool>> operations_;
  absl::flat_hash_map<term::ShapeId, bool> integers_;
  bool lockstep_;                           // assumed of the lanes of a warp
  std::map<uint32_t, Barrier> barriers_;    // by id and rank
  std::vector<SharedVariable> shared_;      // those of rank 0, of rank 1, ...
  std::optional<uint32_t> dynamic_shared_;  // the dynamic part of them
  std::vector<const ptx::Variable*> local_variables_;
  std::vector<const ptx::Variable*> const_variables_;
  absl::flat_hash_map<const ptx::Variable*, std::pair<Place, uint32_t>> symbols_;
  std::vector<GlobalTensor> tensors_;
  absl::flat_hash_map<std::string, term::GroupId> poison_groups_;
  absl::flat_hash_set<uint32_t> approximations_;  // instructions that are in the ledger
  absl::flat_hash_map<term::GroupId, Provenance> address_groups_;
  absl::flat_hash_map<std::pair<uint64_t, int>, Term> real_constants_;
  // The variable whose bytes are read, and the load at hand; none where the engine itself looks.
  Place reads_place_ = Place::Nowhere;
  uint32_t reads_object_ = 0;
  std::optional<tensor::Origin> reads_by_;
  uint32_t pc_ = 0, thread_ = 0;  // of the instruction at hand, and whose operands were read last
  uint32_t ticks_ = 0;            // instructions since the start: the budget is asked now and then
  const Fork* fork_ = nullptr;    // of the fragment that runs
  uint32_t predicated_ = 0;       // lanes whose instruction carries a guard on data of its own
  std::array<Term, kWarpSize> predicate_;
  Term when_;  // of the address at hand, if it depends on data
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>>
      written_registers_;  // by position of the branch
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, bool>
      after_;  // by collective and block: whether the one is reached from the other
  // Scratch of execute_pure: special registers and negated predicates as operands, and one lane's
  // operands and results.
  std::array<Bank, 8> scratch_;
  std::array<Word, 8> words_;
  std::array<Term, 8> terms_;
  std::array<Term, 4> made_;
  bool takes_tickets_ = false;  // some atomic's old value is kept
  std::optional<Ticket> ticket_;
  absl::flat_hash_map<Term, std::optional<bool>> ticket_answers_;
  std::vector<Moment> acquired_;  // fences behind the ticket
  const ProgramState* contents_;  // what the access at hand reads below this CTA's own stores
  std::map<uint32_t, CasLoop> cas_loops_;            // by position of the swap
  absl::flat_hash_map<uint32_t, OpaqueOld> opaque_;  // by thread
  std::set<term::GroupId> opaque_groups_;
  int64_t opaques_ = 0;
  std::map<uint32_t, bool> wait_loops_;
  const Path& path_;
  const std::vector<Round>& rounds_;  // before the one that is executed
  uint32_t round_ = 0;                // the one at hand
  bool waits_ = false;                // some loop waits for a flag
  std::map<uint32_t, WaitLoop> flag_loops_;
  std::map<std::tuple<Place, uint32_t, int64_t>, std::vector<OwnUpdate>> own_updates_;
  uint32_t own_update_count_ = 0;
  uint32_t accesses_ = 1;              // to global memory
  uint64_t looked_at_ = ~uint64_t{0};  // round and own updates when waits were looked at last
  // The last store to a place that is no update: of no order of its own.
  absl::flat_hash_map<std::tuple<Place, uint32_t, int64_t>, std::pair<Moment, uint32_t>>
      weak_stores_;
  std::vector<Pass> passes_;
  std::vector<Effect> effects_;
  absl::flat_hash_map<Term, OldNumber> old_numbers_;
  absl::flat_hash_map<Term, bool> flag_answers_;
  uint64_t mbarriers_ = 0, phases_seen_ = 0;
  uint32_t copies_ = 0;       // asynchronous copies so far
  bool async_proxy_ = false;  // some instruction accesses shared memory through it
  std::vector<AsyncRead> async_reads_;
  std::vector<GenericWrite> generic_writes_;
  std::vector<uint32_t> last_generic_;  // by thread, one more than the index; 0: none
  std::vector<uint32_t> unsettled_;     // generic writes that not all threads know to be fenced
  // By warpgroup: the instructions that its first warp to come there executed, and the shared
  // memory that each of them reads.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> group_steps_;
  int64_t product_marks_ = 0;
  // The cluster's barrier: what its arrivals release in the open phase, and have in the last.
  HappensBefore::Clock cluster_open_, cluster_done_;
  bool cluster_whole_ = false;  // the last phase: all of it comes before all that follows
  bool cluster_direct_ = true;  // the open one: who arrives does nothing but wait
  // By thread: what it releases of the mbarriers that it made, at its last fence for that; and what
  // it knows of others'.
  absl::flat_hash_map<uint32_t, HappensBefore::Clock> made_released_, made_known_;
  HappensBefore::Clock made_open_, made_done_;
  absl::flat_hash_map<uint32_t, HappensBefore::Clock> reached_;  // by thread
  std::vector<uint32_t> exits_;  // by thread: the epoch in which it exited
  // The last access of an instruction to another CTA's shared memory, by rank, thread, instruction.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Moment> remote_;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> started_;  // rank, thread that knows it
  // Copies into other CTAs' shared memory: by rank and instruction the phases and threads.
  std::map<std::tuple<uint32_t, uint32_t, const PhaseEnd*>,
           std::pair<std::shared_ptr<const PhaseEnd>, uint32_t>>
      remote_copies_;
  CtaOutcome out_;
};

}  // namespace coequal::exec
