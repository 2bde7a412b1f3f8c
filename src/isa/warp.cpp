// What the lanes of a warp do together (PTX ISA 9.7.9.6, 9.7.13.9 to 9.7.13.14).
#include "isa/rows.h"

namespace coequal::isa {
namespace {

constexpr InstRow kRows[] = {
    {.pattern = "shfl.sync.{up,down,bfly,idx}.b32 d{|q:pred}, a, b:u32, c:u32, m:u32",
     .op = Op::Shfl,
     .effect = Effect::Collective,
     .manual = "9.7.9.6"},
    {.pattern = "vote.sync.{all,any,uni}.pred d, a, m:u32",
     .op = Op::Vote,
     .effect = Effect::Collective,
     .manual = "9.7.13.9"},
    {.pattern = "vote.sync.ballot.b32 d, a:pred, m:u32",
     .op = Op::Vote,
     .effect = Effect::Collective,
     .manual = "9.7.13.9"},
    {.pattern = "match.any.sync.{b32,b64} d:b32, a, m:u32",
     .op = Op::Match,
     .effect = Effect::Collective,
     .manual = "9.7.13.10"},
    {.pattern = "match.all.sync.{b32,b64} d:b32{|q:pred}, a, m:u32",
     .op = Op::Match,
     .effect = Effect::Collective,
     .manual = "9.7.13.10"},
    {.pattern = "activemask.b32 d",
     .op = Op::Activemask,
     .effect = Effect::Collective,
     .manual = "9.7.13.11"},
    {.pattern = "redux.sync.{add,min,max}.{u32,s32} d, a, m:u32",
     .op = Op::Redux,
     .effect = Effect::Collective,
     .manual = "9.7.13.12"},
    {.pattern = "redux.sync.{and,or,xor}.b32 d, a, m:u32",
     .op = Op::Redux,
     .effect = Effect::Collective,
     .manual = "9.7.13.12"},
    {.pattern = "elect.sync d:b32|q:pred, m:u32",
     .op = Op::Elect,
     .effect = Effect::Collective,
     .manual = "9.7.13.14"},
};

}  // namespace

std::span<const InstRow> warp_rows() { return kRows; }

}  // namespace coequal::isa
