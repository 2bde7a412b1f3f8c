// The interpreter on what nvcc makes of small kernels, against the same computation on the host.
#include <bit>
#include <cmath>
#include <random>

#include "base/float_bits.h"
#include "unit/replay/kernel_run.h"

namespace coequal::replay {
namespace {

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class T>
std::vector<T> values_of(const std::vector<uint8_t>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

const ptx::Module& kernels() {
  static const ptx::Module module = [] {
    auto parsed =
        ptx::parse_file(std::string(COEQUAL_ROOT) + "/tests/unit/replay/data/kernels.ptx");
    EXPECT_TRUE(parsed.has_value());
    return parsed ? *std::move(parsed) : ptx::Module{};
  }();
  return module;
}

class CudaKernel : public testing::Test {
 protected:
  template <class T>
  uint64_t buffer(const char* name, const std::vector<T>& values) {
    return memory_.allocate(name, bytes_of(values));
  }
  template <class T>
  void argument(T value) {
    config_.params.resize((config_.params.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) +
                          sizeof(T));
    std::memcpy(config_.params.data() + config_.params.size() - sizeof(T), &value, sizeof(T));
  }
  void run(const char* kernel, const RunOptions& options = {}) {
    LoadedModule module(kernels(), memory_);
    const auto found = kernels().find_kernel(kernel);
    ASSERT_TRUE(found.has_value());
    const Outcome outcome = module.launch(**found, config_, options);
    ASSERT_TRUE(outcome.ok()) << outcome.fault->message << " line " << outcome.fault->span.line;
  }

  Memory memory_;
  LaunchConfig config_;
};

TEST_F(CudaKernel, SoftmaxOfRows) {
  const int rows = 3, columns = 50;
  std::vector<float> in(rows * columns);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>((i * 37) % 23) / 4 - 3;
  const uint64_t from = buffer("in", in), to = buffer("out", std::vector<float>(in.size()));
  config_.grid = {rows};
  config_.block = {32};
  argument(from);
  argument(to);
  argument(columns);
  for (const RunOptions& options : all_options()) {
    run("row_softmax", options);
    const auto out = values_of<float>(memory_.bytes(to));
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < columns; ++c)
        sum += std::exp(static_cast<double>(in[static_cast<size_t>(r * columns + c)]));
      for (int c = 0; c < columns; ++c) {
        const size_t i = static_cast<size_t>(r * columns + c);
        EXPECT_NEAR(out[i], std::exp(static_cast<double>(in[i])) / sum, 1e-7) << describe(options);
      }
    }
  }
}

TEST_F(CudaKernel, TransposeWithARaggedEdge) {
  const int n = 21;
  std::vector<float> in(n * n), want(n * n);
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) {
      in[static_cast<size_t>(y * n + x)] = static_cast<float>(100 * y + x);
      want[static_cast<size_t>(x * n + y)] = static_cast<float>(100 * y + x);
    }
  const uint64_t from = buffer("in", in), to = buffer("out", std::vector<float>(in.size()));
  config_.grid = {2, 2};
  config_.block = {16, 16};
  argument(from);
  argument(to);
  argument(n);
  for (const RunOptions& options : all_options()) {
    memory_.bytes(to).assign(in.size() * 4, 0);
    run("transpose", options);
    EXPECT_EQ(values_of<float>(memory_.bytes(to)), want) << describe(options);
  }
}

TEST_F(CudaKernel, HistogramInDynamicSharedMemory) {
  const int count = 1000, bins = 10;
  std::vector<int> in(count), want(bins);
  for (int i = 0; i < count; ++i) {
    in[static_cast<size_t>(i)] = i * i % 97;
    ++want[static_cast<size_t>(i * i % 97 % bins)];
  }
  const uint64_t from = buffer("in", in), to = buffer("out", std::vector<int>(bins));
  config_.grid = {3};
  config_.block = {96};
  config_.shared_bytes = bins * 4;
  argument(from);
  argument(to);
  argument(count);
  argument(bins);
  for (const RunOptions& options : all_options()) {
    memory_.bytes(to).assign(bins * 4, 0);
    run("histogram", options);
    EXPECT_EQ(values_of<int>(memory_.bytes(to)), want) << describe(options);
  }
}

TEST_F(CudaKernel, LastBlockAddsUp) {
  const int count = 5000;
  std::vector<float> in(count);
  for (int i = 0; i < count; ++i)
    in[static_cast<size_t>(i)] = static_cast<float>(i % 64);  // exact sums
  float want = 0;
  for (float v : in) want += v;
  const uint64_t from = buffer("in", in), partial = buffer("partial", std::vector<float>(4)),
                 done = buffer("done", std::vector<uint32_t>(1)),
                 to = buffer("out", std::vector<float>(1));
  config_.grid = {4};
  config_.block = {128};
  argument(from);
  argument(partial);
  argument(done);
  argument(to);
  argument(count);
  for (const RunOptions& options : all_options()) {
    memory_.bytes(to).assign(4, 0);
    run("sum_in_one_launch", options);
    EXPECT_EQ(values_of<float>(memory_.bytes(to))[0], want) << describe(options);
    EXPECT_EQ(values_of<uint32_t>(memory_.bytes(done))[0], 0u);  // the counter wraps
  }
}

TEST_F(CudaKernel, HalvesRoundAsIeeeSays) {
  const size_t n = 40;
  std::mt19937 random(1);
  const auto half = [&] {
    return static_cast<uint16_t>(
        float_from_double(kF16, static_cast<double>(random() % 4096) / 128 - 16));
  };
  std::vector<uint16_t> a(2 * n), b(2 * n), c(n);
  for (auto* v : {&a, &b})
    for (uint16_t& x : *v) x = half();
  for (uint16_t& x : c) x = static_cast<uint16_t>(random() & 0xbfff);
  const uint64_t pa = buffer("a", a), pb = buffer("b", b),
                 to = buffer("out", std::vector<uint16_t>(2 * n)), pc = buffer("c", c),
                 wide = buffer("wide", std::vector<float>(n));
  config_.block = {64};
  for (uint64_t p : {pa, pb, to, pc, wide}) argument(p);
  argument(static_cast<int>(n));
  run("halves");
  const auto out = values_of<uint16_t>(memory_.bytes(to));
  const auto single = values_of<float>(memory_.bytes(wide));
  for (size_t i = 0; i < 2 * n; ++i) {
    // 22 bits of product and the sum fit in a double.
    const double exact = float_to_double(kF16, a[i]) * float_to_double(kF16, b[i]) + 0.5;
    EXPECT_EQ(out[i], float_from_double(kF16, exact));
  }
  for (size_t i = 0; i < n; ++i)
    EXPECT_EQ(single[i], std::bit_cast<float>(uint32_t{c[i]} << 16) * 3.0f);
}

TEST_F(CudaKernel, IntegerArithmetic) {
  const int n = 60;
  for (int divisor : {7, -3}) {
    std::mt19937 random(2);
    std::vector<int> in(n);
    for (int& v : in) v = static_cast<int>(random());
    const uint64_t from = buffer("in", in), to = buffer("out", std::vector<int64_t>(n));
    config_.block = {64};
    config_.params.clear();
    argument(from);
    argument(to);
    argument(n);
    argument(divisor);
    run("integers");
    const auto out = values_of<int64_t>(memory_.bytes(to));
    for (int i = 0; i < n; ++i) {
      const int v = in[static_cast<size_t>(i)];
      const auto wide = static_cast<uint64_t>(int64_t{v});
      int64_t want = 0;
      switch (i % 5) {
        case 0:
          want = v / divisor;
          break;
        case 1:
          want = v % divisor;
          break;
        case 2:
          want = static_cast<int64_t>(wide * wide * wide);
          break;
        case 3:
          want = std::popcount(static_cast<uint32_t>(v)) * 100 +
                 std::countl_zero(static_cast<uint32_t>(v));
          break;
        default:
          want = static_cast<int64_t>((uint64_t{static_cast<uint32_t>(v)} * 0x80000001u) >> 32);
          break;
      }
      EXPECT_EQ(out[static_cast<size_t>(i)], want) << i;
    }
  }
}

}  // namespace
}  // namespace coequal::replay
