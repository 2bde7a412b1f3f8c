// Tables of last writers, gathered atomics, and values seen by a moving reader.
#include "tensor/writer_map.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <tuple>

#include "base/check.h"
#include "tensor/patch.h"

namespace coequal::tensor {
namespace {

using term::Anchor;
using term::GroupId;
using term::Kind;
using term::Term;
using term::TermStore;

Term constant(const TensorInfo& info, const term::Rational& value, TermStore& store) {
  if (info.is_float()) return store.real(value);
  std::optional<int64_t> bits = value.as_int64();
  if (!bits) bits = (value - term::Rational::power_of_two(64)).as_int64();
  CHECK(bits.has_value());
  return store.bits(static_cast<uint64_t>(*bits), 8 * info.element_size());
}

// Whether `t` is `first` with every anchor moved; by how much goes to `step`.
bool advances(const TermStore& store, const Term& first, const Term& t,
              std::vector<int64_t>& step) {
  if (t.shape() != first.shape()) return false;
  const int n = first.anchor_count();
  step.resize(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    Anchor a = store.anchor(first, i), b = store.anchor(t, i);
    if (a.motion != b.motion) return false;
    step[static_cast<size_t>(i)] = b.cell - a.cell;
  }
  return true;
}

// For each store, how many stores from it on write consecutive cells, move alike, and hold terms
// that advance by one step.
std::vector<uint32_t> regular_lengths(const std::vector<CellStore>& stores,
                                      const TermStore& store) {
  std::vector<uint32_t> lengths(stores.size(), 1);
  std::vector<int64_t> step, next_step;
  for (size_t i = stores.size(); i-- > 1;) {
    // lengths[i - 1] from lengths[i]; `next_step` leads from store i to the one after it, if
    // lengths[i] > 1.
    if (stores[i].cell != stores[i - 1].cell + 1 || stores[i].motion != stores[i - 1].motion ||
        !advances(store, stores[i - 1].value, stores[i].value, step))
      continue;
    lengths[i - 1] = lengths[i] > 1 && step == next_step ? lengths[i] + 1 : 2;
    std::swap(step, next_step);
  }
  return lengths;
}

// Consecutive cells of consecutive stores with one motion.
struct Stretch {
  int64_t cell;
  MotionId motion;
  uint32_t first, length;
};

std::vector<Stretch> stretches(const std::vector<CellStore>& stores) {
  std::vector<Stretch> out;
  for (uint32_t i = 0; i < stores.size(); ++i) {
    const CellStore& s = stores[i];
    if (!out.empty() && out.back().motion == s.motion &&
        out.back().cell + out.back().length == s.cell)
      ++out.back().length;
    else
      out.push_back({s.cell, s.motion, i, 1});
  }
  return out;
}

Term combine(AtomicKind kind, const Term& a, const Term& b, TermStore& store) {
  bool real = store.type(a) == term::kReal;
  switch (kind) {
    case AtomicKind::Add:
      return store.make(real ? Kind::Add : Kind::BvAdd, {a, b});
    case AtomicKind::Mul:
      return store.make(Kind::Mul, {a, b});
    case AtomicKind::Min:
      return real ? store.make(Kind::Min, {a, b})
                  : store.make(Kind::Select, {store.make(Kind::BvUlt, {a, b}), a, b});
    case AtomicKind::Max:
      return real ? store.make(Kind::Max, {a, b})
                  : store.make(Kind::Select, {store.make(Kind::BvUlt, {a, b}), b, a});
    case AtomicKind::MinSigned:
      return store.make(Kind::Select, {store.make(Kind::BvSlt, {a, b}), a, b});
    case AtomicKind::MaxSigned:
      return store.make(Kind::Select, {store.make(Kind::BvSlt, {a, b}), b, a});
    case AtomicKind::And:
      return store.make(Kind::BvAnd, {a, b});
    case AtomicKind::Or:
      return store.make(Kind::BvOr, {a, b});
    case AtomicKind::Xor:
      return store.make(Kind::BvXor, {a, b});
  }
  check_failed("an atomic kind", __FILE__, __LINE__);
}

bool fits_type(AtomicKind kind, bool real) {
  if (!real) return kind != AtomicKind::Mul;
  return kind == AtomicKind::Add || kind == AtomicKind::Mul || kind == AtomicKind::Min ||
         kind == AtomicKind::Max;
}

}  // namespace

Term neutral(AtomicKind kind, term::Type type, TermStore& store) {
  const bool real = type == term::kReal;
  const uint64_t sign = real ? 0 : uint64_t{1} << (type.width - 1);
  switch (kind) {
    case AtomicKind::Add:
      return real ? store.real(0) : store.bits(0, type.width);
    case AtomicKind::Mul:
      return store.real(1);
    case AtomicKind::Min:
      return real ? store.infinity(false) : store.bits(~uint64_t{0}, type.width);
    case AtomicKind::Max:
      return real ? store.infinity(true) : store.bits(0, type.width);
    case AtomicKind::MinSigned:
      return store.bits(sign - 1, type.width);
    case AtomicKind::MaxSigned:
      return store.bits(sign, type.width);
    case AtomicKind::And:
      return store.bits(~uint64_t{0}, type.width);
    case AtomicKind::Or:
    case AtomicKind::Xor:
      return store.bits(0, type.width);
  }
  check_failed("an atomic kind", __FILE__, __LINE__);
}

Term at_cta(const Term& t, const MotionTable& motions, size_t ordinal, const TermStore& store) {
  if (t.anchor_count() == 0) return t;
  return store.map_anchors(t, [&](GroupId, Anchor a) {
    return Anchor{a.cell + motions.value(a.motion, ordinal), 0};
  });
}

struct TensorVersion::Table {
  // Numbers first + ordinal * stores + store, one segment for each (class, piece) that writes the
  // tensor.
  struct Segment {
    uint32_t cls = 0, piece = 0;
    uint64_t first = 0;
    uint32_t stores = 0;
    std::vector<uint32_t> lengths;                   // regular_lengths; empty for atomics
    mutable std::unique_ptr<const Patches> patches;  // Table::patches_of
  };
  struct Update {
    int64_t cell;
    uint32_t number;
  };

  // Made when first asked for; several threads may ask.
  const Patches& patches_of(const Segment& segment, const TermStore& store) const {
    const std::lock_guard lock(patches_mutex);
    if (!segment.patches)
      segment.patches = std::make_unique<const Patches>(
          launch->classes[segment.cls].tensors[segment.piece].stores, store);
    return *segment.patches;
  }

  const LaunchPieces* launch = nullptr;
  mutable std::mutex patches_mutex;
  std::vector<Segment> segments, atomic_segments;
  bool dense = false;
  std::vector<uint32_t> cells;  // dense: number a cell, 0 for none
  absl::flat_hash_map<int64_t, uint32_t> sparse;
  std::vector<int64_t> sparse_cells;  // ascending
  std::vector<Update> updates;        // ascending by cell, then number
  int64_t low = std::numeric_limits<int64_t>::max(), high = -1;
  bool disputed = false;  // several CTAs stored to one cell
  // The other stores to such a cell, where all of them are under known guards.
  absl::flat_hash_map<int64_t, std::vector<uint32_t>> joined;

  uint32_t number(int64_t cell) const {
    if (dense) return cells[static_cast<size_t>(cell)];
    if (sparse.empty()) return 0;
    auto it = sparse.find(cell);
    return it == sparse.end() ? 0 : it->second;
  }
  static const Segment& segment_of(const std::vector<Segment>& list, uint32_t number) {
    auto it = std::upper_bound(list.begin(), list.end(), number,
                               [](uint32_t n, const Segment& s) { return n < s.first; });
    return *--it;
  }
  Writer decode(const std::vector<Segment>& list, uint32_t number, bool atomic) const {
    const Segment& s = segment_of(list, number);
    uint32_t at = number - static_cast<uint32_t>(s.first);
    return {launch, s.cls, s.piece, at % s.stores, at / s.stores, atomic};
  }
  std::pair<const Update*, const Update*> updates_at(int64_t cell) const {
    auto less = [](const Update& u, int64_t c) { return u.cell < c; };
    const Update* begin =
        std::lower_bound(updates.data(), updates.data() + updates.size(), cell, less);
    const Update* end = begin;
    while (end != updates.data() + updates.size() && end->cell == cell) ++end;
    return {begin, end};
  }
  bool has_updates(int64_t cell) const {
    if (updates.empty() || cell < updates.front().cell || cell > updates.back().cell) return false;
    auto [begin, end] = updates_at(cell);
    return begin != end;
  }
  bool is_joined(int64_t cell) const { return !joined.empty() && joined.contains(cell); }
  // How many cells from `cell` on nothing of this launch touches, at most `limit`.
  int64_t untouched(int64_t cell, int64_t limit) const {
    int64_t end = cell + limit;
    if (!updates.empty()) {
      auto less = [](const Update& u, int64_t c) { return u.cell < c; };
      auto it = std::lower_bound(updates.begin(), updates.end(), cell, less);
      if (it != updates.end()) end = std::min(end, it->cell);
    }
    if (dense) {
      int64_t at = cell;
      while (at < end && cells[static_cast<size_t>(at)] == 0) ++at;
      return at - cell;
    }
    auto it = std::lower_bound(sparse_cells.begin(), sparse_cells.end(), cell);
    if (it != sparse_cells.end()) end = std::min(end, *it);
    return end - cell;
  }
};

TensorVersion::TensorVersion(const TensorInfo& info, GroupId poison_group)
    : info_(&info), poison_group_(poison_group) {}

TensorVersion::~TensorVersion() = default;

std::shared_ptr<const TensorVersion> TensorVersion::after(
    std::shared_ptr<const TensorVersion> before, std::shared_ptr<const LaunchPieces> launch,
    TensorId tensor, TermStore& store, std::vector<Overlap>& overlaps, uint64_t most_bytes) {
  auto table = std::make_shared<Table>();
  table->launch = launch.get();
  uint64_t next = 1, next_atomic = 1, living = 0;
  constexpr uint64_t kLimit = std::numeric_limits<uint32_t>::max();
  for (uint32_t c = 0; c < launch->classes.size(); ++c) {
    const ClassPieces& cls = launch->classes[c];
    for (uint32_t p = 0; p < cls.tensors.size(); ++p) {
      const TensorPiece& piece = cls.tensors[p];
      if (piece.tensor != tensor) continue;
      cls.motions->box();  // kept: readers ask for it on several threads
      CHECK(piece.stores.size() <= kLimit && piece.atomics.size() <= kLimit);
      if (!piece.stores.empty()) {
        uint32_t stores = static_cast<uint32_t>(piece.stores.size());
        table->segments.push_back(
            {c, p, next, stores, regular_lengths(piece.stores, store), nullptr});
        next += static_cast<uint64_t>(stores) * cls.motions->size();
        living += static_cast<uint64_t>(stores) * cls.motions->alive_count();
      }
      if (!piece.atomics.empty()) {
        uint32_t updates = static_cast<uint32_t>(piece.atomics.size());
        table->atomic_segments.push_back({c, p, next_atomic, updates, {}, nullptr});
        next_atomic += static_cast<uint64_t>(updates) * cls.motions->size();
      }
      if (next > kLimit || next_atomic > kLimit)
        throw TooManyWrites("a launch writes tensor '" + before->info().name +
                            "' in more than 2^32 places");
    }
  }
  if (table->segments.empty() && table->atomic_segments.empty()) return before;

  const int64_t total = before->info().storage_cells;
  table->dense = living >= static_cast<uint64_t>(total) / 8 && living > 0;
  // A cell and number in a hash map take about four times their size.
  const uint64_t bytes = table->dense ? static_cast<uint64_t>(total) * sizeof(uint32_t)
                                      : living * 4 * (sizeof(int64_t) + sizeof(uint32_t));
  if (bytes > most_bytes)
    throw TooManyWrites(
        fmt::format("who writes which cell of tensor '{}' would take {} MiB of memory",
                    before->info().name, bytes >> 20));
  if (table->dense)
    table->cells.assign(static_cast<size_t>(total), 0);
  else
    table->sparse.reserve(living);
  auto clash = [&](int64_t cell, uint32_t old_number, const Writer& second) {
    Writer first = table->decode(table->segments, old_number, false);
    CHECK(!first.same_cta(second));  // the executor keeps one store a cell and CTA
    table->disputed = true;
    auto known = [](const Writer& w) {
      return w.cell_store().guarded && w.cell_store().guard.valid();
    };
    if (known(first) && known(second)) {
      const Table::Segment& segment = *std::find_if(
          table->segments.begin(), table->segments.end(),
          [&](const Table::Segment& s) { return s.cls == second.cls && s.piece == second.piece; });
      table->joined[cell].push_back(static_cast<uint32_t>(segment.first) +
                                    second.ordinal * segment.stores + second.store);
    }
    overlaps.push_back({cell, first, second});
  };
  for (const Table::Segment& segment : table->segments) {
    const ClassPieces& cls = launch->classes[segment.cls];
    const MotionTable& motions = *cls.motions;
    std::vector<Stretch> runs = stretches(cls.tensors[segment.piece].stores);
    for (uint32_t ordinal = 0; ordinal < motions.size(); ++ordinal) {
      if (!motions.alive(ordinal)) continue;
      uint32_t base = static_cast<uint32_t>(segment.first) + ordinal * segment.stores;
      MotionId moved = 0;
      int64_t by = 0;
      for (const Stretch& run : runs) {
        if (run.motion != moved) {
          moved = run.motion;
          by = motions.value(moved, ordinal);
        }
        int64_t cell = run.cell + by;
        CHECK(cell >= 0 && cell + run.length <= total);
        table->low = std::min(table->low, cell);
        table->high = std::max(table->high, cell + run.length - 1);
        uint32_t number = base + run.first;
        for (uint32_t i = 0; i < run.length; ++i) {
          uint32_t* slot;
          if (table->dense)
            slot = &table->cells[static_cast<size_t>(cell + i)];
          else
            slot = &table->sparse[cell + i];
          if (*slot == 0)
            *slot = number + i;
          else
            clash(cell + i, *slot,
                  {launch.get(), segment.cls, segment.piece, run.first + i, ordinal});
        }
      }
    }
  }
  if (!table->dense) {
    table->sparse_cells.reserve(table->sparse.size());
    for (const auto& [cell, number] : table->sparse) table->sparse_cells.push_back(cell);
    std::sort(table->sparse_cells.begin(), table->sparse_cells.end());
  }
  for (const Table::Segment& segment : table->atomic_segments) {
    const ClassPieces& cls = launch->classes[segment.cls];
    const MotionTable& motions = *cls.motions;
    const std::vector<AtomicUpdate>& atomics = cls.tensors[segment.piece].atomics;
    for (uint32_t ordinal = 0; ordinal < motions.size(); ++ordinal) {
      if (!motions.alive(ordinal)) continue;
      uint32_t base = static_cast<uint32_t>(segment.first) + ordinal * segment.stores;
      for (uint32_t i = 0; i < atomics.size(); ++i) {
        int64_t cell = atomics[i].cell + motions.value(atomics[i].motion, ordinal);
        CHECK(cell >= 0 && cell < total);
        table->updates.push_back({cell, base + i});
        table->low = std::min(table->low, cell);
        table->high = std::max(table->high, cell);
      }
    }
  }
  std::sort(table->updates.begin(), table->updates.end(),
            [](const Table::Update& a, const Table::Update& b) {
              return a.cell != b.cell ? a.cell < b.cell : a.number < b.number;
            });

  auto version = std::make_shared<TensorVersion>(before->info(), before->poison_group_);
  version->older_ = std::move(before);
  version->launch_ = std::move(launch);
  version->table_ = std::move(table);
  return version;
}

std::shared_ptr<const TensorVersion> TensorVersion::with_poison(
    std::shared_ptr<const TensorVersion> before, std::vector<int64_t> cells, GroupId group) {
  if (cells.empty()) return before;
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  auto version = std::make_shared<TensorVersion>(before->info(), group);
  version->older_ = std::move(before);
  version->poisoned_ = std::move(cells);
  return version;
}

// ---- Values ----

Term TensorVersion::initial_value(int64_t cell, TermStore& store) const {
  if (info_->strided && !info_->is_element(cell)) return store.leaf(poison_group_, {cell, 0});
  switch (info_->init) {
    case TensorInfo::Init::Input:
      return store.leaf(info_->input_group, {cell, 0});
    case TensorInfo::Init::Empty:
      return store.leaf(poison_group_, {cell, 0});
    case TensorInfo::Init::Zeros:
      return constant(*info_, term::Rational(0), store);
    case TensorInfo::Init::Full:
      return constant(*info_, info_->full_value, store);
    case TensorInfo::Init::Values:
      return constant(*info_, (*info_->values)[static_cast<size_t>(info_->element_of_cell(cell))],
                      store);
  }
  check_failed("an initial content", __FILE__, __LINE__);
}

Term TensorVersion::gathered(int64_t cell, TermStore& store) const {
  auto [begin, end] = table_->updates_at(cell);
  const Term bad = store.leaf(poison_group_, {cell, 0});
  bool real = info_->is_float();
  AtomicKind kind{};
  std::vector<Term> terms;
  uint32_t plain = table_->number(cell);
  std::optional<Writer> before;
  if (plain) before = table_->decode(table_->segments, plain, false);
  if (before && !before->cell_store().before_atomics) return bad;
  for (const Table::Update* u = begin; u != end; ++u) {
    Writer w = table_->decode(table_->atomic_segments, u->number, true);
    const AtomicUpdate& update = w.update();
    if (u == begin) kind = update.kind;
    if (update.kind != kind || !fits_type(kind, real)) return bad;
    if (before && !before->same_cta(w)) return bad;
    const MotionTable& motions = *w.class_pieces().motions;
    terms.push_back(at_cta(update.value, motions, w.ordinal, store));
    if (!(store.type(terms.back()) == leaf_type(info_->dtype))) return bad;
    if (update.guard.valid())
      terms.back() =
          store.make(Kind::Select, {at_cta(update.guard, motions, w.ordinal, store), terms.back(),
                                    neutral(kind, store.type(terms.back()), store)});
  }
  // The order of updates is not part of the value: sorted, then joined pairwise. The order of terms
  // is covariant, so cells that gather translates of one another share their shape.
  std::sort(terms.begin(), terms.end(),
            [&](const Term& a, const Term& b) { return store.compare(a, b) < 0; });
  while (terms.size() > 1) {
    size_t out = 0;
    for (size_t i = 0; i < terms.size(); i += 2)
      terms[out++] = i + 1 < terms.size() ? combine(kind, terms[i], terms[i + 1], store) : terms[i];
    terms.resize(out);
  }
  Term base = before ? at_cta(before->cell_store().value, *before->class_pieces().motions,
                              before->ordinal, store)
                     : older_->value(cell, store);
  return combine(kind, base, terms[0], store);
}

Term TensorVersion::joined(int64_t cell, TermStore& store) const {
  std::vector<Writer> writers{*own_writer(cell)};
  for (uint32_t number : table_->joined.at(cell))
    writers.push_back(table_->decode(table_->segments, number, false));
  std::sort(writers.begin(), writers.end(),
            [](const Writer& a, const Writer& b) { return a.cta() < b.cta(); });
  // Each value is "guard ? new : old"; where no guard holds, all of them are the old content.
  Term result;
  for (size_t i = writers.size(); i-- > 0;) {
    const Writer& w = writers[i];
    const MotionTable& motions = *w.class_pieces().motions;
    const Term value = at_cta(w.cell_store().value, motions, w.ordinal, store);
    result =
        result.valid()
            ? store.make(Kind::Select,
                         {at_cta(w.cell_store().guard, motions, w.ordinal, store), value, result})
            : value;
  }
  return result;
}

Term TensorVersion::value(int64_t cell, TermStore& store) const {
  CHECK(cell >= 0 && cell < info_->storage_cells);
  const TensorVersion* v = this;
  for (; v->older_; v = v->older_.get()) {
    if (!v->table_) {
      if (std::binary_search(v->poisoned_.begin(), v->poisoned_.end(), cell))
        return store.leaf(v->poison_group_, {cell, 0});
      continue;
    }
    if (v->table_->has_updates(cell)) return v->gathered(cell, store);
    if (v->table_->is_joined(cell)) return v->joined(cell, store);
    if (uint32_t number = v->table_->number(cell)) {
      Writer w = v->table_->decode(v->table_->segments, number, false);
      return at_cta(w.cell_store().value, *w.class_pieces().motions, w.ordinal, store);
    }
  }
  return v->initial_value(cell, store);
}

std::vector<int64_t> TensorVersion::edge_cells() const {
  constexpr size_t kMost = 1024;
  std::vector<int64_t> first_and_last, one_each;
  if (!launch_) return older_ ? older_->edge_cells() : std::vector<int64_t>{};
  const auto& grid = launch_->grid;
  const auto& block = launch_->block;
  const uint32_t threads = block[0] * block[1] * block[2];
  const Cta last{grid[0] - 1, grid[1] - 1, grid[2] - 1};
  for (const Table::Segment& segment : table_->segments) {
    const ClassPieces& cls = launch_->classes[segment.cls];
    const std::vector<CellStore>& stores = cls.tensors[segment.piece].stores;
    const MotionTable& motions = *cls.motions;
    // Which CTA represents the class depends on the order of execution: its first one counts.
    const auto number = [&](size_t i) {
      const Cta& c = motions.ctas()[i];
      return std::tuple(c[2], c[1], c[0]);
    };
    size_t first = 0;
    for (size_t i = 0; i < motions.size(); ++i) {
      if (!motions.alive(i)) continue;
      if (number(i) < number(first)) first = i;
      if (motions.ctas()[i] != Cta{} && motions.ctas()[i] != last) continue;
      for (const CellStore& s : stores) {
        const uint32_t t = s.origin.thread;
        if (first_and_last.size() < kMost && (t == 0 || t == 31 || t == 32 || t + 1 == threads))
          first_and_last.push_back(s.cell + motions.value(s.motion, i));
      }
    }
    int64_t least = INT64_MAX;
    for (const CellStore& s : stores)
      least = std::min(least, s.cell + motions.value(s.motion, first));
    if (one_each.size() < kMost) one_each.push_back(least);
  }
  std::sort(first_and_last.begin(), first_and_last.end());
  std::sort(one_each.begin(), one_each.end());
  first_and_last.insert(first_and_last.end(), one_each.begin(), one_each.end());
  return first_and_last;
}

bool TensorVersion::is_written(int64_t cell) const { return writer(cell).has_value(); }

std::optional<Writer> TensorVersion::writer(int64_t cell) const {
  for (const TensorVersion* v = this; v->older_; v = v->older_.get()) {
    if (std::optional<Writer> w = v->own_writer(cell)) return w;
    if (!v->table_) continue;
    auto [begin, end] = v->table_->updates_at(cell);
    if (begin != end) return v->table_->decode(v->table_->atomic_segments, begin->number, true);
  }
  return std::nullopt;
}

std::optional<Writer> TensorVersion::own_writer(int64_t cell) const {
  if (!table_) return std::nullopt;
  uint32_t number = table_->number(cell);
  if (!number) return std::nullopt;
  return table_->decode(table_->segments, number, false);
}

std::vector<Writer> TensorVersion::own_atomics(int64_t cell) const {
  std::vector<Writer> out;
  if (!table_) return out;
  auto [begin, end] = table_->updates_at(cell);
  for (const Table::Update* u = begin; u != end; ++u)
    out.push_back(table_->decode(table_->atomic_segments, u->number, true));
  return out;
}

std::vector<int64_t> TensorVersion::own_atomic_cells() const {
  std::vector<int64_t> out;
  if (!table_) return out;
  for (const Table::Update& u : table_->updates)
    if (out.empty() || out.back() != u.cell) out.push_back(u.cell);
  return out;
}

std::pair<int64_t, int64_t> TensorVersion::own_range() const {
  if (!table_) return {0, -1};
  return {table_->low, table_->high};
}

std::optional<Term> TensorVersion::initial_moving(int64_t cell, MotionId motion,
                                                  MotionTable& motions, TermStore& store) const {
  if (info_->strided) {
    bool here = info_->is_element(cell);
    motions.narrow(
        [&](size_t i) { return info_->is_element(cell + motions.value(motion, i)) == here; });
    if (!here) return store.leaf(poison_group_, {cell, motion});
  }
  switch (info_->init) {
    case TensorInfo::Init::Input:
      return store.leaf(info_->input_group, {cell, motion});
    case TensorInfo::Init::Empty:
      return store.leaf(poison_group_, {cell, motion});
    case TensorInfo::Init::Zeros:
    case TensorInfo::Init::Full:
      return initial_value(cell, store);
    case TensorInfo::Init::Values:
      break;
  }
  const std::vector<term::Rational>& values = *info_->values;
  int64_t element = info_->element_of_cell(cell);
  const term::Rational& first = values[static_cast<size_t>(element)];
  std::vector<int64_t> moves(motions.size());
  bool constant_for_all = true;
  for (size_t i = 0; i < motions.size(); ++i) {
    if (!motions.alive(i)) continue;
    int64_t there = info_->element_of_cell(cell + motions.value(motion, i));
    moves[i] = there - element;
    constant_for_all = constant_for_all && values[static_cast<size_t>(there)] == first;
  }
  if (constant_for_all) return constant(*info_, first, store);
  MotionId of_element = info_->strided ? motions.from_values(std::move(moves)) : motion;
  return store.leaf(info_->known_group, {element, of_element});
}

std::optional<Term> TensorVersion::patch_moving(int64_t cell, MotionId motion, const Term& first,
                                                MotionTable& motions,
                                                const TermStore& store) const {
  constexpr size_t kFewCtas = 8;  // as quickly looked at one by one
  if (!table_ || table_->disputed || !table_->updates.empty() || motions.alive_count() <= kFewCtas)
    return std::nullopt;
  const uint32_t number = table_->number(cell);
  if (!number) return std::nullopt;
  const Writer w = table_->decode(table_->segments, number, false);
  const Table::Segment& segment = Table::segment_of(table_->segments, number);
  auto moves = follow_patch(table_->patches_of(segment, store), *w.class_pieces().motions, w.store,
                            w.ordinal, w.cell_store(), store, motion, motions);
  if (!moves) return std::nullopt;
  size_t k = 0;
  return store.map_anchors(first, [&](GroupId, Anchor a) { return Anchor{a.cell, (*moves)[k++]}; });
}

Term TensorVersion::value_moving(int64_t cell, MotionId motion, MotionTable& motions,
                                 TermStore& store) const {
  if (motion == 0) return value(cell, store);
  MotionTable::Range range = motions.range(motion);
  CHECK(cell + range.min >= 0 && cell + range.max < info_->storage_cells);
  const TensorVersion* v = this;
  // Versions that touch nothing in reach do not matter.
  for (; v->older_; v = v->older_.get()) {
    int64_t low = cell + range.min, high = cell + range.max;
    if (!v->table_) {
      auto it = std::lower_bound(v->poisoned_.begin(), v->poisoned_.end(), low);
      if (it != v->poisoned_.end() && *it <= high) break;
    } else if (low <= v->table_->high && high >= v->table_->low &&
               v->table_->untouched(low, high - low + 1) <= high - low) {
      break;
    }
  }
  if (!v->older_) return *v->initial_moving(cell, motion, motions, store);

  const Term first = v->value(cell, store);
  if (std::optional<Term> t = v->patch_moving(cell, motion, first, motions, store)) return *t;
  const size_t anchors = static_cast<size_t>(first.anchor_count());
  std::vector<std::vector<int64_t>> moves(anchors, std::vector<int64_t>(motions.size()));
  std::vector<term::ShapeId> shapes(motions.size(), first.shape());
  for (size_t i = 1; i < motions.size(); ++i) {
    if (!motions.alive(i)) continue;
    Term t = v->value(cell + motions.value(motion, i), store);
    shapes[i] = t.shape();
    if (t.shape() != first.shape()) continue;
    for (size_t k = 0; k < anchors; ++k)
      moves[k][i] =
          store.anchor(t, static_cast<int>(k)).cell - store.anchor(first, static_cast<int>(k)).cell;
  }
  motions.split(first.shape(), [&](size_t i) { return shapes[i]; });
  size_t k = 0;
  return store.map_anchors(first, [&](GroupId, Anchor a) {
    return Anchor{a.cell, motions.from_values(std::move(moves[k++]))};
  });
}

std::optional<std::vector<int64_t>> TensorVersion::known_integers(int64_t cell, MotionId motion,
                                                                  const MotionTable& motions,
                                                                  TermStore& store) const {
  if (info_->is_float()) return std::nullopt;
  const int width = 8 * info_->element_size();
  auto known = [&](int64_t at) -> std::optional<int64_t> {
    Term t = value(at, store);
    if (std::optional<uint64_t> bits = store.as_bits(t)) return static_cast<int64_t>(*bits);
    if (store.kind(t) != Kind::Leaf) return std::nullopt;
    const term::Group& group = store.group(store.groups(t)[0]);
    int64_t at_leaf = store.anchor(t, 0).cell;
    uint64_t mask = width == 64 ? ~0ull : (uint64_t{1} << width) - 1;
    if (group.kind == term::Group::Kind::Iota)
      return static_cast<int64_t>(static_cast<uint64_t>(at_leaf) & mask);
    return std::nullopt;
  };
  std::vector<int64_t> out(motions.size());
  for (size_t i = 0; i < motions.size(); ++i) {
    if (!motions.alive(i)) continue;
    std::optional<int64_t> here = known(cell + motions.value(motion, i));
    if (!here) return std::nullopt;
    out[i] = *here;
  }
  return out;
}

TensorVersion::Run TensorVersion::run(int64_t cell, int64_t limit) const {
  Run out;
  const TensorVersion* v = this;
  for (; v->older_; v = v->older_.get()) {
    if (!v->table_) {
      auto it = std::lower_bound(v->poisoned_.begin(), v->poisoned_.end(), cell);
      if (it != v->poisoned_.end() && *it == cell) {
        out.kind = Run::Kind::Poisoned;
        out.version = v;
        return out;
      }
      if (it != v->poisoned_.end()) limit = std::min(limit, *it - cell);
      continue;
    }
    const Table& table = *v->table_;
    if (table.has_updates(cell) || table.is_joined(cell)) {
      out.kind = Run::Kind::Gathered;
      out.version = v;
      return out;
    }
    if (uint32_t number = table.number(cell)) {
      out.kind = Run::Kind::Stored;
      out.version = v;
      out.writer = table.decode(table.segments, number, false);
      const Table::Segment& segment = Table::segment_of(table.segments, number);
      limit = std::min<int64_t>(limit, segment.lengths[out.writer.store]);
      int64_t length = 1;
      while (length < limit && table.number(cell + length) == number + length &&
             (table.updates.empty() || !table.has_updates(cell + length)) &&
             !table.is_joined(cell + length))
        ++length;
      out.length = length;
      return out;
    }
    limit = table.untouched(cell, limit);
  }
  out.version = v;
  out.length = limit;
  return out;
}

}  // namespace coequal::tensor
