// SHA-256 on the examples of FIPS 180-2 and at the borders of its blocks.
#include <gtest/gtest.h>

#include "toolchain/sha256.h"

namespace coequal::toolchain {
namespace {

TEST(Sha256, StandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsAndWholeAgree) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const std::string whole = sha256(text);
  for (size_t part : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 128u, 299u}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part)
      hash.add(std::string_view(text).substr(at, part));
    EXPECT_EQ(hash.finish(), whole) << part;
  }
}

TEST(Sha256, FieldsDoNotRunIntoEachOther) {
  Sha256 a, b;
  a.add_field("ab");
  a.add_field("c");
  b.add_field("a");
  b.add_field("bc");
  EXPECT_NE(a.finish(), b.finish());
}

}  // namespace
}  // namespace coequal::toolchain
