#include "orrery/cli/collective_data.h"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/mapped_file.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {
namespace {

bool IsCsv(const std::string& path) {
  std::filesystem::path name(path);
  if (name.extension() == ".gz" || name.extension() == ".zst") {
    name.replace_extension();
  }
  return name.extension() == ".csv";
}

Result<std::vector<collective::MeasuredTable>> ReadTables(const std::string& path) {
  std::vector<collective::MeasuredTable> tables;
  if (IsCsv(path)) {
    ORRERY_TRY(Table table, ReadCsvFile(path));
    tables.push_back({path, std::move(table), true});
    return tables;
  }
  ORRERY_TRY(ingest::Run run, ingest::ReadRun({path}, {}));
  for (ingest::MeasurementTable& table : run.tables) {
    tables.push_back({path, std::move(table.rows), false});
  }
  if (tables.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: a recording, not a table of measured collectives", path));
  }
  return tables;
}

}  // namespace

Result<collective::Measurements> ReadCollectives(const std::vector<std::string>& paths,
                                                 const std::string& cluster) {
  collective::Measurements data;
  for (const std::string& path : paths) {
    ORRERY_TRY(const std::vector<collective::MeasuredTable> tables, ReadTables(path));
    for (const collective::MeasuredTable& table : tables) {
      ORRERY_TRY_STATUS(collective::AddMeasurements(table, cluster, data));
    }
  }
  if (data.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no row of the data can be used\n" + RejectedText(data));
  }
  return data;
}

bool IsCollectiveData(const std::string& path) {
  if (!IsCsv(path)) {
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

}  // namespace orrery::cli
