#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/global_id.h"
#include "orrery/ingest/nsys/nccl_call.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {

/// What distinguishes launches, in the order of the columns in kLaunchColumns.
using LaunchKey = std::array<std::int64_t, 18>;

/// The columns of the kernel table that a LaunchKey is read from.
inline constexpr std::array<std::string_view, 18> kLaunchColumns{"gridX",
                                                                 "gridY",
                                                                 "gridZ",
                                                                 "blockX",
                                                                 "blockY",
                                                                 "blockZ",
                                                                 "registersPerThread",
                                                                 "staticSharedMemory",
                                                                 "dynamicSharedMemory",
                                                                 "sharedMemoryExecuted",
                                                                 "localMemoryPerThread",
                                                                 "localMemoryTotal",
                                                                 "launchType",
                                                                 "cacheConfig",
                                                                 "clusterX",
                                                                 "clusterY",
                                                                 "clusterZ",
                                                                 "clusterSchedulingPolicy"};

/// Collects the rows of one rank: its trace, and what finds tracks, names and launch shapes that
/// the trace already has.
class RankBuilder {
 public:
  RankBuilder(const ExportContext& context, ProcessKey process, std::int32_t device)
      : context_(context), process_(process), device_(device) {}

  [[nodiscard]] ProcessKey process() const { return process_; }

  [[nodiscard]] std::int32_t device() const { return device_; }

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

  trace::Trace trace;
  NcclRecord nccl;

 private:
  struct HashLaunchKey {
    std::size_t operator()(const LaunchKey& key) const;
  };

  const ExportContext& context_;
  ProcessKey process_;
  std::int32_t device_;
  tsl::robin_map<std::int64_t, StringId> names_;
  tsl::robin_map<std::int64_t, RowId> host_tracks_;
  tsl::robin_map<std::int64_t, RowId> stream_tracks_;
  tsl::robin_map<LaunchKey, RowId, HashLaunchKey> shapes_;
  std::map<std::pair<std::int64_t, std::int64_t>, StringId> activity_extras_;
};

}  // namespace orrery::ingest::nsys
