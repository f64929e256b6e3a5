#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orrery/ingest/format.h"
#include "orrery/ingest/nsys/collectives.h"
#include "orrery/ingest/nsys/device_rows.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/export_info.h"
#include "orrery/ingest/nsys/gpu_map.h"
#include "orrery/ingest/nsys/gpu_metrics.h"
#include "orrery/ingest/nsys/memory_rows.h"
#include "orrery/ingest/nsys/nvtx_rows.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/runtime_rows.h"
#include "orrery/ingest/nsys/slice_rows.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/ingest/nsys/sync_rows.h"
#include "orrery/trace/finish.h"

namespace orrery::ingest::nsys {
namespace {

bool IsExportTable(std::string_view table) {
  return table == "META_DATA_EXPORT" || table.starts_with("CUPTI_ACTIVITY_KIND_");
}

bool IsRocpdTable(std::string_view table) {
  return table.starts_with("rocpd_");
}

bool IsExport(const SqliteDatabase& database) {
  const auto& tables = database.tables();
  return std::any_of(tables.begin(), tables.end(), IsExportTable) &&
         std::none_of(tables.begin(), tables.end(), IsRocpdTable);
}

// The statement that made one of our tables, as the schema keeps it.
bool ShowsExportTable(std::string_view head) {
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  return (has("CREATE TABLE META_DATA_EXPORT") || has("CREATE TABLE CUPTI_ACTIVITY_KIND_")) &&
         !has("rocpd_");
}

bool Matches(const InputFile& file) {
  if (!LooksLikeSqlite(file.head())) {
    return false;
  }
  // Packed content would have to be unpacked whole; its head usually shows the schema.
  if (!file.is_plain_file() && ShowsExportTable(file.head())) {
    return true;
  }
  const auto database = SqliteDatabase::Open(file);
  return database && IsExport(*database);
}

void FinishRank(RankBuilder& rank, const ExportContext& context, const ReadOptions& options) {
  rank.trace.problems.Merge(context.damage);
  trace::FinishTrace(rank.trace, {.step_marker = options.step_marker});
  FillCollectives(rank.trace, rank.nccl);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const SqliteDatabase database, SqliteDatabase::Open(file));
  ExportContext context(database);
  if (!database.damage().empty()) {
    context.damage.Loss("the SQLite database is incomplete", 1, database.damage());
  }
  context.Load();
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
    FinishRank(*rank, context, options);
    content.traces.push_back(std::move(rank->trace));
  }
  return content;
}

}  // namespace

const Format& GetFormat() {
  static const Format format{.name = "nsys SQLite", .matches = Matches, .read = Read};
  return format;
}

}  // namespace orrery::ingest::nsys
