// Concrete meanings with results worked out from the PTX manual's text.
#include <bit>
#include <cmath>

#include "unit/isa/one_instruction.h"

namespace coequal::isa {
namespace {

using Bits = std::vector<uint64_t>;

uint64_t f32(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t f64(double value) { return std::bit_cast<uint64_t>(value); }
constexpr uint64_t kInf = 0x7f800000, kNan = 0x7fffffff, kMinusInf = 0xff800000,
                   kMinusZero = 0x80000000;

uint64_t one(const std::string& line, Bits sources) {
  const Bits out = run_line(line, std::move(sources));
  return out.empty() ? 0xdeadbeefdeadbeef : out[0];
}

TEST(Integer, WrapsAndSaturates) {
  EXPECT_EQ(one("add.s32 %r1, %r2, %r3;", {0x7fffffff, 1}), 0x80000000u);
  EXPECT_EQ(one("add.sat.s32 %r1, %r2, %r3;", {0x7fffffff, 1}), 0x7fffffffu);
  EXPECT_EQ(one("sub.sat.s32 %r1, %r2, %r3;", {0x80000000, 1}), 0x80000000u);
  EXPECT_EQ(one("sub.u16 %h1, %h2, %h3;", {0, 1}), 0xffffu);
  EXPECT_EQ(one("abs.s32 %r1, %r2;", {0x80000000}), 0x80000000u);
  EXPECT_EQ(one("neg.s64 %rd1, %rd2;", {1}), ~uint64_t{0});
  EXPECT_EQ(one("min.s16 %h1, %h2, %h3;", {0xffff, 1}), 0xffffu);
  EXPECT_EQ(one("min.u16 %h1, %h2, %h3;", {0xffff, 1}), 1u);
  // .relu clamps a negative result to 0.
  EXPECT_EQ(one("min.relu.s32 %r1, %r2, %r3;", {5, 7}), 5u);
  EXPECT_EQ(one("min.relu.s32 %r1, %r2, %r3;", {0xfffffffe, 7}), 0u);
  EXPECT_EQ(one("max.relu.s32 %r1, %r2, %r3;", {0xfffffffe, 7}), 7u);
  EXPECT_EQ(one("max.relu.s32 %r1, %r2, %r3;", {0xfffffffe, 0x80000000}), 0u);
  EXPECT_EQ(one("sad.s32 %r1, %r2, %r3, %r4;", {0xfffffffe, 3, 10}), 15u);
  EXPECT_EQ(one("sad.u32 %r1, %r2, %r3, %r4;", {3, 5, 10}), 12u);
}

TEST(Integer, Products) {
  EXPECT_EQ(one("mul.hi.u32 %r1, %r2, %r3;", {0xffffffff, 0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(one("mul.hi.s32 %r1, %r2, %r3;", {0xffffffff, 5}), 0xffffffffu);
  EXPECT_EQ(one("mul.hi.u64 %rd1, %rd2, %rd3;", {~uint64_t{0}, ~uint64_t{0}}), 0xfffffffffffffffeu);
  EXPECT_EQ(one("mul.hi.s64 %rd1, %rd2, %rd3;", {~uint64_t{0}, 7}), ~uint64_t{0});
  EXPECT_EQ(one("mul.wide.s16 %r1, %h1, %h2;", {0xffff, 2}), 0xfffffffeu);
  EXPECT_EQ(one("mul.wide.u32 %rd1, %r1, %r2;", {0xffffffff, 2}), 0x1fffffffeu);
  EXPECT_EQ(one("mad.wide.s32 %rd1, %r1, %r2, %rd2;", {0xffffffff, 4, 100}), 96u);
  EXPECT_EQ(one("mad.lo.s32 %r1, %r2, %r3, %r4;", {3, 4, 5}), 17u);
  EXPECT_EQ(one("mad.hi.sat.s32 %r1, %r2, %r3, %r4;", {0x40000000, 8, 0x7fffffff}), 0x7fffffffu);
  // 24-bit operands: the upper 8 bits do not count; hi gives bits 16 to 47.
  EXPECT_EQ(one("mul24.lo.u32 %r1, %r2, %r3;", {0xff000003, 5}), 15u);
  EXPECT_EQ(one("mul24.hi.u32 %r1, %r2, %r3;", {0xffffff, 0xffffff}), 0xfffffe00u);
  EXPECT_EQ(one("mul24.lo.s32 %r1, %r2, %r3;", {0x00ffffff, 5}), 0xfffffffbu);
  EXPECT_EQ(one("dp4a.s32.s32 %r1, %r2, %r3, %r4;", {0xff020304, 0x01010101, 10}), 18u);
  EXPECT_EQ(one("dp4a.u32.u32 %r1, %r2, %r3, %r4;", {0xff020304, 0x01010101, 10}), 274u);
  EXPECT_EQ(one("dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;", {0x00020003, 0x07060504, 1}),
            3u * 4 + 2 * 5 + 1);
  EXPECT_EQ(one("dp2a.hi.u32.u32 %r1, %r2, %r3, %r4;", {0x00020003, 0x07060504, 1}),
            3u * 6 + 2 * 7 + 1);
}

TEST(Integer, Division) {
  EXPECT_EQ(one("div.s32 %r1, %r2, %r3;", {0xfffffff9, 2}), 0xfffffffdu);  // -7 / 2 = -3
  EXPECT_EQ(one("rem.s32 %r1, %r2, %r3;", {0xfffffff9, 2}), 0xffffffffu);  // -7 % 2 = -1
  EXPECT_EQ(one("div.u32 %r1, %r2, %r3;", {0xfffffff9, 2}), 0x7ffffffcu);
  EXPECT_EQ(one("div.s64 %rd1, %rd2, %rd3;", {uint64_t{1} << 63, ~uint64_t{0}}), uint64_t{1} << 63);
  EXPECT_EQ(one("rem.s16 %h1, %h2, %h3;", {0x8000, 0xffff}), 0u);
}

TEST(Integer, BitCounts) {
  EXPECT_EQ(one("popc.b64 %r1, %rd1;", {~uint64_t{0}}), 64u);
  EXPECT_EQ(one("clz.b32 %r1, %r2;", {0}), 32u);
  EXPECT_EQ(one("clz.b64 %r1, %rd2;", {1}), 63u);
  EXPECT_EQ(one("bfind.u32 %r1, %r2;", {0x00010000}), 16u);
  EXPECT_EQ(one("bfind.shiftamt.u32 %r1, %r2;", {0x00010000}), 15u);
  EXPECT_EQ(one("bfind.s32 %r1, %r2;", {0xfffffff0}), 3u);  // the highest 0 of a negative number
  EXPECT_EQ(one("bfind.s32 %r1, %r2;", {0xffffffff}), 0xffffffffu);
  EXPECT_EQ(one("bfind.u64 %r1, %rd2;", {0}), 0xffffffffu);
  EXPECT_EQ(one("brev.b32 %r1, %r2;", {0x00000001}), 0x80000000u);
  EXPECT_EQ(one("brev.b32 %r1, %r2;", {0x12345678}), 0x1e6a2c48u);
}

TEST(Integer, BitFields) {
  EXPECT_EQ(one("bfe.u32 %r1, %r2, %r3, %r4;", {0xabcd1234, 8, 8}), 0x12u);
  EXPECT_EQ(one("bfe.s32 %r1, %r2, %r3, %r4;", {0xabcd1234, 24, 8}), 0xffffffabu);
  EXPECT_EQ(one("bfe.s32 %r1, %r2, %r3, %r4;", {0x80000000, 28, 8}),
            0xfffffff8u);  // the sign fills beyond bit 31
  EXPECT_EQ(one("bfe.u32 %r1, %r2, %r3, %r4;", {0xffffffff, 40, 8}), 0u);
  EXPECT_EQ(one("bfe.s32 %r1, %r2, %r3, %r4;", {0x80000000, 40, 8}), 0xffffffffu);
  EXPECT_EQ(one("bfe.s32 %r1, %r2, %r3, %r4;", {0xffffffff, 3, 0}), 0u);
  EXPECT_EQ(one("bfe.u32 %r1, %r2, %r3, %r4;", {0xffffffff, 0x104, 4}),
            0xfu);  // positions modulo 256
  EXPECT_EQ(one("bfe.u64 %rd1, %rd2, %r3, %r4;", {0xfedcba9876543210, 32, 255}), 0xfedcba98u);
  EXPECT_EQ(one("bfi.b32 %r1, %r2, %r3, %r4, %r5;", {0xff, 0, 4, 8}), 0xff0u);
  EXPECT_EQ(one("bfi.b32 %r1, %r2, %r3, %r4, %r5;", {0, 0xffffffff, 28, 8}), 0x0fffffffu);
  EXPECT_EQ(one("bfi.b32 %r1, %r2, %r3, %r4, %r5;", {0xff, 0x1234, 32, 8}), 0x1234u);
  EXPECT_EQ(one("bfi.b32 %r1, %r2, %r3, %r4, %r5;", {0xff, 0x1234, 4, 0}), 0x1234u);
  EXPECT_EQ(one("bmsk.clamp.b32 %r1, %r2, %r3;", {4, 8}), 0xff0u);
  EXPECT_EQ(one("bmsk.clamp.b32 %r1, %r2, %r3;", {32, 8}), 0u);
  EXPECT_EQ(one("bmsk.clamp.b32 %r1, %r2, %r3;", {28, 100}), 0xf0000000u);
  EXPECT_EQ(one("bmsk.wrap.b32 %r1, %r2, %r3;", {33, 33}), 2u);
  EXPECT_EQ(one("szext.clamp.s32 %r1, %r2, %r3;", {0x80, 8}), 0xffffff80u);
  EXPECT_EQ(one("szext.clamp.u32 %r1, %r2, %r3;", {0x1ff, 8}), 0xffu);
  EXPECT_EQ(one("szext.wrap.u32 %r1, %r2, %r3;", {0x1ff, 40}), 0xffu);
  EXPECT_EQ(one("szext.clamp.u32 %r1, %r2, %r3;", {0x1ff, 40}), 0x1ffu);
}

TEST(Integer, CarryChain) {
  EXPECT_EQ(run_line("add.cc.u32 %r1, %r2, %r3;", {0xffffffff, 1}), (Bits{0, 1}));
  EXPECT_EQ(run_line("addc.cc.u32 %r1, %r2, %r3;", {0xffffffff, 0, 1}), (Bits{0, 1}));
  EXPECT_EQ(run_line("addc.u64 %rd1, %rd2, %rd3;", {5, 6, 1}), (Bits{12}));
  EXPECT_EQ(run_line("add.cc.u64 %rd1, %rd2, %rd3;", {~uint64_t{0}, 1}), (Bits{0, 1}));
  EXPECT_EQ(run_line("sub.cc.u32 %r1, %r2, %r3;", {0, 1}), (Bits{0xffffffff, 1}));
  EXPECT_EQ(run_line("subc.cc.u32 %r1, %r2, %r3;", {5, 5, 1}), (Bits{0xffffffff, 1}));
  EXPECT_EQ(run_line("subc.u32 %r1, %r2, %r3;", {5, 4, 1}), (Bits{0}));
  EXPECT_EQ(run_line("mad.lo.cc.u32 %r1, %r2, %r3, %r4;", {0x10000, 0xffff, 0x00010000}),
            (Bits{0, 1}));
  EXPECT_EQ(run_line("madc.hi.u32 %r1, %r2, %r3, %r4;", {0x10000, 0x10000, 3, 1}), (Bits{5}));
}

TEST(Logic, Shifts) {
  EXPECT_EQ(one("shl.b32 %r1, %r2, %r3;", {1, 32}), 0u);
  EXPECT_EQ(one("shl.b16 %h1, %h2, %r3;", {1, 16}), 0u);
  EXPECT_EQ(one("shl.b64 %rd1, %rd2, %r3;", {1, 63}), uint64_t{1} << 63);
  EXPECT_EQ(one("shr.u32 %r1, %r2, %r3;", {0x80000000, 40}), 0u);
  EXPECT_EQ(one("shr.s32 %r1, %r2, %r3;", {0x80000000, 40}), 0xffffffffu);
  EXPECT_EQ(one("shr.s16 %h1, %h2, %r3;", {0x8000, 3}), 0xf000u);
  EXPECT_EQ(one("shf.l.wrap.b32 %r1, %r2, %r3, %r4;", {0x11223344, 0xaabbccdd, 40}), 0xbbccdd11u);
  EXPECT_EQ(one("shf.r.wrap.b32 %r1, %r2, %r3, %r4;", {0x11223344, 0xaabbccdd, 8}), 0xdd112233u);
  EXPECT_EQ(one("shf.l.clamp.b32 %r1, %r2, %r3, %r4;", {0x11223344, 0xaabbccdd, 40}), 0x11223344u);
  EXPECT_EQ(one("shf.r.clamp.b32 %r1, %r2, %r3, %r4;", {0x11223344, 0xaabbccdd, 40}), 0xaabbccddu);
}

TEST(Logic, LookupTables) {
  const uint64_t a = 0xf0f0f0f0, b = 0xcccccccc, c = 0xaaaaaaaa;
  EXPECT_EQ(one("lop3.b32 %r1, %r2, %r3, %r4, 0x80;", {a, b, c, 0xf0 & 0xcc & 0xaa}), a & b & c);
  EXPECT_EQ(one("lop3.b32 %r1, %r2, %r3, %r4, 0xFE;", {a, b, c, 0xfe}), a | b | c);
  EXPECT_EQ(one("lop3.b32 %r1, %r2, %r3, %r4, 0x96;", {a, b, c, 0x96}), a ^ b ^ c);
  EXPECT_EQ(one("lop3.b32 %r1, %r2, %r3, %r4, 0x1A;", {a, b, c, ((0xf0 & 0xcc) | 0xaa) ^ 0xf0}),
            ((a & b) | c) ^ a);
  EXPECT_EQ(run_line("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2;", {1, 2, 4, 0x80, 1}),
            (Bits{0, 1}));
  EXPECT_EQ(one("cnot.b32 %r1, %r2;", {0}), 1u);
  EXPECT_EQ(one("not.pred %p1, %p2;", {0}), 1u);
}

TEST(Logic, Permutations) {
  const uint64_t a = 0x83020100, b = 0x07060504;
  EXPECT_EQ(one("prmt.b32 %r1, %r2, %r3, %r4;", {a, b, 0x7531}), 0x07058301u);
  EXPECT_EQ(one("prmt.b32 %r1, %r2, %r3, %r4;", {a, b, 0xb8b3}),
            0xff00ff83u);  // bit 3 replicates the sign
  EXPECT_EQ(one("prmt.b32.f4e %r1, %r2, %r3, %r4;", {a, b, 1}), 0x04830201u);
  EXPECT_EQ(one("prmt.b32.b4e %r1, %r2, %r3, %r4;", {a, b, 1}), 0x06070001u);
  EXPECT_EQ(one("prmt.b32.rc8 %r1, %r2, %r3, %r4;", {a, b, 2}), 0x02020202u);
  EXPECT_EQ(one("prmt.b32.ecl %r1, %r2, %r3, %r4;", {a, b, 2}), 0x83020202u);
  EXPECT_EQ(one("prmt.b32.ecr %r1, %r2, %r3, %r4;", {a, b, 2}), 0x02020100u);
  EXPECT_EQ(one("prmt.b32.rc16 %r1, %r2, %r3, %r4;", {a, b, 1}), 0x83028302u);
}

TEST(Compare, OrderedAndUnordered) {
  EXPECT_EQ(one("setp.lt.f32 %p1, %f1, %f2;", {f32(1), kNan}), 0u);
  EXPECT_EQ(one("setp.ltu.f32 %p1, %f1, %f2;", {f32(1), kNan}), 1u);
  EXPECT_EQ(one("setp.ne.f32 %p1, %f1, %f2;", {kNan, kNan}), 0u);
  EXPECT_EQ(one("setp.neu.f32 %p1, %f1, %f2;", {kNan, kNan}), 1u);
  EXPECT_EQ(one("setp.eq.f32 %p1, %f1, %f2;", {0, kMinusZero}), 1u);
  EXPECT_EQ(one("setp.num.f32 %p1, %f1, %f2;", {0, kInf}), 1u);
  EXPECT_EQ(one("setp.nan.f32 %p1, %f1, %f2;", {0, kNan}), 1u);
  EXPECT_EQ(one("setp.gt.ftz.f32 %p1, %f1, %f2;", {1, 0}), 0u);  // the subnormal counts as 0
  EXPECT_EQ(one("setp.hi.u32 %p1, %r1, %r2;", {0xffffffff, 1}), 1u);
  EXPECT_EQ(one("setp.gt.s32 %p1, %r1, %r2;", {0xffffffff, 1}), 0u);
  EXPECT_EQ(run_line("setp.lt.and.s32 %p1|%p2, %r1, %r2, %p3;", {1, 2, 1}), (Bits{1, 0}));
  EXPECT_EQ(run_line("setp.lt.or.s32 %p1|%p2, %r1, %r2, %p3;", {2, 1, 0}), (Bits{0, 1}));
  EXPECT_EQ(run_line("setp.gt.f16x2 %p1|%p2, %r1, %r2;", {0x3c004000, 0x3c003c00}), (Bits{1, 0}));
}

TEST(Compare, SetAndSelect) {
  EXPECT_EQ(one("set.lt.u32.s32 %r1, %r2, %r3;", {1, 2}), 0xffffffffu);
  EXPECT_EQ(one("set.lt.f32.s32 %f1, %r2, %r3;", {1, 2}), f32(1));
  EXPECT_EQ(one("set.le.u32.f16x2 %r1, %r2, %r3;", {0x3c004000, 0x3c003c00}), 0xffff0000u);
  EXPECT_EQ(one("set.le.f16x2.f16x2 %r1, %r2, %r3;", {0x3c004000, 0x3c003c00}), 0x3c000000u);
  EXPECT_EQ(one("selp.b32 %r1, %r2, %r3, %p1;", {7, 9, 0}), 9u);
  EXPECT_EQ(one("slct.u32.s32 %r1, %r2, %r3, %r4;", {7, 9, 0xffffffff}), 9u);
  EXPECT_EQ(one("slct.f32.f32 %f1, %f2, %f3, %f4;", {7, 9, kMinusZero}), 7u);
  EXPECT_EQ(one("slct.f32.f32 %f1, %f2, %f3, %f4;", {7, 9, kNan}), 9u);
}

TEST(Float, Modifiers) {
  EXPECT_EQ(one("add.sat.f32 %f1, %f2, %f3;", {f32(0.75f), f32(0.75f)}), f32(1));
  EXPECT_EQ(one("add.sat.f32 %f1, %f2, %f3;", {kInf, kMinusInf}), 0u);  // NaN saturates to +0
  EXPECT_EQ(one("mul.ftz.f32 %f1, %f2, %f3;", {0x00400000, f32(1)}), 0u);
  EXPECT_EQ(one("add.rm.f32 %f1, %f2, %f3;", {f32(1), f32(-1)}), kMinusZero);
  EXPECT_EQ(one("fma.rn.f32 %f1, %f2, %f3, %f4;", {f32(1 + 0x1p-23f), f32(1 - 0x1p-23f), f32(-1)}),
            f32(-0x1p-46f));
  EXPECT_EQ(one("fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;", {0x3c00bc00, 0x3c003c00, 0x00000000}),
            0x3c000000u);
  EXPECT_EQ(one("min.NaN.f32 %f1, %f2, %f3;", {kNan, f32(1)}), kNan);
  EXPECT_EQ(one("min.f32 %f1, %f2, %f3;", {kNan, f32(1)}), f32(1));
  EXPECT_EQ(one("min.xorsign.abs.f32 %f1, %f2, %f3;", {f32(-2), f32(3)}), f32(-2));
  EXPECT_EQ(one("max.xorsign.abs.f32 %f1, %f2, %f3;", {f32(-2), f32(-3)}), f32(3));
  EXPECT_EQ(one("copysign.f32 %f1, %f2, %f3;", {f32(-1), f32(5)}), f32(-5));
  EXPECT_EQ(one("neg.bf16x2 %r1, %r2;", {0x3f80bf80}), 0xbf803f80u);
  EXPECT_EQ(one("testp.normal.f32 %p1, %f1;", {0x00800000}), 1u);
  EXPECT_EQ(one("testp.subnormal.f32 %p1, %f1;", {0x007fffff}), 1u);
  EXPECT_EQ(one("testp.infinite.f32 %p1, %f1;", {kMinusInf}), 1u);
}

// The tables of special values in the descriptions of the approximate functions.
TEST(Float, SpecialValuesOfApproximations) {
  EXPECT_EQ(one("ex2.approx.f32 %f1, %f2;", {kMinusInf}), 0u);
  EXPECT_EQ(one("ex2.approx.f32 %f1, %f2;", {kMinusZero}), f32(1));
  EXPECT_EQ(one("ex2.approx.f32 %f1, %f2;", {kInf}), kInf);
  EXPECT_EQ(one("ex2.approx.ftz.f32 %f1, %f2;", {0x80000001}), f32(1));
  EXPECT_EQ(one("lg2.approx.f32 %f1, %f2;", {0}), kMinusInf);
  EXPECT_EQ(one("lg2.approx.f32 %f1, %f2;", {f32(-1)}), kNan);
  EXPECT_EQ(one("lg2.approx.ftz.f32 %f1, %f2;", {1}), kMinusInf);
  EXPECT_EQ(one("lg2.approx.f32 %f1, %f2;", {f32(8)}), f32(3));
  EXPECT_EQ(one("sin.approx.f32 %f1, %f2;", {kInf}), kNan);
  EXPECT_EQ(one("sin.approx.f32 %f1, %f2;", {kMinusZero}), kMinusZero);
  EXPECT_EQ(one("cos.approx.f32 %f1, %f2;", {0}), f32(1));
  EXPECT_EQ(one("tanh.approx.f32 %f1, %f2;", {kMinusInf}), f32(-1));
  EXPECT_EQ(one("rcp.approx.ftz.f32 %f1, %f2;", {kMinusZero}), kMinusInf);
  EXPECT_EQ(one("rcp.approx.ftz.f32 %f1, %f2;", {f32(0x1p127f)}), 0u);  // subnormal, flushed
  EXPECT_EQ(one("rcp.approx.f32 %f1, %f2;", {kMinusInf}), kMinusZero);
  EXPECT_EQ(one("rsqrt.approx.f32 %f1, %f2;", {kMinusZero}), kMinusInf);
  EXPECT_EQ(one("rsqrt.approx.f32 %f1, %f2;", {f32(0.25f)}), f32(2));
  EXPECT_EQ(one("rsqrt.approx.f32 %f1, %f2;", {kInf}), 0u);
  EXPECT_EQ(one("sqrt.approx.f32 %f1, %f2;", {kMinusZero}), kMinusZero);
  EXPECT_EQ(one("sqrt.rn.f32 %f1, %f2;", {f32(-4)}), kNan);
  EXPECT_EQ(one("div.approx.f32 %f1, %f2, %f3;", {f32(1), f32(0x1.8p126f)}), 0u);
  EXPECT_EQ(one("div.approx.f32 %f1, %f2, %f3;", {kInf, f32(0x1.8p126f)}), kNan);
  EXPECT_EQ(one("div.full.f32 %f1, %f2, %f3;", {f32(0x1.8p126f), f32(0x1.8p126f)}), f32(1));
  EXPECT_EQ(one("rcp.approx.ftz.f64 %fd1, %fd2;", {f64(4.0)}), f64(0.25));
  EXPECT_EQ(one("rcp.rn.f64 %fd1, %fd2;", {f64(3.0)}), f64(1.0 / 3.0));
}

TEST(Convert, Integers) {
  EXPECT_EQ(one("cvt.s64.s32 %rd1, %r1;", {0x80000000}), 0xffffffff80000000u);
  EXPECT_EQ(one("cvt.u64.u32 %rd1, %r1;", {0x80000000}), 0x80000000u);
  EXPECT_EQ(one("cvt.sat.u8.s32 %r1, %r2;", {0xffffffff}), 0u);
  EXPECT_EQ(one("cvt.sat.s8.s32 %r1, %r2;", {300}), 127u);
  EXPECT_EQ(one("cvt.sat.s8.s32 %r1, %r2;", {0xffffff00}), 0x80u);
  EXPECT_EQ(one("cvt.sat.s32.u32 %r1, %r2;", {0xffffffff}), 0x7fffffffu);
  EXPECT_EQ(one("cvt.sat.u64.s32 %rd1, %r2;", {0xffffffff}), 0u);
  EXPECT_EQ(one("cvt.pack.sat.u16.s32 %r1, %r2, %r3;", {70000, 0xffffffff}), 0xffff0000u);
  EXPECT_EQ(one("cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;", {300, 1, 0xabcd}), 0xabcd7f01u);
}

TEST(Convert, FloatsAndIntegers) {
  EXPECT_EQ(one("cvt.rzi.s32.f32 %r1, %f1;", {f32(-2.9f)}), 0xfffffffeu);
  EXPECT_EQ(one("cvt.rni.s32.f32 %r1, %f1;", {f32(2.5f)}), 2u);
  EXPECT_EQ(one("cvt.rmi.s32.f32 %r1, %f1;", {f32(-0.5f)}), 0xffffffffu);
  EXPECT_EQ(one("cvt.rpi.u32.f32 %r1, %f1;", {f32(0.25f)}), 1u);
  EXPECT_EQ(one("cvt.rzi.s32.f32 %r1, %f1;", {f32(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(one("cvt.rzi.u32.f32 %r1, %f1;", {f32(-3)}), 0u);
  EXPECT_EQ(one("cvt.rzi.s32.f32 %r1, %f1;", {kNan}), 0u);
  EXPECT_EQ(one("cvt.rzi.s16.f64 %h1, %fd1;", {f64(-1e6)}), 0x8000u);
  EXPECT_EQ(one("cvt.rn.f32.s32 %f1, %r1;", {0xffffffff}), f32(-1));
  EXPECT_EQ(one("cvt.rn.f32.u32 %f1, %r1;", {0xffffffff}), f32(4294967296.0f));
  EXPECT_EQ(one("cvt.rz.f32.u32 %f1, %r1;", {0xffffffff}), f32(4294967040.0f));
  EXPECT_EQ(one("cvt.rmi.f32.f32 %f1, %f2;", {f32(-0.5f)}), f32(-1));
  EXPECT_EQ(one("cvt.rpi.f32.f32 %f1, %f2;", {f32(-0.5f)}), kMinusZero);
}

TEST(Convert, FloatsToFloats) {
  EXPECT_EQ(one("cvt.rn.f16.f32 %h1, %f1;", {f32(65520)}), 0x7c00u);
  EXPECT_EQ(one("cvt.rz.f16.f32 %h1, %f1;", {f32(65520)}), 0x7bffu);
  EXPECT_EQ(one("cvt.rn.bf16.f32 %h1, %f1;", {0x3f808000}), 0x3f80u);
  EXPECT_EQ(one("cvt.rn.bf16.f32 %h1, %f1;", {0x3f818000}), 0x3f82u);
  EXPECT_EQ(one("cvt.f32.bf16 %f1, %h1;", {0x3fc0}), f32(1.5f));
  EXPECT_EQ(one("cvt.f32.f16 %f1, %h1;", {0x0001}), f32(0x1p-24f));
  EXPECT_EQ(one("cvt.sat.f32.f32 %f1, %f2;", {f32(1.5f)}), f32(1));
  EXPECT_EQ(one("cvt.sat.f32.f32 %f1, %f2;", {kNan}), 0u);
  EXPECT_EQ(one("cvt.rn.f16x2.f32 %r1, %f1, %f2;", {f32(1), f32(2)}),
            0x3c004000u);  // a above, b below
  EXPECT_EQ(one("cvt.rn.relu.bf16x2.f32 %r1, %f1, %f2;", {f32(-1), f32(2)}), 0x00004000u);
  EXPECT_EQ(one("cvt.rna.tf32.f32 %r1, %f1;", {0x3f801000}), 0x3f802000u);
  EXPECT_EQ(one("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", {f32(1000), f32(-1)}), 0x7eb8u);
  EXPECT_EQ(one("cvt.rn.f16x2.e5m2x2 %r1, %h1;", {0x3c40}), 0x3c004000u);
  EXPECT_EQ(one("cvt.rn.ftz.f32.f64 %f1, %fd1;", {f64(0x1p-130)}), 0u);
}

TEST(Move, VectorsStartAtTheLowestBits) {
  EXPECT_EQ(run_line("mov.b64 {%r1, %r2}, %rd1;", {0x1122334455667788}),
            (Bits{0x55667788, 0x11223344}));
  EXPECT_EQ(one("mov.b32 %r1, {%h1, %h2};", {0x1111, 0x2222}), 0x22221111u);
  EXPECT_EQ(one("mov.b64 %rd1, {%h1, %h2, %h3, %h4};", {1, 2, 3, 4}), 0x0004000300020001u);
}

}  // namespace
}  // namespace coequal::isa
