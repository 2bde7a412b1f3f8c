// Tokens: what is one, where it stands, what it is worth.
#include <gtest/gtest.h>

#include <vector>

#include "ptx/lexer.h"

namespace coequal::ptx {
namespace {

std::vector<Token> tokens_of(std::string_view text) {
  Lexer lexer(text);
  std::vector<Token> tokens;
  do tokens.push_back(lexer.next());
  while (tokens.back().kind != Token::Kind::End && tokens.back().kind != Token::Kind::Bad);
  return tokens;
}

Token only(std::string_view text) {
  const std::vector<Token> tokens = tokens_of(text);
  EXPECT_EQ(tokens.size(), tokens.front().kind == Token::Kind::Bad ? 1u : 2u) << text;
  return tokens.front();
}

TEST(Lexer, WordsHoldTheirFirstSign) {
  for (std::string_view text : {"%r12", "$L__BB0_1", "_", "foo$1", "_ZN1aE", "%tid"}) {
    EXPECT_EQ(only(text).kind, Token::Kind::Word) << text;
    EXPECT_EQ(only(text).text, text);
  }
}

TEST(Lexer, DotWordsTakeQualifiersAndDigits) {
  for (std::string_view text :
       {".f32", ".shared::cta", ".L2::128B", ".2d", ".16x256b", ".mbarrier::complete_tx::bytes"}) {
    EXPECT_EQ(only(text).kind, Token::Kind::DotWord) << text;
    EXPECT_EQ(only(text).text, text.substr(1));
  }
  EXPECT_EQ(tokens_of("%tid.x").size(), 3u);
}

TEST(Lexer, IntegersInEveryBase) {
  EXPECT_EQ(only("0").bits, 0u);
  EXPECT_EQ(only("4294967296").bits, 4294967296u);
  EXPECT_EQ(only("0x1F").bits, 31u);
  EXPECT_EQ(only("0XfF").bits, 255u);
  EXPECT_EQ(only("017").bits, 15u);
  EXPECT_EQ(only("0b101").bits, 5u);
  EXPECT_EQ(only("7").type, ScalarType::S64);
  EXPECT_EQ(only("7U").type, ScalarType::U64);
  EXPECT_EQ(only("0x7U").type, ScalarType::U64);
  EXPECT_EQ(only("0xFFFFFFFFFFFFFFFF").bits, ~uint64_t{0});
  EXPECT_EQ(only("0xFFFFFFFFFFFFFFFF").type, ScalarType::U64);
}

TEST(Lexer, FloatsByTheirBits) {
  EXPECT_EQ(only("0f3F800000").bits, 0x3F800000u);
  EXPECT_EQ(only("0F3f800000").type, ScalarType::F32);
  EXPECT_EQ(only("0d3FF0000000000000").bits, 0x3FF0000000000000u);
  EXPECT_EQ(only("0d3FF0000000000000").type, ScalarType::F64);
  // Decimals are doubles: 1.5 = 0x3FF8..., 100.0 = 0x4059...
  EXPECT_EQ(only("1.5").bits, 0x3FF8000000000000u);
  EXPECT_EQ(only("15.").bits, 0x402E000000000000u);
  EXPECT_EQ(only("1e2").bits, 0x4059000000000000u);
  EXPECT_EQ(only("2.5e-1").bits, 0x3FD0000000000000u);
}

TEST(Lexer, BadNumbersAreOneBadToken) {
  for (std::string_view text : {"18446744073709551616", "0x", "0b2", "08", "12abc", "0f3F80000",
                                "0f3F8000000", "0d3FF", "1e999", "0x1G"}) {
    EXPECT_EQ(only(text).kind, Token::Kind::Bad) << text;
  }
}

TEST(Lexer, CommentsAreBlanksAndLinesAreCounted) {
  const std::vector<Token> tokens = tokens_of("a // x\n/* b\n c */  d\r\n\te");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[1].text, "d");
  EXPECT_EQ(tokens[1].line, 3u);
  EXPECT_EQ(tokens[1].column, 8u);
  EXPECT_EQ(tokens[2].line, 4u);
  EXPECT_EQ(tokens[2].column, 2u);
}

TEST(Lexer, UnclosedTextIsBad) {
  EXPECT_EQ(tokens_of("a /* b").back().kind, Token::Kind::Bad);
  EXPECT_EQ(tokens_of("\"abc").back().kind, Token::Kind::Bad);
  EXPECT_EQ(tokens_of("\"abc\\").back().kind, Token::Kind::Bad);
  EXPECT_EQ(tokens_of("\"abc\n\"").back().kind, Token::Kind::Bad);
  EXPECT_EQ(only("\"a\\\"b\"").text, "a\\\"b");
}

TEST(Lexer, DoubledSignsAreOneToken) {
  const std::vector<Token> tokens = tokens_of("<< >= == != < > && |");
  ASSERT_EQ(tokens.size(), 9u);
  EXPECT_TRUE(tokens[0].is_punct("<<"));
  EXPECT_TRUE(tokens[1].is_punct(">="));
  EXPECT_TRUE(tokens[4].is('<'));
  EXPECT_TRUE(tokens[6].is_punct("&&"));
  EXPECT_TRUE(tokens[7].is('|'));
}

TEST(Lexer, ZeroBytesAtTheEndAreBlanks) {
  EXPECT_EQ(tokens_of(std::string_view("a\0\0", 3)).size(), 2u);
}

}  // namespace
}  // namespace coequal::ptx
