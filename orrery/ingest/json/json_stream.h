#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {

struct JsonLimits {
  std::size_t max_depth = 64;  // nesting depth, including brackets that were entered
  std::size_t max_value_bytes = std::size_t{256} << 20;  // of one value that is taken
};

/// The way in which a JSON stream ended.
enum class JsonEnd {
  kNotYet,
  kComplete,       // the outermost bracket was closed
  kBetweenValues,  // closed early: nothing is lost but the closing brackets
  kInsideValue,    // cut: the last value is incomplete
};

/// Walks a JSON document of any size with one window of it in memory. The caller enters objects
/// and arrays and takes their values as text; other values are skipped. Only brackets
/// and strings are understood, so that a value that a parser refuses does not stop the walk.
///
///     JsonStream stream(source);
///     ORRERY_TRY_STATUS(stream.EnterObject());
///     while (true) {
///       ORRERY_TRY(const auto key, stream.NextKey());
///       ...
///
/// Views are valid until the next call, and `kPadding` more bytes may be read after them. Stray
/// and missing commas are tolerated and counted. Input that ends early is not an error: the calls
/// return nothing and `end()` tells.
class JsonStream {
 public:
  /// As much as simdjson wants to read after a text.
  static constexpr std::size_t kPadding = 64;

  /// `source` must outlive the stream.
  explicit JsonStream(ByteSource& source, JsonLimits limits = {});

  /// Returns the first character of the value that comes next, 0 at the end of the input.
  [[nodiscard]] Result<char> PeekValue();

  /// Steps into the object or array that comes next: the document, or the value of the last key.
  Status EnterObject() { return Enter('{'); }

  Status EnterArray() { return Enter('['); }

  /// Inside an object: returns the next key as it is written (escapes stay), nothing after the
  /// last one.
  [[nodiscard]] Result<std::optional<std::string_view>> NextKey();

  /// Inside an array: returns the text of the next element, nothing after the last one.
  [[nodiscard]] Result<std::optional<std::string_view>> NextElement();

  /// Returns the text of the last key's value; nothing if the input ends before it is complete.
  [[nodiscard]] Result<std::optional<std::string_view>> TakeValue();

  [[nodiscard]] JsonEnd end() const { return end_state_; }

  /// Bytes walked so far.
  [[nodiscard]] std::int64_t offset() const {
    return buffer_offset_ + static_cast<std::int64_t>(position_);
  }

  /// Returns the offset at which the last value or element began.
  [[nodiscard]] std::int64_t value_offset() const { return value_offset_; }

  [[nodiscard]] std::int64_t num_stray_commas() const { return num_stray_commas_; }

  [[nodiscard]] std::int64_t num_missing_commas() const { return num_missing_commas_; }

 private:
  Status Enter(char opening);
  void Leave();

  [[nodiscard]] tl::unexpected<Error> Unexpected(std::string_view expected) const;
  [[nodiscard]] tl::unexpected<Error> TooLarge() const;
  [[nodiscard]] std::string_view kept() const;

  Result<bool> Refill();
  Result<bool> MoreInput();
  Result<char> PeekPastBlanks();
  Result<char> PeekPastCommas();
  void CountCommas(std::int64_t commas, bool before_value);

  Result<bool> ScanValue();
  Result<bool> ScanBrackets();
  Result<bool> ScanString();
  Result<bool> ScanWord();
  Result<std::optional<std::string_view>> KeepValue();

  ByteSource& source_;
  JsonLimits limits_;

  // The window: [position_, end_) is still to be walked; while a value is kept, everything from
  // kept_begin_ stays.
  std::vector<char> buffer_;
  std::int64_t buffer_offset_ = 0;
  std::size_t position_ = 0;
  std::size_t end_ = 0;
  std::size_t kept_begin_ = 0;
  bool keeps_ = false;

  std::vector<char> open_;       // brackets entered and not left
  bool value_follows_ = true;    // a key's value, or the document, was neither taken nor entered
  bool comma_expected_ = false;  // a value came before
  JsonEnd end_state_ = JsonEnd::kNotYet;
  std::string key_;
  std::int64_t value_offset_ = 0;
  std::int64_t num_stray_commas_ = 0;
  std::int64_t num_missing_commas_ = 0;
};

}  // namespace orrery::ingest
