#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/core.h>

#include "orrery/ingest/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {
namespace {

using trace::ActivityKind;
using trace::CopyKind;

/// Kinds and names of memcpy and memset, from the export's ENUM tables where it has them and from
/// the numbers of CUPTI where not. Names are those of Kineto: "Memcpy HtoD (Pinned -> Device)".
class CopyNames {
 public:
  explicit CopyNames(ExportContext& context);

  /// The kind of a `copyKind`; unified-memory copies count as plain ones.
  [[nodiscard]] trace::CopyKind Kind(std::int64_t stored) const;

  [[nodiscard]] const std::string& CopyName(trace::CopyKind kind, std::int64_t source_memory,
                                            std::int64_t target_memory);
  [[nodiscard]] std::string SetName(std::int64_t memory) const;

 private:
  [[nodiscard]] std::string_view MemoryName(std::int64_t memory) const;

  EnumTable copies_;
  EnumTable memories_;
  std::map<std::tuple<trace::CopyKind, std::int64_t, std::int64_t>, std::string> names_;
};

using trace::CopyKind;
using enum trace::CopyKind;

struct KindWord {
  std::string_view word;   // ends the name in ENUM_CUDA_MEMCPY_OPER
  std::string_view title;  // in the name of the activity
  CopyKind kind;
};

constexpr std::array kKindWords{
    KindWord{"HTOD", "HtoD", kHostToDevice},  KindWord{"DTOH", "DtoH", kDeviceToHost},
    KindWord{"HTOA", "HtoA", kHostToArray},   KindWord{"ATOH", "AtoH", kArrayToHost},
    KindWord{"ATOA", "AtoA", kArrayToArray},  KindWord{"ATOD", "AtoD", kArrayToDevice},
    KindWord{"DTOA", "DtoA", kDeviceToArray}, KindWord{"DTOD", "DtoD", kDeviceToDevice},
    KindWord{"HTOH", "HtoH", kHostToHost},    KindWord{"PTOP", "PtoP", kPeerToPeer},
};

// CUPTI's numbers 1 to 13; the last three are copies of unified memory.
constexpr std::array kKindNumbers{kUnknown,        kHostToDevice,  kDeviceToHost,  kHostToArray,
                                  kArrayToHost,    kArrayToArray,  kArrayToDevice, kDeviceToArray,
                                  kDeviceToDevice, kHostToHost,    kPeerToPeer,    kHostToDevice,
                                  kDeviceToHost,   kDeviceToDevice};

constexpr std::array<std::string_view, 7> kMemoryNames{
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};

CopyNames::CopyNames(ExportContext& context)
    : copies_(context.ReadEnum("ENUM_CUDA_MEMCPY_OPER")),
      memories_(context.ReadEnum("ENUM_CUDA_MEM_KIND")) {}

CopyKind CopyNames::Kind(std::int64_t stored) const {
  if (const auto entry = copies_.find(stored); entry != copies_.end()) {
    for (const KindWord& known : kKindWords) {
      if (entry->second.name.ends_with(known.word)) {
        return known.kind;
      }
    }
  }
  const bool is_known = stored >= 0 && stored < static_cast<std::int64_t>(kKindNumbers.size());
  return is_known ? kKindNumbers[static_cast<std::size_t>(stored)] : kUnknown;
}

std::string_view CopyNames::MemoryName(std::int64_t memory) const {
  if (const auto entry = memories_.find(memory);
      entry != memories_.end() && !entry->second.label.empty()) {
    return entry->second.label;
  }
  const bool is_known = memory >= 0 && memory < static_cast<std::int64_t>(kMemoryNames.size());
  return is_known ? kMemoryNames[static_cast<std::size_t>(memory)] : "Unknown";
}

const std::string& CopyNames::CopyName(CopyKind kind, std::int64_t source_memory,
                                       std::int64_t target_memory) {
  std::string& name = names_[{kind, source_memory, target_memory}];
  if (name.empty()) {
    std::string_view title = "Unknown";
    for (const KindWord& known : kKindWords) {
      title = known.kind == kind ? known.title : title;
    }
    name = fmt::format("Memcpy {} ({} -> {})", title, MemoryName(source_memory),
                       MemoryName(target_memory));
  }
  return name;
}

std::string CopyNames::SetName(std::int64_t memory) const {
  return fmt::format("Memset ({})", MemoryName(memory));
}

constexpr std::string_view kKernelTable = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopyTable = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kSetTable = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kGraphTable = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

// What the four tables have in common; each reader's columns begin with these.
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

template <std::size_t N>
constexpr auto WithSharedColumns(const std::array<std::string_view, N>& own) {
  std::array<std::string_view, kNumShared + N> all{"start",         "end",         "globalPid",
                                                   "deviceId",      "streamId",    "contextId",
                                                   "correlationId", "graphNodeId", "graphId"};
  for (std::size_t i = 0; i < N; ++i) {
    all[kNumShared + i] = own[i];
  }
  return all;
}

struct DeviceRow {
  RankBuilder* rank = nullptr;
  trace::Activities::Row activity = {};
};

// Reads the shared columns; no rank if the row has no time.
DeviceRow ReadShared(ExportContext& context, RankSet& ranks, const TableScan& row,
                     std::string_view table) {
  const std::optional<Interval> time = context.ReadInterval(row, kStart, kEnd, table);
  if (!time) {
    return {};
  }
  const std::int64_t global_pid = row.Integer(kProcess, kUnknownProcess);
  const ProcessKey process =
      global_pid == kUnknownProcess ? kUnknownProcess : ProcessOf(global_pid);
  RankBuilder& rank = ranks.ForDevice(process, row.SmallInteger(kDevice));
  const std::int64_t cuda_context = row.Integer(kContext, -1);
  ranks.NoteContext(rank, cuda_context);
  const std::int64_t graph_node = row.Integer(kGraphNode, -1);
  return {.rank = &rank,
          .activity = {.begin_ns = time->begin_ns,
                       .duration_ns = time->duration_ns,
                       .track = rank.StreamTrack(row.Integer(kStream)),
                       .correlation = row.Integer(kCorrelation, -1),
                       .graph_node = graph_node == 0 ? -1 : graph_node,
                       .extra = rank.ActivityExtra(cuda_context, row.Integer(kGraph, -1))}};
}

// Calls `fill(row, rank, activity)` for each row of a table and appends the activity.
void AppendDeviceRows(ExportContext& context, RankSet& ranks, std::string_view table,
                      std::span<const std::string_view> columns, auto fill) {
  context.ForEachRow(table, columns, [&](const TableScan& row) {
    DeviceRow read = ReadShared(context, ranks, row, table);
    if (read.rank != nullptr) {
      fill(row, *read.rank, read.activity);
      read.rank->trace.activities.Append(read.activity);
    }
  });
}

constexpr std::array<std::string_view, 3> kNameColumns{"demangledName", "shortName", "mangledName"};

constexpr auto kKernelColumns = [] {
  std::array<std::string_view, kNameColumns.size() + kLaunchColumns.size()> own{};
  std::size_t next = 0;
  for (const std::string_view column : kNameColumns) {
    own[next++] = column;
  }
  for (const std::string_view column : kLaunchColumns) {
    own[next++] = column;
  }
  return WithSharedColumns(own);
}();

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

LaunchKey ReadLaunchKey(const TableScan& row) {
  LaunchKey key;
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = row.Integer(kNumShared + kNameColumns.size() + i, -1);
  }
  return key;
}

void ReadKernels(ExportContext& context, RankSet& ranks) {
  AppendDeviceRows(context, ranks, kKernelTable, kKernelColumns,
                   [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
                     activity.name = KernelName(rank, row);
                     activity.shape = rank.Shape(ReadLaunchKey(row));
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

StringId CopyExtra(RankBuilder& rank, const TableScan& row) {
  JsonFields extra;
  const auto add = [&](std::string_view name, std::size_t column) {
    if (!row.IsMissing(column)) {
      extra.Add(name, row.Integer(column, -1));
    }
  };
  add("context", kContext);
  add("graph id", kGraph);
  add("source device", kSourceDevice);
  add("target device", kTargetDevice);
  add("migration cause", kMigrationCause);
  add("copy count", kCopyCount);
  return rank.Intern(extra.text());
}

void ReadCopies(ExportContext& context, RankSet& ranks) {
  static constexpr auto kColumns = WithSharedColumns(
      std::array<std::string_view, 8>{"bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId",
                                      "dstDeviceId", "migrationCause", "copyCount"});
  CopyNames names(context);
  AppendDeviceRows(
      context, ranks, kCopyTable, kColumns,
      [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
        activity.kind = ActivityKind::kMemcpy;
        activity.copy_kind = names.Kind(row.Integer(kCopyKind, -1));
        activity.name = rank.Intern(names.CopyName(activity.copy_kind, row.Integer(kSourceKind, -1),
                                                   row.Integer(kTargetKind, -1)));
        activity.bytes = row.Integer(kCopyBytes, -1);
        activity.extra = CopyExtra(rank, row);
      });
}

void ReadSets(ExportContext& context, RankSet& ranks) {
  static constexpr auto kColumns =
      WithSharedColumns(std::array<std::string_view, 2>{"bytes", "memKind"});
  CopyNames names(context);
  AppendDeviceRows(context, ranks, kSetTable, kColumns,
                   [&](const TableScan& row, RankBuilder& rank, trace::Activities::Row& activity) {
                     activity.kind = ActivityKind::kMemset;
                     activity.bytes = row.Integer(kNumShared, -1);
                     activity.name = rank.Intern(names.SetName(row.Integer(kNumShared + 1, -1)));
                   });
}

void ReadGraphs(ExportContext& context, RankSet& ranks) {
  static constexpr auto kColumns = WithSharedColumns(std::array<std::string_view, 0>{});
  AppendDeviceRows(context, ranks, kGraphTable, kColumns,
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
