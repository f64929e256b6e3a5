#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/ranks/traced_ensemble.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

/// The inputs of the program of a traced rank. All must outlive the call.
struct TracedRankSources {
  const TracedJob* job = nullptr;
  std::size_t traced_rank = 0;  // of the job's
  const TracedGroupRoles* roles = nullptr;
  const trace::Trace* recording = nullptr;
  const HostModel* host = nullptr;
  /// The profiler's time for an event; the host's times are then those at each place of the
  /// recording, less that. Nothing: the host's times are those of the model.
  std::optional<double> profiler_cost_ns = {};
  const hardware::Gpu* gpu = nullptr;  // whose shares kernels take
};

struct TracedProgram {
  RecordedProgram recorded;
  std::vector<std::string> remarks;  // parts of the recording that do not fit the communication
};

/// Makes the program of a traced rank from the middle one of its recorded steps: what stands for an
/// communication becomes that communication, on the stream on which it was recorded, and kernels
/// know their phase, micro-batch and category. Fails when the recording has communications that
/// collectives.json does not know.
[[nodiscard]] Result<TracedProgram> ProgramOfTracedRank(const TracedRankSources& sources);

}  // namespace orrery::workload
