// Warp-level matrix instructions (PTX ISA 9.7.14).
#include "isa/rows.h"

namespace coequal::isa {
namespace {

constexpr InstRow kRows[] = {
    {.pattern =
         "ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared,.shared::cta}.b16 d:b32, [a]",
     .op = Op::LdMatrix,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.15"},
    {.pattern =
         "stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared,.shared::cta}.b16 [a], b:b32",
     .op = Op::StMatrix,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.16"},
    {.pattern = "movmatrix.sync.aligned.m8n8.trans.b16 d:b32, a:b32",
     .op = Op::MovMatrix,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.17"},
    {.pattern =
         "mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.{f16,f32}.f16.f16.{f16,f32} td, ta, tb, tc",
     .op = Op::Mma,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.14"},
    {.pattern = "mma.sync.aligned.{m16n8k8,m16n8k16}.row.col.f32.bf16.bf16.f32 td, ta, tb, tc",
     .op = Op::Mma,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.14"},
    {.pattern = "mma.sync.aligned.{m16n8k4,m16n8k8}.row.col.f32.tf32.tf32.f32 td, ta, tb, tc",
     .op = Op::Mma,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.14"},
    {.pattern = "mma.sync.aligned.{m8n8k4,m16n8k4,m16n8k8,m16n8k16}.row.col{.rnd}.f64.f64.f64.f64 "
                "td, ta, tb, tc",
     .op = Op::Mma,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.14"},
    {.pattern = "mma.sync.aligned.{m8n8k16,m16n8k16,m16n8k32}.row.col{.satfinite}.s32.{s8,u8}.{s8,"
                "u8}.s32 td, ta, tb, tc",
     .op = Op::Mma,
     .effect = Effect::Collective,
     .manual = "9.7.14.5.14"},
    {.pattern = "wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}"
                "{.global,.shared,.shared::cta}.{f16,bf16,s8,u8} td, [a]{, ts}",
     .op = Op::WmmaLoad,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.3"},
    {.pattern = "wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8{.global,.shared,.shared::cta}"
                ".tf32 td, [a]{, ts}",
     .op = Op::WmmaLoad,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.3"},
    {.pattern = "wmma.load.c.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16,m16n16k8}"
                "{.global,.shared,.shared::cta}.{f16,f32,s32} td, [a]{, ts}",
     .op = Op::WmmaLoad,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.3"},
    {.pattern = "wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16,m16n16k8}"
                "{.global,.shared,.shared::cta}.{f16,f32,s32} [a], tb{, ts}",
     .op = Op::WmmaStore,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.4"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}"
                ".{f16,f32}.{f16,f32} td, ta, tb, tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}"
                ".f32.bf16.bf16.f32 td, ta, tb, tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32 td, ta, tb, "
                "tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}"
                "{.satfinite}.s32.s8.s8.s32 td, ta, tb, tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}"
                "{.satfinite}.s32.u8.u8.s32 td, ta, tb, tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
};

}  // namespace

std::span<const InstRow> matrix_rows() { return kRows; }

}  // namespace coequal::isa
