// Control flow and what has no effect on values (PTX ISA 9.7.12, 9.7.19).
#include "isa/rows.h"

namespace coequal::isa {
namespace {

constexpr InstRow kRows[] = {
    {.pattern = "bra{.uni} t", .op = Op::Bra, .effect = Effect::Control, .manual = "9.7.12.3"},
    {.pattern = "brx.idx{.uni} a:u32, t",
     .op = Op::BrxIdx,
     .effect = Effect::Control,
     .manual = "9.7.12.4"},
    {.pattern = "call{.uni} *", .op = Op::Call, .effect = Effect::Control, .manual = "9.7.12.5"},
    {.pattern = "ret{.uni}", .op = Op::Ret, .effect = Effect::Control, .manual = "9.7.12.6"},
    {.pattern = "exit", .op = Op::Exit, .effect = Effect::Control, .manual = "9.7.12.7"},
    {.pattern = "trap", .op = Op::Trap, .effect = Effect::Control, .manual = "9.7.19.4"},
    {.pattern = "brkpt", .op = Op::Trap, .effect = Effect::Control, .manual = "9.7.19.1"},
    {.pattern = "nanosleep.u32 a", .op = Op::Nop, .effect = Effect::Control, .manual = "9.7.19.2"},
    {.pattern = "pmevent{.mask} a:u32",
     .op = Op::Nop,
     .effect = Effect::Control,
     .manual = "9.7.19.3"},
    {.pattern = "setmaxnreg.{inc,dec}.sync.aligned.u32 imm:u32",
     .op = Op::SetMaxNReg,
     .effect = Effect::Collective,
     .manual = "9.7.19.5"},
    {.pattern = "griddepcontrol.{wait,launch_dependents}",
     .op = Op::Nop,
     .effect = Effect::Control,
     .manual = "9.7.13.13"},
};

}  // namespace

std::span<const InstRow> control_rows() { return kRows; }

}  // namespace coequal::isa
