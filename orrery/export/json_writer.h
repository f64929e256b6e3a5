#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"

namespace orrery {
class JsonText;
}

namespace orrery::exporting {

/// Text that JsonWriter::Write quotes and escapes.
struct JsonText {
  std::string_view text;
};

/// A time that JsonWriter::Write writes as microseconds with exactly three decimals.
struct JsonMicroseconds {
  std::int64_t nanoseconds = 0;
};

/// Writes JSON piece by piece into a large buffer, which is flushed to the sink when it is full. It
/// formats values; commas and brackets are the caller's. A failed write is remembered, later ones
/// are ignored, and `Flush` returns it.
class JsonWriter {
 public:
  explicit JsonWriter(ByteSink& sink);

  /// Writes text as it is.
  void Write(std::string_view text) {
    if (text.size() > buffer_.size() - used_) {
      return WriteAndFlush(text);
    }
    std::copy(text.begin(), text.end(), buffer_.data() + used_);
    used_ += text.size();
  }

  void Write(const char* text) { Write(std::string_view(text)); }

  void Write(std::integral auto value) {
    const fmt::format_int digits(value);
    Write(std::string_view(digits.data(), digits.size()));
  }

  /// Writes the shortest text that reads back as `value`; null for NaN and the infinities.
  void Write(double value);

  /// Bytes that are not UTF-8 become U+FFFD.
  void Write(JsonText text);
  void Write(JsonMicroseconds time);

  /// Writes the parts one after the other.
  template <typename First, typename Second, typename... Rest>
  void Write(const First& first, const Second& second, const Rest&... rest) {
    Write(first);
    Write(second);
    (Write(rest), ...);
  }

  /// Writes what is left in the buffer, and returns the first failure of any write.
  [[nodiscard]] Status Flush();

 private:
  void WriteAndFlush(std::string_view text);

  ByteSink& sink_;
  Status status_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

/// The strings of one trace, written as JSON. Checks each for escapes only once, since names
/// repeat.
class JsonStrings {
 public:
  explicit JsonStrings(const StringTable& strings);
  JsonStrings(const JsonStrings&) = delete;
  JsonStrings& operator=(const JsonStrings&) = delete;
  ~JsonStrings();

  void Write(JsonWriter& json, StringId id);

  /// The expected content of a string that should be JSON already.
  enum class Part : std::uint8_t { kValue, kFields };

  /// Returns the text of a value or of the fields of an object as it is where that is valid JSON.
  /// Profilers also write 0x10 and Infinity, which become strings; what is damaged otherwise
  /// becomes one string.
  [[nodiscard]] std::string_view ValidJson(StringId id, Part part);

 private:
  enum class State : std::uint8_t { kUnknown, kPlain, kNeedsEscapes };

  [[nodiscard]] bool IsValid(std::string_view text, Part part);
  [[nodiscard]] std::string Repaired(std::string_view text, Part part);

  const StringTable& strings_;
  std::vector<State> states_;
  std::array<std::vector<State>, 2> states_of_part_;
  std::map<std::pair<StringId, Part>, std::string> repaired_;
  std::unique_ptr<orrery::JsonText> parser_;
};

/// Writes the fields of one JSON object, commas included; brackets are the caller's. Keys are ours
/// and need no escapes. It is a visitor for event_args.h.
class JsonArgs {
 public:
  JsonArgs(JsonWriter& json, JsonStrings& strings) : json_(json), strings_(strings) {}

  void Integer(std::string_view key, std::int64_t value) { Field(key, value); }

  void Unsigned(std::string_view key, std::uint64_t value) { Field(key, value); }

  void Flag(std::string_view key, bool value) { Field(key, value ? "true" : "false"); }

  void Words(std::string_view key, std::string_view value) { Field(key, JsonText{value}); }

  void Text(std::string_view key, StringId value) {
    if (value != StringId::kEmpty) {
      Field(key);
      strings_.Write(json_, value);
    }
  }

  void Json(std::string_view key, StringId value) {
    if (value != StringId::kEmpty) {
      Field(key, strings_.ValidJson(value, JsonStrings::Part::kValue));
    }
  }

  void Triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
    Field(key, "[", x, ", ", y, ", ", z, "]");
  }

  void Fields(StringId fields) {
    if (fields != StringId::kEmpty) {
      json_.Write(any_ ? ", " : "", strings_.ValidJson(fields, JsonStrings::Part::kFields));
      any_ = true;
    }
  }

 private:
  template <typename... Parts>
  void Field(std::string_view key, const Parts&... value) {
    json_.Write(any_ ? ", \"" : "\"", key, "\": ", value...);
    any_ = true;
  }

  JsonWriter& json_;
  JsonStrings& strings_;
  bool any_ = false;
};

}  // namespace orrery::exporting
