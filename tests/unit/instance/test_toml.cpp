// What the TOML form means, and that every mistake is named with its place and what was expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "instance/toml.h"

namespace coequal::instance {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder with an empty k.cu and k.ptx in it, gone at the end of the test.
class TomlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "coequal-toml-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "k.cu") << "";
    std::ofstream(folder_ / "k.ptx") << "";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return (folder_ / "case.toml").string(); }

  Instance good(const std::string& text) {
    Result<Instance> result = read_toml_text(text, path());
    if (!result) {
      ADD_FAILURE() << render(result.error());
      return {};
    }
    return *result;
  }

  // The message of a file that must be wrong, as "line: message".
  std::string bad(const std::string& text) {
    Result<Instance> result = read_toml_text(text, path());
    if (result) return "accepted";
    EXPECT_EQ(result.error().severity(), Severity::Invalid);
    EXPECT_EQ(result.error().span.file, path());
    return std::to_string(result.error().span.line) + ": " + result.error().message;
  }

  // A valid file around the given declarations; `tensors` begins on line 2, `args` and `launch` on
  // line 9.
  static std::string file(const std::string& tensors, const std::string& launch = "",
                          const std::string& tail = "") {
    return "[tensors]\n" + tensors +
           "\n[scalars]\n\n\n[program_a]\nsource = \"k.cu\"\n[[program_a.launch]]\n" +
           (launch.empty() ? std::string("kernel = \"f\"\ngrid = [1]\nblock = [32]\n") : launch) +
           "\n" + tail;
  }

  fs::path folder_;
};

constexpr const char* kRowSum = R"TOML(title = "row sum"
[tensors]
x   = { dtype = "f32", shape = [8, 64] }
out = { dtype = "f32", shape = [8], init = "empty" }
idx = { dtype = "i64", shape = [8], min = 0, max = 7 }
map = { dtype = "i32", shape = [4], values = [3, 1, 2, 0] }
off = { dtype = "i32", shape = [5], min = 0, max = 512, sorted = true }
acc = { dtype = "f16", shape = [2, 2], strides = [4, 1], init = "full", value = 0.5 }
[scalars]
n   = { dtype = "i32", value = 64 }
eps = { dtype = "f32", above = 0.0 }
[program_a]
source = "k.cu"
flags = ["-use_fast_math"]
[[program_a.launch]]
kernel = "row_sum_thread"
grid = [1]
block = [8]
args = [{ read = "x" }, { write = "out" }, { scalar = "n" }, { i32 = 8 }]
[program_b]
source = "./k.ptx"
outputs = { out = "out" }
[[program_b.launch]]
kernel = "row_sum_warp"
grid = [8, 2]
block = [32, 4, 2]
shared = 128
cluster = [2]
cooperative = true
args = [{ read = "x", offset = 3 }, { readwrite = "out" }, { f32 = 0.1 }, { bytes = "00ff 10" }]
[assume]
on = ["gelu-tanh=gelu-erf"]
off = ["constant-snap"]
equations = ["(gelu-tanh x) = (gelu-erf x)"]
[expect]
verdict = "defect"
defect = "shared-race"
program = "b"
[budget]
seconds = 10
cells = 5
proof = "exact"
)TOML";

TEST_F(TomlTest, EveryPartIsRead) {
  Instance instance = good(kRowSum);
  EXPECT_EQ(instance.title, "row sum");
  EXPECT_EQ(instance.name, "case");
  ASSERT_EQ(instance.tensors.size(), 6u);
  const Tensor& x = instance.tensors[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.span.line, 3u);
  EXPECT_EQ(x.init, Init::Input);
  EXPECT_EQ(x.shape, (std::vector<int64_t>{8, 64}));
  EXPECT_EQ(x.strides, (std::vector<int64_t>{64, 1}));
  EXPECT_EQ(instance.tensors[1].init, Init::Empty);
  EXPECT_EQ(instance.tensors[2].dtype, DType::I64);
  EXPECT_EQ(instance.tensors[2].bounds.max->integer, 7);
  EXPECT_EQ(instance.tensors[3].init, Init::Values);
  EXPECT_EQ(instance.tensors[3].values[2].integer, 2);
  EXPECT_TRUE(instance.tensors[4].sorted);
  EXPECT_EQ(instance.tensors[5].values.at(0).text, "0.5");
  EXPECT_EQ(instance.tensors[5].storage_elements(), 6);
  EXPECT_EQ(instance.find_scalar("n")->value->integer, 64);
  EXPECT_FALSE(instance.find_scalar("eps")->value);
  EXPECT_EQ(instance.find_scalar("eps")->bounds.above->text, "0.0");

  EXPECT_EQ(instance.program_a.launches[0].source, (folder_ / "k.cu").string());
  EXPECT_EQ(instance.program_a.launches[0].flags, std::vector<std::string>{"-use_fast_math"});
  const Launch& launch = instance.program_a.launches.at(0);
  EXPECT_EQ(launch.kernel, "row_sum_thread");
  EXPECT_EQ(launch.grid, (Dim3{1, 1, 1}));
  EXPECT_EQ(launch.block, (Dim3{8, 1, 1}));
  EXPECT_EQ(launch.span.line, 15u);
  ASSERT_EQ(launch.args.size(), 4u);
  EXPECT_EQ(launch.args[1].access, Access::Write);
  EXPECT_EQ(launch.args[2].kind, Argument::Kind::Scalar);
  EXPECT_EQ(launch.args[3].literal.integer, 8);
  EXPECT_EQ(launch.args[3].dtype, DType::I32);

  ASSERT_TRUE(instance.program_b);
  const Launch& second = instance.program_b->launches.at(0);
  EXPECT_EQ(second.source, (folder_ / "k.ptx").string());
  EXPECT_EQ(second.grid, (Dim3{8, 2, 1}));
  EXPECT_EQ(second.block, (Dim3{32, 4, 2}));
  EXPECT_EQ(second.cluster, (Dim3{2, 1, 1}));
  EXPECT_TRUE(second.cooperative);
  EXPECT_EQ(second.shared, 128);
  EXPECT_EQ(second.args[0].offset, 3);
  EXPECT_EQ(second.args[1].access, Access::ReadWrite);
  EXPECT_EQ(second.args[2].literal.text, "0.1");
  EXPECT_EQ(second.args[3].bytes, (std::vector<uint8_t>{0x00, 0xff, 0x10}));

  EXPECT_EQ(instance.outputs, std::vector<std::string>{"out"});
  EXPECT_EQ(instance.assume_on, std::set<std::string>{"gelu-tanh=gelu-erf"});
  EXPECT_EQ(instance.equations.at(0).text, "(gelu-tanh x) = (gelu-erf x)");
  EXPECT_EQ(instance.equations.at(0).span.line, 34u);
  EXPECT_EQ(instance.expect->verdict, ExpectedVerdict::Defect);
  EXPECT_EQ(instance.expect->defect, coequal::DefectKind::SharedRace);
  EXPECT_EQ(instance.expect->program, 'b');
  EXPECT_EQ(instance.budget.seconds, 10.0);
  EXPECT_EQ(instance.budget.cells, 5);
  EXPECT_EQ(instance.budget.exact_only, true);
}

TEST_F(TomlTest, NumbersKeepTheirDecimalText) {
  Instance instance = good(
      file("x = { dtype = \"f64\", shape = [6], values = [0.1, 1_000.25, +2e-3, -inf, 7, 0x10] }"));
  const std::vector<Number>& values = instance.tensors.at(0).values;
  EXPECT_EQ(values[0].text, "0.1");
  EXPECT_EQ(values[1].text, "1000.25");
  EXPECT_EQ(values[2].text, "2e-3");
  EXPECT_EQ(values[3].text, "-inf");
  EXPECT_TRUE(std::isinf(values[3].real));
  EXPECT_EQ(values[4].text, "7");
  EXPECT_EQ(values[4].real, 7.0);
  EXPECT_EQ(values[5].text, "16");
}

TEST_F(TomlTest, NumbersAfterOtherScriptsOnTheirLineAreFound) {
  Instance instance = good(
      "title = \"größe → ✓\" # é\n[tensors]\n\"größe\" = { dtype = \"f32\", shape = [2], values = "
      "[0.3, "
      "0.7] }\n[program_a]\nsource = \"k.cu\"\n[[program_a.launch]]\nkernel = \"f\"\ngrid = "
      "[1]\nblock = [1]\n");
  EXPECT_EQ(instance.tensors.at(0).values.at(0).text, "0.3");
  EXPECT_EQ(instance.tensors.at(0).values.at(1).text, "0.7");
}

TEST_F(TomlTest, ShapesOfAnySizeAreNumbers) {
  Instance instance =
      good(file("x = { dtype = \"f32\", shape = [1000000, 1000000, 1000] }\n"
                "e = { dtype = \"f32\", shape = [0, 7] }\ns = { dtype = \"f32\", shape = [] }"));
  EXPECT_EQ(instance.tensors[0].storage_bytes(), 4000000000000000);
  EXPECT_EQ(instance.tensors[1].storage_bytes(), 0);
  EXPECT_EQ(instance.tensors[2].numel(), 1);
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [4294967296, 536870912] }")),
            "2: tensor 'x': a size of 2^63 bytes or more is not addressable");
  EXPECT_EQ(good(file("x = { dtype = \"f16\", shape = [4294967296, 536870912] }"))
                .tensors[0]
                .storage_bytes(),
            int64_t{1} << 62);
}

TEST_F(TomlTest, OutputsDefaultToWhatIsWritten) {
  // out: both may write it. acc: initialised, one may write it. tmp: empty and one's own.
  Instance instance = good(R"([tensors]
acc = { dtype = "f32", shape = [4], init = "zeros" }
out = { dtype = "f32", shape = [4], init = "empty" }
tmp = { dtype = "f32", shape = [4], init = "empty" }
x = { dtype = "f32", shape = [4] }
[program_a]
source = "k.cu"
[[program_a.launch]]
kernel = "f"
grid = [1]
block = [4]
args = [{ read = "x" }, { write = "out" }, { readwrite = "acc" }, { write = "tmp" }]
[program_b]
source = "k.cu"
[[program_b.launch]]
kernel = "g"
grid = [1]
block = [4]
args = [{ read = "x" }, { write = "out" }]
)");
  EXPECT_EQ(instance.outputs, (std::vector<std::string>{"acc", "out"}));
}

TEST_F(TomlTest, OutputsMayBeMappedToTensorsOfTheSameKind) {
  std::string head = R"(outputs = ["out"]
[tensors]
out = { dtype = "f32", shape = [4], init = "empty" }
tmp = { dtype = "f32", shape = [4], init = "empty" }
half = { dtype = "f16", shape = [4], init = "empty" }
longer = { dtype = "f32", shape = [5], init = "empty" }
[program_a]
source = "k.cu"
)";
  std::string tail = "[[program_a.launch]]\nkernel = \"f\"\ngrid = [1]\nblock = [4]\n";
  EXPECT_EQ(good(head + "outputs = { out = \"tmp\" }\n" + tail).program_a.tensor_of("out"), "tmp");
  EXPECT_EQ(bad(head + "outputs = { out = \"half\" }\n" + tail),
            "9: program_a.outputs: 'out' is f32 and 'half' is f16; expected equal dtypes");
  EXPECT_EQ(bad(head + "outputs = { out = \"longer\" }\n" + tail),
            "9: program_a.outputs: 'out' is [4] and 'longer' is [5]; expected equal shapes");
  EXPECT_EQ(bad(head + "outputs = { tmp = \"out\" }\n" + tail),
            "9: program_a.outputs: 'tmp' is not an output; outputs are out");
  EXPECT_THAT(bad(head + "outputs = { out = \"tpm\" }\n" + tail),
              HasSubstr("9: no tensor 'tpm' is declared (did you mean 'tmp'?)"));
}

TEST_F(TomlTest, TensorMapsAreRead) {
  std::string tensor = "x = { dtype = \"f16\", shape = [128, 64] }";
  auto launch = [](const std::string& map) {
    return "kernel = \"f\"\ngrid = [1]\nblock = [32]\nargs = [{ tensor_map = { tensor = \"x\", " +
           map + " } }]\n";
  };
  Instance instance = good(file(tensor, launch("box = [64, 32], swizzle = \"64B\"")));
  const TensorMap& map = instance.program_a.launches[0].args.at(0).map;
  EXPECT_EQ(map.box, (std::vector<int64_t>{64, 32}));
  EXPECT_EQ(map.element_strides, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(map.swizzle, Swizzle::B64);
  EXPECT_EQ(map.fill, OutOfBoundsFill::Zeros);
  EXPECT_EQ(
      bad(file(tensor, launch("box = [64, 64], swizzle = \"64B\""))),
      "12: tensor_map: swizzle needs at most 64 bytes in the last dimension of the box, found 128");
  EXPECT_EQ(bad(file(tensor, launch("box = [64]"))),
            "12: tensor_map, element_strides: expected 2 integers, found 1");
  EXPECT_EQ(
      bad(file(tensor, launch("box = [64, 4]"))),
      "12: tensor_map: expected a multiple of 16 bytes in the last dimension of the box, found 8");
  EXPECT_EQ(bad(file(tensor, launch("box = [257, 64]"))),
            "12: tensor_map, box: expected from 1 to 256, found 257");
  EXPECT_EQ(bad(file(tensor, launch("box = [64, 32], pixels = 3"))),
            "12: pixels needs mode = \"im2col\"");
  EXPECT_EQ(bad(file(tensor, launch("box = [64, 32], swizzle = \"16B\""))),
            "12: swizzle: expected \"none\", \"32B\", \"64B\", \"128B\", found \"16B\"");
  Instance im2col = good(file(
      "x = { dtype = \"f16\", shape = [2, 8, 8, 64] }",
      launch("mode = \"im2col\", lower = [-1, -1], upper = [-1, -1], channels = 64, pixels = 32")));
  EXPECT_EQ(im2col.program_a.launches[0].args.at(0).map.lower, (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(im2col.program_a.launches[0].args.at(0).map.element_strides.size(), 4u);
}

TEST_F(TomlTest, SyntaxErrorsHaveTheirPlace) {
  Result<Instance> result = read_toml_text("title = \"x\"\n[tensors\n", path());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, DiagnosticCode::TomlSyntax);
  EXPECT_EQ(result.error().span.line, 2u);
  EXPECT_FALSE(read_toml_text("a = 1\na = 2\n", path()).has_value());
}

TEST_F(TomlTest, WrongTypesAreNamed) {
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [\"8\"] }")),
            "2: shape: expected an array of integers, found a string in it");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = 8 }")),
            "2: shape: expected an array of integers, found an integer");
  EXPECT_EQ(bad(file("x = { dtype = 32, shape = [8] }")),
            "2: dtype: expected a string, found an integer");
  EXPECT_EQ(bad(file("x = 3")), "2: x: expected a table, found an integer");
  EXPECT_EQ(bad("title = 3\n" + file("")), "1: title: expected a string, found an integer");
  EXPECT_EQ(bad(file("x = { dtype = \"i32\", shape = [1], min = 0.5 }")),
            "2: min: expected an integer, found a floating-point number");
  EXPECT_EQ(bad(file("x = { dtype = \"i32\", shape = [2], values = [1, 2.5] }")),
            "2: values: expected an array of integers, flat and row-major, found a floating-point "
            "number in it");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2, 2], values = [[1, 2], [3, 4]] }")),
            "2: values: expected an array of numbers, flat and row-major, found an array in it");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2], sorted = 1 }")),
            "2: sorted: expected true or false, found an integer");
}

TEST_F(TomlTest, UnknownKeysNameTheNearestKnownOne) {
  EXPECT_THAT(bad(file("x = { dtype = \"f32\", shape = [8], strdes = [1] }")),
              HasSubstr("2: unknown key 'strdes' in tensor 'x' (did you mean 'strides'?); known "
                        "are dtype, shape"));
  EXPECT_THAT(bad("tensor = 3\n" + file("")),
              HasSubstr("1: unknown key 'tensor' in the file (did you mean 'tensors'?)"));
  EXPECT_THAT(
      bad(file("", "kernel = \"f\"\ngrid = [1]\nblocks = [32]\nblock = [32]\n")),
      HasSubstr("11: unknown key 'blocks' in [[program_a.launch]] (did you mean 'block'?)"));
  EXPECT_THAT(bad(file("", "kernel = \"f\"\ngrid = [1]\nblock = [32]\nargs = [{ i33 = 1 }]\n")),
              HasSubstr("12: unknown key 'i33' in an argument (did you mean 'i32'?)"));
  EXPECT_THAT(bad(file("", "", "[expect]\nverdict = \"equivalent\"\nkind = \"x\"\n")),
              HasSubstr("unknown key 'kind' in [expect]; known are verdict, defect, program"));
}

TEST_F(TomlTest, MissingKeysAreNamed) {
  EXPECT_EQ(bad(file("x = { dtype = \"f32\" }")), "2: tensor 'x': expected a key 'shape'");
  EXPECT_EQ(bad(file("x = { shape = [1] }")), "2: tensor 'x': expected a key 'dtype'");
  EXPECT_EQ(bad(file("", "grid = [1]\nblock = [1]\n")),
            "8: [[program_a.launch]]: expected a key 'kernel'");
  EXPECT_EQ(bad("[tensors]\n"), "0: expected a table [program_a]");
  EXPECT_EQ(bad("[program_a]\nsource = \"k.cu\"\n"),
            "1: expected at least one [[program_a.launch]]");
}

TEST_F(TomlTest, DtypesAreListed) {
  EXPECT_EQ(bad(file("x = { dtype = \"f23\", shape = [8] }")),
            "2: no dtype 'f23' (did you mean 'f32'?); known are f64, f32, f16, bf16, tf32, f8e4m3, "
            "f8e5m2, i64, i32, i16, "
            "i8, u64, u32, u16, u8, bool");
}

TEST_F(TomlTest, TensorsAreChecked) {
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [-1] }")),
            "2: tensor 'x': expected extents of 0 or more, found -1");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2, 3], strides = [1] }")),
            "2: tensor 'x': expected 2 strides for the shape [2, 3], found 1");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2], strides = [-1] }")),
            "2: tensor 'x': expected strides of 0 or more, found -1");
  EXPECT_EQ(bad(file("x = { dtype = \"i32\", shape = [2, 2], values = [1, 2, 3] }")),
            "2: tensor 'x': expected 4 values for the shape [2, 2], found 3");
  EXPECT_EQ(bad(file("x = { dtype = \"u8\", shape = [2], values = [1, 256] }")),
            "2: tensor 'x', value 1: 256 is outside u8, 0 to 255");
  EXPECT_EQ(bad(file("x = { dtype = \"i8\", shape = [1], values = [-129] }")),
            "2: tensor 'x', value 0: -129 is outside i8, -128 to 127");
  EXPECT_EQ(bad(file("x = { dtype = \"bool\", shape = [1], values = [2] }")),
            "2: tensor 'x', value 0: 2 is outside bool, 0 to 1");
  EXPECT_EQ(bad(file("x = { dtype = \"f16\", shape = [1], values = [65520.0] }")),
            "2: tensor 'x', value 0: 65520.0 is outside f16, -65504 to 65504");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [1], values = [nan] }")),
            "2: tensor 'x', value 0: expected a number, found nan");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [1], init = \"full\" }")),
            "2: tensor 'x': init = \"full\" needs a value");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [1], value = 1.0 }")),
            "2: tensor 'x': value needs init = \"full\"");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [1], init = \"empty\", min = 0 }")),
            "2: tensor 'x': only a tensor with init = \"input\" has bounds");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [1], init = \"emtpy\" }")),
            "2: init: expected \"input\", \"empty\", \"zeros\", \"full\", found \"emtpy\" (did you "
            "mean 'empty'?)");
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2], strides = [0], values = [1, 2] }")),
            "2: tensor 'x': cells that share storage cannot be given values each");
  // Cells (0, 1) and (1, 0) are one element, though there are more elements than cells.
  EXPECT_EQ(bad(file("x = { dtype = \"f32\", shape = [2, 2], strides = [3, 3], sorted = true }")),
            "2: tensor 'x': cells that share storage cannot be sorted");
  EXPECT_EQ(good(file("x = { dtype = \"f32\", shape = [2, 2], strides = [2, 3], sorted = true }"))
                .tensors.size(),
            1u);
}

TEST_F(TomlTest, FloatsRoundIntoTheirDtype) {
  // 65519.9 is nearer to 65504 than to the next value, 65536; FLT_MAX is 3.40282346638528859812e38.
  EXPECT_EQ(good(file("x = { dtype = \"f16\", shape = [1], values = [65519.9] }")).tensors.size(),
            1u);
  EXPECT_EQ(
      good(file("x = { dtype = \"f32\", shape = [1], values = [3.4028235e38] }")).tensors.size(),
      1u);
  EXPECT_EQ(good(file("x = { dtype = \"bool\", shape = [2], values = [true, false] }"))
                .tensors[0]
                .values[0]
                .integer,
            1);
}

TEST_F(TomlTest, BoundsAreChecked) {
  auto tensor = [&](const std::string& dtype, const std::string& bounds) {
    return file("x = { dtype = \"" + dtype + "\", shape = [1], " + bounds + " }");
  };
  EXPECT_EQ(bad(tensor("f32", "min = 2, max = 1")),
            "2: tensor 'x': no value is at least 2 and at most 1");
  EXPECT_EQ(bad(tensor("f32", "above = 1.0, below = 1.0")),
            "2: tensor 'x': no value is above 1.0 and below 1.0");
  EXPECT_EQ(bad(tensor("i32", "above = 1, below = 2")),
            "2: tensor 'x': no value is above 1 and below 2");
  EXPECT_EQ(bad(tensor("u8", "min = -1")), "2: tensor 'x', min: -1 is outside u8, 0 to 255");
  EXPECT_EQ(bad(tensor("f32", "max = inf")),
            "2: tensor 'x', max: expected a finite number, found inf");
  EXPECT_EQ(good(tensor("f32", "above = 1, below = 2")).tensors.size(), 1u);
  EXPECT_EQ(good(tensor("i32", "min = 1, max = 1")).tensors.size(), 1u);
}

TEST_F(TomlTest, ScalarsAreChecked) {
  auto scalar = [&](const std::string& text) {
    return "[scalars]\n" + text +
           "\n[program_a]\nsource = \"k.cu\"\n[[program_a.launch]]\nkernel = \"f\"\ngrid = "
           "[1]\nblock = [1]\n";
  };
  EXPECT_EQ(bad(scalar("n = { dtype = \"i32\", value = 2147483648 }")),
            "2: scalar 'n', value: 2147483648 is outside i32, -2147483648 to 2147483647");
  EXPECT_EQ(bad(scalar("n = { dtype = \"i32\", value = \"8\" }")),
            "2: value: expected an integer, found a string");
  EXPECT_EQ(bad(scalar("n = { dtype = \"i32\", value = 8, min = 0 }")),
            "2: scalar 'n': a scalar with a value has no bounds");
  EXPECT_EQ(
      bad("[tensors]\nn = { dtype = \"f32\", shape = [1] }\n" + scalar("n = { dtype = \"i32\" }")),
      "4: 'n' is declared as a tensor and as a scalar");
}

TEST_F(TomlTest, LaunchesAreChecked) {
  auto launch = [&](const std::string& text) {
    return file("x = { dtype = \"f32\", shape = [4] }", "kernel = \"f\"\n" + text);
  };
  EXPECT_EQ(bad(launch("grid = [1]\nblock = [33, 32]\n")),
            "11: block: expected at most 1024 threads, found 1056");
  EXPECT_EQ(bad(launch("grid = [1]\nblock = [1, 1, 65]\n")),
            "11: block: expected z from 1 to 64, found 65");
  EXPECT_EQ(bad(launch("grid = [0]\nblock = [1]\n")),
            "10: grid: expected x from 1 to 2147483647, found 0");
  EXPECT_EQ(bad(launch("grid = [1, 65536]\nblock = [1]\n")),
            "10: grid: expected y from 1 to 65535, found 65536");
  EXPECT_EQ(bad(launch("grid = [2147483648]\nblock = [1]\n")),
            "10: grid: expected x from 1 to 2147483647, found 2147483648");
  EXPECT_EQ(bad(launch("grid = []\nblock = [1]\n")), "10: grid: expected 1 to 3 integers, found 0");
  EXPECT_EQ(bad(launch("grid = [1]\nblock = [1]\nshared = 232449\n")),
            "12: shared: expected from 0 to 232448 bytes, found 232449");
  EXPECT_EQ(bad(launch("grid = [3]\nblock = [1]\ncluster = [2]\n")),
            "12: cluster: expected x to divide the grid's 3, found 2");
  EXPECT_EQ(bad(launch("grid = [32]\nblock = [1]\ncluster = [8, 4]\n")),
            "12: cluster: expected at most 16 blocks, found 32");
  EXPECT_EQ(good(launch("grid = [2147483647, 65535, 65535]\nblock = [1024]\nshared = 232448\n"))
                .tensors.size(),
            1u);
}

TEST_F(TomlTest, ArgumentsAreChecked) {
  auto args = [&](const std::string& text) {
    return file("xs = { dtype = \"f32\", shape = [4] }",
                "kernel = \"f\"\ngrid = [1]\nblock = [1]\nargs = [" + text + "]\n");
  };
  EXPECT_EQ(bad(args("{ read = \"x\" }")),
            "12: no tensor 'x' is declared (did you mean 'xs'?); declared are xs");
  EXPECT_EQ(bad(args("{ scalar = \"n\" }")), "12: no scalar 'n' is declared");
  EXPECT_EQ(bad(args("{ read = \"xs\", offset = 5 }")),
            "12: offset: expected from 0 to 4 elements of 'xs', found 5");
  EXPECT_EQ(bad(args("{ i32 = 4, f32 = 1.0 }")),
            "12: expected one value an argument, found 'i32' and 'f32'");
  EXPECT_EQ(bad(args("{ i32 = 4.0 }")),
            "12: i32: expected an integer, found a floating-point number");
  EXPECT_EQ(bad(args("{ u32 = -1 }")),
            "12: argument of type u32: -1 is outside u32, 0 to 4294967295");
  EXPECT_EQ(bad(args("4")),
            "12: expected an argument such as { read = \"x\" } or { i32 = 4 }, found an integer");
  EXPECT_EQ(bad(args("{ bytes = \"0g\" }")),
            "12: bytes: expected two hexadecimal digits a byte, 1 to 32764 bytes, found \"0g\"");
  EXPECT_EQ(bad(args("{ i32 = 4, offset = 1 }")), "12: offset: only a tensor argument has one");
}

TEST_F(TomlTest, SourcesAreFoundNextToTheFile) {
  std::string launch = "[[program_a.launch]]\nkernel = \"f\"\ngrid = [1]\nblock = [1]\n";
  EXPECT_EQ(bad("[program_a]\nsource = \"no.cu\"\n" + launch),
            "2: source: there is no file '" + (folder_ / "no.cu").string() + "'");
  EXPECT_EQ(bad("[program_a]\nsource = \"k.cpp\"\n" + launch),
            "2: source: expected a .cu or .ptx file, found 'k.cpp'");
}

TEST_F(TomlTest, OutputsAreChecked) {
  std::string tail =
      "[tensors]\nout = { dtype = \"f32\", shape = [1], init = \"empty\" }\nx = { dtype = \"f32\", "
      "shape = "
      "[1] }\n[program_a]\nsource = \"k.cu\"\n[[program_a.launch]]\nkernel = \"f\"\ngrid = "
      "[1]\nblock = [1]\n";
  EXPECT_THAT(bad("outputs = [\"ot\"]\n" + tail),
              HasSubstr("1: no tensor 'ot' is declared (did you mean 'out'?)"));
  EXPECT_EQ(bad("outputs = []\n" + tail), "1: outputs: expected at least one name");
  EXPECT_EQ(bad("outputs = [\"out\", \"out\"]\n" + tail), "1: outputs: 'out' is listed twice");
  EXPECT_EQ(bad("outputs = [\"out\"]\nunwritten = [\"x\"]\n" + tail),
            "2: unwritten: 'x' is not an output");
  EXPECT_EQ(bad("outputs = [\"out\", \"x\"]\nunwritten = [\"x\"]\n" + tail),
            "2: unwritten: 'x' is initialised; expected an output with init = \"empty\"");
  EXPECT_EQ(good("outputs = [\"out\"]\nunwritten = [\"out\"]\n" + tail).unwritten,
            std::vector<std::string>{"out"});
}

TEST_F(TomlTest, ExpectationsAreChecked) {
  auto expect = [&](const std::string& text) { return bad(file("", "", "[expect]\n" + text)); };
  EXPECT_EQ(expect("verdict = \"equal\"\n"),
            "14: verdict: expected \"equivalent\", \"inequivalent\", \"defect\", \"unknown\", "
            "\"refused\", found \"equal\"");
  EXPECT_EQ(expect("verdict = \"equivalent\"\ndefect = \"shared-race\"\n"),
            "15: expect.defect needs verdict = \"defect\", found \"equivalent\"");
  EXPECT_THAT(expect("verdict = \"defect\"\ndefect = \"share-race\"\n"),
              HasSubstr("found \"share-race\" (did you mean 'shared-race'?)"));
  EXPECT_EQ(expect("verdict = \"defect\"\nprogram = \"c\"\n"),
            "15: program: expected \"a\", \"b\", found \"c\"");
  EXPECT_EQ(expect("verdict = \"defect\"\nprogram = \"b\"\n"),
            "15: expect.program is \"b\", but there is no [program_b]");
}

TEST_F(TomlTest, AssumptionsAreChecked) {
  EXPECT_THAT(bad(file("", "", "[assume]\non = [\"warp-lokstep\"]\n")),
              HasSubstr("14: assume.on: no assumption 'warp-lokstep' (did you mean "
                        "'warp-lockstep'?); known are"));
  EXPECT_EQ(bad(file("", "", "[assume]\non = [\"constant-snap\"]\noff = [\"constant-snap\"]\n")),
            "15: assume: 'constant-snap' is both on and off");
}

TEST_F(TomlTest, BudgetsAreChecked) {
  EXPECT_EQ(good(file("", "", "[budget]\ncells = \"all\"\n")).budget.cells, -1);
  EXPECT_EQ(bad(file("", "", "[budget]\ncells = 0\n")),
            "14: cells: expected \"all\" or 1 or more, found 0");
  EXPECT_EQ(bad(file("", "", "[budget]\nseconds = 0\n")),
            "14: budget.seconds: expected a number above 0, found 0");
  EXPECT_EQ(bad(file("", "", "[budget]\nproof = \"fast\"\n")),
            "14: proof: expected \"exact\", \"any\", found \"fast\"");
}

TEST_F(TomlTest, FurtherMistakesAreNotes) {
  Result<Instance> result = read_toml_text(
      file("x = { dtype = \"f32\", shape = [-1] }\ny = { dtype = \"f32\", shape = [-2] }"), path());
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().notes.size(), 1u);
  EXPECT_THAT(result.error().notes[0],
              HasSubstr(":3:22: tensor 'y': expected extents of 0 or more, found -2"));
}

TEST_F(TomlTest, InstanceFilesAreTold) {
  auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  };
  EXPECT_TRUE(is_instance_file(write("a.toml", file(""))));
  EXPECT_FALSE(is_instance_file(write("b.toml", "[tool]\nname = \"program_a\"\n")));
  EXPECT_TRUE(is_instance_file(write("c.toml", "title = \n[program_a]\n")));
  EXPECT_FALSE(is_instance_file(write("d.toml", "title = \n")));
  EXPECT_FALSE(is_instance_file((folder_ / "none.toml").string()));
  Result<Instance> missing = read_toml((folder_ / "none.toml").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, DiagnosticCode::FileNotFound);
}

}  // namespace
}  // namespace coequal::instance
