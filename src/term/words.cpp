// Machine words, bit by bit where that is plainest; independent of the folding rules, which tests
// compare with it.
#include "term/words.h"

namespace coequal::term {
namespace {

uint64_t cut(uint64_t bits, int width) {
  return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}
bool negative(Word w) { return w.bits >> (w.width - 1) & 1; }
uint64_t extended(Word w, int width) {
  return cut(negative(w) && w.width < 64 ? w.bits | ~uint64_t{0} << w.width : w.bits, width);
}
uint64_t magnitude(Word w) { return cut(negative(w) ? ~w.bits + 1 : w.bits, w.width); }

}  // namespace

std::optional<uint64_t> apply_word(Kind kind, const std::array<Word, 2>& args, uint64_t payload,
                                   int width) {
  const Word a = args[0], b = args[1];
  switch (kind) {
    case Kind::BvAdd:
      return cut(a.bits + b.bits, width);
    case Kind::BvMul:
      return cut(a.bits * b.bits, width);
    case Kind::BvAnd:
      return a.bits & b.bits;
    case Kind::BvOr:
      return a.bits | b.bits;
    case Kind::BvXor:
      return a.bits ^ b.bits;
    case Kind::BvNot:
      return cut(~a.bits, width);
    case Kind::BvShl:
      return b.bits >= static_cast<uint64_t>(width) ? 0 : cut(a.bits << b.bits, width);
    case Kind::BvLshr:
      return b.bits >= static_cast<uint64_t>(width) ? 0 : a.bits >> b.bits;
    case Kind::BvAshr: {
      const uint64_t fill = negative(a) ? cut(~uint64_t{0}, width) : 0;
      if (b.bits >= static_cast<uint64_t>(width)) return fill;
      const int n = static_cast<int>(b.bits);
      return cut(a.bits >> n | (n ? fill << (width - n) : 0), width);
    }
    case Kind::BvUdiv:
      if (b.bits == 0) return std::nullopt;
      return a.bits / b.bits;
    case Kind::BvUrem:
      if (b.bits == 0) return std::nullopt;
      return a.bits % b.bits;
    case Kind::BvSdiv: {
      if (b.bits == 0) return std::nullopt;
      const uint64_t q = magnitude(a) / magnitude(b);
      return cut(negative(a) != negative(b) ? ~q + 1 : q, width);
    }
    case Kind::BvSrem: {
      if (b.bits == 0) return std::nullopt;
      const uint64_t r = magnitude(a) % magnitude(b);
      return cut(negative(a) ? ~r + 1 : r, width);
    }
    case Kind::BvPopcount: {
      uint64_t n = 0;
      for (int i = 0; i < a.width; ++i) n += a.bits >> i & 1;
      return cut(n, width);
    }
    case Kind::BvClz: {
      uint64_t n = 0;
      for (int i = a.width; i-- > 0 && !(a.bits >> i & 1);) ++n;
      return cut(n, width);
    }
    case Kind::BvReverse: {
      uint64_t r = 0;
      for (int i = 0; i < width; ++i) r |= (a.bits >> i & 1) << (width - 1 - i);
      return r;
    }
    case Kind::BvExtract:
      return cut(a.bits >> payload, width);
    case Kind::BvConcat:
      return cut(a.bits << b.width | b.bits, width);
    case Kind::BvZeroExtend:
      return a.bits;
    case Kind::BvSignExtend:
      return extended(a, width);
    case Kind::BvEq:
      return a.bits == b.bits;
    case Kind::BvUlt:
      return a.bits < b.bits;
    case Kind::BvSlt:
      if (negative(a) != negative(b)) return negative(a);
      return a.bits < b.bits;
    default:
      return std::nullopt;
  }
}

}  // namespace coequal::term
