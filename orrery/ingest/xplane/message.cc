#include "orrery/ingest/xplane/message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace orrery::ingest::xplane {
namespace {

enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr std::uint64_t kLargestNumber = (1U << 29) - 1;

}  // namespace

std::optional<Field> MessageReader::Next() {
  if (rest_.empty() || is_damaged_) {
    return std::nullopt;
  }
  const auto tag = TakeVarint();
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kLargestNumber) {
    return Damaged();
  }
  const auto number = static_cast<std::uint32_t>(*tag >> 3);
  std::optional<std::uint64_t> value;
  switch (*tag & 7) {
    case kVarint:
      value = TakeVarint();
      break;
    case kFixed64:
      value = TakeFixed(8);
      break;
    case kFixed32:
      value = TakeFixed(4);
      break;
    case kLengthDelimited:
      return TakeBytes(number);
    default:
      break;
  }
  return value ? Field{.number = number, .value = *value, .bytes = {}} : Damaged();
}

std::optional<Field> MessageReader::Damaged() {
  is_damaged_ = true;
  return std::nullopt;
}

std::optional<Field> MessageReader::TakeBytes(std::uint32_t number) {
  const auto length = TakeVarint();
  if (!length) {
    return Damaged();
  }
  const bool is_cut = *length > rest_.size();
  const std::string_view bytes =
      rest_.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(*length, rest_.size())));
  rest_.remove_prefix(bytes.size());
  is_damaged_ = is_cut;
  return Field{.number = number, .is_bytes = true, .bytes = bytes, .is_cut = is_cut};
}

std::optional<std::uint64_t> MessageReader::TakeVarint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(rest_.size(), 10); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

// Little endian.
std::optional<std::uint64_t> MessageReader::TakeFixed(std::size_t num_bytes) {
  if (rest_.size() < num_bytes) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (std::size_t i = num_bytes; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(rest_[i - 1]);
  }
  rest_.remove_prefix(num_bytes);
  return value;
}

}  // namespace orrery::ingest::xplane
