#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/api/predict.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/learn/interval.h"
#include "orrery/report/document.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/simulate/replay.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::api {

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
  bool is_host_known = false;  // it was given
  bool has_own_pace = false;   // that of the recording
  workload::RecordedPace pace = {};
  double loader_batch_s = 0;  // of a loader that the program waits for; 0: none
  double most_batch_s = 0;  // of a loader that nothing waited for; 0: none, or faster than the step
  double loader_error = 0;  // relative standard error of the same
  bool is_lower_bound = false;  // of the step: waits are not in the trace
  bool is_priced = false;  // estimated by models alone; then the summary counts the operators too
  workload::PricingSummary pricing = {};
  std::int64_t tf32_step_ps =
      0;  // if products of fp32 run in TF32; 0 where that makes no difference
  std::vector<OperatorError> worst = {};  // empty without a measured trace
  double measured_step_s = 0;             // 0 without one
  bool is_partial = false;                // something of a recording is lost
  std::vector<std::string> not_modelled = {};
};

/// The program of a predicted step, and when its tasks ran.
struct ReplayedStep {
  workload::Program program;
  simulate::Timeline timeline;
  std::string gpu;
  int threads = 0;  // that write it
};

/// The prediction of a job of several ranks.
struct RanksPrediction {
  std::string path;
  const hardware::Gpu* gpu = nullptr;         // nullptr: kernels as recorded
  const workload::HostModel* host = nullptr;  // nullptr: of other ranks, or the shared one
  std::string host_source = {};
  const hardware::Cluster* cluster = nullptr;
  std::string kernels = {};                    // source of their times
  workload::PricingSummary pricing = {};       // of recorded kernels that were rescaled
  std::vector<std::string> not_modelled = {};  // by the rescaling, or lost
  simulate::RecordedJob job = {};              // set by PredictRanks
};

/// Host costs of a step that come from a source.
[[nodiscard]] std::int64_t Lookups(const workload::HostCoverage& coverage,
                                   workload::HostCostSource source);

/// Predicted over measured, less one.
[[nodiscard]] double ErrorOf(const simulate::RankStep& step);

/// Returns true if every rank has a recording of its step.
[[nodiscard]] bool AreMeasured(const simulate::RecordedJob& job);

[[nodiscard]] std::string HostSourceText(const RanksPrediction& prediction);

[[nodiscard]] std::vector<std::string> NotModelled(const RanksPrediction& prediction);

/// The 80 % interval of the step.
[[nodiscard]] learn::TimeInterval IntervalOf(const Prediction& prediction);

/// Of all ranks, rescaled kernels included.
[[nodiscard]] workload::PricingSummary PricingOf(const RanksPrediction& prediction);

// For people; the data of the JSON are those of the result.
[[nodiscard]] report::Document MakeDocument(const Prediction& prediction);
[[nodiscard]] report::Document MakeDocument(const RanksPrediction& prediction);

[[nodiscard]] PredictTraceResult MakeResult(const Prediction& prediction);
[[nodiscard]] PredictTraceResult MakeResult(const RanksPrediction& prediction);

}  // namespace orrery::api
