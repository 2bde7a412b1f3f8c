// Splits PTX text into tokens (PTX ISA manual, "Identifiers" and "Constants").
#include "ptx/lexer.h"

#include <array>
#include <bit>
#include <charconv>

namespace coequal::ptx {
namespace {

// Character classes, in a table because the lexer asks for every byte.
constexpr uint8_t kFollow = 1, kDigit = 2, kHex = 4, kBlank = 8;

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] |= kFollow | (c <= 'f' ? kHex : 0);
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] |= kFollow | (c <= 'F' ? kHex : 0);
  for (int c = '0'; c <= '9'; ++c) classes[c] |= kFollow | kDigit | kHex;
  classes['_'] |= kFollow;
  classes['$'] |= kFollow;
  // Text taken from a fat binary ends in zero bytes.
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v', '\0'})
    classes[static_cast<uint8_t>(c)] |= kBlank;
  return classes;
}
constexpr auto kClasses = make_classes();

bool is(char c, uint8_t character_class) {
  return kClasses[static_cast<uint8_t>(c)] & character_class;
}

// Whether the whole of `digits` is one number in `base` that fits 64 bits.
bool read_integer(std::string_view digits, int base, uint64_t& value) {
  const char* end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  return error == std::errc() && stop == end;
}

}  // namespace

// False at an unterminated comment.
bool Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
    } else if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      for (size_t i = at_; i < end; ++i) {
        if (text_[i] == '\n') {
          ++line_;
          line_start_ = i + 1;
        }
      }
      at_ = end + 2;
    } else {
      break;
    }
  }
  return true;
}

void Lexer::bad(Token& token, std::string_view why) {
  token.kind = Token::Kind::Bad;
  token.text = why;
}

void Lexer::word(Token& token) {
  const size_t begin = at_++;
  while (is(peek(), kFollow)) ++at_;
  token.kind = Token::Kind::Word;
  token.text = text_.substr(begin, at_ - begin);
}

void Lexer::dot_word(Token& token) {
  const size_t begin = ++at_;
  while (true) {
    if (is(peek(), kFollow)) {
      ++at_;
    } else if (peek() == ':' && peek(1) == ':' && is(peek(2), kFollow)) {
      at_ += 3;
    } else {
      break;
    }
  }
  token.kind = Token::Kind::DotWord;
  token.text = text_.substr(begin, at_ - begin);
}

void Lexer::number(Token& token) {
  const size_t begin = at_;
  const char prefix = peek() == '0' ? static_cast<char>(peek(1) | 0x20) : '\0';
  const bool is_float_prefix = prefix == 'f' || prefix == 'd';
  if (is_float_prefix || prefix == 'x' || prefix == 'b') {
    at_ += 2;
    while (is(peek(), kHex)) ++at_;
  } else {
    while (is(peek(), kDigit)) ++at_;
    bool decimal = false;
    // "1.5", and "15." as people write it in inline assembly.
    if (peek() == '.' && (is(peek(1), kDigit) || !is(peek(1), kFollow))) {
      decimal = true;
      do ++at_;
      while (is(peek(), kDigit));
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() | 0x20) == 'e' && is(peek(1 + sign), kDigit)) {
      decimal = true;
      at_ += 1 + sign;
      while (is(peek(), kDigit)) ++at_;
    }
    if (decimal) {
      double value = 0;
      const std::string_view digits = text_.substr(begin, at_ - begin);
      const auto [stop, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || is(peek(), kFollow)) {
        return bad(token, "a decimal number that a double can hold");
      }
      token.kind = Token::Kind::Float;
      token.type = ScalarType::F64;
      token.bits = std::bit_cast<uint64_t>(value);
      token.text = digits;
      return;
    }
  }
  token.text = text_.substr(begin, at_ - begin);
  if (is_float_prefix) {
    const bool single = prefix == 'f';
    if (token.text.size() != (single ? 10u : 18u) || is(peek(), kFollow) ||
        !read_integer(token.text.substr(2), 16, token.bits)) {
      return bad(token,
                 single ? "8 hexadecimal digits after '0f'" : "16 hexadecimal digits after '0d'");
    }
    token.kind = Token::Kind::Float;
    token.type = single ? ScalarType::F32 : ScalarType::F64;
    return;
  }
  int base = 10;
  std::string_view digits = token.text;
  if (prefix == 'x' || prefix == 'b') {
    base = prefix == 'x' ? 16 : 2;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  const bool is_unsigned = peek() == 'U';
  if (is_unsigned) ++at_;
  if (is(peek(), kFollow) || !read_integer(digits, base, token.bits)) {
    return bad(token, "an integer of at most 64 bits");
  }
  token.kind = Token::Kind::Integer;
  token.type = is_unsigned || token.bits >> 63 ? ScalarType::U64 : ScalarType::S64;
}

void Lexer::string(Token& token) {
  const size_t begin = ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    at_ += text_[at_] == '\\' && peek(1) != '\n' ? 2 : 1;
  }
  if (peek() != '"') return bad(token, "a closing '\"'");
  token.kind = Token::Kind::String;
  token.text = text_.substr(begin, at_ - begin);
  ++at_;
}

Token Lexer::next() {
  Token token;
  const bool closed = skip_blanks();
  token.line = line_;
  token.column = static_cast<uint32_t>(at_ - line_start_ + 1);
  const size_t begin = at_;
  if (!closed) {
    bad(token, "a closing '*/'");
  } else if (at_ < text_.size()) {
    const char c = text_[at_];
    if (is(c, kDigit)) {
      number(token);
    } else if (is(c, kFollow) || (c == '%' && is(peek(1), kFollow))) {
      word(token);
    } else if (c == '.' && is(peek(1), kFollow)) {
      dot_word(token);
    } else if (c == '"') {
      string(token);
    } else if (std::string_view("{}()[],;:=+-*/%!~<>&|^?@").find(c) != std::string_view::npos) {
      const bool doubled =
          (c == peek(1) && std::string_view("<>=&|").find(c) != std::string_view::npos) ||
          (peek(1) == '=' && std::string_view("<>!").find(c) != std::string_view::npos);
      token.kind = Token::Kind::Punct;
      token.text = text_.substr(at_, doubled ? 2 : 1);
      at_ += token.text.size();
    } else {
      bad(token, "PTX text");
    }
  }
  if (token.kind == Token::Kind::Bad) at_ = begin;
  return token;
}

}  // namespace coequal::ptx
