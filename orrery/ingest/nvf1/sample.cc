#include "orrery/ingest/nvf1/sample.h"

#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include <fmt/core.h>

namespace orrery::ingest::nvf1 {
namespace {

constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kSmallestField = 40;
constexpr std::uint32_t kAllLinks = 0xFFFFFFFF;

// Kinds of nvmlValue_t that do not fill its eight bytes as an integer.
constexpr std::uint32_t kDoubleValue = 0;
constexpr std::uint32_t kUnsignedIntValue = 1;

// Fields 138 and 139 count data, 140 and 141 data with the protocol's own.
constexpr std::uint32_t kFirstField = 138;
constexpr std::uint32_t kFirstRawField = 140;
constexpr std::uint32_t kLastField = 141;

// Little endian, on any machine.
template <std::integral T>
T IntegerAt(std::string_view bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i - 1]);
  }
  return static_cast<T>(value);
}

// What is no count becomes one that no counter reaches.
std::uint64_t FromDouble(std::uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  constexpr double kBeyond = 9.2e18;
  return std::isfinite(number) && number >= 0 && number < kBeyond
             ? static_cast<std::uint64_t>(std::llround(number))
             : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t ValueOf(std::string_view field) {
  const auto bits = IntegerAt<std::uint64_t>(field, 32);
  switch (IntegerAt<std::uint32_t>(field, 24)) {
    case kDoubleValue:
      return FromDouble(bits);
    case kUnsignedIntValue:
      return bits & 0xFFFFFFFF;
    default:
      return bits;
  }
}

}  // namespace

Result<Layout> ReadHeader(std::string_view header, trace::ProblemLog& problems) {
  if (header.size() < kHeaderBytes) {
    return Fail(Error::Kind::kInvalidInput, "the file ends inside its header of 12 bytes");
  }
  const auto version = IntegerAt<std::uint16_t>(header, 4);
  const auto field_bytes = IntegerAt<std::uint16_t>(header, 6);
  const auto time_bytes = IntegerAt<std::int32_t>(header, 8);
  if (time_bytes != sizeof(std::uint64_t) || field_bytes < kSmallestField) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("byte 6: a record has {} bytes for NVML's field and {} for the time, "
                            "where at least 40 and exactly 8 are needed; record it again",
                            field_bytes, time_bytes));
  }
  if (version != kVersion) {
    problems.Note("unknown version of NVF1, read as version 1", 1,
                  fmt::format("version {}", version));
  }
  return Layout{.field_bytes = field_bytes};
}

std::optional<Sample> ReadSample(std::string_view record) {
  const std::string_view field = record.substr(sizeof(std::uint64_t));
  const auto id = IntegerAt<std::uint32_t>(field, 0);
  if (id < kFirstField || id > kLastField) {
    return std::nullopt;
  }
  const auto link = IntegerAt<std::uint32_t>(field, 4);
  return Sample{
      .host_time_ns = IntegerAt<std::uint64_t>(record, 0),
      .time_us = IntegerAt<std::int64_t>(field, 8),
      .direction = id % 2 == 0 ? Direction::kTransmitted : Direction::kReceived,
      .is_raw = id >= kFirstRawField,
      .link = link == kAllLinks ? std::nullopt : std::optional(link),
      .return_code = IntegerAt<std::uint32_t>(field, 28),
      .kib = ValueOf(field),
  };
}

}  // namespace orrery::ingest::nvf1
