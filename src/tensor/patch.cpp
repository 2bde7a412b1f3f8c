// Finding nested progressions among stores, and solving a reader's steps in their dimensions.
#include "tensor/patch.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <limits>

#include "term/hash.h"

namespace coequal::tensor {
namespace {

using Wide = __int128;

constexpr int kMaxLevels = 4;

bool fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

}  // namespace

Patches::Patches(const std::vector<CellStore>& stores, const term::TermStore& store) {
  std::vector<Item> items(stores.size());
  for (uint32_t i = 0; i < stores.size(); ++i) items[i].stores = {i};
  auto anchor = [&](uint32_t s, int k) { return store.anchor(stores[s].value, k).cell; };
  auto alike = [&](const Item& a, const Item& b) {
    const CellStore &s = stores[a.stores[0]], &t = stores[b.stores[0]];
    if (s.motion != t.motion || s.value.shape() != t.value.shape() || a.dimensions != b.dimensions)
      return false;
    for (int k = 0; k < s.value.anchor_count(); ++k)
      if (store.anchor(s.value, k).motion != store.anchor(t.value, k).motion) return false;
    return true;
  };
  auto hash = [&](const Item& item) {
    const CellStore& s = stores[item.stores[0]];
    uint64_t h = term::mix(s.motion, s.value.shape());
    for (const PatchDimension& d : item.dimensions)
      h = term::mix(term::mix(h, static_cast<uint64_t>(d.count)),
                    static_cast<uint64_t>(d.cell_step));
    return h;
  };
  // Items of one kind in the order of their stores, joined as long as they advance by one step.
  for (int level = 0; level < kMaxLevels; ++level) {
    std::vector<Item> merged;
    std::vector<std::vector<int64_t>> last;  // cell and anchors of the last member of a merged item
    absl::flat_hash_map<uint64_t, size_t> open;  // by hash: the progression that may still grow
    std::vector<int64_t> count;
    bool any = false;
    for (Item& item : items) {
      const uint32_t first = item.stores[0];
      std::vector<int64_t> here{stores[first].cell};
      for (int k = 0; k < stores[first].value.anchor_count(); ++k) here.push_back(anchor(first, k));
      auto [it, fresh] = open.try_emplace(hash(item), merged.size());
      if (!fresh) {
        const size_t at = it->second;
        Item& into = merged[at];
        // What `into` was before it grew.
        Item shape_of_one;
        shape_of_one.stores = {into.stores[0]};
        shape_of_one.dimensions = into.dimensions;
        if (count[at] > 1) shape_of_one.dimensions.pop_back();
        if (alike(shape_of_one, item)) {
          PatchDimension step;
          step.cell_step = here[0] - last[at][0];
          for (size_t k = 1; k < here.size(); ++k)
            step.anchor_steps.push_back(here[k] - last[at][k]);
          bool joins = step.cell_step != 0;
          if (count[at] > 1) {
            const PatchDimension& d = into.dimensions.back();
            joins = d.cell_step == step.cell_step && d.anchor_steps == step.anchor_steps;
          }
          if (joins) {
            if (count[at] == 1) into.dimensions.push_back(step);
            into.dimensions.back().count = ++count[at];
            into.stores.insert(into.stores.end(), item.stores.begin(), item.stores.end());
            last[at] = std::move(here);
            any = true;
            continue;
          }
        }
        it->second = merged.size();
      }
      merged.push_back(std::move(item));
      last.push_back(std::move(here));
      count.push_back(1);
    }
    items = std::move(merged);
    if (!any) break;
  }
  items_ = std::move(items);
  place_.resize(stores.size());
  for (uint32_t i = 0; i < items_.size(); ++i)
    for (uint32_t k = 0; k < items_[i].stores.size(); ++k) place_[items_[i].stores[k]] = {i, k};
}

Patches::Position Patches::position(uint32_t store) const {
  auto [item, index] = place_[store];
  Position out;
  out.dimensions = &items_[item].dimensions;
  int64_t rest = index;
  for (const PatchDimension& d : *out.dimensions) {
    out.coordinates.push_back(rest % d.count);
    rest /= d.count;
  }
  return out;
}

std::optional<std::vector<MotionId>> follow_patch(const Patches& patches,
                                                  const MotionTable& writers, uint32_t store,
                                                  uint32_t ordinal, const CellStore& stored,
                                                  const term::TermStore& terms, MotionId motion,
                                                  MotionTable& readers) {
  if (!readers.is_affine(motion) || !writers.is_affine(stored.motion)) return std::nullopt;
  const MotionTable::Box written = writers.box();
  if (!written.full) return std::nullopt;
  const int anchors = stored.value.anchor_count();

  // Every direction in which the patch extends: those of its stores, and the block index.
  struct Direction {
    PatchDimension step;
    int64_t at;  // coordinate of what the representative reads
  };
  std::vector<Direction> directions;
  Patches::Position position = patches.position(store);
  for (size_t i = 0; i < position.coordinates.size(); ++i)
    directions.push_back({(*position.dimensions)[i], position.coordinates[i]});
  const Cta& cta = writers.ctas()[ordinal];
  for (int d = 0; d < 3; ++d) {
    if (written.low[d] == written.high[d]) continue;
    Direction direction;
    direction.step.count = written.count(d);
    const auto stepped = [&](MotionId m) { return Wide{writers.strides(m)[d]} * written.step[d]; };
    if (!fits(stepped(stored.motion))) return std::nullopt;
    direction.step.cell_step = static_cast<int64_t>(stepped(stored.motion));
    for (int k = 0; k < anchors; ++k) {
      const MotionId m = terms.anchor(stored.value, k).motion;
      if (!writers.is_affine(m) || !fits(stepped(m))) return std::nullopt;
      direction.step.anchor_steps.push_back(static_cast<int64_t>(stepped(m)));
    }
    direction.at = (static_cast<int64_t>(cta[d]) - written.low[d]) / written.step[d];
    directions.push_back(std::move(direction));
  }
  for (Direction& d : directions) {
    if (d.step.cell_step == 0) return std::nullopt;
    if (d.step.cell_step > 0) continue;
    d.step.cell_step = -d.step.cell_step;
    for (int64_t& s : d.step.anchor_steps) s = -s;
    d.at = d.step.count - 1 - d.at;
  }
  std::sort(directions.begin(), directions.end(), [](const Direction& a, const Direction& b) {
    return a.step.cell_step < b.step.cell_step;
  });
  // Two directions are one where the second goes on where the first ends: the tile of a block and
  // the blocks of a row.
  for (size_t i = 0; i + 1 < directions.size();) {
    Direction &inner = directions[i], &outer = directions[i + 1];
    bool joins = outer.step.cell_step == static_cast<Wide>(inner.step.cell_step) * inner.step.count;
    for (int k = 0; k < anchors && joins; ++k)
      joins = outer.step.anchor_steps[static_cast<size_t>(k)] ==
              static_cast<Wide>(inner.step.anchor_steps[static_cast<size_t>(k)]) * inner.step.count;
    if (!joins) {
      ++i;
      continue;
    }
    inner.at += outer.at * inner.step.count;
    inner.step.count *= outer.step.count;
    directions.erase(directions.begin() + static_cast<int64_t>(i) + 1);
  }

  const MotionTable::Box bounds = readers.box();
  const Cta& reader = readers.representative();
  for (bool nearest : {false, true}) {
    std::vector<std::array<int64_t, 3>> moves(static_cast<size_t>(anchors), {0, 0, 0});
    std::vector<Wide> least, most;
    for (const Direction& d : directions) {
      least.push_back(d.at);
      most.push_back(d.at);
    }
    bool solved = true;
    for (int r = 0; r < 3 && solved; ++r) {
      if (bounds.low[r] == bounds.high[r]) continue;
      const int64_t every = bounds.step[r];
      const Wide stepped = Wide{readers.strides(motion)[r]} * every;
      if (!fits(stepped)) return std::nullopt;
      auto rest = static_cast<int64_t>(stepped);
      const Wide back = (static_cast<Wide>(bounds.low[r]) - reader[r]) / every,
                 ahead = (static_cast<Wide>(bounds.high[r]) - reader[r]) / every;
      for (size_t i = directions.size(); i-- > 0;) {
        const PatchDimension& step = directions[i].step;
        int64_t times = rest / step.cell_step;
        const int64_t over = rest % step.cell_step;
        if (nearest && 2 * static_cast<Wide>(over) > step.cell_step) ++times;
        if (nearest && 2 * static_cast<Wide>(over) < -step.cell_step) --times;
        rest -= times * step.cell_step;
        least[i] += std::min(times * back, times * ahead);
        most[i] += std::max(times * back, times * ahead);
        for (size_t k = 0; k < moves.size(); ++k) {
          const Wide by =
              static_cast<Wide>(times) * step.anchor_steps[k] + moves[k][static_cast<size_t>(r)];
          if (!fits(by)) return std::nullopt;
          moves[k][static_cast<size_t>(r)] = static_cast<int64_t>(by);
        }
      }
      solved = rest == 0;
      // From a step of the readers to one of the grid.
      for (std::array<int64_t, 3>& move : moves) {
        int64_t& by = move[static_cast<size_t>(r)];
        solved = solved && by % every == 0;
        by /= every;
      }
    }
    for (size_t i = 0; i < directions.size() && solved; ++i)
      solved = least[i] >= 0 && most[i] < directions[i].step.count;
    if (!solved) continue;
    std::vector<MotionId> out;
    for (const auto& m : moves) out.push_back(readers.affine(m[0], m[1], m[2]));
    return out;
  }
  return std::nullopt;
}

}  // namespace coequal::tensor
