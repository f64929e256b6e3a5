#include "orrery/ingest/nsys/export_info.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace orrery::ingest::nsys {
namespace {

constexpr std::array<std::string_view, 2> kPairColumns{"name", "value"};

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs ReadPairs(ExportContext& context, std::string_view table) {
  Pairs pairs;
  context.ForEachRow(table, kPairColumns, [&](TableScan& row) {
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
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  return found == pairs.end() ? std::string() : found->second;
}

void AppendMetadata(RankBuilder& rank, const Pairs& pairs) {
  for (const auto& [name, value] : pairs) {
    rank.trace.metadata.Append({.key = rank.Intern(name), .value = rank.Intern(value)});
  }
}

// Warnings and errors; 4 is the profiler being talkative.
bool IsWorthShowing(std::int64_t severity) {
  return severity == 2 || severity == 3;
}

void NoteDiagnostics(ExportContext& context, RankSet& ranks) {
  static constexpr std::array<std::string_view, 3> kColumns{"severity", "text", "globalPid"};
  context.ForEachRow("DIAGNOSTIC_EVENT", kColumns, [&](TableScan& row) {
    if (!IsWorthShowing(row.Integer(0))) {
      return;
    }
    RankBuilder& rank = *ranks.ForCall(ProcessOf(row.Integer(2)), -1).rank;
    rank.trace.problems.Note(fmt::format("Nsight Systems said: {}", row.Text(1)));
  });
}

// The largest communicator that the rank's device joined; the smaller id among equals.
const NcclCommunicator* LargestCommunicator(const RankBuilder& rank) {
  const NcclCommunicator* largest = nullptr;
  for (const auto& [id, communicator] : rank.nccl.communicators) {
    const bool is_here = communicator.device < 0 || communicator.device == rank.device();
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
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return table.starts_with(prefix); });
}

}  // namespace

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
    info.time_origin = context.time_base().origin;
    info.files = {file};
    AppendMetadata(*rank, about_export);
    AppendMetadata(*rank, about_capture);
    AppendMetadata(*rank, about_system);
  }
  NoteDiagnostics(context, ranks);
}

void NumberRanks(RankSet& ranks) {
  if (NumberByCommunicators(ranks) || ranks.all().size() < 2) {
    return;
  }
  std::int32_t next = 0;
  for (const auto& rank : ranks.all()) {
    rank->trace.info.rank = next++;
  }
}

void NoteTablesLeftOut(ExportContext& context) {
  for (const std::string& table : context.database().tables()) {
    if (!context.tables_read().contains(table) && !IsAboutTheExport(table) &&
        !context.database().IsEmpty(table)) {
      context.problems.Note("table that has no place in a trace", 1, table);
    }
  }
}

}  // namespace orrery::ingest::nsys
