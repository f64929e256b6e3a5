#include "orrery/ingest/json/json_repair.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/document/json_text.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

// Characters of a string that are copied without a closer look.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) {
    plain[c] = c != '"' && c != '\\';
  }
  return plain;
}();

bool IsPlain(char c) {
  return kPlain[static_cast<unsigned char>(c)];
}

// Reads the four digits of "\uXXXX"; nothing when `text` does not start with such an escape.
std::optional<std::uint32_t> UnicodeEscape(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') {
    return std::nullopt;
  }
  std::uint32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    unit = unit << 4 | static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
  }
  return unit;
}

// The characters that end a number or a word.
constexpr std::string_view kDelimiters = ",:[]{}\" \t\r\n";

// Spellings of Python, JavaScript and C, without a sign.
bool IsNonNumber(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords{"NaN",      "nan", "NAN", "Infinity",
                                                   "infinity", "inf", "Inf", "INF"};
  if (word.starts_with('-') || word.starts_with('+')) {
    word.remove_prefix(1);
  }
  return std::ranges::find(kWords, word) != kWords.end();
}

using Repair = std::pair<std::int64_t JsonRepairs::*, std::string_view>;

constexpr auto kRepairs = std::to_array<Repair>({
    {&JsonRepairs::control_characters, "control character in a string, now escaped"},
    {&JsonRepairs::invalid_utf8, "invalid UTF-8, replaced"},
    {&JsonRepairs::lone_surrogates, "lone surrogate in a string, replaced"},
    {&JsonRepairs::invalid_escapes, "invalid escape in a string, kept as text"},
    {&JsonRepairs::non_numbers, "NaN or infinity as a bare word, now unknown"},
    {&JsonRepairs::stray_commas, "stray comma"},
});

class Repairer {
 public:
  Repairer(std::string_view text, JsonRepairs& repairs) : rest_(text), repairs_(repairs) {
    out_.reserve(text.size() + 16);
  }

  std::string Run() {
    while (!rest_.empty()) {
      Token();
    }
    FlushComma();
    return std::move(out_);
  }

 private:
  void Token() {
    const char c = rest_.front();
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      rest_.remove_prefix(1);
    } else if (c == ',') {
      Comma();
    } else if (c == ']' || c == '}') {
      repairs_.stray_commas += std::exchange(comma_waits_, false);
      Copy(1);
    } else {
      FlushComma();
      c == '"' ? String() : Atom();
    }
  }

  // A comma is written when the next value shows that it separates something.
  void Comma() {
    const bool after_opening = out_.empty() || out_.back() == '[' || out_.back() == '{';
    repairs_.stray_commas += comma_waits_ || after_opening;
    comma_waits_ = !after_opening;
    rest_.remove_prefix(1);
  }

  void FlushComma() { out_.append(std::exchange(comma_waits_, false) ? "," : ""); }

  // A number, a word, a colon or an opening bracket.
  void Atom() {
    const auto end =
        std::max<std::size_t>(1, std::min(rest_.find_first_of(kDelimiters), rest_.size()));
    if (IsNonNumber(rest_.substr(0, end))) {
      ++repairs_.non_numbers;
      out_.append("null");
      rest_.remove_prefix(end);
    } else {
      Copy(end);
    }
  }

  void String() {
    Copy(1);
    while (!rest_.empty()) {
      const auto special = std::ranges::find_if_not(rest_, IsPlain);
      Copy(static_cast<std::size_t>(special - rest_.begin()));
      if (rest_.empty()) {
        return;
      }
      if (rest_.front() == '"') {
        return Copy(1);
      }
      Special();
    }
  }

  void Special() {
    if (rest_.front() == '\\') {
      Escape();
    } else if (static_cast<unsigned char>(rest_.front()) < 0x20) {
      ++repairs_.control_characters;
      out_.append(fmt::format("\\u{:04x}", static_cast<unsigned>(rest_.front())));
      rest_.remove_prefix(1);
    } else {
      Character();
    }
  }

  void Character() {
    const CodePoint character = FirstCodePoint(rest_);
    if (character.is_valid) {
      return Copy(character.num_bytes);
    }
    ++repairs_.invalid_utf8;
    Replace(character.num_bytes);
  }

  void Escape() {
    if (const auto unit = UnicodeEscape(rest_)) {
      return UnicodeUnit(*unit);
    }
    constexpr std::string_view kKnown = "\"\\/bfnrt";
    if (rest_.size() >= 2 && kKnown.find(rest_[1]) != std::string_view::npos) {
      return Copy(2);
    }
    ++repairs_.invalid_escapes;
    out_.push_back('\\');
    Copy(1);
  }

  void UnicodeUnit(std::uint32_t unit) {
    const bool is_high = unit >= 0xD800 && unit <= 0xDBFF;
    if (!is_high && (unit < 0xDC00 || unit > 0xDFFF)) {
      return Copy(6);
    }
    const auto second = is_high ? UnicodeEscape(rest_.substr(6)) : std::nullopt;
    if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
      return Copy(12);
    }
    ++repairs_.lone_surrogates;
    Replace(6);
  }

  void Copy(std::size_t count) {
    out_.append(rest_.substr(0, count));
    rest_.remove_prefix(count);
  }

  void Replace(std::size_t count) {
    out_.append(kReplacementCharacter);
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  JsonRepairs& repairs_;
  std::string out_;
  bool comma_waits_ = false;
};

}  // namespace

JsonRepairs& JsonRepairs::operator+=(const JsonRepairs& other) {
  for (const auto& [count, text] : kRepairs) {
    this->*count += other.*count;
  }
  return *this;
}

std::string RepairJson(std::string_view text, JsonRepairs& repairs) {
  return Repairer(text, repairs).Run();
}

void LogRepairs(const JsonRepairs& repairs, std::string_view first, trace::ProblemLog& problems) {
  for (const auto& [count, text] : kRepairs) {
    problems.Note(text, repairs.*count, first);
  }
}

}  // namespace orrery::ingest
