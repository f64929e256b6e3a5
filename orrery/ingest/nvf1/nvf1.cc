#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/ingest/rank_names.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nvf1 {
namespace {

inline constexpr std::string_view kMagic = "NVF1";
inline constexpr std::size_t kHeaderBytes = 12;

/// How the records of a file are laid out.
struct Layout {
  std::size_t field_bytes = 0;  // of NVML's nvmlFieldValue_t

  [[nodiscard]] std::size_t record_bytes() const { return sizeof(std::uint64_t) + field_bytes; }
};

enum class Direction { kTransmitted, kReceived };

/// One counter at one time.
struct Sample {
  std::uint64_t host_time_ns = 0;
  std::int64_t time_us = 0;
  Direction direction = Direction::kTransmitted;
  bool is_raw = false;
  std::optional<std::int64_t> link;  // nothing: the sum over all
  std::uint32_t return_code = 0;     // of NVML; 0: the value holds
  std::uint64_t kib = 0;
};

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

// Invalid counts become one that no counter reaches.
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

// Reads the header; fails when records of this layout cannot hold a sample.
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

// Reads one record; nothing if it is of a field that is no NVLink counter.
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
      .link = link == kAllLinks ? std::nullopt : std::optional<std::int64_t>(link),
      .return_code = IntegerAt<std::uint32_t>(field, 28),
      .kib = ValueOf(field),
  };
}

constexpr std::size_t kRecordsInWindow = 4096;
constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Converts records to rows and counts invalid ones.
class Recording {
 public:
  explicit Recording(std::optional<std::int64_t> gpu) : gpu_(gpu) {}

  void Add(std::string_view record) {
    const auto sample = ReadSample(record);
    if (!sample) {
      problems_.Loss("record of a field that is not an NVLink counter", 1, Place());
    } else if (sample->host_time_ns > kLargest) {
      problems_.Loss("record with an impossible time", 1, Place());
    } else {
      AddRow(*sample);
    }
    ++num_records_;
  }

  Table Take() { return std::move(rows_); }

  trace::ProblemLog& problems() { return problems_; }

 private:
  [[nodiscard]] std::string Place() const { return fmt::format("record {}", num_records_); }

  void AddRow(const Sample& sample) {
    rows_.AddRow({Table::CellOf(gpu_), static_cast<std::int64_t>(sample.host_time_ns),
                  sample.time_us, sample.direction == Direction::kTransmitted ? "tx" : "rx",
                  std::int64_t{sample.is_raw ? 1 : 0}, Table::CellOf(sample.link), Value(sample)});
  }

  // The recorder had no value to write, so nothing of the file is lost without one.
  Table::Cell Value(const Sample& sample) {
    if (sample.return_code != 0) {
      problems_.Note("sample that NVML refused", 1,
                     fmt::format("{}, return code {}", Place(), sample.return_code));
      return {};
    }
    if (sample.kib > kLargest) {
      problems_.Loss("counter beyond 63 bits", 1, Place());
      return {};
    }
    return static_cast<std::int64_t>(sample.kib);
  }

  std::optional<std::int64_t> gpu_;
  Table rows_{{"gpu", Table::Type::kInteger},     {"host_time_ns", Table::Type::kInteger},
              {"time_us", Table::Type::kInteger}, {"direction", Table::Type::kText},
              {"raw", Table::Type::kInteger},     {"link", Table::Type::kInteger},
              {"kib", Table::Type::kInteger}};
  trace::ProblemLog problems_;
  std::int64_t num_records_ = 0;
};

bool Matches(const InputFile& file) {
  return file.head().starts_with(kMagic);
}

Status ReadRecords(ByteSource& source, const Layout& layout, Recording& recording) {
  std::string window(layout.record_bytes() * kRecordsInWindow, '\0');
  while (true) {
    ORRERY_TRY(const std::size_t count, ReadFully(source, window));
    std::string_view rest(window.data(), count);
    for (; rest.size() >= layout.record_bytes(); rest.remove_prefix(layout.record_bytes())) {
      recording.Add(rest.substr(0, layout.record_bytes()));
    }
    if (!rest.empty()) {
      recording.problems().Loss("record truncated at the end of the file");
    }
    if (count < window.size()) {
      return {};
    }
  }
}

Status ReadRecording(ByteSource& source, Recording& recording) {
  std::string header(kHeaderBytes, '\0');
  ORRERY_TRY(const std::size_t count, ReadFully(source, header));
  header.resize(count);
  ORRERY_TRY(const Layout layout, ReadHeader(header, recording.problems()));
  ORRERY_TRY_STATUS(ReadRecords(source, layout, recording));
  if (const std::string damage = source.damage(); !damage.empty()) {
    recording.problems().Loss(damage);
  }
  return {};
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  Recording recording(GpuInFileName(file.path()));
  ORRERY_TRY_STATUS(ReadRecording(*source, recording));
  return ContentOf({.format = "NVF1",
                    .file = file.path(),
                    .rows = recording.Take(),
                    .problems = recording.problems()},
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
