// The instruction table: one row per PTX form, with its symbolic and its concrete meaning.
//
// A row's pattern is the manual's notation: "add{.sat}.s32 d, a, b". ".{u16,u32}" is one of several
// modifiers, "{.ftz}" or "{.cta,.gpu}" an optional one; ".rnd", ".fcmp", ".int" and the like name
// sets (pattern.cpp lists them). Operands: "d:u32" gives a type (without one it is the
// instruction's), "[a]" an address, "{|p}" an optional second destination, "{, c}" an optional
// operand, "imm" a constant, "*" anything. Modifiers may come in any order, as ptxas has it, except
// that types keep theirs. Rows are matched once, when a kernel is loaded (decode); what no row
// matches is refused there. Registers are untyped bits: a row says how each operand is read and
// what is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float_bits.h"
#include "base/result.h"
#include "ptx/module.h"
#include "term/store.h"

namespace coequal::isa {

// Who must meet for the instruction to execute.
enum class Effect : uint8_t { Pure, Memory, Control, Barrier, Collective, Async };

// What the executors do; Pure rows carry their meaning themselves, the others are implemented by
// exec/ and replay/.
enum class Op : uint8_t {
  Pure,
  Mov,   // also of symbols and special registers, vectors packed and unpacked (mov.b64 {lo, hi}, d)
  Cvta,  // generic <-> space; `to_space` in Decoded::flags
  Isspacep,
  Ld,
  St,
  Atom,
  Red,
  Prefetch,  // no effect on values
  Bra,
  BrxIdx,
  Call,
  Ret,
  Exit,
  Trap,
  BarSync,
  BarArrive,
  BarRed,
  BarWarpSync,
  Shfl,
  Vote,
  Match,
  Redux,
  Activemask,
  Elect,
  Fence,  // membar, fence
  CpAsync,
  CpAsyncCommit,
  CpAsyncWaitGroup,
  CpAsyncWaitAll,
  CpAsyncMbarArrive,
  CpAsyncBulk,  // global to shared, completion at an mbarrier
  BulkStore,    // shared to global, in groups
  BulkReduce,
  TensorLoad,  // the same through a tensor map
  TensorStore,
  TensorReduce,
  BulkCommit,
  BulkWait,
  MbarInit,
  MbarInval,
  MbarArrive,  // also arrive.expect_tx
  MbarExpect,
  MbarWait,  // test_wait and try_wait
  LdMatrix,
  StMatrix,
  Mma,
  MovMatrix,
  WmmaLoad,
  WmmaStore,
  WmmaMma,
  Wgmma,  // products of a warpgroup; those below order and complete them
  WgmmaFence,
  WgmmaCommit,
  WgmmaWait,
  Mapa,  // a shared variable as another CTA of the cluster has it
  GetCtaRank,
  ClusterArrive,
  ClusterWait,
  StAsync,     // to the shared memory of the cluster, completion at an mbarrier
  SharedBulk,  // the same, a block of shared memory
  SetMaxNReg,
  Nop,  // pragma-like: nanosleep, griddepcontrol, ...
};

// How one operand is read or written.
struct OperandType {
  enum class Class : uint8_t { Bits, Float, Pred };
  Class cls = Class::Bits;
  uint8_t width =
      32;  // bits in the register (1 for Pred; 32 for a packed pair of halves read as Bits)
  bool is_signed =
      false;  // Bits: a wider destination register gets the sign-extended value, else zeros
  term::FloatFormat format = term::FloatFormat::F32;  // Float only

  term::Type term_type() const {
    if (cls == Class::Float) return term::kReal;
    return cls == Class::Pred ? term::kBool : term::bv(width);
  }
  friend bool operator==(const OperandType&, const OperandType&) = default;
};

enum class Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
enum class BoolOp : uint8_t { None, And, Or, Xor };

// How a memory access, an atomic or a fence orders; Weak for plain accesses.
enum class Semantics : uint8_t { Weak, Volatile, Relaxed, Acquire, Release, AcqRel, SeqCst };
enum class Scope : uint8_t { None, Cta, Cluster, Gpu, Sys };

// Which displacement algebra is exact modulo 2^width, so that block-dependent operands need no
// evaluation per CTA.
enum class Linear : uint8_t {
  None,
  Copy,
  Add,
  Sub,
  Neg,
  Mul,
  MulWide,
  Mad,
  MadWide,
  Shl,
  Extend,
  Truncate
};

struct Decoded;
// Bit patterns in (narrow values zero-extended to 64 bits, Pred as 0 or 1), bit patterns out.
// Floats round as IEEE and the manual say.
using ConcFn = void (*)(const Decoded&, const uint64_t* src, uint64_t* dst);
// Typed terms in (src_types), typed terms out (dst_types); floats are exact extended reals. May not
// look at anything else.
using SymFn = void (*)(term::TermStore&, const Decoded&, const term::Term* src, term::Term* dst);

struct InstRow {
  std::string_view pattern;
  Op op = Op::Pure;
  Effect effect = Effect::Pure;
  ConcFn conc = nullptr;
  SymFn sym = nullptr;
  Linear linear = Linear::None;
  std::string_view manual;  // section of the PTX ISA manual, "9.7.1.3"
};

// An instruction bound to its row, with everything that modifiers say turned into fields.
struct Decoded {
  const InstRow* row = nullptr;
  const ptx::Instruction* text = nullptr;
  ConcFn conc = nullptr;
  SymFn sym = nullptr;
  Op op = Op::Pure;
  Effect effect = Effect::Pure;
  Linear linear = Linear::None;

  // Destinations and sources in the order of the text (destinations first; vectors element by
  // element, addresses as b64 sources, and nothing for labels and call operands). With
  // `writes_cc`/`reads_cc` the condition code is one more Pred destination / source at the end of
  // the list, without an operand in the text.
  std::vector<OperandType> dst_types, src_types;
  bool writes_cc = false, reads_cc = false;

  ptx::ScalarType type =
      ptx::ScalarType::None;  // the type modifier; of two (cvt, set) the destination's
  ptx::ScalarType src_type =
      ptx::ScalarType::None;  // the last type modifier; mul.wide, mad.wide: the factors' type
  FloatRounding rounding = FloatRounding::NearestEven;
  bool ftz = false, sat = false, satfinite = false, approx = false, full = false, relu = false,
       nan = false, xorsign_abs = false;
  bool round_to_integer = false;  // cvt.rni and the like
  Compare compare = Compare::Eq;
  BoolOp bool_op = BoolOp::None;
  uint8_t mode = 0;  // prmt mode; shfl, vote, match, redux, atom and bar kind (enums below)
  int vector = 1;    // .v2, .v4, .v8
  ptx::StateSpace space = ptx::StateSpace::Generic;
  bool to_space = false;                           // cvta.to
  bool is_volatile = false, non_coherent = false;  // ld.volatile, ld.global.nc
  Semantics semantics = Semantics::Weak;
  Scope scope = Scope::None;
  bool aligned = false;  // .aligned
  bool uniform = false;  // bra.uni
};

enum class PrmtMode : uint8_t { Default, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };
enum class ShflMode : uint8_t { Up, Down, Bfly, Idx };
enum class VoteMode : uint8_t { All, Any, Uni, Ballot };
enum class MatchMode : uint8_t { Any, All };
enum class ReduxOp : uint8_t { Add, Min, Max, And, Or, Xor };
enum class BarRedOp : uint8_t { Popc, And, Or };
enum class AtomOp : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };

// Binds one instruction. UnknownInstruction or UnknownModifier (Refused) with its span if no row
// matches.
Result<Decoded> decode(const ptx::Module& module, const ptx::Instruction& instruction);

struct DecodedFunction {
  const ptx::Function* function = nullptr;
  std::vector<Decoded> body;  // parallel to function->body; unmatched ones have row == nullptr
  std::vector<Diagnostic> refusals;  // every instruction that cannot be executed, in order
};
DecodedFunction decode_function(const ptx::Module& module, const ptx::Function& function);

// Every row, for `coequal list isa`, the docs and generated tests. Checked at first use: no two
// rows match one text.
std::span<const InstRow> all_rows();
// One line a row: pattern, what it has (symbolic, concrete), manual section.
std::string list_rows();

}  // namespace coequal::isa
