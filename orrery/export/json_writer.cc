#include "orrery/export/json_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/document/json_text.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"

namespace orrery::exporting {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

// The characters that end a word of JSON.
constexpr std::string_view kSeparators = ",:[]{}\" \t\r\n";

// The length of the string, word or separator that text begins with.
std::size_t TokenLength(std::string_view text) {
  if (text.front() != '"') {
    return std::max<std::size_t>(1, std::min(text.find_first_of(kSeparators), text.size()));
  }
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

}  // namespace

JsonWriter::JsonWriter(ByteSink& sink) : sink_(sink), buffer_(kBufferBytes) {}

void JsonWriter::Write(JsonMicroseconds time) {
  // Unsigned arithmetic, so that the smallest number has a magnitude, too.
  auto magnitude = static_cast<std::uint64_t>(time.nanoseconds);
  if (time.nanoseconds < 0) {
    Write("-");
    magnitude = 0 - magnitude;
  }
  const std::uint64_t thousandths = magnitude % 1000;
  const char decimals[] = {'.', static_cast<char>('0' + thousandths / 100),
                           static_cast<char>('0' + thousandths / 10 % 10),
                           static_cast<char>('0' + thousandths % 10)};
  Write(magnitude / 1000, std::string_view(decimals, sizeof(decimals)));
}

void JsonWriter::Write(double value) {
  if (!std::isfinite(value)) {
    return Write("null");
  }
  char text[32];
  const auto end = fmt::format_to(text, "{}", value);
  Write(std::string_view(text, static_cast<std::size_t>(end - text)));
}

void JsonWriter::Write(JsonText text) {
  if (IsPlainJsonText(text.text)) {
    Write("\"", text.text, "\"");
  } else {
    Write(std::string_view(QuoteJson(text.text)));
  }
}

void JsonWriter::WriteAndFlush(std::string_view text) {
  if (Status flushed = Flush(); !flushed) {
    return;
  }
  if (text.size() > buffer_.size()) {
    status_ = sink_.Write(text);
    return;
  }
  Write(text);
}

Status JsonWriter::Flush() {
  if (status_) {
    status_ = sink_.Write({buffer_.data(), used_});
  }
  used_ = 0;
  return status_;
}

JsonStrings::JsonStrings(const StringTable& strings)
    : strings_(strings),
      states_(strings.size(), State::kUnknown),
      states_of_part_{states_, states_},
      parser_(std::make_unique<orrery::JsonText>()) {}

JsonStrings::~JsonStrings() = default;

bool JsonStrings::IsValid(std::string_view text, Part part) {
  if (part == Part::kValue) {
    return parser_->Parse(text).has_value();
  }
  const std::optional<JsonElement> object = parser_->ParseFields(text);
  simdjson::dom::object fields;
  return object && !object->get(fields) && fields.size() > 0;
}

std::string JsonStrings::Repaired(std::string_view text, Part part) {
  std::string quoted;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view token = rest.substr(0, TokenLength(rest));
    const bool is_word = token.size() > 1 || kSeparators.find(token) == std::string_view::npos;
    const bool is_valid = !is_word || token.front() == '"' || parser_->Parse(token).has_value();
    quoted += is_valid ? std::string(token) : QuoteJson(token);
    rest.remove_prefix(token.size());
  }
  if (IsValid(quoted, part)) {
    return quoted;
  }
  return (part == Part::kFields ? "\"damaged\": " : "") + QuoteJson(text);
}

std::string_view JsonStrings::ValidJson(StringId id, Part part) {
  const std::string_view text = strings_.View(id);
  State& state = states_of_part_[static_cast<std::size_t>(part)][static_cast<std::size_t>(id)];
  if (state == State::kUnknown) {
    state = IsValid(text, part) ? State::kPlain : State::kNeedsEscapes;
  }
  if (state == State::kPlain) {
    return text;
  }
  std::string& repaired = repaired_[{id, part}];
  if (repaired.empty()) {
    repaired = Repaired(text, part);
  }
  return repaired;
}

void JsonStrings::Write(JsonWriter& json, StringId id) {
  const std::string_view text = strings_.View(id);
  State& state = states_[static_cast<std::size_t>(id)];
  if (state == State::kUnknown) {
    state = IsPlainJsonText(text) ? State::kPlain : State::kNeedsEscapes;
  }
  if (state == State::kNeedsEscapes) {
    return json.Write(JsonText{text});
  }
  json.Write("\"", text, "\"");
}

}  // namespace orrery::exporting
