#include "orrery/export/json_writer.h"

#include <cmath>

#include "orrery/base/json_text.h"

namespace orrery::exporting {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

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
    : strings_(strings), states_(strings.size(), State::kUnknown) {}

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
