// Tokens of PTX text, as views into it.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace coequal::ptx {

struct Token {
  enum class Kind : uint8_t {
    End,
    Bad,      // `text` says what is wrong
    Word,     // identifier: name, %name, $name, _
    DotWord,  // .name, with any number of ::name behind it; `text` is without the first dot
    Integer,  // bits; type is S64 or U64
    Float,    // bits; type is F32 (0f...) or F64 (0d... and decimals)
    String,   // text without the quotes, escapes as written
    Punct,    // text: one or two characters
  };
  Kind kind = Kind::End;
  ScalarType type = ScalarType::None;
  uint32_t line = 1;
  uint32_t column = 1;
  uint64_t bits = 0;
  std::string_view text;

  bool is(char punct) const {
    return kind == Kind::Punct && text.size() == 1 && text.front() == punct;
  }
  bool is_punct(std::string_view punct) const { return kind == Kind::Punct && text == punct; }
  bool is_word() const { return kind == Kind::Word; }
  bool is_directive(std::string_view name) const { return kind == Kind::DotWord && text == name; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token; End for ever once the text is used up, Bad for ever after the first bad one.
  Token next();
  // Bytes of the text consumed so far.
  size_t position() const { return at_; }

 private:
  bool skip_blanks();
  void number(Token& token);
  void word(Token& token);
  void dot_word(Token& token);
  void string(Token& token);
  void bad(Token& token, std::string_view why);
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
};

}  // namespace coequal::ptx
