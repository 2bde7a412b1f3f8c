// Asynchronous copies and cache policies (PTX ISA 9.7.9.18, 9.7.9.25).
#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

constexpr InstRow kRows[] = {
    {.pattern = "cp.async.{ca,cg}.{shared,shared::cta}.global{.fetchL2} [d], [a], n:u32{, s:u32}",
     .op = Op::CpAsync,
     .effect = Effect::Async,
     .manual = "9.7.9.25.3"},
    {.pattern = "cp.async.{ca,cg}.{shared,shared::cta}.global.L2::cache_hint{.fetchL2} [d], [a], "
                "n:u32{, s:u32}, p:b64",
     .op = Op::CpAsync,
     .effect = Effect::Async,
     .manual = "9.7.9.25.3"},
    {.pattern = "cp.async.commit_group",
     .op = Op::CpAsyncCommit,
     .effect = Effect::Async,
     .manual = "9.7.9.25.3"},
    {.pattern = "cp.async.wait_group n:u32",
     .op = Op::CpAsyncWaitGroup,
     .effect = Effect::Async,
     .manual = "9.7.9.25.3"},
    {.pattern = "cp.async.wait_all",
     .op = Op::CpAsyncWaitAll,
     .effect = Effect::Async,
     .manual = "9.7.9.25.3"},
    {.pattern = "cp.async.mbarrier.arrive{.noinc}{.shared,.shared::cta}.b64 [a]",
     .op = Op::CpAsyncMbarArrive,
     .effect = Effect::Async,
     .manual = "9.7.13.15.17"},
    {.pattern =
         "cp.async.bulk.{shared::cta,shared::cluster}.global.mbarrier::complete_tx::bytes [d], "
         "[a], n:u32, [m]",
     .op = Op::CpAsyncBulk,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    // A policy is an opaque word that only cache hints read.
    {.pattern = "createpolicy.fractional.{L2::evict_last,L2::evict_normal,L2::evict_first,L2::"
                "evict_unchanged}{.L2::evict_first,.L2::evict_unchanged}.b64 d{, a:f32}",
     .conc = [](const Decoded&, const uint64_t*, uint64_t* o) { o[0] = 0; },
     .sym = [](TermStore& store, const Decoded&, const Term*,
               Term* o) { o[0] = store.bits(0, 64); },
     .manual = "9.7.9.18"},
};

}  // namespace

std::span<const InstRow> async_rows() { return kRows; }

}  // namespace coequal::isa
