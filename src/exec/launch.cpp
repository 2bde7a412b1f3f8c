#include "exec/launch.h"

namespace coequal::exec {

void PoisonSource::join(PoisonSource other) {
  if (other.kind == Kind::Defective) {
    std::vector<Defect> told{defect};
    add_defect(told, std::move(other.defect));
    told[0].count = defect.count;
    defect = std::move(told[0]);
  }
  for (auto& [cell, access] : other.reads)
    if (reads.size() < kMostReads) reads.try_emplace(cell, std::move(access));
}

term::GroupId named_group(term::TermStore& store, term::Group group) {
  for (term::GroupId g = 0; g < store.group_count(); ++g)
    if (store.group(g).kind == group.kind && store.group(g).name == group.name) return g;
  return store.add_group(std::move(group));
}

term::Term value_where(Session& session, const term::Term& condition) {
  term::Group group;
  group.kind = term::Group::Kind::Refused;
  group.name = "guard";
  group.dtype = DType::U32;
  group.type = term::bv(32);
  const term::GroupId id = named_group(session.store, std::move(group));
  session.poison.try_emplace(id, PoisonSource{PoisonSource::Kind::Tainted, "", {}, {}});
  return session.store.make(term::Kind::Select,
                            {condition, session.store.leaf(id, {}), session.store.bits(0, 32)});
}

}  // namespace coequal::exec
