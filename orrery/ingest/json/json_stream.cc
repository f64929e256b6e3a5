#include "orrery/ingest/json/json_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {
namespace {

constexpr std::size_t kWindowBytes = 256 << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool EndsWord(char c) {
  return c == ',' || c == ':' || c == '}' || c == ']' || IsBlank(c);
}

bool IsOpening(char c) {
  return c == '{' || c == '[';
}

bool IsClosing(char c) {
  return c == '}' || c == ']';
}

// The bytes that matter outside strings; commas, colons, numbers and words do not.
constexpr auto kStructural = [] {
  std::array<bool, 256> structural{};
  for (const char c : {'{', '}', '[', ']', '"'}) {
    structural[static_cast<unsigned char>(c)] = true;
  }
  return structural;
}();

// Function objects, because a pointer to a function is not inlined into std::find_if, and these two
// look at every byte.
constexpr auto kIsStructural = [](char c) { return kStructural[static_cast<unsigned char>(c)]; };
constexpr auto kMattersInString = [](char c) { return c == '"' || c == '\\'; };

}  // namespace

JsonStream::JsonStream(ByteSource& source, JsonLimits limits)
    : source_(source), limits_(limits), buffer_(kWindowBytes + kPadding) {}

Result<char> JsonStream::PeekValue() {
  ORRERY_CHECK(value_follows_, "PeekValue needs a value that was not taken");
  return PeekPastBlanks();
}

Status JsonStream::Enter(char opening) {
  ORRERY_CHECK(value_follows_, "only the document or a key's value can be entered");
  ORRERY_TRY(const char next, PeekPastBlanks());
  if (next == '\0') {
    end_state_ = JsonEnd::kInsideValue;
    return {};
  }
  if (next != opening) {
    return Unexpected(opening == '{' ? "an object" : "an array");
  }
  ++position_;
  open_.push_back(opening);
  value_follows_ = false;
  comma_expected_ = false;
  return {};
}

void JsonStream::Leave() {
  ++position_;
  open_.pop_back();
  comma_expected_ = true;
  if (open_.empty()) {
    end_state_ = JsonEnd::kComplete;
  }
}

Result<std::optional<std::string_view>> JsonStream::NextKey() {
  if (value_follows_ && end_state_ == JsonEnd::kNotYet) {
    keeps_ = false;
    ORRERY_TRY([[maybe_unused]] const bool complete, ScanValue());
  }
  if (end_state_ != JsonEnd::kNotYet) {
    return std::nullopt;
  }
  ORRERY_TRY(const char next, PeekPastCommas());
  if (next == '\0') {
    return std::nullopt;
  }
  if (IsClosing(next)) {
    Leave();
    return std::nullopt;
  }
  if (next != '"') {
    return Unexpected("a key");
  }
  keeps_ = true;
  kept_begin_ = position_;
  ORRERY_TRY(const bool closed, ScanString());
  key_ = kept();
  keeps_ = false;
  if (!closed) {
    return std::nullopt;
  }
  key_ = key_.substr(1, key_.size() - 2);
  ORRERY_TRY(const char colon, PeekPastBlanks());
  if (colon == '\0') {
    end_state_ = JsonEnd::kInsideValue;
    return std::nullopt;
  }
  if (colon != ':') {
    return Unexpected("a colon");
  }
  ++position_;
  value_follows_ = true;
  return key_;
}

Result<std::optional<std::string_view>> JsonStream::NextElement() {
  if (end_state_ != JsonEnd::kNotYet) {
    return std::nullopt;
  }
  ORRERY_CHECK(!open_.empty() && !value_follows_, "NextElement needs an array that was entered");
  keeps_ = false;
  ORRERY_TRY(const char next, PeekPastCommas());
  if (next == '\0') {
    return std::nullopt;
  }
  if (IsClosing(next)) {
    Leave();
    return std::nullopt;
  }
  return KeepValue();
}

Result<std::optional<std::string_view>> JsonStream::TakeValue() {
  if (end_state_ != JsonEnd::kNotYet) {
    return std::nullopt;
  }
  ORRERY_CHECK(value_follows_, "the value was already taken");
  return KeepValue();
}

Result<std::optional<std::string_view>> JsonStream::KeepValue() {
  ORRERY_TRY([[maybe_unused]] const char first, PeekPastBlanks());
  keeps_ = true;
  kept_begin_ = position_;
  ORRERY_TRY(const bool complete, ScanValue());
  if (!complete) {
    return std::nullopt;
  }
  if (kept().size() > limits_.max_value_bytes) {
    return TooLarge();
  }
  return kept();
}

tl::unexpected<Error> JsonStream::Unexpected(std::string_view expected) const {
  return Fail(Error::Kind::kInvalidInput, fmt::format("byte {}: {} should come here, not '{}'",
                                                      offset(), expected, buffer_[position_]));
}

tl::unexpected<Error> JsonStream::TooLarge() const {
  return Fail(Error::Kind::kLimit,
              fmt::format("byte {}: one JSON value is larger than {} bytes; raise "
                          "JsonLimits::max_value_bytes if that is right",
                          value_offset_, limits_.max_value_bytes));
}

std::string_view JsonStream::kept() const {
  return {buffer_.data() + kept_begin_, position_ - kept_begin_};
}

// Makes room and reads on. Returns false at the end of the input.
Result<bool> JsonStream::Refill() {
  const std::size_t begin = keeps_ ? kept_begin_ : position_;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  buffer_offset_ += static_cast<std::int64_t>(begin);
  position_ -= begin;
  end_ -= begin;
  kept_begin_ = 0;
  if (end_ > limits_.max_value_bytes) {
    return TooLarge();
  }
  if (end_ * 2 > buffer_.size()) {
    buffer_.resize(buffer_.size() * 2);
  }
  const auto room = std::span(buffer_).subspan(end_, buffer_.size() - kPadding - end_);
  const bool at_start = buffer_offset_ == 0 && end_ == 0;
  ORRERY_TRY(const std::size_t count,
             at_start ? ReadFully(source_, room.first(kByteOrderMark.size())) : source_.Read(room));
  end_ += count;
  if (at_start && std::string_view(buffer_.data(), end_) == kByteOrderMark) {
    position_ = end_;
    return Refill();
  }
  return count > 0;
}

Result<bool> JsonStream::MoreInput() {
  if (position_ < end_) {
    return true;
  }
  return Refill();
}

Result<char> JsonStream::PeekPastBlanks() {
  while (true) {
    while (position_ < end_ && IsBlank(buffer_[position_])) {
      ++position_;
    }
    if (position_ < end_) {
      return buffer_[position_];
    }
    ORRERY_TRY(const bool more, Refill());
    if (!more) {
      return '\0';
    }
  }
}

Result<char> JsonStream::PeekPastCommas() {
  std::int64_t commas = 0;
  while (true) {
    ORRERY_TRY(const char next, PeekPastBlanks());
    if (next == ',') {
      ++commas;
      ++position_;
      continue;
    }
    if (next == '\0') {
      end_state_ = JsonEnd::kBetweenValues;
    } else {
      CountCommas(commas, !IsClosing(next));
    }
    return next;
  }
}

void JsonStream::CountCommas(std::int64_t commas, bool before_value) {
  const std::int64_t surplus = commas - (comma_expected_ && before_value ? 1 : 0);
  num_stray_commas_ += std::max<std::int64_t>(surplus, 0);
  num_missing_commas_ += std::max<std::int64_t>(-surplus, 0);
}

// Walks over one value. Returns false when the input ends inside it.
Result<bool> JsonStream::ScanValue() {
  ORRERY_TRY(const char first, PeekPastBlanks());
  value_offset_ = offset();
  value_follows_ = false;
  comma_expected_ = true;
  if (first == '\0') {
    end_state_ = JsonEnd::kInsideValue;
    return false;
  }
  if (IsOpening(first)) {
    return ScanBrackets();
  }
  return first == '"' ? ScanString() : ScanWord();
}

Result<bool> JsonStream::ScanBrackets() {
  std::size_t depth = 0;
  do {
    const auto rest = std::span(buffer_).subspan(position_, end_ - position_);
    position_ += static_cast<std::size_t>(std::ranges::find_if(rest, kIsStructural) - rest.begin());
    ORRERY_TRY(const bool more, MoreInput());
    if (!more) {
      end_state_ = JsonEnd::kInsideValue;
      return false;
    }
    const char c = buffer_[position_];
    if (c == '"') {
      ORRERY_TRY(const bool closed, ScanString());
      if (!closed) {
        return false;
      }
      continue;
    }
    depth += IsOpening(c) ? 1 : 0;
    depth -= IsClosing(c) ? 1 : 0;
    if (depth + open_.size() > limits_.max_depth) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("byte {}: JSON is nested deeper than {} levels; raise "
                              "JsonLimits::max_depth if that is right",
                              offset(), limits_.max_depth));
    }
    ++position_;
  } while (depth > 0);
  return true;
}

Result<bool> JsonStream::ScanString() {
  ++position_;
  while (true) {
    const auto rest = std::span(buffer_).subspan(position_, end_ - position_);
    position_ +=
        static_cast<std::size_t>(std::ranges::find_if(rest, kMattersInString) - rest.begin());
    ORRERY_TRY(const bool more, MoreInput());
    if (!more) {
      end_state_ = JsonEnd::kInsideValue;
      return false;
    }
    if (buffer_[position_] == '"') {
      ++position_;
      return true;
    }
    if (buffer_[position_] == '\\') {
      ++position_;
      ORRERY_TRY([[maybe_unused]] const bool escaped, MoreInput());
      position_ = std::min(position_ + 1, end_);
    }
  }
}

// A number or a word that touches the end of the input may have lost its tail.
Result<bool> JsonStream::ScanWord() {
  for (const std::int64_t begin = offset();; ++position_) {
    ORRERY_TRY(const bool more, MoreInput());
    if (!more) {
      end_state_ = JsonEnd::kInsideValue;
      return false;
    }
    if (EndsWord(buffer_[position_])) {
      return offset() == begin ? Result<bool>(Unexpected("a value")) : true;
    }
  }
}

}  // namespace orrery::ingest
