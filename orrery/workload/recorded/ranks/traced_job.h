#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/request.h"
#include "orrery/workload/ensemble.h"

/// Folders that `orrery trace` writes (docs/formats/traced-job.md).
namespace orrery::workload {

/// Times of a rank's steps, in milliseconds; a list is empty where nothing was measured.
struct TracedSteps {
  bool is_complete = true;
  std::string why = {};  // the reason why it ended early

  // Without the profiler.
  std::vector<double> step_ms = {};   // steps one behind the other
  std::vector<double> issue_ms = {};  // until the host has issued a step that found the GPU idle
  std::vector<double> alone_ms = {};  // such a step to the end of the GPU's work

  std::vector<double> profiled_step_ms = {};

  std::int64_t peak_allocated_bytes = 0;  // 0: not recorded
  std::int64_t peak_reserved_bytes = 0;
};

/// A process group of a traced rank.
struct TracedGroup {
  std::string name;
  std::string description = {};
  std::vector<Rank> ranks = {};
};

enum class TracedCommunicationKind : std::uint8_t { kCollective, kSend, kReceive };

/// One communication of a step.
struct TracedCommunication {
  TracedCommunicationKind form = TracedCommunicationKind::kCollective;
  CollectiveKind kind = CollectiveKind::kAllReduce;  // of a collective
  std::uint32_t group = 0;                           // of the rank's groups
  std::int64_t bytes = 0;  // of the full side, as collective::Request counts
  DataType element = DataType::kFp32;
  std::int64_t peer = -1;  // rank of the other side of a message, or root

  bool operator==(const TracedCommunication&) const = default;
};

/// Files of one rank's folder beside the recording.
struct TracedCollectives {
  std::vector<TracedGroup> groups;
  std::vector<TracedCommunication>
      communications;  // of one step, in order: orrery.collective#N is the N-th
};

/// A dimension of the plan's mesh: rank r has the coordinate r / stride % size.
struct MeshDimension {
  std::string name;
  Rank size = 1;
  Rank stride = 1;

  bool operator==(const MeshDimension&) const = default;
};

/// A rank that was traced.
struct TracedRank {
  Rank rank = 0;
  std::string folder = {};            // path of its folder
  std::vector<Rank> stands_for = {};  // in order, itself among them
  TracedSteps steps = {};
  TracedCollectives collectives = {};

  /// Its file in the folder.
  [[nodiscard]] std::string Path(std::string_view file) const;
};

/// The content of trace.json, with the small files of all ranks; recordings are read by those
/// who need them.
struct TracedJob {
  std::string name;
  std::string gpu;  // the device's name as its driver says it
  Rank world = 1;

  std::string plan_kind = {};
  bool is_sharded = false;  // parameters, gradients and states over "dp"
  int microbatches = 1;
  std::vector<MeshDimension> mesh = {};

  // Of the training; 0: not known.
  std::int64_t micro_batch = 0;
  std::int64_t sequence = 0;
  std::int64_t accumulation = 1;

  // Of the model; 0: not known.
  std::int64_t parameters = 0;
  std::int64_t layer_parameters = 0;
  int layers = 0;
  int traced_layers = 0;

  std::vector<TracedRank> ranks;
  std::vector<std::string> remarks = {};  // the tracer's, and what of the folder is incomplete
};

/// Dimensions of a mesh whose ranks have data of their own.
inline constexpr std::array<std::string_view, 3> kDataDimensions{"dp_replicate", "dp", "dp_shard"};

/// The number of samples that all `world` ranks read in a step; 0 where the job does not say.
[[nodiscard]] std::int64_t SamplesOfStep(const TracedJob& job, Rank world);

/// Reads ranks and ranges: "0-3,7". Fails for what is none, and beyond `world`.
[[nodiscard]] Result<std::vector<Rank>> ParseRanks(std::string_view text, Rank world);

/// Parse one file each; trace.json gives a job whose ranks have no steps and communications yet,
/// and folders as they are named there.
[[nodiscard]] Result<TracedJob> ParseTracedJob(std::string_view json);
[[nodiscard]] Result<TracedSteps> ParseTracedSteps(std::string_view json);
[[nodiscard]] Result<TracedCollectives> ParseTracedCollectives(std::string_view json, Rank world);

/// Returns true if a folder holds a traced job.
[[nodiscard]] bool HoldsTracedJob(const std::string& folder);

/// Reads a folder. Keys that are not known are left alone; ranks that stand for nothing, twice for
/// something, or whose files are missing are errors that name the file and the fix; ranks whose
/// tracing ended early become a remark.
[[nodiscard]] Result<TracedJob> ReadTracedJob(const std::string& folder);

}  // namespace orrery::workload
