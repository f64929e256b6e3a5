#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/rank_names.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nvf1 {
namespace {

constexpr std::size_t kHeaderBytes = 12;
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

std::uint64_t ValueOf(std::string_view field) {
  const auto bits = IntegerAt<std::uint64_t>(field, 32);
  const auto number = std::bit_cast<double>(bits);
  switch (IntegerAt<std::uint32_t>(field, 24)) {
    case kDoubleValue:
      // Invalid counts become one that no counter reaches.
      return number >= 0 && number < 9.2e18 ? static_cast<std::uint64_t>(std::llround(number))
                                            : std::numeric_limits<std::uint64_t>::max();
    case kUnsignedIntValue:
      return bits & 0xFFFFFFFF;
    default:
      return bits;
  }
}

// Returns the bytes of a record; fails when one cannot hold a sample.
Result<std::size_t> ReadHeader(std::string_view header, trace::ProblemLog& problems) {
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
  return sizeof(std::uint64_t) + field_bytes;
}

constexpr std::size_t kRecordsInWindow = 4096;
constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Converts records to rows and counts invalid ones.
class Recording {
 public:
  explicit Recording(std::optional<std::int64_t> gpu) : gpu_(gpu) {}

  void Add(std::string_view record) {
    const std::string place = fmt::format("record {}", num_records_++);
    const std::string_view field = record.substr(sizeof(std::uint64_t));
    const auto host_time_ns = IntegerAt<std::uint64_t>(record, 0);
    const auto id = IntegerAt<std::uint32_t>(field, 0);
    const auto link = IntegerAt<std::uint32_t>(field, 4);
    if (id < kFirstField || id > kLastField) {
      problems.Loss("record of a field that is not an NVLink counter", 1, place);
    } else if (host_time_ns > kLargest) {
      problems.Loss("record with an impossible time", 1, place);
    } else {
      rows.AddRow({Table::CellOf(gpu_), static_cast<std::int64_t>(host_time_ns),
                   IntegerAt<std::int64_t>(field, 8), id % 2 == 0 ? "tx" : "rx",
                   std::int64_t{id >= kFirstRawField ? 1 : 0},
                   link == kAllLinks ? Table::Cell() : Table::Cell(std::int64_t{link}),
                   Value(field, place)});
    }
  }

  Table rows{{"gpu", Table::Type::kInteger},     {"host_time_ns", Table::Type::kInteger},
             {"time_us", Table::Type::kInteger}, {"direction", Table::Type::kText},
             {"raw", Table::Type::kInteger},     {"link", Table::Type::kInteger},
             {"kib", Table::Type::kInteger}};
  trace::ProblemLog problems;

 private:
  // The recorder had no value to write, so nothing of the file is lost without one.
  Table::Cell Value(std::string_view field, const std::string& place) {
    const auto return_code = IntegerAt<std::uint32_t>(field, 28);
    const std::uint64_t kib = ValueOf(field);
    if (return_code != 0) {
      problems.Note("sample that NVML refused", 1,
                    fmt::format("{}, return code {}", place, return_code));
      return {};
    }
    if (kib > kLargest) {
      problems.Loss("counter beyond 63 bits", 1, place);
      return {};
    }
    return static_cast<std::int64_t>(kib);
  }

  std::optional<std::int64_t> gpu_;
  std::int64_t num_records_ = 0;
};

bool Matches(const InputFile& file) {
  return file.head().starts_with("NVF1");
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  Recording recording(GpuInFileName(file.path()));
  std::string window(kHeaderBytes, '\0');
  ORRERY_TRY(const std::size_t header_bytes, ReadFully(*source, window));
  window.resize(header_bytes);
  ORRERY_TRY(const std::size_t record_bytes, ReadHeader(window, recording.problems));
  window.resize(record_bytes * kRecordsInWindow);
  for (std::size_t count = window.size(); count == window.size();) {
    ORRERY_TRY(count, ReadFully(*source, window));
    std::string_view rest(window.data(), count);
    for (; rest.size() >= record_bytes; rest.remove_prefix(record_bytes)) {
      recording.Add(rest.substr(0, record_bytes));
    }
    recording.problems.Loss("record truncated at the end of the file", rest.empty() ? 0 : 1);
  }
  if (const std::string damage = source->damage(); !damage.empty()) {
    recording.problems.Loss(damage);
  }
  return ContentOf({.format = "NVF1",
                    .file = file.path(),
                    .rows = std::move(recording.rows),
                    .problems = std::move(recording.problems)},
                   "a recording of NVLink counters without a complete sample");
}

}  // namespace

// Recordings of NVLink counters ("NVF1"), one GPU per file. Gives one table, a row for each sample:
// gpu (from the file's name), host_time_ns (monotonic clock), time_us (since the epoch),
// direction ("tx", "rx"), raw (1: protocol included), link (missing: sum over the links) and kib,
// which counts up from an unknown start. A sample that NVML refused has no kib: no interval may be
// formed across it.
constinit const Format kFormat{.name = "NVF1", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::nvf1
