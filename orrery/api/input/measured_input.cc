#include "orrery/api/input/measured_input.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/errors.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/text/table.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::api {
namespace {

Result<std::vector<collective::MeasuredTable>> ReadTables(const std::string& path) {
  std::vector<collective::MeasuredTable> tables;
  if (IsCsvName(path)) {
    ORRERY_TRY(Table table, ReadCsvFile(path));
    tables.push_back({path, std::move(table), true});
    return tables;
  }
  ORRERY_TRY(ingest::Run run, ingest::ReadRun({path}, {}));
  for (ingest::MeasurementTable& table : run.tables) {
    tables.push_back({path, std::move(table.rows), false});
  }
  if (tables.empty()) {
    return InvalidInput("{}: a recording, not a table of measured collectives", path);
  }
  return tables;
}

}  // namespace

Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                            std::span<const std::string> counters) {
  ORRERY_TRY(overlap::PairTable data, overlap::ReadPairs(paths, counters));
  return WithRows(std::move(data));
}

std::vector<std::string> RejectedLines(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows) {
  constexpr std::size_t kShownRejected = 10;
  std::vector<std::string> lines;
  for (const RejectedRow& row : rows.first(std::min(rows.size(), kShownRejected))) {
    const std::string line = row.line == 0 ? "" : fmt::format(":{}", row.line);
    lines.push_back(fmt::format("{}{}: {}", files[row.file], line, row.reason));
  }
  if (rows.size() > kShownRejected) {
    lines.push_back(fmt::format("… and {} more rows", rows.size() - kShownRejected));
  }
  return lines;
}

std::string RejectedText(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return fmt::format("{}", fmt::join(RejectedLines(files, rows), "\n"));
}

std::string RejectedNotice(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return fmt::format("{} rows were not used:\n{}", rows.size(), RejectedText(files, rows));
}

Result<collective::Measurements> ReadCollectives(const std::vector<std::string>& paths,
                                                 const std::string& cluster) {
  collective::Measurements data;
  for (const std::string& path : paths) {
    ORRERY_TRY(const std::vector<collective::MeasuredTable> tables, ReadTables(path));
    for (const collective::MeasuredTable& table : tables) {
      ORRERY_TRY_STATUS(collective::AddMeasurements(table, cluster, data));
    }
  }
  return WithRows(std::move(data));
}

std::string UnnamedGpuNotice(const collective::Measurements& data, const std::string& cluster) {
  return fmt::format("{} rows do not name their GPU and count as measured on '{}'",
                     data.without_gpu, cluster);
}

bool IsCollectiveData(const std::string& path) {
  if (!IsCsvName(path)) {
    return true;
  }
  const Result<Table> table = ReadCsvFile(path);
  return table && collective::HoldsCollectives(*table);
}

Result<collective::MachineModels> LoadMachineModels(const std::string& path) {
  if (path.empty()) {
    return collective::MachineModels::Shipped();
  }
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  return collective::MachineModels::Parse(std::string(file.bytes()), path);
}

Result<std::vector<learn::DataCard::Source>> SourcesOf(std::span<const std::string> paths) {
  std::vector<learn::DataCard::Source> sources;
  for (const std::string& path : paths) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
    const std::string_view bytes = file.bytes();
    sources.push_back(
        {std::filesystem::path(path).filename().string(), bytes.size(), learn::HashText(bytes, 0)});
  }
  return sources;
}

}  // namespace orrery::api
