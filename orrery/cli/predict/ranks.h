#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/host_model.h"

namespace orrery::cli {

/// A request to predict a job of several ranks.
struct RanksRequest {
  std::string path;
  const hardware::Gpu* gpu = nullptr;         // nullptr: kernels as recorded
  std::vector<std::string> models = {};       // files of kernel models
  const workload::HostModel* host = nullptr;  // nullptr: of other ranks, or the shared one
  std::string host_path = {};
  const hardware::Cluster* cluster = nullptr;
};

/// Predicts one step of all ranks. Aligns the clocks of the set.
[[nodiscard]] Result<report::Document> PredictRanks(trace::TraceSet& set,
                                                    const RanksRequest& request);

}  // namespace orrery::cli
