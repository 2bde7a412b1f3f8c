// Binds instructions to rows: opcode first, then modifiers, then operands.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "isa/inst_row.h"
#include "isa/pattern.h"
#include "isa/rows.h"

namespace coequal::isa {
namespace {

using ptx::ScalarType;

struct CompiledRow {
  const InstRow* row;
  Pattern pattern;
};

struct Table {
  std::vector<InstRow> rows;
  std::unordered_map<std::string_view, std::vector<CompiledRow>> by_opcode;

  Table() {
    for (const auto family :
         {integer_rows(), float_rows(), compare_rows(), logic_rows(), convert_rows(), memory_rows(),
          control_rows(), barrier_rows(), warp_rows(), async_rows(), matrix_rows(), real_rows()})
      rows.insert(rows.end(), family.begin(), family.end());
    for (const InstRow& row : rows) {
      Pattern pattern = parse_pattern(row.pattern);
      std::vector<CompiledRow>& same = by_opcode[pattern.opcode];
      for (const CompiledRow& other : same) CHECK(!may_overlap(other.pattern, pattern));
      same.push_back({&row, std::move(pattern)});
    }
  }

  static const Table& get() {
    static const Table table;
    return table;
  }
};

OperandType operand_type(ScalarType type) {
  using Class = OperandType::Class;
  using term::FloatFormat;
  OperandType out;
  out.width = static_cast<uint8_t>(ptx::bits_of(type));
  switch (type) {
    case ScalarType::F64:
      out.cls = Class::Float, out.format = FloatFormat::F64;
      break;
    case ScalarType::F32:
      out.cls = Class::Float, out.format = FloatFormat::F32;
      break;
    case ScalarType::F16:
      out.cls = Class::Float, out.format = FloatFormat::F16;
      break;
    case ScalarType::BF16:
      out.cls = Class::Float, out.format = FloatFormat::BF16;
      break;
    case ScalarType::Pred:
      out.cls = Class::Pred, out.width = 1;
      break;
    // Kept in a 32-bit register as the single-precision number that it is.
    case ScalarType::TF32:
      out.cls = Class::Float, out.format = FloatFormat::F32, out.width = 32;
      break;
    case ScalarType::F16X2:
    case ScalarType::BF16X2:
      out.width = 32;
      break;
    case ScalarType::E4M3X2:
    case ScalarType::E5M2X2:
      out.width = 16;
      break;
    case ScalarType::S8:
    case ScalarType::S16:
    case ScalarType::S32:
    case ScalarType::S64:
      out.is_signed = true;
      break;
    default:
      break;
  }
  return out;
}

ScalarType widened(ScalarType type) {
  switch (type) {
    case ScalarType::U16:
      return ScalarType::U32;
    case ScalarType::S16:
      return ScalarType::S32;
    case ScalarType::U32:
      return ScalarType::U64;
    case ScalarType::S32:
      return ScalarType::S64;
    default:
      return ScalarType::None;
  }
}

template <class E>
struct Named {
  std::string_view word;
  E value;
};

template <class E, size_t N>
const E* find(const Named<E> (&table)[N], std::string_view word) {
  for (const Named<E>& entry : table)
    if (entry.word == word) return &entry.value;
  return nullptr;
}

constexpr Named<FloatRounding> kRounding[] = {
    {"rn", FloatRounding::NearestEven},  {"rz", FloatRounding::TowardZero},
    {"rm", FloatRounding::Down},         {"rp", FloatRounding::Up},
    {"rna", FloatRounding::NearestAway}, {"rni", FloatRounding::NearestEven},
    {"rzi", FloatRounding::TowardZero},  {"rmi", FloatRounding::Down},
    {"rpi", FloatRounding::Up}};
constexpr Named<Compare> kCompare[] = {
    {"eq", Compare::Eq},   {"ne", Compare::Ne},   {"lt", Compare::Lt},   {"le", Compare::Le},
    {"gt", Compare::Gt},   {"ge", Compare::Ge},   {"lo", Compare::Lt},   {"ls", Compare::Le},
    {"hi", Compare::Gt},   {"hs", Compare::Ge},   {"equ", Compare::Equ}, {"neu", Compare::Neu},
    {"ltu", Compare::Ltu}, {"leu", Compare::Leu}, {"gtu", Compare::Gtu}, {"geu", Compare::Geu},
    {"num", Compare::Num}, {"nan", Compare::Nan}};
constexpr Named<BoolOp> kBoolOp[] = {
    {"and", BoolOp::And}, {"or", BoolOp::Or}, {"xor", BoolOp::Xor}};
constexpr Named<ptx::StateSpace> kSpace[] = {
    {"const", ptx::StateSpace::Const},           {"global", ptx::StateSpace::Global},
    {"local", ptx::StateSpace::Local},           {"param", ptx::StateSpace::Param},
    {"param::entry", ptx::StateSpace::Param},    {"param::func", ptx::StateSpace::Param},
    {"shared", ptx::StateSpace::Shared},         {"shared::cta", ptx::StateSpace::Shared},
    {"shared::cluster", ptx::StateSpace::Shared}};
constexpr Named<int> kVector[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}, {"x1", 1}, {"x2", 2}, {"x4", 4}};
constexpr Named<Semantics> kSemantics[] = {
    {"weak", Semantics::Weak},       {"volatile", Semantics::Volatile},
    {"relaxed", Semantics::Relaxed}, {"acquire", Semantics::Acquire},
    {"release", Semantics::Release}, {"acq_rel", Semantics::AcqRel},
    {"sc", Semantics::SeqCst}};
constexpr Named<Scope> kScope[] = {{"cta", Scope::Cta},
                                   {"cluster", Scope::Cluster},
                                   {"gpu", Scope::Gpu},
                                   {"gl", Scope::Gpu},  // membar
                                   {"sys", Scope::Sys}};
constexpr Named<PrmtMode> kPrmt[] = {{"f4e", PrmtMode::F4e}, {"b4e", PrmtMode::B4e},
                                     {"rc8", PrmtMode::Rc8}, {"ecl", PrmtMode::Ecl},
                                     {"ecr", PrmtMode::Ecr}, {"rc16", PrmtMode::Rc16}};
constexpr Named<ShflMode> kShfl[] = {{"up", ShflMode::Up},
                                     {"down", ShflMode::Down},
                                     {"bfly", ShflMode::Bfly},
                                     {"idx", ShflMode::Idx}};
constexpr Named<VoteMode> kVote[] = {{"all", VoteMode::All},
                                     {"any", VoteMode::Any},
                                     {"uni", VoteMode::Uni},
                                     {"ballot", VoteMode::Ballot}};
constexpr Named<MatchMode> kMatch[] = {{"any", MatchMode::Any}, {"all", MatchMode::All}};
constexpr Named<ReduxOp> kRedux[] = {{"add", ReduxOp::Add}, {"min", ReduxOp::Min},
                                     {"max", ReduxOp::Max}, {"and", ReduxOp::And},
                                     {"or", ReduxOp::Or},   {"xor", ReduxOp::Xor}};
constexpr Named<BarRedOp> kBarRed[] = {
    {"popc", BarRedOp::Popc}, {"and", BarRedOp::And}, {"or", BarRedOp::Or}};
constexpr Named<AtomOp> kAtom[] = {
    {"add", AtomOp::Add}, {"min", AtomOp::Min}, {"max", AtomOp::Max},   {"and", AtomOp::And},
    {"or", AtomOp::Or},   {"xor", AtomOp::Xor}, {"exch", AtomOp::Exch}, {"cas", AtomOp::Cas},
    {"inc", AtomOp::Inc}, {"dec", AtomOp::Dec}};

struct Flag {
  std::string_view word;
  bool Decoded::*field;
};
constexpr Flag kFlags[] = {{"ftz", &Decoded::ftz},
                           {"sat", &Decoded::sat},
                           {"satfinite", &Decoded::satfinite},
                           {"approx", &Decoded::approx},
                           {"full", &Decoded::full},
                           {"relu", &Decoded::relu},
                           {"NaN", &Decoded::nan},
                           {"xorsign", &Decoded::xorsign_abs},
                           {"to", &Decoded::to_space},
                           {"volatile", &Decoded::is_volatile},
                           {"nc", &Decoded::non_coherent},
                           {"aligned", &Decoded::aligned},
                           {"uni", &Decoded::uniform},
                           {"cc", &Decoded::writes_cc}};

// The kind that `word` selects for this opcode, as Decoded::mode.
template <class E, size_t N>
void set_mode(Decoded* d, const Named<E> (&table)[N], std::string_view word) {
  if (const E* value = find(table, word)) d->mode = static_cast<uint8_t>(*value);
}

// Modifiers that select among rows, or that only hint, have no field.
void apply_modifier(Decoded* d, std::string_view word) {
  switch (d->op) {
    case Op::Atom:
    case Op::Red:
    case Op::BulkReduce:
    case Op::TensorReduce:
      set_mode(d, kAtom, word);
      break;
    case Op::BarRed:
      set_mode(d, kBarRed, word);
      break;
    case Op::Redux:
      set_mode(d, kRedux, word);
      break;
    case Op::Shfl:
      set_mode(d, kShfl, word);
      break;
    case Op::Vote:
      set_mode(d, kVote, word);
      break;
    case Op::Match:
      set_mode(d, kMatch, word);
      break;
    default:
      if (d->text->opcode == "prmt") set_mode(d, kPrmt, word);
      if (const BoolOp* op = find(kBoolOp, word)) d->bool_op = *op;
      break;
  }
  if (const Compare* compare = find(kCompare, word)) d->compare = *compare;
  if (const FloatRounding* rounding = find(kRounding, word)) {
    d->rounding = *rounding;
    if (word.size() == 3 && word.back() == 'i') d->round_to_integer = true;
  }
  if (const ptx::StateSpace* space = find(kSpace, word)) d->space = *space;
  if (const int* vector = find(kVector, word)) d->vector = *vector;
  if (const Semantics* semantics = find(kSemantics, word)) d->semantics = *semantics;
  if (const Scope* scope = find(kScope, word)) d->scope = *scope;
  for (const Flag& flag : kFlags)
    if (flag.word == word) d->*flag.field = true;
  if (const auto type = ptx::type_from_text(word)) {
    if (d->type == ScalarType::None) d->type = *type;
    d->src_type = *type;
  }
}

// A vector's elements: of the type for accesses, equal parts of it for mov.
void add_types(const Decoded& d, const ptx::Operand& operand, ScalarType type,
               std::vector<OperandType>* out) {
  OperandType one = operand_type(type);
  if (operand.kind != ptx::Operand::Kind::Vector) {
    out->push_back(one);
    return;
  }
  const size_t count = operand.elements.size();
  if (d.op == Op::Mov && count > 0) {
    one = OperandType{};
    one.width = static_cast<uint8_t>(ptx::bits_of(type) / static_cast<int>(count));
  }
  out->insert(out->end(), count, one);
}

bool vector_fits(const Decoded& d, const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::Kind::Vector) return true;
  const size_t count = operand.elements.size();
  switch (d.op) {
    case Op::Mov: {
      const int width = ptx::bits_of(d.type);
      return (count == 2 || count == 4) && width / static_cast<int>(count) >= 8;
    }
    case Op::Ld:
    case Op::St:
    case Op::StAsync:
    case Op::Atom:
    case Op::Red:
    case Op::LdMatrix:
    case Op::StMatrix:
      return count == static_cast<size_t>(d.vector);
    case Op::Mma:
      return true;
    default:
      return false;
  }
}

// Fills the operand types; false if an operand's form does not suit the row.
bool bind_operands(Decoded* d, const std::vector<const OperandPattern*>& patterns) {
  using Role = OperandPattern::Role;
  for (size_t i = 0; i < patterns.size(); ++i) {
    const OperandPattern& p = *patterns[i];
    const ptx::Operand& operand = d->text->operands[i];
    if (p.role == Role::Free) continue;
    if (p.role == Role::Address) {
      d->src_types.push_back(operand_type(ScalarType::B64));
      continue;
    }
    if (!vector_fits(*d, operand)) return false;
    ScalarType type = d->type;
    if (p.type_rule == OperandPattern::TypeRule::Source) type = d->src_type;
    if (p.type_rule == OperandPattern::TypeRule::Fixed) type = p.type;
    add_types(*d, operand, type, p.role == Role::Destination ? &d->dst_types : &d->src_types);
  }
  return true;
}

// The integer conversions' row says Copy; the widths decide.
void bind_convert(Decoded* d) {
  if (d->linear != Linear::Copy || d->text->opcode != "cvt") return;
  const int to = ptx::bits_of(d->type), from = ptx::bits_of(d->src_type);
  if (to != from) d->linear = to > from ? Linear::Extend : Linear::Truncate;
}

// What the manual says of an opcode whatever its modifiers.
void apply_defaults(Decoded* d) {
  const std::string& opcode = d->text->opcode;
  if (opcode == "bar") d->aligned = true;
  if (opcode == "ldu") d->non_coherent = true;
  if (opcode == "membar") d->semantics = Semantics::SeqCst;
  if (opcode == "fence" && d->semantics == Semantics::Weak) d->semantics = Semantics::AcqRel;
  if (d->op == Op::Atom || d->op == Op::Red || d->op == Op::BulkReduce ||
      d->op == Op::TensorReduce) {
    if (d->semantics == Semantics::Weak) d->semantics = Semantics::Relaxed;
    if (d->scope == Scope::None) d->scope = Scope::Gpu;
  }
}

std::optional<Decoded> bind(const CompiledRow& compiled, const ptx::Instruction& instruction) {
  const auto operands = match_operands(compiled.pattern, instruction.operands);
  if (!operands) return std::nullopt;
  const InstRow& row = *compiled.row;
  Decoded d;
  d.row = &row;
  d.text = &instruction;
  d.conc = row.conc;
  d.sym = row.sym;
  d.op = row.op;
  d.effect = row.effect;
  d.linear = row.linear;
  for (const std::string& word : instruction.modifiers) apply_modifier(&d, word);
  if (d.linear == Linear::MulWide || d.linear == Linear::MadWide) d.type = widened(d.src_type);
  apply_defaults(&d);
  if (!bind_operands(&d, *operands)) return std::nullopt;
  const std::string& opcode = instruction.opcode;
  d.reads_cc = opcode == "addc" || opcode == "subc" || opcode == "madc";
  if (d.reads_cc) d.src_types.push_back(operand_type(ScalarType::Pred));
  if (d.writes_cc) d.dst_types.push_back(operand_type(ScalarType::Pred));
  if (d.sat || d.writes_cc || d.reads_cc) d.linear = Linear::None;
  bind_convert(&d);
  return d;
}

// The size operand of cp.async may instead be a predicate (ignore-src), which only the register's
// type tells.
std::optional<Diagnostic> check_registers(const ptx::Module& module, const ptx::Function& function,
                                          const Decoded& d) {
  if (d.op != Op::CpAsync) return std::nullopt;
  for (const ptx::Operand& operand : d.text->operands)
    if (operand.kind == ptx::Operand::Kind::Register &&
        function.registers[operand.reg].type == ScalarType::Pred)
      return make_diagnostic(DiagnosticCode::UnknownModifier, module.span_of(*d.text), "ignore-src",
                             d.text->spelling());
  return std::nullopt;
}

}  // namespace

Result<Decoded> decode(const ptx::Module& module, const ptx::Instruction& instruction) {
  const Table& table = Table::get();
  const auto found = table.by_opcode.find(instruction.opcode);
  const auto unknown = [&] {
    return make_diagnostic(DiagnosticCode::UnknownInstruction, module.span_of(instruction),
                           instruction.spelling());
  };
  if (found == table.by_opcode.end()) return unknown();
  size_t furthest = 0;
  for (const CompiledRow& row : found->second) {
    const ModifierMatch match = match_modifiers(row.pattern, instruction.modifiers);
    furthest = std::max(furthest, match.accepted);
    if (!match.complete) continue;
    if (auto decoded = bind(row, instruction)) return *std::move(decoded);
  }
  if (furthest == instruction.modifiers.size()) return unknown();
  return make_diagnostic(DiagnosticCode::UnknownModifier, module.span_of(instruction),
                         "." + instruction.modifiers[furthest], instruction.spelling());
}

DecodedFunction decode_function(const ptx::Module& module, const ptx::Function& function) {
  DecodedFunction out;
  out.function = &function;
  out.body.reserve(function.body.size());
  for (const ptx::Instruction& instruction : function.body) {
    Result<Decoded> decoded = decode(module, instruction);
    std::optional<Diagnostic> refusal;
    if (decoded) {
      refusal = check_registers(module, function, *decoded);
    } else {
      refusal = decoded.error();
    }
    if (refusal) {
      out.refusals.push_back(*std::move(refusal));
      Decoded unmatched;
      unmatched.text = &instruction;
      out.body.push_back(std::move(unmatched));
    } else {
      out.body.push_back(*std::move(decoded));
    }
  }
  return out;
}

std::span<const InstRow> all_rows() { return Table::get().rows; }

std::string list_rows() {
  std::string out;
  for (const InstRow& row : all_rows()) {
    const std::string_view meaning = row.op != Op::Pure ? "executor"
                                     : row.sym          ? "exact"
                                                        : "concrete";
    out += fmt::format("{:<10} {:<9} {}\n", row.manual, meaning, row.pattern);
  }
  return out;
}

}  // namespace coequal::isa
