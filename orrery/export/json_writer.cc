#include "orrery/export/json_writer.h"

#include <cmath>
#include <utility>

namespace orrery::exporting {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

bool IsContinuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// The smallest and largest second byte that may follow a first byte: keeps out overlong forms,
// surrogates and what lies beyond U+10FFFF.
std::pair<unsigned char, unsigned char> SecondByteRange(unsigned char first) {
  switch (first) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

std::size_t LengthFromFirstByte(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return 2;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    return 3;
  }
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

// Returns the bytes of the UTF-8 character at `at`, or 0 when there is none.
std::size_t CharacterLength(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = LengthFromFirstByte(first);
  if (length <= 1) {
    return length;
  }
  if (!IsContinuation(text, at + 1)) {
    return 0;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const auto [smallest, largest] = SecondByteRange(first);
  bool valid = second >= smallest && second <= largest;
  for (std::size_t i = 2; i < length; ++i) {
    valid = valid && IsContinuation(text, at + i);
  }
  return valid ? length : 0;
}

bool IsPlainAscii(char c) {
  return c >= ' ' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x7F;
}

bool NeedsEscape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7F;
}

std::string_view ShortEscape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {};
  }
}

}  // namespace

bool IsPlainJsonText(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (IsPlainAscii(text[at])) {
      ++at;
      continue;
    }
    const std::size_t length = CharacterLength(text, at);
    if (length < 2) {
      return false;
    }
    at += length;
  }
  return true;
}

JsonWriter::JsonWriter(ByteSink& sink) : sink_(sink), buffer_(kBufferBytes) {}

void JsonWriter::Microseconds(std::int64_t nanoseconds) {
  // Unsigned arithmetic, so that the smallest number has a magnitude, too.
  auto magnitude = static_cast<std::uint64_t>(nanoseconds);
  if (nanoseconds < 0) {
    Raw("-");
    magnitude = 0 - magnitude;
  }
  Unsigned(magnitude / 1000);
  const std::uint64_t thousandths = magnitude % 1000;
  const char decimals[] = {'.', static_cast<char>('0' + thousandths / 100),
                           static_cast<char>('0' + thousandths / 10 % 10),
                           static_cast<char>('0' + thousandths % 10)};
  Raw({decimals, sizeof(decimals)});
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) {
    return Raw("null");
  }
  char text[32];
  const auto end = fmt::format_to(text, "{}", value);
  Raw({text, static_cast<std::size_t>(end - text)});
}

void JsonWriter::String(std::string_view text) {
  Raw("\"");
  if (IsPlainJsonText(text)) {
    Raw(text);
  } else {
    Escaped(text);
  }
  Raw("\"");
}

void JsonWriter::Escaped(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = CharacterLength(text, at);
    if (length == 0) {
      Raw("\\ufffd");
    } else if (!NeedsEscape(text[at])) {
      Raw(text.substr(at, length));
    } else if (const std::string_view escape = ShortEscape(text[at]); !escape.empty()) {
      Raw(escape);
    } else {
      Raw(fmt::format("\\u{:04x}", static_cast<unsigned>(text[at])));
    }
    at += length == 0 ? 1 : length;
  }
}

void JsonWriter::RawSlowly(std::string_view text) {
  if (Status flushed = Flush(); !flushed) {
    return;
  }
  if (text.size() > buffer_.size()) {
    status_ = sink_.Write(text);
    return;
  }
  Raw(text);
}

Status JsonWriter::Flush() {
  if (status_) {
    status_ = sink_.Write({buffer_.data(), used_});
  }
  used_ = 0;
  return status_;
}

JsonStrings::JsonStrings(const StringTable& strings)
    : strings_(strings), states_(strings.size(), State::kUnknown) {}

void JsonStrings::Write(JsonWriter& json, StringId id) {
  const std::string_view text = strings_.View(id);
  State& state = states_[static_cast<std::size_t>(id)];
  if (state == State::kUnknown) {
    state = IsPlainJsonText(text) ? State::kPlain : State::kNeedsEscapes;
  }
  if (state == State::kNeedsEscapes) {
    return json.String(text);
  }
  json.Raw("\"");
  json.Raw(text);
  json.Raw("\"");
}

}  // namespace orrery::exporting
