#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nccl_operations.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::nsys {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs ReadPairs(ExportContext& context, std::string_view table) {
  Pairs pairs;
  context.ForEachRow(table, {"name", "value"}, [&](TableScan& row) {
    // One after the other: a view lasts only as long as nothing converts the row.
    std::string name(row.Text(0));
    std::string value(row.Text(1));
    if (value.empty() && !row.IsMissing(1)) {
      const std::int64_t number = row.Integer(1, -1);
      value = number < 0 ? std::string() : std::to_string(number);
    }
    pairs.emplace_back(std::move(name), std::move(value));
  });
  return pairs;
}

std::string ValueOf(const Pairs& pairs, std::string_view name) {
  return LookUp(pairs, name).value_or("");
}

void NoteDiagnostics(ExportContext& context, RankSet& ranks) {
  context.ForEachRow("DIAGNOSTIC_EVENT", {"severity", "text", "globalPid"}, [&](TableScan& row) {
    // Warnings and errors; 4 is informational.
    if (row.Integer(0) == 2 || row.Integer(0) == 3) {
      RankBuilder& rank = *ranks.ForCall(ProcessOf(row.Integer(2)), -1).rank;
      rank.trace.problems.Note(fmt::format("Nsight Systems reported: {}", row.Text(1)));
    }
  });
}

// The largest communicator that the rank's device joined; the smaller id among equals.
const NcclCommunicator* LargestCommunicator(const RankBuilder& rank) {
  const NcclCommunicator* largest = nullptr;
  for (const auto& [id, communicator] : rank.nccl.communicators) {
    const bool is_here = communicator.device < 0 || communicator.device == rank.device;
    if (is_here && communicator.rank >= 0 &&
        (largest == nullptr || communicator.num_ranks > largest->num_ranks)) {
      largest = &communicator;
    }
  }
  return largest;
}

bool NumberByCommunicators(RankSet& ranks) {
  std::set<std::int32_t> numbers;
  for (const auto& rank : ranks.all()) {
    const NcclCommunicator* largest = LargestCommunicator(*rank);
    if (largest == nullptr || !numbers.insert(largest->rank).second) {
      return false;
    }
  }
  for (const auto& rank : ranks.all()) {
    const NcclCommunicator* largest = LargestCommunicator(*rank);
    rank->trace.info.rank = largest->rank;
    rank->trace.info.world_size = largest->num_ranks;
  }
  return true;
}

// Tables about the export and the machine, without rows of the timeline.
bool IsAboutTheExport(std::string_view table) {
  constexpr std::array<std::string_view, 9> kPrefixes{
      "ENUM_",   "TARGET_INFO_",         "META_DATA_",         "ANALYSIS_",     "sqlite_",
      "EXPORT_", "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_ENUMS", "ProcessStreams"};
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return table.starts_with(prefix); });
}

// Adds properties of the export to each rank: tool and schema, host, metadata, and the profiler's
// warnings and errors as notes.
void FillExportInfo(ExportContext& context, RankSet& ranks, const std::string& file) {
  const Pairs about_export = ReadPairs(context, "META_DATA_EXPORT");
  const Pairs about_capture = ReadPairs(context, "META_DATA_CAPTURE");
  const Pairs about_system = ReadPairs(context, "TARGET_INFO_SYSTEM_ENV");
  const std::string product = ValueOf(about_export, "EXPORT_PRODUCT_NAME");
  const std::string version = ValueOf(about_export, "EXPORT_PRODUCT_VERSION");
  for (const auto& rank : ranks.all()) {
    trace::TraceInfo& info = rank->trace.info;
    info.format = "nsys SQLite";
    info.format_version = ValueOf(about_export, "EXPORT_SCHEMA_VERSION");
    info.producer = product.empty() ? "NVIDIA Nsight Systems" : product;
    info.producer += version.empty() ? "" : " " + version;
    info.host_name = ValueOf(about_system, "Hostname");
    info.backend = rank->nccl.calls.empty() ? "" : "nccl";
    info.time_origin = context.time_base.origin;
    info.files = {file};
    for (const Pairs* pairs : {&about_export, &about_capture, &about_system}) {
      for (const auto& [name, value] : *pairs) {
        rank->trace.metadata.Append({.key = rank->Intern(name), .value = rank->Intern(value)});
      }
    }
  }
  NoteDiagnostics(context, ranks);
}

// Numbers the ranks: by the largest communicator that each of them joined where NCCL's payloads
// tell it for all of them, else in their order where there are several. A single rank without
// information keeps -1.
void NumberRanks(RankSet& ranks) {
  if (NumberByCommunicators(ranks) || ranks.all().size() < 2) {
    return;
  }
  std::int32_t next = 0;
  for (const auto& rank : ranks.all()) {
    rank->trace.info.rank = next++;
  }
}

// Notes tables that hold rows and were not read.
void NoteTablesLeftOut(ExportContext& context) {
  for (const std::string& table : context.database.tables()) {
    if (!context.tables_read.contains(table) && !IsAboutTheExport(table) &&
        !context.database.IsEmpty(table)) {
      context.problems.Note("table without an equivalent in a trace", 1, table);
    }
  }
}

bool Matches(const InputFile& file) {
  if (!LooksLikeSqlite(file.head())) {
    return false;
  }
  // Compressed content would have to be decompressed entirely; its head usually has the statement
  // that made one of the tables.
  const auto has = [&](std::string_view text) { return Contains(file.head(), text); };
  if (!file.is_plain_file() && !has("rocpd_") &&
      (has("CREATE TABLE META_DATA_EXPORT") || has("CREATE TABLE CUPTI_ACTIVITY_KIND_"))) {
    return true;
  }
  const auto database = SqliteDatabase::Open(file);
  const auto any_starts = [&](std::string_view prefix) {
    return std::ranges::any_of(database->tables(),
                               [&](const std::string& table) { return table.starts_with(prefix); });
  };
  return database && !any_starts("rocpd_") &&
         (database->HasTable("META_DATA_EXPORT") || any_starts("CUPTI_ACTIVITY_KIND_"));
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const SqliteDatabase database, SqliteDatabase::Open(file));
  ExportContext context(database);
  if (!database.damage().empty()) {
    context.damage.Loss("the SQLite database is incomplete", 1, database.damage());
  }
  RankSet ranks(context);
  ReadDeviceRows(context, ranks);
  ranks.Seal();
  std::vector<EventRecord> records = ReadSyncRows(context, ranks);
  ReadRuntimeCalls(context, ranks);
  AppendEventRecords(context, ranks, std::move(records));
  ReadMemoryEvents(context, ranks);
  const GpuMap gpus(context);
  ReadGpuMetrics(context, ranks, gpus);
  ReadNvtxRows(context, ranks);
  ReadOtherSlices(context, ranks);
  FillExportInfo(context, ranks, file.path());
  NumberRanks(ranks);
  NoteTablesLeftOut(context);
  ranks.first().trace.problems.Merge(context.problems);

  FileContent content;
  for (const auto& rank : ranks.all()) {
    gpus.FillDevices(*rank);
    rank->trace.problems.Merge(context.damage);
    trace::FinishTrace(rank->trace, {.step_marker = options.step_marker});
    FillCollectives(rank->trace, rank->nccl);
    content.traces.push_back(std::move(rank->trace));
  }
  return content;
}

}  // namespace

constinit const Format kFormat{.name = "nsys SQLite", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::nsys
