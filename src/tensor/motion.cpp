// Displacements over a class: interning, sums, products, and what holds for all of its living CTAs.
#include "tensor/motion.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace coequal::tensor {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

// Arithmetic modulo 2^64.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool fits(__int128 v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

}  // namespace

MotionTable::MotionTable(std::vector<Cta> ctas) : ctas_(std::move(ctas)) {
  CHECK(!ctas_.empty());
  alive_.assign(ctas_.size(), true);
  departures_.resize(ctas_.size());
  alive_count_ = ctas_.size();
  living_ = inspect();
  for (int d = 0; d < 3; ++d) varies_[d] = living_.varies(d);
  strides_unique_ = living_.axes;
  intern({});
}

MotionTable::Living MotionTable::inspect() const {
  Living out;
  out.generation = generation_;
  Box& box = out.box;
  box.low = box.high = ctas_[0];
  box.step = {};
  for (size_t i = 1; i < ctas_.size(); ++i) {
    if (!alive_[i]) continue;
    for (int d = 0; d < 3; ++d) {
      const uint32_t at = ctas_[i][d], own = ctas_[0][d];
      box.low[d] = std::min(box.low[d], at);
      box.high[d] = std::max(box.high[d], at);
      box.step[d] = std::gcd(box.step[d], at < own ? own - at : at - own);
    }
  }
  __int128 volume = 1;
  int varying = 0;
  for (int d = 0; d < 3; ++d) {
    if (box.step[d] == 0) box.step[d] = 1;
    volume *= box.count(d);
    varying += out.varies(d);
  }
  box.full = volume == static_cast<__int128>(alive_count_);
  out.axes = true;
  for (int d = 0; d < 3; ++d) {
    if (!out.varies(d)) continue;
    uint32_t best = std::numeric_limits<uint32_t>::max();
    auto offer = [&](size_t i, size_t j) {
      uint32_t a = ctas_[i][d], b = ctas_[j][d];
      uint32_t gap = a < b ? b - a : a - b;
      if (gap == 0 || gap >= best) return;
      best = gap;
      out.pairs[d] = {i, j};
    };
    if (varying == 1 || box.full) {
      for (size_t i = 1; i < ctas_.size() && best > 1; ++i) {
        if (!alive_[i]) continue;
        bool same = true;
        for (int e = 0; e < 3; ++e) same &= e == d || ctas_[i][e] == ctas_[0][e];
        if (same) offer(0, i);
      }
    } else {
      absl::flat_hash_map<std::pair<uint32_t, uint32_t>, size_t> last;
      int e = (d + 1) % 3, f = (d + 2) % 3;
      for (size_t i = 0; i < ctas_.size() && best > 1; ++i) {
        if (!alive_[i]) continue;
        auto [it, fresh] = last.try_emplace({ctas_[i][e], ctas_[i][f]}, i);
        if (!fresh) {
          offer(it->second, i);
          it->second = i;
        }
      }
    }
    out.axes &= best != std::numeric_limits<uint32_t>::max();
  }
  return out;
}

const MotionTable::Living& MotionTable::living() const {
  if (living_.generation != generation_) living_ = inspect();
  return living_;
}

MotionTable::Box MotionTable::box() const { return living().box; }

MotionId MotionTable::intern(Motion motion) {
  uint64_t h = motion.affine ? 1 : 2;
  if (motion.affine) {
    for (int64_t s : motion.strides) h = mix(h, static_cast<uint64_t>(s));
  } else {
    for (int64_t v : *motion.values) h = mix(h, static_cast<uint64_t>(v));
  }
  motion.hash = h;
  auto& bucket = index_[h];
  for (MotionId id : bucket) {
    const Motion& m = motions_[id];
    if (m.affine != motion.affine) continue;
    if (m.affine ? m.strides == motion.strides : *m.values == *motion.values) return id;
  }
  MotionId id = static_cast<MotionId>(motions_.size());
  bucket.push_back(id);
  motions_.push_back(std::move(motion));
  ranges_.emplace_back();
  return id;
}

MotionId MotionTable::ctaid(int dimension) {
  std::array<int64_t, 3> s{};
  s[dimension] = 1;
  return affine(s[0], s[1], s[2]);
}

MotionId MotionTable::affine(int64_t sx, int64_t sy, int64_t sz) {
  Motion m;
  m.strides = {sx, sy, sz};
  // A stride along a dimension in which the class has one coordinate says nothing: it must not tell
  // motions apart.
  for (int d = 0; d < 3; ++d)
    if (!varies_[d]) m.strides[d] = 0;
  if (strides_unique_ || m.strides == std::array<int64_t, 3>{}) return intern(std::move(m));
  std::vector<int64_t> values(ctas_.size());
  for (size_t i = 0; i < ctas_.size(); ++i)
    for (int d = 0; d < 3; ++d)
      values[i] =
          wrap_add(values[i], wrap_mul(m.strides[d], static_cast<int64_t>(ctas_[i][d]) -
                                                         static_cast<int64_t>(ctas_[0][d])));
  return intern_values(std::move(values));
}

MotionId MotionTable::intern_values(std::vector<int64_t> values) {
  bool zero = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!alive_[i]) values[i] = 0;
    zero &= values[i] == 0;
  }
  if (zero) return 0;
  Motion m;
  m.affine = false;
  m.values = std::make_shared<const std::vector<int64_t>>(std::move(values));
  return intern(std::move(m));
}

MotionId MotionTable::from_values(std::vector<int64_t> values) {
  CHECK(values.size() == ctas_.size() && values[0] == 0);
  if (!strides_unique_) return intern_values(std::move(values));
  const Living& set = living();
  if (!set.axes) return intern_values(std::move(values));
  std::array<int64_t, 3> strides{};
  for (int d = 0; d < 3; ++d) {
    if (!set.varies(d)) continue;
    auto [i, j] = set.pairs[d];
    __int128 rise = static_cast<__int128>(values[j]) - values[i];
    int64_t run = static_cast<int64_t>(ctas_[j][d]) - static_cast<int64_t>(ctas_[i][d]);
    if (rise % run != 0 || !fits(rise / run)) return intern_values(std::move(values));
    strides[d] = static_cast<int64_t>(rise / run);
  }
  for (size_t i = 0; i < ctas_.size(); ++i) {
    if (!alive_[i]) continue;
    int64_t v = 0;
    for (int d = 0; d < 3; ++d)
      v = wrap_add(v, wrap_mul(strides[d], static_cast<int64_t>(ctas_[i][d]) -
                                               static_cast<int64_t>(ctas_[0][d])));
    if (v != values[i]) return intern_values(std::move(values));
  }
  return affine(strides[0], strides[1], strides[2]);
}

int64_t MotionTable::value(MotionId id, size_t ordinal) const {
  const Motion& m = motions_[id];
  if (!m.affine) return (*m.values)[ordinal];
  const Cta& c = ctas_[ordinal];
  const Cta& r = ctas_[0];
  int64_t v = 0;
  for (int d = 0; d < 3; ++d)
    v = wrap_add(v,
                 wrap_mul(m.strides[d], static_cast<int64_t>(c[d]) - static_cast<int64_t>(r[d])));
  return v;
}

const std::vector<int64_t>& MotionTable::values(MotionId id) const {
  if (!motions_[id].affine) return *motions_[id].values;
  auto& kept = expanded_[id];
  if (!kept) {
    std::vector<int64_t> all(ctas_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = value(id, i);
    kept = std::make_shared<const std::vector<int64_t>>(std::move(all));
  }
  return *kept;
}

MotionId MotionTable::add(MotionId a, MotionId b) {
  if (a == 0) return b;
  if (b == 0) return a;
  std::pair<MotionId, MotionId> key = std::minmax(a, b);
  if (auto it = sums_.find(key); it != sums_.end()) return it->second;
  MotionId id;
  if (motions_[a].affine && motions_[b].affine) {
    std::array<int64_t, 3> s;
    for (int d = 0; d < 3; ++d) s[d] = wrap_add(motions_[a].strides[d], motions_[b].strides[d]);
    id = affine(s[0], s[1], s[2]);
  } else {
    std::vector<int64_t> values(ctas_.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (alive_[i]) values[i] = wrap_add(value(a, i), value(b, i));
    id = from_values(std::move(values));
  }
  return sums_[key] = id;
}

MotionId MotionTable::sub(MotionId a, MotionId b) { return a == b ? 0 : add(a, scale(b, -1)); }

MotionId MotionTable::scale(MotionId a, int64_t factor) {
  if (a == 0 || factor == 0) return 0;
  if (factor == 1) return a;
  std::pair<MotionId, int64_t> key{a, factor};
  if (auto it = products_.find(key); it != products_.end()) return it->second;
  MotionId id;
  if (motions_[a].affine) {
    std::array<int64_t, 3> s = motions_[a].strides;
    id = affine(wrap_mul(s[0], factor), wrap_mul(s[1], factor), wrap_mul(s[2], factor));
  } else {
    std::vector<int64_t> values(*motions_[a].values);
    for (int64_t& v : values) v = wrap_mul(v, factor);
    id = from_values(std::move(values));
  }
  return products_[key] = id;
}

MotionId MotionTable::divide_exact(MotionId a, int64_t divisor) {
  CHECK(divisor != 0 && divisor != -1);
  if (a == 0 || divisor == 1) return a;
  std::pair<MotionId, int64_t> key{a, divisor};
  if (auto it = quotients_.find(key); it != quotients_.end()) return it->second;
  // Values wrap modulo 2^64 and quotients do not, so strides may be divided only where no sum of
  // them wraps.
  const Motion& m = motions_[a];
  bool affine_quotient = m.affine;
  __int128 reach = 0;
  for (int d = 0; d < 3 && affine_quotient; ++d) {
    affine_quotient = m.strides[d] % divisor == 0;
    __int128 s = m.strides[d] < 0 ? -static_cast<__int128>(m.strides[d]) : m.strides[d];
    reach += s * std::numeric_limits<uint32_t>::max();
  }
  MotionId id;
  if (affine_quotient && fits(reach)) {
    std::array<int64_t, 3> s = m.strides;
    id = affine(s[0] / divisor, s[1] / divisor, s[2] / divisor);
  } else {
    std::vector<int64_t> values(ctas_.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!alive_[i]) continue;
      int64_t v = value(a, i);
      CHECK(v % divisor == 0);
      values[i] = v / divisor;
    }
    id = from_values(std::move(values));
  }
  return quotients_[key] = id;
}

MotionTable::Range MotionTable::scan(const Motion& m) const {
  MotionId id = static_cast<MotionId>(&m - motions_.data());
  Range r{0, 0};  // of the representative
  for (size_t i = 1; i < ctas_.size(); ++i) {
    if (!alive_[i]) continue;
    int64_t v = value(id, i);
    r.min = std::min(r.min, v);
    r.max = std::max(r.max, v);
  }
  return r;
}

MotionTable::Range MotionTable::range(MotionId id) const {
  if (id == 0) return {0, 0};
  RangeEntry& entry = ranges_[id];
  if (entry.generation == generation_) return entry.range;
  const Motion& m = motions_[id];
  bool done = false;
  if (m.affine) {
    // Over a box both extremes are at corners. Along one dimension alone, the extreme coordinates
    // are those of living CTAs.
    const Living& set = living();
    int used = 0;
    __int128 low = 0, high = 0;
    for (int d = 0; d < 3; ++d) {
      if (m.strides[d] == 0) continue;
      ++used;
      __int128 s = m.strides[d];
      __int128 at_low =
          s * (static_cast<int64_t>(set.box.low[d]) - static_cast<int64_t>(ctas_[0][d]));
      __int128 at_high =
          s * (static_cast<int64_t>(set.box.high[d]) - static_cast<int64_t>(ctas_[0][d]));
      low += std::min(at_low, at_high);
      high += std::max(at_low, at_high);
    }
    if ((used <= 1 || set.box.full) && fits(low) && fits(high)) {
      entry.range = {static_cast<int64_t>(low), static_cast<int64_t>(high)};
      done = true;
    }
  }
  if (!done) entry.range = scan(m);
  entry.generation = generation_;
  return entry.range;
}

bool MotionTable::divisible(MotionId id, int64_t modulus) const {
  CHECK(modulus > 0);
  if (id == 0 || modulus == 1) return true;
  DivisibleEntry& entry = divisibles_[{id, modulus}];
  // Once true, it stays so for fewer CTAs.
  if (entry.divisible || entry.generation == generation_) return entry.divisible;
  entry.generation = generation_;
  const Motion& m = motions_[id];
  if (m.affine && (modulus & (modulus - 1)) == 0) {
    // A power of two divides 2^64, so wrapping does not matter. Neighbours along a dimension of a
    // box differ by its stride and step.
    const Living& set = living();
    bool all = true;
    for (int d = 0; d < 3; ++d)
      all &= !set.varies(d) || static_cast<__int128>(m.strides[d]) * set.box.step[d] % modulus == 0;
    if (all || set.box.full) return entry.divisible = all;
  }
  bool all = true;
  for (size_t i = 1; i < ctas_.size() && all; ++i) all = !alive_[i] || value(id, i) % modulus == 0;
  return entry.divisible = all;
}

void MotionTable::equalize(MotionId a, MotionId b) {
  if (a == b) return;
  std::pair<MotionId, MotionId> key = std::minmax(a, b);
  auto [it, fresh] = equalized_.try_emplace(key, 0);
  if (!fresh) return;  // the CTAs that are left agree already
  narrow([&](size_t i) { return value(a, i) == value(b, i); });
  it->second = generation_;
}

}  // namespace coequal::tensor
