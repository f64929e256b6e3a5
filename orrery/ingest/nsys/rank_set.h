#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nccl_operations.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {

/// The values that distinguish launches, in the order of kLaunchColumns.
using LaunchKey = std::array<std::int64_t, 18>;

/// The columns of the kernel table that a LaunchKey is read from.
inline constexpr auto kLaunchColumns = std::to_array<std::string_view>(
    {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
     "staticSharedMemory", "dynamicSharedMemory", "sharedMemoryExecuted", "localMemoryPerThread",
     "localMemoryTotal", "launchType", "cacheConfig", "clusterX", "clusterY", "clusterZ",
     "clusterSchedulingPolicy"});

/// Collects the rows of one rank: its trace, and what finds tracks, names and launch shapes that
/// the trace already has.
class RankBuilder {
 public:
  RankBuilder(const ExportContext& context, ProcessKey of_process, std::int32_t of_device)
      : process(of_process), device(of_device), context_(context) {}

  /// The text of a row of StringIds, interned here.
  StringId Name(std::int64_t string_id);

  StringId Intern(std::string_view text) { return trace.strings.Intern(text); }

  RowId HostTrack(std::int64_t global_tid);

  /// The track of a stream of this rank's device; stream -1 is for waits that name no stream.
  RowId StreamTrack(std::int64_t stream);

  RowId Shape(const LaunchKey& key);

  /// The arguments of an activity that have no column.
  StringId ActivityExtra(std::int64_t context, std::int64_t graph);

  /// Gives the thread the name that the program itself chose.
  void RenameThread(std::int64_t global_tid, std::string_view name);

  const ProcessKey process;
  const std::int32_t device;
  trace::Trace trace;
  NcclRecord nccl;

 private:
  struct HashLaunchKey {
    std::size_t operator()(const LaunchKey& key) const;
  };

  const ExportContext& context_;
  tsl::robin_map<std::int64_t, StringId> names_;
  tsl::robin_map<std::int64_t, RowId> host_tracks_;
  tsl::robin_map<std::int64_t, RowId> stream_tracks_;
  tsl::robin_map<LaunchKey, RowId, HashLaunchKey> shapes_;
  std::map<std::pair<std::int64_t, std::int64_t>, StringId> activity_extras_;
};

/// The ranks of one export, and the assignment of rows to them.
///
/// An export can hold several processes and devices. One rank is one (process, device) pair with
/// device work, in order of process and device; an export without device work is one rank.
///
/// * Device rows go to the rank of their process and device.
/// * Host rows of a process with one device go to its rank. Where a process drives several
///   devices, waits and event records go to the device of their context, a runtime call to the
///   device of the work, wait or record it made, and an NVTX range to the device of the first such
///   call inside it on its thread; each of them otherwise to the first device of the process.
/// * Rows of a process without device work go to the first rank of the export. Correlation ids
///   count per process, so such calls keep theirs in `extra` only.
/// * Device rows without a process (small synthetic exports) form ranks of an unknown process;
///   host rows of any process that has no rank of its own belong to them.
///
/// So every row is in exactly one trace, and counts over the traces add up to those of the tables.
class RankSet {
 public:
  explicit RankSet(ExportContext& context) : context_(context) {}

  /// The rank of a device row; made when it is new.
  RankBuilder& ForDevice(ProcessKey process, std::int32_t device);

  /// Notes which device a context belongs to.
  void NoteContext(RankBuilder& rank, std::int64_t context);

  /// Notes where a call belongs whose effect was met on a device.
  void NoteCorrelation(RankBuilder& rank, std::int64_t correlation);

  /// Ends the device rows: puts ranks into order and indexes what host rows are found by.
  void Seal();

  struct Home {
    RankBuilder* rank = nullptr;
    bool is_own = true;          // the rank's process is the row's
    bool found_by_work = false;  // among several devices of the process, by what it made
  };

  Home ForCall(ProcessKey process, std::int64_t correlation);
  RankBuilder& ForContext(ProcessKey process, std::int64_t context, std::int64_t correlation);

  /// The rank's process is known to be another one, so that correlation ids mean nothing there.
  [[nodiscard]] static bool IsOtherProcess(const RankBuilder& rank, ProcessKey process) {
    return rank.process != kUnknownProcess && rank.process != process;
  }

  RankBuilder& ForRange(std::int64_t global_tid, const Interval& time);

  /// The rank of that device, else the first of the process, else the first of the export.
  RankBuilder& ForProcessDevice(ProcessKey process, std::int32_t device);

  /// Notes a call that was found by its work.
  void NoteLaunch(std::int64_t global_tid, std::int64_t begin_ns, RankBuilder& rank);

  /// Ends the runtime calls; ranges can be placed from now on.
  void SealLaunches();

  [[nodiscard]] RankBuilder& first() { return *ranks_.front(); }

  [[nodiscard]] const std::vector<std::unique_ptr<RankBuilder>>& all() const { return ranks_; }

 private:
  // The ranks of one process.
  struct Group {
    std::vector<RankBuilder*> ranks;
    tsl::robin_map<std::int64_t, RankBuilder*> by_correlation;  // only with several ranks
  };

  struct Launch {
    std::int64_t begin_ns = 0;
    RankBuilder* rank = nullptr;
  };

  ExportContext& context_;
  std::vector<std::unique_ptr<RankBuilder>> ranks_;
  std::map<std::pair<ProcessKey, std::int32_t>, RankBuilder*> by_device_;
  RankBuilder* latest_ = nullptr;
  std::map<std::pair<ProcessKey, std::int64_t>, RankBuilder*> by_context_;
  std::pair<ProcessKey, std::int64_t> latest_context_{kUnknownProcess, -1};
  std::map<ProcessKey, Group> groups_;
  tsl::robin_map<std::int64_t, std::vector<Launch>> launches_on_thread_;
};

}  // namespace orrery::ingest::nsys
