#include "base/defect.h"

#include <algorithm>
#include <tuple>

namespace coequal {

namespace {

auto place_of(const Access& a) {
  return std::tuple(a.launch, a.block[2], a.block[1], a.block[0], a.thread[2], a.thread[1],
                    a.thread[0], a.index.size(), std::string_view(a.index));
}

auto line_of(const Access& a) {
  return std::tuple(a.launch, std::string_view(a.span.file), a.span.line, a.span.column, a.kind,
                    std::string_view(a.where));
}

// Accesses that race have no order.
void sort_accesses(Defect& d) {
  if (d.kind != DefectKind::SharedRace && d.kind != DefectKind::GlobalRace) return;
  std::sort(d.accesses.begin(), d.accesses.end(), [](const Access& a, const Access& b) {
    return std::tuple(line_of(a), place_of(a)) < std::tuple(line_of(b), place_of(b));
  });
}

}  // namespace

bool same_finding(const Defect& a, const Defect& b) {
  return a.kind == b.kind && a.program == b.program &&
         std::equal(a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(),
                    [](const Access& x, const Access& y) { return line_of(x) == line_of(y); });
}

void add_defect(std::vector<Defect>& to, Defect found) {
  sort_accesses(found);
  const auto known = std::find_if(to.begin(), to.end(),
                                  [&](const Defect& have) { return same_finding(have, found); });
  if (known == to.end()) {
    to.push_back(std::move(found));
    return;
  }
  const int64_t count = known->count + found.count;
  const bool lower = std::lexicographical_compare(
      found.accesses.begin(), found.accesses.end(), known->accesses.begin(), known->accesses.end(),
      [](const Access& x, const Access& y) { return place_of(x) < place_of(y); });
  if (lower) *known = std::move(found);
  known->count = count;
}

}  // namespace coequal
