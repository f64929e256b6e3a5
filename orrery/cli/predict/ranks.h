#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/host_model.h"

namespace orrery::cli {

/// What `orrery predict` is asked of a job of several ranks.
struct RanksRequest {
  std::string path;
  const hardware::Gpu* gpu = nullptr;         // nullptr: kernels as recorded
  std::vector<std::string> models = {};       // files of kernel models
  const workload::HostModel* host = nullptr;  // nullptr: of other ranks, or the shared one
  std::string host_path = {};
  const hardware::Cluster* cluster = nullptr;
  bool as_json = false;
};

/// Predicts one step of all ranks and returns what is printed. Aligns the clocks of the set.
[[nodiscard]] Result<std::string> PredictRanks(trace::TraceSet& set, const RanksRequest& request);

}  // namespace orrery::cli
