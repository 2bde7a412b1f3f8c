// Binding of instructions to rows: modifiers to fields, operand types, refusals.
#include <algorithm>

#include "unit/isa/one_instruction.h"

namespace coequal::isa {
namespace {

using Class = OperandType::Class;

OneInstruction decoded(const std::string& line) {
  OneInstruction one(line);
  EXPECT_TRUE(one.ok()) << line << ": " << one.refusal();
  return one;
}

TEST(Decode, ArithmeticModifiers) {
  const OneInstruction fma = decoded("fma.rz.ftz.sat.f32 %f1, %f2, %f3, %f4;");
  EXPECT_EQ(fma.decoded().rounding, FloatRounding::TowardZero);
  EXPECT_TRUE(fma.decoded().ftz);
  EXPECT_TRUE(fma.decoded().sat);
  EXPECT_EQ(fma.decoded().src_types.size(), 3u);
  EXPECT_EQ(fma.decoded().dst_types.at(0).format, term::FloatFormat::F32);
  EXPECT_EQ(fma.decoded().dst_types.at(0).cls, Class::Float);
}

TEST(Decode, WideMultiplicationHasTwoWidths) {
  const OneInstruction mul = decoded("mul.wide.s32 %rd1, %r1, 4;");
  EXPECT_EQ(mul.decoded().dst_types.at(0).width, 64);
  EXPECT_EQ(mul.decoded().src_types.at(1).width, 32);
  EXPECT_TRUE(mul.decoded().src_types.at(1).is_signed);
  EXPECT_EQ(mul.decoded().type, ptx::ScalarType::S64);
  EXPECT_EQ(mul.decoded().src_type, ptx::ScalarType::S32);
  EXPECT_EQ(mul.decoded().linear, Linear::MulWide);
}

TEST(Decode, LinearityIsDroppedWhereItIsNotExact) {
  EXPECT_EQ(decoded("add.s32 %r1, %r2, %r3;").decoded().linear, Linear::Add);
  EXPECT_EQ(decoded("add.sat.s32 %r1, %r2, %r3;").decoded().linear, Linear::None);
  EXPECT_EQ(decoded("add.cc.u32 %r1, %r2, %r3;").decoded().linear, Linear::None);
  EXPECT_EQ(decoded("cvt.u64.u32 %rd1, %r1;").decoded().linear, Linear::Extend);
  EXPECT_EQ(decoded("cvt.u32.u64 %r1, %rd1;").decoded().linear, Linear::Truncate);
  EXPECT_EQ(decoded("cvt.u32.s32 %r1, %r1;").decoded().linear, Linear::Copy);
  EXPECT_EQ(decoded("cvt.sat.u32.s32 %r1, %r1;").decoded().linear, Linear::None);
  EXPECT_EQ(decoded("shl.b32 %r1, %r2, 3;").decoded().linear, Linear::Shl);
  EXPECT_EQ(decoded("shr.u32 %r1, %r2, 3;").decoded().linear, Linear::None);
}

TEST(Decode, ConditionCodeIsOneMoreOperand) {
  const OneInstruction addc = decoded("addc.cc.u32 %r1, %r2, %r3;");
  EXPECT_TRUE(addc.decoded().reads_cc && addc.decoded().writes_cc);
  ASSERT_EQ(addc.decoded().src_types.size(), 3u);
  ASSERT_EQ(addc.decoded().dst_types.size(), 2u);
  EXPECT_EQ(addc.decoded().src_types[2].cls, Class::Pred);
  EXPECT_EQ(addc.decoded().dst_types[1].cls, Class::Pred);
  EXPECT_FALSE(decoded("madc.hi.u32 %r1, %r2, %r3, 0;").decoded().writes_cc);
}

TEST(Decode, ComparisonAndPair) {
  const OneInstruction setp = decoded("setp.geu.and.ftz.f32 %p1|%p2, %f1, %f2, !%p3;");
  EXPECT_EQ(setp.decoded().compare, Compare::Geu);
  EXPECT_EQ(setp.decoded().bool_op, BoolOp::And);
  EXPECT_EQ(setp.decoded().dst_types.size(), 2u);
  EXPECT_EQ(setp.decoded().src_types.size(), 3u);
  EXPECT_EQ(setp.decoded().src_types[2].cls, Class::Pred);
  EXPECT_EQ(decoded("setp.eq.s32 %p1, %r1, 0;").decoded().dst_types.size(), 1u);
}

TEST(Decode, ConversionHasBothTypesInOrder) {
  const OneInstruction cvt = decoded("cvt.rn.f32.s64 %f1, %rd1;");
  EXPECT_EQ(cvt.decoded().type, ptx::ScalarType::F32);
  EXPECT_EQ(cvt.decoded().src_type, ptx::ScalarType::S64);
  EXPECT_FALSE(cvt.decoded().round_to_integer);
  const OneInstruction round = decoded("cvt.rpi.ftz.f32.f32 %f1, %f2;");
  EXPECT_TRUE(round.decoded().round_to_integer);
  EXPECT_EQ(round.decoded().rounding, FloatRounding::Up);
  EXPECT_EQ(decoded("cvt.rna.tf32.f32 %r1, %f1;").decoded().dst_types.at(0).width, 32);
  EXPECT_EQ(decoded("cvt.rn.bf16x2.f32 %r1, %f1, %f2;").decoded().src_types.size(), 2u);
  EXPECT_EQ(decoded("cvt.s16.s8 %h1, %r1;").decoded().src_types.at(0).width, 8);
}

TEST(Decode, VectorMovesGetAnOperandForEveryElement) {
  const OneInstruction unpack = decoded("mov.b64 {%r1, %r2}, %rd1;");
  ASSERT_EQ(unpack.decoded().dst_types.size(), 2u);
  EXPECT_EQ(unpack.decoded().dst_types[0].width, 32);
  const OneInstruction pack = decoded("mov.b64 %rd1, {%h1, %h2, %h3, %h4};");
  ASSERT_EQ(pack.decoded().src_types.size(), 4u);
  EXPECT_EQ(pack.decoded().src_types[3].width, 16);
  EXPECT_EQ(decoded("mov.u64 %rd1, buffer;").decoded().op, Op::Mov);
  EXPECT_EQ(decoded("mov.u32 %r1, %tid.x;").decoded().op, Op::Mov);
}

TEST(Decode, MemoryModifiers) {
  const OneInstruction ld =
      decoded("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];");
  EXPECT_EQ(ld.decoded().vector, 4);
  EXPECT_TRUE(ld.decoded().non_coherent);
  EXPECT_EQ(ld.decoded().space, ptx::StateSpace::Global);
  EXPECT_EQ(ld.decoded().dst_types.size(), 4u);
  const OneInstruction hinted =
      decoded("ld.global.L1::evict_last.L2::cache_hint.b32 %r1, [%rd1], %rd2;");
  EXPECT_EQ(hinted.decoded().src_types.size(), 2u);
  const OneInstruction acquire = decoded("ld.acquire.gpu.global.u32 %r1, [%rd1];");
  EXPECT_EQ(acquire.decoded().semantics, Semantics::Acquire);
  EXPECT_EQ(acquire.decoded().scope, Scope::Gpu);
  EXPECT_TRUE(decoded("st.volatile.shared.u32 [buffer], %r1;").decoded().is_volatile);
  EXPECT_EQ(decoded("st.shared::cta.b32 [%r1], %r2;").decoded().space, ptx::StateSpace::Shared);
  EXPECT_EQ(decoded("ld.u32 %r1, [%rd1];").decoded().space, ptx::StateSpace::Generic);
}

TEST(Decode, Atomics) {
  const OneInstruction add = decoded("atom.global.gpu.acq_rel.add.f32 %f1, [%rd1], %f2;");
  EXPECT_EQ(static_cast<AtomOp>(add.decoded().mode), AtomOp::Add);
  EXPECT_EQ(add.decoded().semantics, Semantics::AcqRel);
  const OneInstruction cas = decoded("atom.relaxed.sys.shared.cas.b32 %r1, [%r2], %r3, %r4;");
  EXPECT_EQ(static_cast<AtomOp>(cas.decoded().mode), AtomOp::Cas);
  EXPECT_EQ(cas.decoded().scope, Scope::Sys);
  EXPECT_EQ(cas.decoded().src_types.size(), 3u);
  const OneInstruction red = decoded("red.global.add.u32 [%rd1], 1;");
  EXPECT_EQ(red.decoded().semantics, Semantics::Relaxed);
  EXPECT_EQ(red.decoded().scope, Scope::Gpu);
  EXPECT_EQ(static_cast<AtomOp>(decoded("atom.global.or.b32 %r1, [%rd1], %r2;").decoded().mode),
            AtomOp::Or);
}

TEST(Decode, BarriersAndCollectives) {
  EXPECT_TRUE(decoded("bar.sync 0;").decoded().aligned);
  EXPECT_FALSE(decoded("barrier.sync 0, 64;").decoded().aligned);
  EXPECT_TRUE(decoded("barrier.sync.aligned 0;").decoded().aligned);
  const OneInstruction red = decoded("bar.red.or.pred %p1, 0, %p2;");
  EXPECT_EQ(static_cast<BarRedOp>(red.decoded().mode), BarRedOp::Or);
  EXPECT_EQ(red.decoded().src_types.size(), 2u);
  EXPECT_EQ(red.decoded().src_types[1].cls, Class::Pred);
  EXPECT_EQ(decoded("bar.red.popc.u32 %r1, 0, 64, %p2;").decoded().src_types.size(), 3u);
  const OneInstruction shfl = decoded("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;");
  EXPECT_EQ(static_cast<ShflMode>(shfl.decoded().mode), ShflMode::Bfly);
  EXPECT_EQ(shfl.decoded().dst_types.size(), 2u);
  EXPECT_EQ(static_cast<VoteMode>(decoded("vote.ballot.sync.b32 %r1, %p1, -1;").decoded().mode),
            VoteMode::Ballot);
  EXPECT_EQ(static_cast<ReduxOp>(decoded("redux.sync.max.s32 %r1, %r2, -1;").decoded().mode),
            ReduxOp::Max);
  EXPECT_EQ(decoded("fence.acq_rel.gpu;").decoded().semantics, Semantics::AcqRel);
  EXPECT_EQ(decoded("membar.cta;").decoded().scope, Scope::Cta);
}

TEST(Decode, AsyncCopies) {
  EXPECT_EQ(decoded("cp.async.cg.shared.global [%r1], [%rd1], 16;").decoded().op, Op::CpAsync);
  EXPECT_EQ(decoded("cp.async.ca.shared.global.L2::128B [%r1], [%rd1+8], 4, %r2;")
                .decoded()
                .src_types.size(),
            4u);
  EXPECT_EQ(decoded("cp.async.wait_group 1;").decoded().op, Op::CpAsyncWaitGroup);
  const OneInstruction ignored("cp.async.ca.shared.global [%r1], [%rd1], 4, %p1;");
  EXPECT_NE(ignored.refusal().find("ignore-src"), std::string::npos);
}

TEST(Decode, ControlFlow) {
  EXPECT_TRUE(decoded("bra.uni L;").decoded().uniform);
  EXPECT_EQ(decoded("@%p1 bra L;").decoded().op, Op::Bra);
  EXPECT_EQ(decoded("nanosleep.u32 100;").decoded().op, Op::Nop);
}

TEST(Decode, RefusesByNamingTheModifier) {
  EXPECT_EQ(OneInstruction("add.rn.frobnicate.f32 %f1, %f2, %f3;").refusal(),
            "modifier '.frobnicate' of 'add.rn.frobnicate.f32' is not modelled");
  EXPECT_EQ(OneInstruction("mbarrier.init.shared::cluster.b64 [%r2], 1;").refusal(),
            "modifier '.shared::cluster' of 'mbarrier.init.shared::cluster.b64' is not modelled");
  EXPECT_EQ(OneInstruction("add.sat.u32 %r1, %r2, %r3;").refusal(),
            "modifier '.u32' of 'add.sat.u32' is not modelled");
}

TEST(Decode, RefusesUnknownOpcodesAndOperandCounts) {
  EXPECT_EQ(OneInstruction("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];").refusal(),
            "instruction 'tex.2d.v4.f32.f32' is not modelled");
  EXPECT_EQ(OneInstruction("add.s32 %r1, %r2;").refusal(), "instruction 'add.s32' is not modelled");
  // The table of lop3 is a constant.
  EXPECT_FALSE(OneInstruction("lop3.b32 %r1, %r2, %r3, %r4, %r5;").ok());
  // A vector wider than .v2 says.
  EXPECT_FALSE(OneInstruction("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];").ok());
}

TEST(Decode, OrderOfTypesCounts) {
  // A conversion to an integer must name how it rounds, one from an integer must not round to an
  // integer.
  EXPECT_FALSE(OneInstruction("cvt.rn.s32.f32 %r1, %f1;").ok());
  EXPECT_FALSE(OneInstruction("cvt.rni.f32.s32 %f1, %r1;").ok());
}

TEST(Decode, EveryRowIsListed) {
  const std::string text = list_rows();
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), all_rows().size());
  EXPECT_NE(text.find("fma.rnd{.ftz}{.sat}{.relu}.float d, a, b, c"), std::string::npos);
}

}  // namespace
}  // namespace coequal::isa
