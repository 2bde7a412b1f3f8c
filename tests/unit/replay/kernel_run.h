// A kernel in PTX text, run on buffers of words.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "replay/interpreter.h"

namespace coequal::replay {

// `body` with registers of every type; the parameters are out (u64) and n (u32).
inline std::string kernel_text(const std::string& body, const std::string& before = "") {
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
         ".reg .pred %p<10>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n"
         ".reg .f32 %f<20>;\n.reg .f64 %fd<10>;\n"
         "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [n];\n"
         "mov.u32 %r2, %tid.x;\n"
         "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\n" +
         body + "\n}\n";
}

struct KernelRun {
  Outcome outcome;
  std::vector<uint32_t> out;
};

struct KernelSetup {
  Dim3 grid = {}, block = {};
  uint64_t shared_bytes = 0;
  std::vector<uint32_t> in = {};
  size_t out_words = 32;
  uint32_t n = 0;
  RunOptions options = {};
  uint32_t out_fill = 0;
};

inline KernelRun run_kernel(const std::string& text, const KernelSetup& setup) {
  const auto module = ptx::parse(text, "kernel.ptx");
  if (!module) {
    ADD_FAILURE() << module.error().message << " line " << module.error().span.line;
    return {};
  }
  Memory memory;
  const auto bytes = [](const std::vector<uint32_t>& words) {
    std::vector<uint8_t> out(words.size() * 4);
    if (!words.empty()) std::memcpy(out.data(), words.data(), out.size());
    return out;
  };
  const uint64_t out =
      memory.allocate("out", bytes(std::vector<uint32_t>(setup.out_words, setup.out_fill)));
  const uint64_t in = memory.allocate("in", bytes(setup.in));
  LaunchConfig config;
  config.grid = setup.grid;
  config.block = setup.block;
  config.shared_bytes = setup.shared_bytes;
  config.params.resize(20);
  std::memcpy(config.params.data(), &out, 8);
  std::memcpy(config.params.data() + 8, &in, 8);
  std::memcpy(config.params.data() + 16, &setup.n, 4);
  LoadedModule loaded(*module, memory);
  const auto kernel = module->find_kernel("k");
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    return {};
  }
  KernelRun run;
  run.outcome = loaded.launch(**kernel, config, setup.options);
  run.out.resize(setup.out_words);
  if (setup.out_words) std::memcpy(run.out.data(), memory.bytes(out).data(), setup.out_words * 4);
  return run;
}

// Every order, lanes together and apart, copies early and late.
inline std::vector<RunOptions> all_options() {
  std::vector<RunOptions> out;
  for (Order order : {Order::Forward, Order::Backward, Order::Random, Order::Interleaved})
    for (bool apart : {false, true})
      for (bool late : {false, true}) {
        RunOptions options;
        options.order = order;
        options.lanes_apart = apart;
        options.late_copies = late;
        options.seed = 3;
        out.push_back(options);
      }
  return out;
}

inline std::string describe(const RunOptions& options) {
  return "order " + std::to_string(static_cast<int>(options.order)) +
         (options.lanes_apart ? " apart" : "") + (options.late_copies ? " late" : "");
}

// Runs in every legal schedule and expects the same output.
inline void expect_output(const std::string& text, KernelSetup setup,
                          const std::vector<uint32_t>& want) {
  for (const RunOptions& options : all_options()) {
    setup.options = options;
    setup.out_words = want.size();
    const KernelRun run = run_kernel(text, setup);
    ASSERT_TRUE(run.outcome.ok()) << describe(options) << ": " << run.outcome.fault->message
                                  << " line " << run.outcome.fault->span.line;
    EXPECT_EQ(run.out, want) << describe(options);
  }
}

}  // namespace coequal::replay
