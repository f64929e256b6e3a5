#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/output.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/simulate/replay.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::cli {

/// An operator whose kernels were predicted otherwise than measured, summed over a step.
struct OperatorError {
  std::string name;
  std::int64_t calls = 0;
  double predicted_s = 0;
  double measured_s = 0;
};

/// The prediction of one recorded rank.
struct Prediction {
  std::string path = {};
  std::string gpu = {};
  std::string kernels = {};  // source of their times
  std::string host = {};     // source of the host's times
  simulate::StepFigures figures = {};
  workload::HostCoverage coverage = {};
  bool is_priced = false;  // estimated by models alone; then the summary counts the operators too
  workload::PricingSummary pricing = {};
  std::vector<OperatorError> worst = {};  // empty without a measured trace
  double measured_step_s = 0;             // 0 without one
  bool is_partial = false;                // something of a recording is lost
  std::vector<std::string> not_modelled = {};
};

/// Its JSON keys are in docs/formats/predict-json.md.
[[nodiscard]] Document PredictionDocument(const Prediction& prediction);

/// A request to predict a job of several ranks.
struct RanksRequest {
  std::string path;
  const hardware::Gpu* gpu = nullptr;         // nullptr: kernels as recorded
  std::vector<std::string> models = {};       // files of kernel models
  const workload::HostModel* host = nullptr;  // nullptr: of other ranks, or the shared one
  std::string host_path = {};
  const hardware::Cluster* cluster = nullptr;
  std::string kernels = {};                    // source of their times
  workload::PricingSummary pricing = {};       // of recorded kernels that were rescaled
  std::vector<std::string> not_modelled = {};  // by the rescaling, or lost
};

/// Predicts one step of all ranks. Aligns the clocks of the set.
[[nodiscard]] Result<Document> PredictRanks(trace::TraceSet& set, const RanksRequest& request);

}  // namespace orrery::cli
