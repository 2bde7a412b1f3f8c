// A kernel that makes one product D = D + A * B with wgmma, and where its elements lie.
//
// All places are worked out here from the manual's figures (PTX ISA 9.7.15.5) and come to the
// kernel as known data: `where` has a row of numbers for each of the 128 threads.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace coequal::testing {

struct WgmmaForm {
  std::string name, types;           // ".f32.f16.f16"
  int n = 8, k = 16, size = 2;       // bytes of an element of A and B
  int swizzle_a = 0, swizzle_b = 0;  // bytes of a row of the pattern; 0: none
  bool transposed_a = false, transposed_b = false;
  bool registers = false;  // A comes in registers
  bool half = false, integers = false;
  int sign_a = 1, sign_b = 1;
};

// Where the elements of a matrix of `outer` rows along m or n and k elements each stand, in bytes.
// Several steps of k stand side by side where a row of the pattern has room; the last one is used.
struct WgmmaMatrix {
  int outer, k, size, swizzle;
  bool transposed;

  int row() const { return swizzle ? swizzle : 16; }
  int bytes() const {
    if (!swizzle) return outer * k * size;
    return transposed ? (outer * size + swizzle - 1) / swizzle * swizzle * k : outer * swizzle;
  }
  // From the start of the pattern to the matrix.
  int start() const { return swizzle && !transposed ? swizzle - 32 : 0; }
  int place(int i, int j) const {
    // Row and byte in the row of what is swizzled: rows run along k, or along m or n if transposed.
    const int line = transposed ? j : i, along = (transposed ? i : j) * size;
    if (!swizzle) {
      // Cores of 8 rows of 16 bytes, first along the rows of one column of cores.
      const int lines = transposed ? k : outer;
      return (along / 16 * (lines / 8) + line / 8) * 128 + line % 8 * 16 + along % 16;
    }
    const int block = transposed ? along / swizzle * k * swizzle : 0;
    const int byte = transposed ? along % swizzle : start() + along;
    // The 16-byte parts of a row are permuted by which 128 bytes of the pattern it stands in.
    const int parts = swizzle / 16, phase = line * swizzle / 128 % parts;
    return block + line * swizzle + ((byte / 16) ^ phase) * 16 + byte % 16;
  }
  // Bits of the descriptor but for the address.
  uint64_t descriptor() const {
    const int lines = transposed ? k : outer;
    uint64_t leading = 0, stride = 0, mode = 0;
    if (!swizzle) {
      // Core to core: across the row, and to the next rows.
      const uint64_t across = static_cast<uint64_t>(lines / 8) * 128, down = 128;
      leading = transposed ? down : across;
      stride = transposed ? across : down;
    } else {
      leading = transposed ? static_cast<uint64_t>(k * swizzle) : 16;
      stride = static_cast<uint64_t>(8 * swizzle);
      mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    }
    return leading / 16 << 16 | stride / 16 << 32 | mode << 62;
  }
};

struct WgmmaKernel {
  WgmmaForm form;
  std::vector<int64_t> where;
  std::string text;

  // `after`: between the product and the stores; `fences`: proxy fence and wgmma.fence.
  explicit WgmmaKernel(WgmmaForm f, const std::string& proxy_fence = "fence.proxy.async;\n",
                       const std::string& register_fence = "wgmma.fence.sync.aligned;\n",
                       const std::string& wait = "wgmma.wait_group.sync.aligned 0;\n",
                       const std::string& after = "")
      : form(std::move(f)) {
    const WgmmaMatrix a{64, form.k, form.size, form.swizzle_a, form.transposed_a},
        b{form.n, form.k, form.size, form.swizzle_b, form.transposed_b};
    const int per = 4 / form.size, held = form.half ? 2 : 1, targets = form.n / 2 / held;
    for (int t = 0; t < 128; ++t) {
      const int warp = t / 32, group = t % 32 / 4, thread = t % 4;
      for (int e = t; e < 64 * form.k; e += 128) where.push_back(a.place(e / form.k, e % form.k));
      for (int e = t; e < (form.n * form.k + 127) / 128 * 128; e += 128)
        where.push_back(e < form.n * form.k ? b.place(e / form.k, e % form.k) : 0);
      // A in registers: rows group and group + 8, `per` neighbours along k.
      for (int r = 0; r < 4; ++r)
        where.push_back(
            ((16 * warp + group + r % 2 * 8) * form.k + per * thread + r / 2 * 4 * per) *
            form.size);
      // D: the same rows, two neighbours of each 8 columns.
      for (int r = 0; r < targets; ++r) {
        const int i = r * held;
        where.push_back(
            ((16 * warp + group + i / 2 % 2 * 8) * form.n + i / 4 * 8 + 2 * thread + i % 2) *
            (form.half ? 2 : 4));
      }
    }
    const size_t each = where.size() / 128;
    std::string body;
    size_t slot = 0;
    const auto next = [&](const std::string& to) {
      body += fmt::format("ld.global.u32 {}, [%rd10+{}];\n", to, 4 * slot++);
    };
    const std::string type = fmt::format("b{}", 8 * form.size);
    const std::string value = form.size == 4 ? "%r3" : "%h1";
    const auto fill = [&](const char* from, const char* buffer, int elements) {
      for (int e = 0; e < elements; e += 128) {
        next("%r1");
        body += fmt::format("add.u32 %r2, %r0, {};\nsetp.lt.u32 %p0, %r2, {};\n", e, elements);
        body += fmt::format("mul.wide.u32 %rd11, %r2, {};\nadd.u64 %rd11, {}, %rd11;\n", form.size,
                            from);
        body += fmt::format("@%p0 ld.global.{} {}, [%rd11];\n", type, value);
        body += fmt::format("mov.u32 %r4, {};\nadd.u32 %r4, %r4, %r1;\n", buffer);
        body += fmt::format("@%p0 st.shared.{} [%r4], {};\n", type, value);
      }
    };
    fill("%rd0", "sa", 64 * form.k);
    fill("%rd1", "sb", form.n * form.k);
    for (int r = 0; r < 4; ++r) {
      next("%r1");
      if (form.registers)
        body += fmt::format(
            "cvt.u64.u32 %rd11, %r1;\nadd.u64 %rd11, %rd0, %rd11;\nld.global.b32 "
            "%a{}, [%rd11];\n",
            r);
    }
    const auto at_target = [&](int r) {
      body += fmt::format(
          "ld.global.u32 %r1, [%rd10+{}];\ncvt.u64.u32 %rd11, %r1;\nadd.u64 %rd11, "
          "%rd2, %rd11;\n",
          4 * (slot + static_cast<size_t>(r)));
    };
    for (int r = 0; r < targets; ++r) {
      at_target(r);
      body += fmt::format("ld.global.b32 %d{}, [%rd11];\n", r);
    }
    body += proxy_fence + "bar.sync 0;\n";
    const auto descriptor = [&](const char* reg, const char* buffer, const WgmmaMatrix& m) {
      body += fmt::format(
          "mov.u32 %r5, {};\nadd.u32 %r5, %r5, {};\nbfe.u32 %r5, %r5, 4, 14;\n"
          "cvt.u64.u32 {}, %r5;\nor.b64 {}, {}, {};\n",
          buffer, m.start(), reg, reg, reg, m.descriptor());
    };
    descriptor("%rd20", "sa", a);
    descriptor("%rd21", "sb", b);
    std::string list;
    for (int r = 0; r < targets; ++r) list += fmt::format("{}%d{}", r ? ", " : "", r);
    body += register_fence + "setp.eq.u32 %p1, 0, 0;\n";
    body +=
        fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}{} {{{}}}, {}, %rd21, %p1", form.n,
                    form.k, form.types, list, form.registers ? "{%a0, %a1, %a2, %a3}" : "%rd20");
    if (!form.integers) body += fmt::format(", {}, {}", form.sign_a, form.sign_b);
    if (!form.integers && form.size == 2) {
      if (!form.registers) body += fmt::format(", {}", int{form.transposed_a});
      body += fmt::format(", {}", int{form.transposed_b});
    }
    body += ";\nwgmma.commit_group.sync.aligned;\n" + wait + after;
    for (int r = 0; r < targets; ++r) {
      at_target(r);
      body += fmt::format("st.global.b32 [%rd11], %d{};\n", r);
    }
    text = fmt::format(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 sa[{}];\n"
        ".shared .align 1024 .b8 sb[{}];\n.visible .entry k(.param .u64 p0, .param .u64 p1, "
        ".param .u64 p2, .param .u64 p3)\n{{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n"
        ".reg .b32 %r<10>;\n.reg .b32 %a<4>;\n.reg .b32 %d<{}>;\n.reg .b64 %rd<30>;\n"
        "ld.param.u64 %rd0, [p0];\nld.param.u64 %rd1, [p1];\nld.param.u64 %rd2, [p2];\n"
        "ld.param.u64 %rd3, [p3];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd10, %r0, {};\n"
        "add.u64 %rd10, %rd10, %rd3;\n{}ret;\n}}\n",
        a.bytes(), b.bytes(), targets, 4 * each, body);
  }
};

inline std::vector<WgmmaForm> wgmma_forms() {
  std::vector<WgmmaForm> out;
  const auto add = [&](WgmmaForm f, int n, int k, int size) -> WgmmaForm& {
    f.n = n, f.k = k, f.size = size;
    out.push_back(std::move(f));
    return out.back();
  };
  for (const int swizzle : {0, 32, 64, 128}) {
    const auto named = [&](const char* what) { return fmt::format("{}_{}", what, swizzle); };
    auto* f = &add({named("f16"), ".f32.f16.f16"}, 24, 16, 2);
    f->swizzle_a = f->swizzle_b = swizzle;
    f = &add({named("bf16_transposed"), ".f32.bf16.bf16"}, std::max(16, swizzle / 2), 16, 2);
    f->swizzle_a = f->swizzle_b = swizzle;
    f->transposed_a = f->transposed_b = true;
    f = &add({named("f16_registers"), ".f16.f16.f16"}, 16, 16, 2);
    f->swizzle_b = swizzle;
    f->registers = f->half = true;
    f->transposed_b = swizzle == 32;
    f = &add({named("tf32"), ".f32.tf32.tf32"}, 8, 8, 4);
    f->swizzle_a = f->swizzle_b = swizzle;
    f->registers = swizzle == 64;
    f = &add({named("s8"), ".s32.s8.u8"}, 8, 32, 1);
    f->swizzle_a = f->swizzle_b = swizzle;
    f->integers = true;
    f->registers = swizzle == 128;
    f = &add({named("fp8"), ".f32.e4m3.e5m2"}, 8, 32, 1);
    f->swizzle_a = f->swizzle_b = swizzle;
    f->registers = swizzle == 32;
  }
  auto* f = &add({"both_negated", ".f32.f16.f16"}, 8, 16, 2);
  f->sign_a = f->sign_b = -1;
  f = &add({"b_negated", ".f32.f16.f16"}, 8, 16, 2);
  f->sign_b = -1;
  return out;
}

}  // namespace coequal::testing
