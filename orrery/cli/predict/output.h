#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/report/document.h"
#include "orrery/simulate/replay_calibration.h"
#include "orrery/workload/recorded/graph_prices.h"
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
  std::string kernels = {};  // where their times come from
  std::string host = {};     // where the host's times come from
  simulate::StepFigures figures = {};
  workload::HostCoverage coverage = {};
  bool is_priced = false;  // by models; then `pricing` says how
  workload::PricingSummary pricing = {};
  std::vector<OperatorError> worst = {};  // empty without a measured trace
  double measured_step_s = 0;             // 0 without one
  std::vector<std::string> not_modelled = {};
};

/// Its JSON keys are in docs/formats/predict-json.md.
[[nodiscard]] report::Document PredictionDocument(const Prediction& prediction);

}  // namespace orrery::cli
