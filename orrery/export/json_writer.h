#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"

namespace orrery::exporting {

/// Tells whether `text` can stand between quotes as it is: UTF-8 without quotes, backslashes and
/// control characters.
[[nodiscard]] bool IsPlainJsonText(std::string_view text);

/// Writes JSON piece by piece into a large buffer, which goes to the sink when it is full. It knows
/// how values are spelt, not how they are arranged: commas and brackets are the caller's. A failed
/// write is remembered, later ones are ignored, and `Flush` returns it.
class JsonWriter {
 public:
  explicit JsonWriter(ByteSink& sink);

  /// Writes `text` as it is.
  void Raw(std::string_view text) {
    if (text.size() > buffer_.size() - used_) {
      return RawSlowly(text);
    }
    std::copy(text.begin(), text.end(), buffer_.data() + used_);
    used_ += text.size();
  }

  void Integer(std::int64_t value) { RawInteger(value); }

  void Unsigned(std::uint64_t value) { RawInteger(value); }

  /// Writes nanoseconds as microseconds with exactly three decimals.
  void Microseconds(std::int64_t nanoseconds);

  /// Writes the shortest text that reads back as `value`; null for NaN and the infinities.
  void Double(double value);

  /// Writes `text` with quotes and escapes; bytes that are not UTF-8 become U+FFFD.
  void String(std::string_view text);

  /// Passes on what is left in the buffer, and tells whether all writes succeeded.
  [[nodiscard]] Status Flush();

 private:
  template <typename T>
  void RawInteger(T value) {
    const fmt::format_int digits(value);
    Raw({digits.data(), digits.size()});
  }

  void RawSlowly(std::string_view text);
  void Escaped(std::string_view text);

  ByteSink& sink_;
  Status status_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

/// The strings of one trace, written as JSON. Looks at each only once, since names repeat.
class JsonStrings {
 public:
  explicit JsonStrings(const StringTable& strings);

  void Write(JsonWriter& json, StringId id);

 private:
  enum class State : std::uint8_t { kUnknown, kPlain, kNeedsEscapes };

  const StringTable& strings_;
  std::vector<State> states_;
};

}  // namespace orrery::exporting
