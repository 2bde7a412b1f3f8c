// Matrix instructions of warps and warpgroups (PTX ISA 9.7.14, 9.7.15).
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
    {.pattern = "mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32 td, ta, tb, tc",
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
    {.pattern = "wmma.load.{a,b,c}.sync.aligned.{row,col}.m8n8k4{.global,.shared,.shared::cta}"
                ".f64 td, [a]{, ts}",
     .op = Op::WmmaLoad,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.3"},
    {.pattern = "wmma.store.d.sync.aligned.{row,col}.m8n8k4{.global,.shared,.shared::cta}"
                ".f64 [a], tb{, ts}",
     .op = Op::WmmaStore,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.4"},
    {.pattern = "wmma.mma.sync.aligned.{row,col}.{row,col}.m8n8k4{.rnd}.f64.f64.f64.f64 td, ta, "
                "tb, tc",
     .op = Op::WmmaMma,
     .effect = Effect::Collective,
     .manual = "9.7.14.4.5"},
    // D, A in registers or its descriptor, B's descriptor, whether D is added, signs of A and B,
    // and for halves which of the matrices in shared memory are transposed.
    {.pattern =
         "wgmma.mma_async.sync.aligned.m64k16.{f16,f32}.f16.f16 td, ta, tb, p:pred, imm:s32, "
         "imm:s32, imm:u32{, imm:u32}",
     .op = Op::Wgmma,
     .effect = Effect::Collective,
     .manual = "9.7.15.5.2"},
    {.pattern = "wgmma.mma_async.sync.aligned.m64k16.f32.bf16.bf16 td, ta, tb, p:pred, imm:s32, "
                "imm:s32, imm:u32{, imm:u32}",
     .op = Op::Wgmma,
     .effect = Effect::Collective,
     .manual = "9.7.15.5.2"},
    {.pattern = "wgmma.mma_async.sync.aligned.m64k8.f32.tf32.tf32 td, ta, tb, p:pred, imm:s32, "
                "imm:s32",
     .op = Op::Wgmma,
     .effect = Effect::Collective,
     .manual = "9.7.15.5.2"},
    {.pattern = "wgmma.mma_async.sync.aligned.m64k32.{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2} td, ta, tb, "
                "p:pred, imm:s32, imm:s32",
     .op = Op::Wgmma,
     .effect = Effect::Collective,
     .manual = "9.7.15.5.2"},
    {.pattern = "wgmma.mma_async.sync.aligned.m64k32{.satfinite}.s32.{s8,u8}.{s8,u8} td, ta, tb, "
                "p:pred",
     .op = Op::Wgmma,
     .effect = Effect::Collective,
     .manual = "9.7.15.5.2"},
    {.pattern = "wgmma.fence.sync.aligned",
     .op = Op::WgmmaFence,
     .effect = Effect::Collective,
     .manual = "9.7.15.7.1"},
    {.pattern = "wgmma.commit_group.sync.aligned",
     .op = Op::WgmmaCommit,
     .effect = Effect::Collective,
     .manual = "9.7.15.7.2"},
    {.pattern = "wgmma.wait_group.sync.aligned n:u32",
     .op = Op::WgmmaWait,
     .effect = Effect::Collective,
     .manual = "9.7.15.7.3"},
};

}  // namespace

std::span<const InstRow> matrix_rows() { return kRows; }

}  // namespace coequal::isa
