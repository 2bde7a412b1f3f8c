// Which flags change the code of library functions, and which toolchain the shipped templates know.
#include <gtest/gtest.h>

#include "idiom/function.h"
#include "idiom/toolchain.h"

namespace coequal::idiom {
namespace {

using Flags = std::vector<std::string>;

TEST(Toolchains, FlagsThatMatterAreKept) {
  EXPECT_EQ(code_flags({"-I.", "-use_fast_math", "-DN=4", "-ftz", "true", "-lineinfo"}),
            (Flags{"-use_fast_math", "-ftz", "true"}));
  EXPECT_EQ(code_flags({"--prec-div=false", "-std=c++17", "-O1"}),
            (Flags{"--prec-div=false", "-O1"}));
  EXPECT_EQ(code_flags({}), Flags{});
}

TEST(Toolchains, TheShippedOneIsKnown) {
  const std::string version(shipped_compiler());
  EXPECT_TRUE(version.starts_with("Cuda compilation tools, release "));
  EXPECT_TRUE(is_shipped({"nvcc", "sm_80", {}}, version));
  EXPECT_TRUE(is_shipped({"/opt/nvcc", "sm_80", {"--use_fast_math"}}, version));
  EXPECT_FALSE(is_shipped({"nvcc", "sm_90", {}}, version));
  EXPECT_FALSE(is_shipped({"nvcc", "sm_80", {}}, "another"));
  EXPECT_FALSE(is_shipped({"nvcc", "sm_80", {"-prec-div=false"}}, version));
  EXPECT_FALSE(is_shipped({"nvcc", "sm_80", {"-use_fast_math", "-O1"}}, version));
}

TEST(Toolchains, EveryFunctionHasProbesOfItsOwnName) {
  for (const Probe& p : probes()) {
    EXPECT_TRUE(find_function(p.function)) << p.kernel;
    EXPECT_NE(p.text.find(" " + p.kernel + "("), std::string::npos) << p.text;
    EXPECT_EQ(p.text.find('$'), std::string::npos) << p.text;
  }
}

}  // namespace
}  // namespace coequal::idiom
