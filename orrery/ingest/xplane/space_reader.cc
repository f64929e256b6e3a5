#include "orrery/ingest/xplane/space_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace orrery::ingest::xplane {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;
constexpr std::uint64_t kLengthDelimited = 2;
// No protobuf message is longer.
constexpr std::uint64_t kLongestMessage = (std::uint64_t{1} << 31) - 1;

}  // namespace

// All fields of an XSpace are texts or messages; another one is damage.
Result<std::optional<SpaceField>> SpaceReader::Next() {
  const std::int64_t begin = offset_;
  ORRERY_TRY(const bool has_more, Refill());
  if (!has_more || damage_offset_) {
    return std::nullopt;
  }
  ORRERY_TRY(const auto tag, TakeVarint());
  if (!tag || (*tag & 7) != kLengthDelimited || *tag >> 3 == 0) {
    damage_offset_ = begin;
    return std::nullopt;
  }
  ORRERY_TRY(const auto length, TakeVarint());
  if (!length || *length > kLongestMessage) {
    damage_offset_ = begin;
    return std::nullopt;
  }
  SpaceField field{.number = *tag >> 3, .offset = offset_, .content = {}, .is_cut = false};
  ORRERY_TRY(field.content, TakeBytes(*length));
  field.is_cut = field.content.size() < *length;
  return field;
}

// Returns whether there is a byte to take.
Result<bool> SpaceReader::Refill() {
  if (position_ < window_.size()) {
    return true;
  }
  window_.resize(kWindowBytes);
  ORRERY_TRY(const std::size_t count, source_.Read(window_));
  window_.resize(count);
  position_ = 0;
  return count > 0;
}

Result<std::optional<std::uint64_t>> SpaceReader::TakeVarint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    ORRERY_TRY(const bool has_more, Refill());
    if (!has_more) {
      return std::nullopt;
    }
    const auto byte = static_cast<unsigned char>(window_[position_++]);
    ++offset_;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

Result<std::string> SpaceReader::TakeBytes(std::uint64_t length) {
  std::string bytes;
  while (bytes.size() < length) {
    ORRERY_TRY(const bool has_more, Refill());
    if (!has_more) {
      break;
    }
    const std::size_t count = std::min<std::size_t>(
        window_.size() - position_, static_cast<std::size_t>(length) - bytes.size());
    bytes.append(window_, position_, count);
    position_ += count;
    offset_ += static_cast<std::int64_t>(count);
  }
  return bytes;
}

}  // namespace orrery::ingest::xplane
