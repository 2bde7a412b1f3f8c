// Barriers and fences (PTX ISA 9.7.13.1 to 9.7.13.4).
#include "isa/rows.h"

namespace coequal::isa {
namespace {

constexpr InstRow kRows[] = {
    {.pattern = "bar{.cta}.sync a:u32{, b:u32}",
     .op = Op::BarSync,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "bar{.cta}.arrive a:u32, b:u32",
     .op = Op::BarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "bar{.cta}.red.popc.u32 d, a:u32{, b:u32}, c:pred",
     .op = Op::BarRed,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "bar{.cta}.red.{and,or}.pred d, a:u32{, b:u32}, c:pred",
     .op = Op::BarRed,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "barrier{.cta}.sync{.aligned} a:u32{, b:u32}",
     .op = Op::BarSync,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "barrier{.cta}.arrive{.aligned} a:u32, b:u32",
     .op = Op::BarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "barrier{.cta}.red.popc{.aligned}.u32 d, a:u32{, b:u32}, c:pred",
     .op = Op::BarRed,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "barrier{.cta}.red.{and,or}{.aligned}.pred d, a:u32{, b:u32}, c:pred",
     .op = Op::BarRed,
     .effect = Effect::Barrier,
     .manual = "9.7.13.1"},
    {.pattern = "barrier.cluster.arrive{.release,.relaxed}{.aligned}",
     .op = Op::ClusterArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.3"},
    {.pattern = "barrier.cluster.wait{.acquire}{.aligned}",
     .op = Op::ClusterWait,
     .effect = Effect::Barrier,
     .manual = "9.7.13.3"},
    {.pattern = "bar.warp.sync a:u32",
     .op = Op::BarWarpSync,
     .effect = Effect::Barrier,
     .manual = "9.7.13.2"},
    {.pattern = "mbarrier.init{.shared,.shared::cta}.b64 [a], n:u32",
     .op = Op::MbarInit,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.9"},
    {.pattern = "mbarrier.inval{.shared,.shared::cta}.b64 [a]",
     .op = Op::MbarInval,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.10"},
    {.pattern =
         "mbarrier.expect_tx{.relaxed}{.cta,.cluster}{.shared,.shared::cta,.shared::cluster}.b64 "
         "[a], n:u32",
     .op = Op::MbarExpect,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.11"},
    {.pattern = "mbarrier.arrive{.release,.relaxed}{.cta,.cluster}{.shared,.shared::cta,.shared::"
                "cluster}.b64 d, [a]{, n:u32}",
     .op = Op::MbarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.13"},
    {.pattern =
         "mbarrier.arrive_drop{.release,.relaxed}{.cta,.cluster}{.shared,.shared::cta,.shared::"
         "cluster}.b64 d, [a]{, n:u32}",
     .op = Op::MbarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.14"},
    {.pattern = "mbarrier.arrive_drop.expect_tx{.release,.relaxed}{.cta,.cluster}{.shared,.shared::"
                "cta,.shared::"
                "cluster}.b64 d, [a], n:u32",
     .op = Op::MbarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.14"},
    {.pattern = "mbarrier.arrive.expect_tx{.release,.relaxed}{.cta,.cluster}{.shared,.shared::cta,"
                ".shared::cluster}.b64 d, [a], n:u32",
     .op = Op::MbarArrive,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.13"},
    {.pattern = "mbarrier.{test_wait,try_wait}{.acquire}{.cta,.cluster}{.shared,.shared::cta}.b64 "
                "d:pred, [a], "
                "s:b64{, h:u32}",
     .op = Op::MbarWait,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.16"},
    {.pattern = "mbarrier.{test_wait,try_wait}.parity{.acquire}{.cta,.cluster}{.shared,.shared::"
                "cta}.b64 d:pred, "
                "[a], s:u32{, h:u32}",
     .op = Op::MbarWait,
     .effect = Effect::Barrier,
     .manual = "9.7.13.15.16"},
    {.pattern = "membar.{cta,gl,sys}",
     .op = Op::Fence,
     .effect = Effect::Memory,
     .manual = "9.7.13.4"},
    {.pattern = "fence{.sc,.acq_rel,.acquire,.release}.scope",
     .op = Op::Fence,
     .effect = Effect::Memory,
     .manual = "9.7.13.4"},
    {.pattern = "fence.proxy.{alias,async,async::generic}{.global,.shared::cta,.shared::cluster}",
     .op = Op::Fence,
     .effect = Effect::Memory,
     .manual = "9.7.13.4"},
    {.pattern = "fence.mbarrier_init.release.cluster",
     .op = Op::Fence,
     .effect = Effect::Memory,
     .manual = "9.7.13.4"},
};

}  // namespace

std::span<const InstRow> barrier_rows() { return kRows; }

}  // namespace coequal::isa
