// Instructions and operands, each form of the manual's "Instruction Operands".
#include "ptx_text.h"

namespace coequal::ptx {
namespace {

using Kind = Operand::Kind;
using Home = Operand::Home;

TEST(Instructions, OpcodeAndModifiers) {
  const Instruction i =
      instruction_of("ld.global.nc.L1::evict_last.L2::128B.v4.f32 {%f1, %f2, %f3, _}, [%rd1+-16];");
  EXPECT_EQ(i.opcode, "ld");
  EXPECT_EQ(i.modifiers,
            (std::vector<std::string>{"global", "nc", "L1::evict_last", "L2::128B", "v4", "f32"}));
  EXPECT_EQ(i.spelling(), "ld.global.nc.L1::evict_last.L2::128B.v4.f32");
  EXPECT_TRUE(i.has("nc"));
  EXPECT_FALSE(i.has("L2"));
  EXPECT_EQ(i.type(), ScalarType::F32);
  EXPECT_EQ(i.ptx_line, 11u);
  ASSERT_EQ(i.operands.size(), 2u);
  EXPECT_EQ(i.operands[0].kind, Kind::Vector);
  ASSERT_EQ(i.operands[0].elements.size(), 4u);
  EXPECT_EQ(i.operands[0].elements[0].kind, Kind::Register);
  EXPECT_EQ(i.operands[0].elements[3].kind, Kind::Sink);
  EXPECT_EQ(i.operands[1].kind, Kind::Address);
  EXPECT_TRUE(i.operands[1].base_is_register);
  EXPECT_EQ(i.operands[1].offset, -16);
}

TEST(Instructions, LastTypeModifierIsTheType) {
  EXPECT_EQ(instruction_of("cvt.rn.f32.s32 %f1, %r1;").type(), ScalarType::S32);
  EXPECT_EQ(instruction_of("setp.lt.and.u32 %p1, %r1, %r2, !%p2;").type(), ScalarType::U32);
  EXPECT_EQ(instruction_of("membar.gl;").type(), ScalarType::None);
}

TEST(Instructions, RegistersGetIndicesAtTheirFirstMention) {
  const Function f = kernel_of("add.s32 %r7, %r2, %r7;");
  ASSERT_EQ(f.registers.size(), 2u);
  EXPECT_EQ(f.registers[0].name, "%r7");
  EXPECT_EQ(f.registers[0].type, ScalarType::B32);
  EXPECT_EQ(f.registers[1].name, "%r2");
  EXPECT_EQ(f.body[0].operands[0].reg, 0u);
  EXPECT_EQ(f.body[0].operands[1].reg, 1u);
  EXPECT_EQ(f.body[0].operands[2].reg, 0u);
}

TEST(Instructions, GuardsAndNegatedPredicates) {
  const Instruction plain = instruction_of("@%p1 mov.u32 %r1, 1;");
  ASSERT_TRUE(plain.guard.has_value());
  EXPECT_FALSE(plain.guard->negated);
  const Instruction negated = instruction_of("@!%p3 mov.u32 %r1, 1;");
  ASSERT_TRUE(negated.guard.has_value());
  EXPECT_TRUE(negated.guard->negated);
  EXPECT_FALSE(instruction_of("mov.u32 %r1, 1;").guard.has_value());
  const Instruction select = instruction_of("selp.b32 %r1, %r2, %r3, !%p1;");
  EXPECT_TRUE(select.operands[3].negated);
}

TEST(Instructions, PairsOfDestinations) {
  const Instruction i = instruction_of("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;");
  ASSERT_EQ(i.operands.size(), 6u);
  EXPECT_TRUE(i.operands[0].has_pair);
  EXPECT_FALSE(i.operands[1].has_pair);
  EXPECT_EQ(i.operands[1].kind, Kind::Register);
  EXPECT_EQ(i.operands[5].bits, ~uint64_t{0});
  EXPECT_EQ(i.operands[5].imm_type, ScalarType::S64);
  const Instruction sink = instruction_of("elect.sync _|%p1, 0xffffffff;");
  ASSERT_EQ(sink.operands.size(), 3u);
  EXPECT_EQ(sink.operands[0].kind, Kind::Sink);
  EXPECT_TRUE(sink.operands[0].has_pair);
  EXPECT_EQ(sink.operands[2].bits, 0xffffffffu);
}

Operand source_of(std::string_view text) {
  const Instruction i = instruction_of("mov.b64 %rd1, " + std::string(text) + ";");
  EXPECT_EQ(i.operands.size(), 2u);
  return i.operands.size() == 2 ? i.operands[1] : Operand{};
}

TEST(Instructions, Immediates) {
  const auto bits = [](std::string_view text) {
    const Operand o = source_of(text);
    EXPECT_EQ(o.kind, Kind::Immediate) << text;
    return o.bits;
  };
  EXPECT_EQ(bits("-1"), ~uint64_t{0});
  EXPECT_EQ(bits("0x80000000"), 0x80000000u);
  EXPECT_EQ(bits("-0x80000000"), 0xFFFFFFFF80000000u);
  EXPECT_EQ(bits("1U"), 1u);
  EXPECT_EQ(source_of("1U").imm_type, ScalarType::U64);
  EXPECT_EQ(bits("0f40000000"), 0x40000000u);
  EXPECT_EQ(source_of("0f40000000").imm_type, ScalarType::F32);
  EXPECT_EQ(bits("-0f40000000"), 0xC0000000u);
  // A signalling NaN stays one: literals are bits.
  EXPECT_EQ(bits("0f7F800001"), 0x7F800001u);
  EXPECT_EQ(bits("0.5"), 0x3FE0000000000000u);
  EXPECT_EQ(source_of("0.5").imm_type, ScalarType::F64);
  EXPECT_EQ(bits("WARP_SZ"), 32u);
}

TEST(Instructions, ConstantExpressions) {
  const auto value = [](std::string_view text) {
    return static_cast<int64_t>(source_of(text).bits);
  };
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("1 << 4 | 3"), 19);
  EXPECT_EQ(value("~0"), -1);
  EXPECT_EQ(value("!5"), 0);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("-8 >> 1"), -4);
  EXPECT_EQ(value("(.u64)-8 >> 1"), 0x7FFFFFFFFFFFFFFC);
  EXPECT_EQ(value("-1 < 0"), 1);
  EXPECT_EQ(value("-1 < 0U"), 0);
  EXPECT_EQ(value("1 ? 4 : 5"), 4);
  EXPECT_EQ(value("0 ? 4 : 0 ? 5 : 6"), 6);
  EXPECT_EQ(value("1 && 0 || 1"), 1);
  EXPECT_EQ(value("6 & 3 ^ 1"), 3);
  EXPECT_EQ(value("1 << 64"), 0);
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), INT64_MIN);
  EXPECT_EQ(source_of("1.5 + 1").bits, 0x4004000000000000u);  // 2.5
  EXPECT_EQ(value("WARP_SZ - 1"), 31);
}

TEST(Instructions, SpecialRegisters) {
  EXPECT_EQ(source_of("%tid.x").kind, Kind::Special);
  EXPECT_EQ(source_of("%tid.x").text, "%tid.x");
  EXPECT_EQ(source_of("%clock64").text, "%clock64");
  EXPECT_EQ(source_of("%envreg31").kind, Kind::Special);
  EXPECT_EQ(source_of("%cluster_ctaid.z").text, "%cluster_ctaid.z");
}

TEST(Instructions, Symbols) {
  const Operand plain = source_of("tile");
  EXPECT_EQ(plain.kind, Kind::Symbol);
  EXPECT_EQ(plain.text, "tile");
  EXPECT_EQ(plain.home, Home::Local);
  EXPECT_EQ(plain.index, 0u);
  EXPECT_EQ(source_of("tile+12").offset, 12);
  EXPECT_EQ(source_of("a").home, Home::Param);
  EXPECT_EQ(source_of("n").index, 1u);
}

TEST(Instructions, Addresses) {
  const auto address = [](std::string_view text) {
    const Instruction i = instruction_of("ld.b32 %r1, " + std::string(text) + ";");
    EXPECT_EQ(i.operands.size(), 2u);
    EXPECT_EQ(i.operands[1].kind, Kind::Address);
    return i.operands[1];
  };
  EXPECT_EQ(address("[%rd1]").offset, 0);
  EXPECT_EQ(address("[%rd1+4*3]").offset, 12);
  EXPECT_EQ(address("[%rd1 - 8]").offset, -8);
  EXPECT_EQ(address("[n]").home, Home::Param);
  EXPECT_FALSE(address("[n]").base_is_register);
  EXPECT_EQ(address("[tile+8]").text, "tile");
  EXPECT_EQ(address("[tile+8]").offset, 8);
  EXPECT_EQ(address("[1024]").home, Home::None);
  EXPECT_EQ(address("[1024]").offset, 1024);
  // Elements of `tile` are bytes, so index and offset are the same number.
  EXPECT_EQ(address("tile[3]").offset, 3);
}

TEST(Instructions, TensorCoordinatesFollowTheirAddress) {
  const Instruction i = instruction_of(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, "
      "{%r2, %r3}], [%r4];");
  EXPECT_EQ(i.opcode, "cp");
  EXPECT_EQ(i.modifiers.back(), "mbarrier::complete_tx::bytes");
  ASSERT_EQ(i.operands.size(), 4u);
  EXPECT_EQ(i.operands[1].kind, Kind::Address);
  EXPECT_EQ(i.operands[2].kind, Kind::Vector);
  EXPECT_EQ(i.operands[2].elements.size(), 2u);
  EXPECT_EQ(i.operands[3].kind, Kind::Address);
}

TEST(Instructions, PartsOfOperandsBecomeModifiersThatNobodyOverlooks) {
  const Instruction i = instruction_of("vadd.u32.u32.u32 %r1, %r2.b3, %r3.h1, %r4;");
  EXPECT_EQ(i.modifiers,
            (std::vector<std::string>{"u32", "u32", "u32", "operand.b3", "operand.h1"}));
}

TEST(Instructions, VectorRegisters) {
  const Function f =
      kernel_of(".reg .v4 .f32 v;\nld.global.v4.f32 v, [%rd1];\nadd.f32 %f1, v.x, v.a;");
  EXPECT_EQ(f.body[0].operands[0].kind, Kind::Vector);
  ASSERT_EQ(f.body[0].operands[0].elements.size(), 4u);
  EXPECT_EQ(f.body[1].operands[1].reg, f.body[0].operands[0].elements[0].reg);
  EXPECT_EQ(f.body[1].operands[2].reg, f.body[0].operands[0].elements[3].reg);
  EXPECT_EQ(f.registers[f.body[1].operands[1].reg].name, "v.x");
}

TEST(Instructions, LabelsForwardsBackwardsAndAtTheEnd) {
  const Function f =
      kernel_of("L0: bra.uni L2;\nbra L0;\nL1: L2: mov.u32 %r1, 1; @%p1 bra END; bra L1; END:");
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_EQ(f.body[0].operands[0].kind, Kind::Label);
  EXPECT_EQ(f.body[0].operands[0].target, 2u);
  EXPECT_EQ(f.body[1].operands[0].target, 0u);
  EXPECT_EQ(f.body[3].operands[0].target, 5u);
  EXPECT_EQ(f.body[4].operands[0].target, 2u);
}

TEST(Instructions, BranchLists) {
  const Function f =
      kernel_of("ts: .branchtargets A, B, A;\n@!%p1 brx.idx %r1, ts;\nA: mov.u32 %r1, 1;\nB: ret;");
  ASSERT_EQ(f.body.size(), 3u);
  EXPECT_EQ(f.body[0].operands[1].kind, Kind::LabelList);
  EXPECT_EQ(f.branch_lists.at(f.body[0].operands[1].text), (std::vector<uint32_t>{1, 2, 1}));
}

TEST(Instructions, ScopedLabelsAndRegistersShadow) {
  const Function f = kernel_of(
      "mov.u32 %r1, 1;\n"
      "{ .reg .b32 %r<3>; .reg .pred p; L: mov.u32 %r1, 2; @p bra L; bra OUT; }\n"
      "{ .reg .pred p; L: @p bra L; }\n"
      "OUT: mov.u32 %r1, 3;");
  ASSERT_EQ(f.body.size(), 6u);
  EXPECT_NE(f.body[1].operands[0].reg, f.body[0].operands[0].reg);
  EXPECT_EQ(f.body[5].operands[0].reg, f.body[0].operands[0].reg);
  EXPECT_EQ(f.body[2].operands[0].target, 1u);
  EXPECT_EQ(f.body[3].operands[0].target, 5u);
  EXPECT_EQ(f.body[4].operands[0].target, 4u);
  EXPECT_NE(f.body[2].guard->reg, f.body[4].guard->reg);
}

TEST(Instructions, CallSequencesHaveVariablesOfTheirOwn) {
  const Module m = must_parse(with_header(
      ".extern .func (.param .b32 r) twice (.param .b32 x);\n"
      ".entry k() { .reg .b32 %r<4>;\n"
      "{ .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;\n"
      "  call.uni (retval0), twice, (param0); ld.param.b32 %r2, [retval0+0]; }\n"
      "{ .param .align 8 .b8 param0[16]; st.param.b32 [param0+8], %r2; call twice, (param0); }\n"
      "}"));
  const Function& f = m.functions[1];
  ASSERT_EQ(f.locals.size(), 3u);
  EXPECT_EQ(f.locals[0].name, "param0");
  EXPECT_EQ(f.locals[1].name, "retval0");
  EXPECT_EQ(f.locals[2].name, "param0#2");
  EXPECT_EQ(f.locals[2].size, 16u);
  const Instruction& call = f.body[1];
  EXPECT_EQ(call.opcode, "call");
  ASSERT_EQ(call.operands.size(), 3u);
  EXPECT_EQ(call.operands[0].kind, Kind::ParamList);
  EXPECT_EQ(call.operands[0].elements.at(0).text, "retval0");
  EXPECT_EQ(call.operands[1].kind, Kind::CallTarget);
  EXPECT_EQ(call.operands[1].text, "twice");
  EXPECT_EQ(call.operands[1].index, 0u);
  EXPECT_EQ(call.operands[2].elements.at(0).text, "param0");
  EXPECT_EQ(f.body[3].operands[0].text, "param0#2");
  EXPECT_EQ(f.body[3].operands[0].index, 2u);
  EXPECT_EQ(f.body[4].operands.size(), 2u);
  EXPECT_EQ(f.body[4].operands[1].elements.at(0).index, 2u);
}

TEST(Instructions, IndirectCalls) {
  const Function f = kernel_of(
      "proto : .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn;\n"
      "{ .param .b32 x; .param .b64 y; call (x), %rd1, (y, %r1), proto; }");
  const Instruction& call = f.body.at(0);
  ASSERT_EQ(call.operands.size(), 4u);
  EXPECT_EQ(call.operands[1].kind, Kind::Register);
  EXPECT_EQ(call.operands[2].elements.size(), 2u);
  EXPECT_EQ(call.operands[3].kind, Kind::LabelList);
  EXPECT_EQ(call.operands[3].text, "proto");
}

TEST(Instructions, CallTargetLists) {
  const Module m = must_parse(
      with_header(".func f() { ret; } .func g() { call f; ret; }\n"
                  ".entry k() { .reg .b64 %rd<2>; ct: .calltargets f, g; call %rd1, (), ct; }"));
  EXPECT_EQ(m.functions[2].call_lists.at("ct"), (std::vector<std::string>{"f", "g"}));
  EXPECT_EQ(m.functions[1].body[0].operands.at(0).kind, Kind::CallTarget);
}

}  // namespace
}  // namespace coequal::ptx
