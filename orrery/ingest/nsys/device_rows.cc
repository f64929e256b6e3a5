#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/sqlite_database.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::nsys {
namespace {

using trace::ActivityKind;
using trace::CopyKind;

using enum trace::CopyKind;

// CUPTI's numbers 1 to 13; the last three are copies of unified memory.
constexpr std::array kKindNumbers{kUnknown,        kHostToDevice,  kDeviceToHost,  kHostToArray,
                                  kArrayToHost,    kArrayToArray,  kArrayToDevice, kDeviceToArray,
                                  kDeviceToDevice, kHostToHost,    kPeerToPeer,    kHostToDevice,
                                  kDeviceToHost,   kDeviceToDevice};

constexpr std::array<std::string_view, 7> kMemoryNames{
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};

// Kinds and names of memcpy and memset, from the export's ENUM tables where it has them and from
// the numbers of CUPTI where not. Names are those of Kineto: "Memcpy HtoD (Pinned -> Device)".
class CopyNames {
 public:
  explicit CopyNames(ExportContext& context)
      : copies_(context.ReadEnum("ENUM_CUDA_MEMCPY_OPER")),
        memories_(context.ReadEnum("ENUM_CUDA_MEM_KIND")) {}

  // The kind of a `copyKind`; unified-memory copies count as plain ones.
  [[nodiscard]] CopyKind Kind(std::int64_t stored) {
    return FindOrAdd(kinds_, stored, [&] {
      const std::string name = LowerCase(FindOr(copies_, stored).name);
      for (std::size_t kind = 1; kind + 1 < kCopyDirections.size(); ++kind) {
        if (name.ends_with(LowerCase(kCopyDirections[kind]))) {
          return static_cast<CopyKind>(kind);
        }
      }
      const bool is_known = stored >= 0 && stored < std::ssize(kKindNumbers);
      return is_known ? kKindNumbers[static_cast<std::size_t>(stored)] : kUnknown;
    });
  }

  [[nodiscard]] std::string CopyName(CopyKind kind, std::int64_t source_memory,
                                     std::int64_t target_memory) {
    return FindOrAdd(names_, std::tuple(kind, source_memory, target_memory), [&] {
      const std::string_view title = kCopyDirections[static_cast<std::size_t>(kind)];
      return fmt::format("Memcpy {} ({} -> {})", title.empty() ? "Unknown" : title,
                         MemoryName(source_memory), MemoryName(target_memory));
    });
  }

  [[nodiscard]] std::string MemoryName(std::int64_t memory) const {
    const bool is_known = memory >= 0 && memory < std::ssize(kMemoryNames);
    const std::string label = FindOr(memories_, memory).label;
    return !label.empty() ? label
           : is_known     ? std::string(kMemoryNames[static_cast<std::size_t>(memory)])
                          : "Unknown";
  }

 private:
  EnumTable copies_;
  EnumTable memories_;
  std::map<std::int64_t, CopyKind> kinds_;
  std::map<std::tuple<CopyKind, std::int64_t, std::int64_t>, std::string> names_;
};

// The columns that the four tables share; each reader's columns begin with these.
enum Column : std::size_t {
  kStart,
  kEnd,
  kProcess,
  kDevice,
  kStream,
  kContext,
  kCorrelation,
  kGraphNode,
  kGraph,
  kNumShared,
};

constexpr std::array<std::string_view, kNumShared> kSharedColumns{
    "start",     "end",           "globalPid",   "deviceId", "streamId",
    "contextId", "correlationId", "graphNodeId", "graphId"};

// Calls `fill(row, rank, activity)` for each row of a table that has a time and appends the
// activity. Columns of its own are numbered from kNumShared.
void AppendDeviceRows(ExportContext& context, RankSet& ranks, std::string_view table,
                      const std::vector<std::string_view>& own_columns, auto fill) {
  std::vector<std::string_view> columns(kSharedColumns.begin(), kSharedColumns.end());
  columns.insert(columns.end(), own_columns.begin(), own_columns.end());
  context.ForEachRow(table, columns, [&](const TableScan& row) {
    const std::optional<Interval> time = context.ReadInterval(row, kStart, kEnd, table);
    if (!time) {
      return;
    }
    const std::int64_t global_pid = row.Integer(kProcess, kUnknownProcess);
    RankBuilder& rank =
        ranks.ForDevice(global_pid == kUnknownProcess ? kUnknownProcess : ProcessOf(global_pid),
                        row.SmallInteger(kDevice));
    const std::int64_t cuda_context = row.Integer(kContext, -1);
    ranks.NoteContext(rank, cuda_context);
    const std::int64_t graph_node = row.Integer(kGraphNode, -1);
    trace::Activities::Row activity{
        .begin_ns = time->begin_ns,
        .duration_ns = time->duration_ns,
        .track = rank.StreamTrack(row.Integer(kStream)),
        .correlation = row.Integer(kCorrelation, -1),
        .graph_node = graph_node == 0 ? -1 : graph_node,
        .extra = rank.ActivityExtra(cuda_context, row.Integer(kGraph, -1))};
    fill(row, rank, activity);
    rank.trace.activities.Append(activity);
  });
}

constexpr std::array<std::string_view, 3> kNameColumns{"demangledName", "shortName", "mangledName"};

StringId KernelName(RankBuilder& rank, const TableScan& row) {
  for (std::size_t i = 0; i < kNameColumns.size(); ++i) {
    const std::int64_t id = row.Integer(kNumShared + i, -1);
    const StringId name = id < 0 ? StringId::kEmpty : rank.Name(id);
    if (name != StringId::kEmpty) {
      return name;
    }
  }
  rank.trace.problems.Note("kernel without a name");
  return StringId::kEmpty;
}

void ReadKernels(ExportContext& context, RankSet& ranks) {
  std::vector<std::string_view> columns(kNameColumns.begin(), kNameColumns.end());
  columns.insert(columns.end(), kLaunchColumns.begin(), kLaunchColumns.end());
  AppendDeviceRows(context, ranks, "CUPTI_ACTIVITY_KIND_KERNEL", columns,
                   [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
                     LaunchKey key;
                     for (std::size_t i = 0; i < key.size(); ++i) {
                       key[i] = row.Integer(kNumShared + kNameColumns.size() + i, -1);
                     }
                     activity.name = KernelName(rank, row);
                     activity.shape = rank.Shape(key);
                   });
}

enum CopyColumn : std::size_t {
  kCopyBytes = kNumShared,
  kCopyKind,
  kSourceKind,
  kTargetKind,
  kSourceDevice,
  kTargetDevice,
  kMigrationCause,
  kCopyCount,
};

void ReadCopies(ExportContext& context, RankSet& ranks) {
  const std::vector<std::string_view> columns{"bytes",          "copyKind",    "srcKind",
                                              "dstKind",        "srcDeviceId", "dstDeviceId",
                                              "migrationCause", "copyCount"};
  CopyNames names(context);
  AppendDeviceRows(
      context, ranks, "CUPTI_ACTIVITY_KIND_MEMCPY", columns,
      [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
        activity.kind = ActivityKind::kMemcpy;
        activity.copy_kind = names.Kind(row.Integer(kCopyKind, -1));
        activity.name = rank.Intern(names.CopyName(activity.copy_kind, row.Integer(kSourceKind, -1),
                                                   row.Integer(kTargetKind, -1)));
        activity.bytes = row.Integer(kCopyBytes, -1);
        JsonFields extra;
        AddIntegers(row,
                    {{"context", kContext},
                     {"graph id", kGraph},
                     {"source device", kSourceDevice},
                     {"target device", kTargetDevice},
                     {"migration cause", kMigrationCause},
                     {"copy count", kCopyCount}},
                    extra);
        activity.extra = rank.Intern(extra.text());
      });
}

void ReadSets(ExportContext& context, RankSet& ranks) {
  CopyNames names(context);
  AppendDeviceRows(context, ranks, "CUPTI_ACTIVITY_KIND_MEMSET", {"bytes", "memKind"},
                   [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
                     activity.kind = ActivityKind::kMemset;
                     activity.bytes = row.Integer(kNumShared, -1);
                     activity.name = rank.Intern(fmt::format(
                         "Memset ({})", names.MemoryName(row.Integer(kNumShared + 1, -1))));
                   });
}

void ReadGraphs(ExportContext& context, RankSet& ranks) {
  AppendDeviceRows(context, ranks, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {},
                   [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
                     const std::int64_t graph = row.Integer(kGraph, -1);
                     activity.kind = ActivityKind::kOther;
                     activity.name = rank.Intern(graph < 0 ? std::string("CUDA graph")
                                                           : fmt::format("CUDA graph {}", graph));
                   });
}

}  // namespace

void ReadDeviceRows(ExportContext& context, RankSet& ranks) {
  ReadKernels(context, ranks);
  ReadCopies(context, ranks);
  ReadSets(context, ranks);
  ReadGraphs(context, ranks);
}

}  // namespace orrery::ingest::nsys
