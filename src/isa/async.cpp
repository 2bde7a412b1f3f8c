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
    {.pattern = "cp.async.bulk.{shared::cta,shared::cluster}.global.mbarrier::complete_tx::bytes."
                "L2::cache_hint [d], [a], n:u32, [m], p:b64",
     .op = Op::CpAsyncBulk,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    // To every CTA of the mask, at the same place of its shared memory.
    {.pattern = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                "multicast::cluster{.L2::cache_hint} [d], [a], n:u32, [m], c:u16{, p:b64}",
     .op = Op::CpAsyncBulk,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    {.pattern = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [s], "
                "n:u32, [m]",
     .op = Op::SharedBulk,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    {.pattern = "st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2,.v4}"
                ".{b32,b64,u32,u64,s32,s64,f32,f64} [a], b, [m]",
     .op = Op::StAsync,
     .effect = Effect::Async,
     .manual = "9.7.9.12"},
    {.pattern =
         "cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint} [a], [s], n:u32{, p:b64}",
     .op = Op::BulkStore,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    {.pattern = "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.{add,min,max}"
                "{.noftz}.{u32,s32,u64,s64,f16,bf16,f32,f64} [a], [s], n:u32{, p:b64}",
     .op = Op::BulkReduce,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    {.pattern = "cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [a], n:u32{, p:b64}",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.25.4"},
    // Coordinates stand in the brackets of the map, the innermost one first.
    {.pattern = "cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.{shared::cta,shared::cluster}.global{.tile}."
                "mbarrier::complete_tx::bytes{.L2::cache_hint} [d], [a], tc, [m]{, p:b64}",
     .op = Op::TensorLoad,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.shared::cluster.global{.tile}."
                "mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint} [d], [a], tc, "
                "[m], c:u16{, p:b64}",
     .op = Op::TensorLoad,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    // Offsets inside the bounding box come behind the mbarrier.
    {.pattern = "cp.async.bulk.tensor.{3d,4d,5d}.{shared::cta,shared::cluster}.global.im2col."
                "mbarrier::complete_tx::bytes{.L2::cache_hint} [d], [a], tc, [m], to{, p:b64}",
     .op = Op::TensorLoad,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.tensor.{3d,4d,5d}.shared::cluster.global.im2col."
                "mbarrier::complete_tx::bytes.multicast::cluster{.L2::cache_hint} [d], [a], tc, "
                "[m], to, c:u16{, p:b64}",
     .op = Op::TensorLoad,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.tensor.{1d,2d,3d,4d,5d}.global.shared::cta{.tile}.bulk_group"
                "{.L2::cache_hint} [a], tc, [s]{, p:b64}",
     .op = Op::TensorStore,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    {.pattern =
         "cp.reduce.async.bulk.tensor.{1d,2d,3d,4d,5d}.global.shared::cta.{add,min,max}{.tile}"
         ".bulk_group{.L2::cache_hint} [a], tc, [s]{, p:b64}",
     .op = Op::TensorReduce,
     .effect = Effect::Async,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.prefetch.tensor.{1d,2d,3d,4d,5d}.L2.global{.tile}{.L2::cache_hint} "
                "[a], tc{, p:b64}",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.prefetch.tensor.{3d,4d,5d}.L2.global.im2col{.L2::cache_hint} "
                "[a], tc, to{, p:b64}",
     .op = Op::Prefetch,
     .effect = Effect::Memory,
     .manual = "9.7.9.25.5"},
    {.pattern = "cp.async.bulk.commit_group",
     .op = Op::BulkCommit,
     .effect = Effect::Async,
     .manual = "9.7.9.25.4"},
    {.pattern = "cp.async.bulk.wait_group{.read} n:u32",
     .op = Op::BulkWait,
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
