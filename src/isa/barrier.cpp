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
    {.pattern = "bar.warp.sync a:u32",
     .op = Op::BarWarpSync,
     .effect = Effect::Barrier,
     .manual = "9.7.13.2"},
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
