// Data movement and atomics (PTX ISA 9.7.9, 9.7.13.5, 9.7.13.6).
#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

// One value, several packed into one, or one taken apart; the first element is the lowest.
void conc_mov(const Decoded& d, const uint64_t* s, uint64_t* o) {
  if (d.dst_types.size() > 1) {
    for (size_t i = 0; i < d.dst_types.size(); ++i) {
      const int width = d.dst_types[i].width;
      o[i] = (s[0] >> (static_cast<int>(i) * width)) & mask_of(width);
    }
    return;
  }
  o[0] = 0;
  for (size_t i = 0; i < d.src_types.size(); ++i)
    o[0] |= s[i] << (static_cast<int>(i) * d.src_types[i].width);
}

void sym_mov(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  if (d.dst_types.size() > 1) {
    for (size_t i = 0; i < d.dst_types.size(); ++i) {
      const int width = d.dst_types[i].width;
      o[i] = b.extract(s[0], static_cast<int>(i) * width, width);
    }
    return;
  }
  o[0] = s[0];
  for (size_t i = 1; i < d.src_types.size(); ++i) o[0] = b.concat(s[i], o[0]);
}

constexpr InstRow kRows[] = {
    {.pattern = "mov.{regtype,pred} d, a",
     .op = Op::Mov,
     .conc = conc_mov,
     .sym = sym_mov,
     .linear = Linear::Copy,
     .manual = "9.7.9.3"},
    {.pattern = "cvta{.to}.space.{u32,u64} d, a", .op = Op::Cvta, .manual = "9.7.9.20"},
    {.pattern = "mapa{.shared::cluster}.{u32,u64} d, a, b:u32",
     .op = Op::Mapa,
     .manual = "9.7.9.22"},
    {.pattern = "getctarank{.shared::cluster}.{u32,u64} d:u32, a",
     .op = Op::GetCtaRank,
     .manual = "9.7.9.23"},
    {.pattern = "isspacep.space d:pred, a:b64", .op = Op::Isspacep, .manual = "9.7.9.19"},
    {.pattern = "ld{.weak,.volatile,.relaxed,.acquire}{.scope}{.space}{.nc}{.cop}{.evictL1}{."
                "evictL2}{.L2::cache_hint}{.fetchL2}{.vec}.memtype d, [a]{, p:b64}",
     .op = Op::Ld,
     .effect = Effect::Memory,
     .manual = "9.7.9.8"},
    {.pattern = "ldu{.space}{.vec}.memtype d, [a]",
     .op = Op::Ld,
     .effect = Effect::Memory,
     .manual = "9.7.9.10"},
    {.pattern = "st{.weak,.volatile,.relaxed,.release}{.scope}{.space}{.cop}{.evictL1}{.evictL2}{."
                "L2::cache_hint}{.vec}.memtype [a], b{, p:b64}",
     .op = Op::St,
     .effect = Effect::Memory,
     .manual = "9.7.9.11"},
    {.pattern = "prefetch{.space}.{L1,L2,L2::evict_last,L2::evict_normal} [a]",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.15"},
    {.pattern = "prefetch{.const,.param}.tensormap [a]",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.15"},
    {.pattern = "prefetchu.L1 [a]",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.15"},
    {.pattern = "applypriority{.global}.L2::evict_normal [a], b:u32",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.16"},
    {.pattern = "atom{.sem}{.scope}{.space}.{add,min,max}{.noftz}{.L2::cache_hint}{.vec}.{u32,s32,"
                "u64,s64,f16,f16x2,bf16,bf16x2,f32,f64} d, [a], b{, p:b64}",
     .op = Op::Atom,
     .effect = Effect::Memory,
     .manual = "9.7.13.5"},
    {.pattern = "atom{.sem}{.scope}{.space}.{and,or,xor,exch}{.L2::cache_hint}.{b32,b64} d, [a], "
                "b{, p:b64}",
     .op = Op::Atom,
     .effect = Effect::Memory,
     .manual = "9.7.13.5"},
    {.pattern = "atom{.sem}{.scope}{.space}.{inc,dec}{.L2::cache_hint}.u32 d, [a], b{, p:b64}",
     .op = Op::Atom,
     .effect = Effect::Memory,
     .manual = "9.7.13.5"},
    {.pattern =
         "atom{.sem}{.scope}{.space}.cas{.L2::cache_hint}.{b16,b32,b64} d, [a], b, c{, p:b64}",
     .op = Op::Atom,
     .effect = Effect::Memory,
     .manual = "9.7.13.5"},
    {.pattern = "red{.sem}{.scope}{.space}.{add,min,max}{.noftz}{.L2::cache_hint}{.vec}.{u32,s32,"
                "u64,s64,f16,f16x2,bf16,bf16x2,f32,f64} [a], b{, p:b64}",
     .op = Op::Red,
     .effect = Effect::Memory,
     .manual = "9.7.13.6"},
    {.pattern = "red{.sem}{.scope}{.space}.{and,or,xor}{.L2::cache_hint}.{b32,b64} [a], b{, p:b64}",
     .op = Op::Red,
     .effect = Effect::Memory,
     .manual = "9.7.13.6"},
    {.pattern = "red{.sem}{.scope}{.space}.{inc,dec}{.L2::cache_hint}.u32 [a], b{, p:b64}",
     .op = Op::Red,
     .effect = Effect::Memory,
     .manual = "9.7.13.6"},
};

}  // namespace

std::span<const InstRow> memory_rows() { return kRows; }

}  // namespace coequal::isa
