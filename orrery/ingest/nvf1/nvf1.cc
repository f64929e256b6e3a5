#include "orrery/ingest/nvf1/nvf1.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/nvf1/sample.h"
#include "orrery/ingest/rank_names.h"

namespace orrery::ingest::nvf1 {
namespace {

constexpr std::size_t kRecordsInWindow = 4096;
constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

enum Column : std::size_t { kGpu, kHostTime, kTime, kDirection, kRaw, kLink, kKib };

Table EmptyTable() {
  Table table;
  table.AddColumn("gpu", Table::Type::kInteger);
  table.AddColumn("host_time_ns", Table::Type::kInteger);
  table.AddColumn("time_us", Table::Type::kInteger);
  table.AddColumn("direction", Table::Type::kText);
  table.AddColumn("raw", Table::Type::kInteger);
  table.AddColumn("link", Table::Type::kInteger);
  table.AddColumn("kib", Table::Type::kInteger);
  return table;
}

Table::Cell IntegerCell(std::optional<std::int64_t> value) {
  return value ? Table::Cell(*value) : Table::Cell();
}

// Turns records into rows and counts what is no sample.
class Recording {
 public:
  explicit Recording(std::optional<std::int32_t> gpu) : gpu_(gpu), rows_(EmptyTable()) {}

  void Add(std::string_view record) {
    const auto sample = ReadSample(record);
    if (!sample) {
      problems_.Loss("record of a field that is no NVLink counter", 1, Place());
    } else if (sample->host_time_ns > kLargest) {
      problems_.Loss("record with an impossible time", 1, Place());
    } else {
      AddRow(*sample);
    }
    ++num_records_;
  }

  [[nodiscard]] std::size_t num_rows() const { return rows_.num_rows(); }

  Table Take() { return std::move(rows_); }

  trace::ProblemLog& problems() { return problems_; }

 private:
  [[nodiscard]] std::string Place() const { return fmt::format("record {}", num_records_); }

  void AddRow(const Sample& sample) {
    const std::size_t row = rows_.AddRow();
    rows_.Set(row, kGpu, IntegerCell(gpu_));
    rows_.Set(row, kHostTime, static_cast<std::int64_t>(sample.host_time_ns));
    rows_.Set(row, kTime, sample.time_us);
    rows_.Set(row, kDirection, sample.direction == Direction::kTransmitted ? "tx" : "rx");
    rows_.Set(row, kRaw, std::int64_t{sample.is_raw ? 1 : 0});
    rows_.Set(row, kLink, IntegerCell(sample.link));
    rows_.Set(row, kKib, Value(sample));
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

  std::optional<std::int32_t> gpu_;
  Table rows_;
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
      recording.problems().Loss("record that is cut at the end of the file");
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
  if (recording.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput,
                "a recording of NVLink counters without a complete sample");
  }
  return {};
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  Recording recording(GpuInFileName(file.path()));
  if (const Status status = ReadRecording(*source, recording); !status) {
    return FailWithin(file.path(), status);
  }
  FileContent content;
  content.tables.push_back({.format = "NVF1",
                            .file = file.path(),
                            .rows = recording.Take(),
                            .problems = recording.problems()});
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "NVF1", .matches = &Matches, .read = &Read};
  return kFormat;
}

}  // namespace orrery::ingest::nvf1
