#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/validation.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/fitted_runs.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::api {

/// A file of `orrery fit frameworks` in the place of the shipped one.
struct OtherFits {
  std::vector<workload::Framework> frameworks;
  simulate::StepIntervals intervals;
  workload::FittedRuns runs;
};

/// Nothing for an empty path.
[[nodiscard]] Result<std::optional<OtherFits>> ReadOtherFits(const std::string& path);

/// The models for rows whose stack and team were left out of the fit.
struct LeftOutJudges {
  struct Judge {
    calibrate::LeftOutModels models;
    simulate::StepIntervals intervals;
  };

  std::map<calibrate::LeftOut, Judge> judges;

  [[nodiscard]] const Judge& For(const workload::RunLabel& label) const {
    return judges.at({label.stack, label.team});
  }
};

/// Refits without each stack and team of the rows that the options ask for.
[[nodiscard]] LeftOutJudges JudgesWithout(const workload::RunTable& table,
                                          const kernel::ModelSet& models,
                                          const calibrate::ValidateOptions& options,
                                          const workload::Mechanisms& mechanisms,
                                          const CallOptions& call);

}  // namespace orrery::api
