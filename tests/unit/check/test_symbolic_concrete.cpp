// Symbolic against concrete execution: random kernels from the instruction table, on known inputs,
// must be proved to store exactly the numbers that the interpreter computes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "check/checker.h"
#include "check/concrete.h"
#include "instance/toml.h"
#include "isa/pattern.h"
#include "isa/semantics.h"

namespace coequal::check {
namespace {

using isa::Decoded;
using isa::OperandType;
using Random = std::mt19937_64;

constexpr int kThreads = 32, kWords = 6, kFloats = 3;

std::optional<std::string> register_of(const OperandType& type, Random& random) {
  const auto pick = [&](const char* prefix, uint64_t count) {
    return prefix + std::to_string(random() % count);
  };
  if (type.cls == OperandType::Class::Pred) return pick("%p", 3);
  if (type.cls == OperandType::Class::Float) {
    if (type.format != term::FloatFormat::F32) return std::nullopt;
    return pick("%f", kFloats);
  }
  switch (type.width) {
    case 16:
      return pick("%h", 3);
    case 32:
      return pick("%r", kWords);
    case 64:
      return pick("%d", 3);
    default:
      return std::nullopt;
  }
}

// One line of the table; empty if the row does not suit.
std::string random_line(const isa::InstRow& row, Random& random) {
  const isa::Pattern pattern = isa::parse_pattern(row.pattern);
  // Quotients by zero are not specified, the sign of a zero is not modelled, and what depends on
  // earlier lines (the condition code) is met by regression cases.
  for (const std::string_view opcode :
       {"div", "rem", "copysign", "addc", "subc", "madc", "rcp", "sqrt", "rsqrt", "testp"})
    if (pattern.opcode == opcode) return "";
  ptx::Instruction text;
  text.opcode = pattern.opcode;
  for (const isa::ModifierPattern& m : pattern.modifiers)
    if (!m.optional || random() % 2)
      text.modifiers.emplace_back(m.words[random() % m.words.size()]);
  if (text.has("cc")) return "";
  std::vector<const isa::OperandPattern*> operands;
  for (const isa::OperandPattern& p : pattern.operands) {
    if (p.role == isa::OperandPattern::Role::Address || p.role == isa::OperandPattern::Role::Free)
      return "";
    if (p.optional && random() % 2) continue;
    if (p.pair) text.operands.back().has_pair = true;
    ptx::Operand operand;
    operand.kind = p.immediate ? ptx::Operand::Kind::Immediate : ptx::Operand::Kind::Register;
    text.operands.push_back(operand);
    operands.push_back(&p);
  }
  const ptx::Module module;
  const Result<Decoded> decoded = isa::decode(module, text);
  if (!decoded || !decoded->sym || !decoded->conc) return "";
  for (const ptx::ScalarType type : {decoded->type, decoded->src_type})
    if (type != ptx::ScalarType::None && isa::is_float(type) && isa::is_packed(type)) return "";
  std::string line = text.spelling();
  size_t destination = 0, source = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool written = operands[i]->role == isa::OperandPattern::Role::Destination;
    const std::vector<OperandType>& types = written ? decoded->dst_types : decoded->src_types;
    size_t& at = written ? destination : source;
    if (at >= types.size()) return "";
    line += i == 0 ? " " : operands[i]->pair ? "|" : ", ";
    if (operands[i]->immediate) {
      line += std::to_string(random() % 256);
    } else {
      const auto name = register_of(types[at], random);
      if (!name) return "";
      line += *name;
    }
    ++at;
  }
  return line + ";\n";
}

// The text of a random kernel, of straight lines, branches and loops. Two in three are without
// float arithmetic, which soon rounds.
class Kernel {
 public:
  explicit Kernel(uint64_t seed) : random_(seed), floats_(seed % 3 == 0) {
    for (const isa::InstRow& row : isa::all_rows())
      if (row.op == isa::Op::Pure && row.sym && row.conc) rows_.push_back(&row);
  }

  std::string text() {
    std::string body;
    for (int block = 0; block < 3; ++block) body += piece();
    std::string out =
        ".version 8.3\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 px, .param .u64 pv, .param .u64 py, .param .u64 pw)\n{\n"
        ".reg .pred %p<4>, %q<9>; .reg .b16 %h<3>; .reg .b32 %r<6>, %t<9>; .reg .b64 %d<3>, %a<9>;"
        " .reg .f32 %f<3>;\n"
        "ld.param.u64 %a0, [px]; ld.param.u64 %a1, [pv]; ld.param.u64 %a2, [py];\n"
        "ld.param.u64 %a3, [pw]; mov.u32 %t0, %tid.x;\n"
        "mul.wide.u32 %a4, %t0, 24; mul.wide.u32 %a5, %t0, 12; add.u64 %a0, %a0, %a4;\n"
        "add.u64 %a1, %a1, %a5; add.u64 %a2, %a2, %a4; add.u64 %a3, %a3, %a5;\n";
    for (int i = 0; i < kWords; ++i)
      out += fmt::format("ld.global.u32 %r{0}, [%a0+{1}];\n", i, 4 * i);
    for (int i = 0; i < kFloats; ++i)
      out += fmt::format("ld.global.f32 %f{0}, [%a1+{1}];\n", i, 4 * i);
    for (int i = 0; i < 3; ++i)
      out += fmt::format(
          "cvt.u16.u32 %h{0}, %r{0}; mul.wide.u32 %d{0}, %r{0}, %r{1}; setp.lt.s32 %p{0}, %r{0}, "
          "%r{1};\n",
          i, i + 3);
    out += body;
    // Everything ends in a word that is stored.
    for (int i = 0; i < 3; ++i)
      out += fmt::format(
          "cvt.u32.u16 %t1, %h{0}; add.u32 %r{0}, %r{0}, %t1; selp.u32 %t2, 77, 0, %p{0};\n"
          "xor.b32 %r{1}, %r{1}, %t2; cvt.u32.u64 %t3, %d{0}; shr.u64 %d{0}, %d{0}, 32;\n"
          "cvt.u32.u64 %t4, %d{0}; sub.u32 %r{0}, %r{0}, %t3; xor.b32 %r{1}, %r{1}, %t4;\n",
          i, i + 3);
    for (int i = 0; i < kWords; ++i)
      out += fmt::format("st.global.u32 [%a2+{1}], %r{0};\n", i, 4 * i);
    for (int i = 0; i < kFloats; ++i)
      out += fmt::format("st.global.f32 [%a3+{1}], %f{0};\n", i, 4 * i);
    return out + "ret;\n}\n";
  }

 private:
  std::string lines(int count) {
    std::string out;
    while (count > 0) {
      const std::string line = random_line(*rows_[random_() % rows_.size()], random_);
      if (line.empty() || (!floats_ && line.find("%f") != std::string::npos)) continue;
      out += line;
      --count;
    }
    return out;
  }

  // Straight lines, a branch that part of the threads take, or a short loop.
  std::string piece() {
    const int kind = static_cast<int>(random_() % 3), label = labels_++;
    if (kind == 0) return lines(4);
    if (kind == 1)
      return fmt::format(
          "setp.lt.s32 %q0, %r{0}, %r{1};\n@%q0 bra E{2};\n{3}bra J{2};\nE{2}:\n{4}J{2}:\n",
          random_() % kWords, random_() % kWords, label, lines(3), lines(2));
    return fmt::format(
        "and.b32 %t5, %t0, 3;\nL{0}:\n{1}sub.s32 %t5, %t5, 1;\nsetp.ge.s32 %q1, %t5, 0;\n"
        "@%q1 bra L{0};\n",
        label, lines(3));
  }

  Random random_;
  bool floats_;
  std::vector<const isa::InstRow*> rows_;
  int labels_ = 0;
};

// Copies what is expected.
constexpr const char* kCopy =
    ".version 8.3\n.target sm_90\n.address_size 64\n"
    ".visible .entry copy(.param .u64 px, .param .u64 pv, .param .u64 py, .param .u64 pw)\n{\n"
    ".reg .b32 %t<2>, %r<2>; .reg .b64 %a<9>; .reg .f32 %f<2>; .reg .pred %p;\n"
    "ld.param.u64 %a0, [px]; ld.param.u64 %a1, [pv]; ld.param.u64 %a2, [py];\n"
    "ld.param.u64 %a3, [pw]; mov.u32 %t0, %tid.x; mul.wide.u32 %a4, %t0, 4;\n"
    "add.u64 %a0, %a0, %a4; add.u64 %a1, %a1, %a4; add.u64 %a2, %a2, %a4;\n"
    "add.u64 %a3, %a3, %a4; ld.global.u32 %r0, [%a0]; st.global.u32 [%a2], %r0;\n"
    "setp.ge.u32 %p, %t0, 96;\n@%p bra END;\n"
    "ld.global.f32 %f0, [%a1]; st.global.f32 [%a3], %f0;\nEND:\nret;\n}\n";

std::string listed(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& v : values) text += (text.empty() ? "" : ", ") + v;
  return "[" + text + "]";
}

std::vector<std::string> texts(const Bytes& bytes, DType dtype) {
  std::vector<std::string> out;
  const auto size = static_cast<size_t>(dtype_size(dtype));
  for (size_t at = 0; at < bytes.size(); at += size) {
    std::string text = element_text(bytes.data() + at, dtype);
    if (is_float(dtype) && text.find_first_of(".e") == std::string::npos) text += ".0";
    out.push_back(text);
  }
  return out;
}

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "symbolic_concrete") {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string instance_text(const std::vector<std::string>& words,
                          const std::vector<std::string>& reals, const std::vector<std::string>& y,
                          const std::vector<std::string>& w) {
  std::string text = fmt::format(
      "[tensors]\nx = {{ dtype = \"i32\", shape = [192], values = {} }}\n"
      "v = {{ dtype = \"f32\", shape = [96], values = {} }}\n"
      "y = {{ dtype = \"i32\", shape = [192], init = \"empty\" }}\n"
      "w = {{ dtype = \"f32\", shape = [96], init = \"empty\" }}\n",
      listed(words), listed(reals));
  if (!y.empty())
    text += fmt::format(
        "ey = {{ dtype = \"i32\", shape = [192], values = {} }}\n"
        "ew = {{ dtype = \"f32\", shape = [96], values = {} }}\n",
        listed(y), listed(w));
  text +=
      "[program_a]\nsource = \"k.ptx\"\n[[program_a.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = "
      "[32]\n"
      "args = [{ read = \"x\" }, { read = \"v\" }, { write = \"y\" }, { write = \"w\" }]\n";
  if (!y.empty())
    text +=
        "[program_b]\nsource = \"copy.ptx\"\n[[program_b.launch]]\nkernel = \"copy\"\ngrid = [1]\n"
        "block = [192]\nargs = [{ read = \"ey\" }, { read = \"ew\" }, { write = \"y\" }, { write = "
        "\"w\" }]\n";
  return text;
}

TEST(SymbolicAgainstConcrete, RandomKernelsStoreWhatTheInterpreterComputes) {
  const Folder folder;
  folder.write("copy.ptx", kCopy);
  int proved = 0, compared = 0;
  for (uint64_t seed = 1; seed <= 240; ++seed) {
    Random random(seed);
    std::vector<std::string> words, reals;
    for (int i = 0; i < kThreads * kWords; ++i) {
      const auto any = static_cast<int32_t>(random());
      words.push_back(std::to_string(random() % 2 ? any : any % 40));
    }
    for (int i = 0; i < kThreads * kFloats; ++i)
      reals.push_back(fmt::format("{}.0", static_cast<int>(random() % 9) - 4));
    const std::string ptx = Kernel(seed).text();
    folder.write("k.ptx", ptx);
    const Options options;
    const auto alone =
        instance::read_toml_text(instance_text(words, reals, {}, {}), folder.path() + "/k.toml");
    ASSERT_TRUE(alone) << alone.error().message;
    KernelCache kernels;
    replay::RunOptions how;
    how.watch_floats = true;
    const auto run = run_concrete(*alone, alone->program_a, {}, kernels, how, options, Budget(60));
    ASSERT_TRUE(run) << run.error().message << "\n" << ptx;
    ASSERT_FALSE(run->fault) << run->fault->message << "\n" << ptx;
    // Where floats rounded, the reals differ from them.
    if (!run->floats.exact()) continue;
    std::vector<std::string> y = texts(run->tensors.at("y"), DType::I32),
                             w = texts(run->tensors.at("w"), DType::F32);
    const auto verdict = [&] {
      const auto pair =
          instance::read_toml_text(instance_text(words, reals, y, w), folder.path() + "/k.toml");
      EXPECT_TRUE(pair) << pair.error().message;
      Workers workers;
      return check_instance(*pair, options, workers, nullptr);
    };
    ++compared;
    const report::InstanceResult same = verdict();
    // What is refused or left open is no contradiction.
    EXPECT_NE(same.verdict, report::Verdict::Inequivalent)
        << "seed " << seed << ": " << same.witness->cell << " is " << same.witness->value_a.exact
        << ", the interpreter has " << same.witness->value_b.exact << "\n"
        << ptx;
    EXPECT_NE(same.verdict, report::Verdict::Internal) << "seed " << seed << "\n" << ptx;
    if (same.verdict != report::Verdict::Equivalent) continue;
    ++proved;
    const size_t cell = random() % y.size();
    y[cell] = y[cell] == "7" ? "8" : "7";
    EXPECT_EQ(verdict().verdict, report::Verdict::Inequivalent)
        << "seed " << seed << ", y[" << cell << "] is not " << y[cell] << "\n"
        << ptx;
  }
  EXPECT_GE(compared, 150);
  EXPECT_GE(proved, compared * 3 / 4);
}

}  // namespace
}  // namespace coequal::check
