// Module-level text: variables, initialisers, functions, lines, names of kernels.
#include "ptx_text.h"

namespace coequal::ptx {
namespace {

Variable variable_of(std::string_view text) {
  const Module m = must_parse(with_header(text));
  EXPECT_FALSE(m.variables.empty());
  return m.variables.empty() ? Variable{} : m.variables.back();
}

TEST(Declarations, Header) {
  const Module m =
      must_parse("// made by hand\n.version 7.8\n.target sm_90a, debug\n.address_size 64\n");
  EXPECT_EQ(m.version_major, 7);
  EXPECT_EQ(m.version_minor, 8);
  EXPECT_EQ(m.target, "sm_90a");
  EXPECT_EQ(m.target_options, std::vector<std::string>{"debug"});
  EXPECT_EQ(m.address_size, 64);
}

TEST(Declarations, ArraysAndAlignment) {
  const Variable a = variable_of(".visible .global .align 16 .f32 a[4][3];");
  EXPECT_EQ(a.space, StateSpace::Global);
  EXPECT_EQ(a.type, ScalarType::F32);
  EXPECT_EQ(a.element_count, 12u);
  EXPECT_EQ(a.size, 48u);
  EXPECT_EQ(a.alignment, 16u);
  EXPECT_TRUE(a.initial.empty());
  const Variable v = variable_of(".const .v4 .u16 v[2];");
  EXPECT_EQ(v.element_count, 8u);
  EXPECT_EQ(v.size, 16u);
  EXPECT_EQ(v.alignment, 8u);
  const Variable dynamic = variable_of(".extern .shared .align 16 .b8 smem[];");
  EXPECT_TRUE(dynamic.is_extern);
  EXPECT_TRUE(dynamic.is_unsized);
  EXPECT_EQ(dynamic.size, 0u);
  EXPECT_EQ(variable_of(".global .b8 huge[99999999999999];").size, 99999999999999u);
  EXPECT_EQ(variable_of(".global .attribute(.managed) .u32 m;").size, 4u);
}

TEST(Declarations, IntegerInitialisers) {
  EXPECT_EQ(variable_of(".global .u16 x = 0x1234;").initial, (std::vector<uint8_t>{0x34, 0x12}));
  EXPECT_EQ(variable_of(".global .s32 x = -2;").initial,
            (std::vector<uint8_t>{0xFE, 0xFF, 0xFF, 0xFF}));
  // Only the data given is kept; the rest of the array is zero.
  const Variable partial = variable_of(".const .b8 x[1000000] = {1, 255, 1+2};");
  EXPECT_EQ(partial.initial, (std::vector<uint8_t>{1, 255, 3}));
  EXPECT_EQ(partial.size, 1000000u);
}

TEST(Declarations, FloatInitialisers) {
  EXPECT_EQ(variable_of(".global .f32 x = 0f3F800000;").initial,
            (std::vector<uint8_t>{0, 0, 0x80, 0x3F}));
  EXPECT_EQ(variable_of(".global .f32 x = 1.0;").initial, (std::vector<uint8_t>{0, 0, 0x80, 0x3F}));
  EXPECT_EQ(variable_of(".global .f32 x = -2;").initial, (std::vector<uint8_t>{0, 0, 0, 0xC0}));
  EXPECT_EQ(variable_of(".global .f64 x = 0d3FF8000000000000;").initial,
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0xF8, 0x3F}));
}

TEST(Declarations, NestedInitialisersStartAtTheirRow) {
  EXPECT_EQ(variable_of(".global .b8 x[3][2] = {{1}, {2, 3}, {4, 5}};").initial,
            (std::vector<uint8_t>{1, 0, 2, 3, 4, 5}));
  EXPECT_EQ(variable_of(".global .b8 x[2][2] = {1, 2, 3, 4};").initial,
            (std::vector<uint8_t>{1, 2, 3, 4}));
  const Variable open = variable_of(".global .s8 x[][2] = {{-1, 0}, {0, -1}, {1}};");
  EXPECT_EQ(open.size, 6u);
  EXPECT_EQ(open.element_count, 6u);
  EXPECT_FALSE(open.is_unsized);
  EXPECT_EQ(open.initial, (std::vector<uint8_t>{0xFF, 0, 0, 0xFF, 1}));
}

TEST(Declarations, AddressesInInitialisers) {
  const Module m =
      must_parse(with_header(".global .u32 c;\n.func f() { ret; }\n"
                             ".global .u64 p[4] = {generic(c), c+4, 7, f};\n"
                             ".global .b8 s[10] = {1, 0xFF(generic(c)+8), 0xFF00(generic(c)+8), "
                             "0xFF0000(generic(c)+8), 5, 0xFF(c)};\n"));
  const Variable& p = m.variables.at(1);
  ASSERT_EQ(p.relocations.size(), 3u);
  EXPECT_EQ(p.relocations[0].symbol, "c");
  EXPECT_TRUE(p.relocations[0].is_generic);
  EXPECT_EQ(p.relocations[0].bytes, 8u);
  EXPECT_EQ(p.relocations[1].at, 8u);
  EXPECT_EQ(p.relocations[1].addend, 4);
  EXPECT_FALSE(p.relocations[1].is_generic);
  EXPECT_EQ(p.relocations[2].symbol, "f");
  EXPECT_EQ(p.relocations[2].at, 24u);
  EXPECT_EQ(p.initial.size(), 32u);
  EXPECT_EQ(p.initial[16], 7);
  const Variable& s = m.variables.at(2);
  ASSERT_EQ(s.relocations.size(), 2u);
  EXPECT_EQ(s.relocations[0].at, 1u);
  EXPECT_EQ(s.relocations[0].bytes, 3u);
  EXPECT_EQ(s.relocations[0].shift, 0u);
  EXPECT_EQ(s.relocations[0].addend, 8);
  EXPECT_EQ(s.relocations[1].at, 5u);
  EXPECT_EQ(s.initial, (std::vector<uint8_t>{1, 0, 0, 0, 5, 0}));
}

TEST(Declarations, DefinitionReplacesExternDeclaration) {
  const Module m = must_parse(
      with_header(".extern .global .u32 c;\n.global .u32 c = 5;\n.extern .global .u32 c;"));
  ASSERT_EQ(m.variables.size(), 1u);
  EXPECT_FALSE(m.variables[0].is_extern);
  EXPECT_EQ(m.variables[0].initial, (std::vector<uint8_t>{5, 0, 0, 0}));
}

TEST(Declarations, LocalsThatHideOthersHaveNamesOfTheirOwn) {
  const Module m =
      must_parse(with_header(".shared .b32 x;\n.entry k(.param .u32 p) { .reg .b32 %r<2>;\n"
                             "ld.shared.u32 %r1, [x]; { .shared .b32 x; .local .b32 p; "
                             "ld.shared.u32 %r1, [x]; ld.local.u32 %r1, [p]; }\n"
                             "ld.param.u32 %r1, [p]; }"));
  const Function& f = m.functions.at(0);
  EXPECT_EQ(f.body[0].operands[1].home, Operand::Home::Module);
  EXPECT_EQ(f.body[1].operands[1].home, Operand::Home::Local);
  EXPECT_EQ(f.body[1].operands[1].text, "x#2");
  EXPECT_EQ(f.body[2].operands[1].text, "p#2");
  EXPECT_EQ(f.body[2].operands[1].home, Operand::Home::Local);
  EXPECT_EQ(f.body[3].operands[1].home, Operand::Home::Param);
  EXPECT_EQ(f.body[3].operands[1].text, "p");
}

TEST(Declarations, Parameters) {
  const Module m =
      must_parse(with_header(".visible .entry k(.param .u64 .ptr .global .align 16 a, .param "
                             ".align 8 .b8 s[24], .param .f32 x) { ret; }"));
  const std::vector<Variable>& p = m.functions.at(0).params;
  ASSERT_EQ(p.size(), 3u);
  EXPECT_EQ(p[0].type, ScalarType::U64);
  EXPECT_EQ(p[0].size, 8u);
  EXPECT_EQ(p[0].alignment, 8u);
  EXPECT_EQ(p[0].space, StateSpace::Param);
  EXPECT_EQ(p[1].size, 24u);
  EXPECT_EQ(p[1].alignment, 8u);
  EXPECT_EQ(p[2].name, "x");
}

TEST(Declarations, FunctionDirectives) {
  const Module m =
      must_parse(with_header(".entry k() .reqntid 128, 2, 1 .maxntid 256 .minnctapersm 2 "
                             ".explicitcluster .reqnctapercluster 2, 1, 1\n"
                             ".maxnreg 32 .pragma \"nounroll\"; { ret; }"));
  const Function& f = m.functions.at(0);
  EXPECT_TRUE(f.is_entry);
  EXPECT_EQ(f.reqntid, (std::vector<uint32_t>{128, 2, 1}));
  EXPECT_EQ(f.maxntid, std::vector<uint32_t>{256});
  EXPECT_EQ(f.reqnctapercluster, (std::vector<uint32_t>{2, 1, 1}));
  EXPECT_EQ(f.performance_directives,
            (std::vector<std::string>{".minnctapersm 2", ".explicitcluster", ".maxnreg 32",
                                      ".pragma \"nounroll\""}));
}

TEST(Declarations, FunctionsAreOneEntryAName) {
  const Module m = must_parse(
      with_header(".func (.param .b32 r) f (.param .b32 x);\n.entry k() { ret; }\n"
                  ".func .noreturn (.reg .b32 r) g (.reg .b32 x) { mov.b32 r, x; ret; }\n"
                  ".func (.param .b32 r) f (.param .b32 x) { ret; }\n.weak .func (.param .b32 r) f "
                  "(.param .b32 x);\n"
                  ".alias g2, g;"));
  ASSERT_EQ(m.functions.size(), 3u);
  EXPECT_EQ(m.functions[0].name, "f");
  EXPECT_FALSE(m.functions[0].is_declaration);
  EXPECT_EQ(m.functions[0].returns.size(), 1u);
  EXPECT_EQ(m.functions[2].body[0].operands[0].reg, 0u);
  EXPECT_EQ(m.functions[2].body[0].operands[1].reg, 1u);
  EXPECT_EQ(m.functions[2].params.at(0).space, StateSpace::Reg);
  ASSERT_NE(m.find_function("g2"), nullptr);
  EXPECT_EQ(m.find_function("g2")->name, "g");
  EXPECT_EQ(m.find_function("h"), nullptr);
}

TEST(Declarations, SectionsAndPragmasAreReadOver) {
  const Module m = must_parse(with_header(
      ".pragma \"a\";\n.entry k() { ret; }\n"
      ".file 1 \"dir\" \"a.py\"\n.file 2 \"b \\\"c.cu\", 12, 34\n"
      ".section .debug_str { info: .b8 97, 0\n .b32 .debug_abbrev\n .b64 end-begin {} }\n"));
  EXPECT_EQ(m.files.at(1), "dir/a.py");
  EXPECT_EQ(m.files.at(2), "b \"c.cu");
}

TEST(Declarations, SourceLinesFollowInlining) {
  const Module m = must_parse(
      with_header(".file 1 \"a.cu\"\n.file 2 \"a.h\"\n"
                  ".entry k() {\n trap;\n.loc 1 24 3\n membar.gl;\n"
                  ".loc 1 14 5, function_name $info0, inlined_at 1 24 3\n membar.gl;\n"
                  ".loc 2 449 9, function_name $info0+12, inlined_at 1 14 5\n membar.gl;\n"
                  ".loc 7 1 1\n membar.gl; }"));
  const std::vector<Instruction>& body = m.functions.at(0).body;
  EXPECT_EQ(body[0].source, nullptr);
  EXPECT_EQ(m.span_of(body[0]), (SourceSpan{"text.ptx", 7, 0}));
  EXPECT_EQ(m.span_of(body[1]), (SourceSpan{"a.cu", 24, 3}));
  EXPECT_EQ(body[1].source->inlined_at, nullptr);
  EXPECT_EQ(m.span_of(body[3]), (SourceSpan{"a.h", 449, 9}));
  const SourceLine* outer = body[3].source->inlined_at.get();
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->line, 14u);
  ASSERT_NE(outer->inlined_at, nullptr);
  EXPECT_EQ(outer->inlined_at->line, 24u);
  EXPECT_EQ(outer->inlined_at->inlined_at, nullptr);
  // File 7 is not declared: the line of the PTX text is the best there is.
  EXPECT_EQ(m.span_of(body[4]), (SourceSpan{"text.ptx", 15, 0}));
}

TEST(Declarations, TypesHaveTheirSizes) {
  EXPECT_EQ(bits_of(ScalarType::Pred), 1);
  EXPECT_EQ(bits_of(ScalarType::B128), 128);
  EXPECT_EQ(bits_of(ScalarType::E5M2X2), 16);
  EXPECT_EQ(type_from_text("bf16x2"), ScalarType::BF16X2);
  EXPECT_EQ(type_from_text("v4"), std::nullopt);
  EXPECT_EQ(type_from_text(""), std::nullopt);
  EXPECT_EQ(text_of(ScalarType::TF32), "tf32");
}

TEST(Kernels, FoundByTheWaysToWriteThem) {
  const Module m = must_parse(read_data("mixed.ptx"));
  const std::string wide = "_ZN4demo5scaleIfLi128EEEvPT_PKS1_i",
                    narrow = "_ZN4demo5scaleIfLi64EEEvPT_PKS1_i";
  const auto found = [&](std::string_view name) {
    const auto f = m.find_kernel(name);
    return f ? (*f)->name : "none";
  };
  EXPECT_EQ(found("pick"), "pick");
  EXPECT_EQ(found(wide), wide);
  EXPECT_EQ(found("void demo::scale<float, 128>(float*, float const*, int)"), wide);
  EXPECT_EQ(found("demo::scale<float, 64>"), narrow);
  EXPECT_EQ(found("demo::scale<float,64>"), narrow);
  EXPECT_EQ(found("scale<float, 128>"), wide);
  // Device functions are no kernels.
  EXPECT_EQ(found("twice"), "none");
}

TEST(Kernels, AmbiguousAndUnknownNamesListTheKernels) {
  const Module m = must_parse(read_data("mixed.ptx"));
  for (const char* name : {"scale", "demo::scale", "scael", "scale<float, 32>"}) {
    const auto f = m.find_kernel(name);
    ASSERT_FALSE(f.has_value()) << name;
    EXPECT_EQ(f.error().code, DiagnosticCode::PtxUnknownKernel);
    EXPECT_NE(f.error().message.find("pick, void demo::scale<float, 128>"), std::string::npos)
        << f.error().message;
  }
  EXPECT_EQ(m.find_kernel("scale").error().notes,
            std::vector<std::string>{"'scale' fits 2 of them"});
}

TEST(Kernels, UniqueBareNamesInNestedNamespaces) {
  const Module m =
      must_parse(with_header(".entry _ZN12_GLOBAL__N_13fooEPf() { ret; } .entry "
                             "_Z3barIXadL_Z1fvEEEvv() { ret; } .entry _ZN1aclEv() { ret; }"));
  EXPECT_EQ(m.find_kernel("foo").value()->name, "_ZN12_GLOBAL__N_13fooEPf");
  EXPECT_EQ(m.find_kernel("bar").value()->name, "_Z3barIXadL_Z1fvEEEvv");
}

}  // namespace
}  // namespace coequal::ptx
