#include "orrery/export/json_writer.h"

#include <cmath>

#include "orrery/base/utf8.h"

namespace orrery::exporting {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

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
    const CodePoint character = FirstCodePoint(text.substr(at));
    if (!character.is_valid || character.num_bytes == 1) {
      return false;
    }
    at += character.num_bytes;
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
  while (!text.empty()) {
    const CodePoint character = FirstCodePoint(text);
    if (!character.is_valid) {
      Raw(kReplacementCharacter);
    } else if (!NeedsEscape(text.front())) {
      Raw(text.substr(0, character.num_bytes));
    } else if (const std::string_view escape = ShortEscape(text.front()); !escape.empty()) {
      Raw(escape);
    } else {
      Raw(fmt::format("\\u{:04x}", static_cast<unsigned>(text.front())));
    }
    text.remove_prefix(character.num_bytes);
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
