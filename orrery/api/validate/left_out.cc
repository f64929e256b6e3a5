#include "orrery/api/validate/left_out.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/interval_calibration.h"
#include "orrery/calibrate/validation.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/fitted_runs.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::api {

Result<std::optional<OtherFits>> ReadOtherFits(const std::string& path) {
  if (path.empty()) {
    return std::nullopt;
  }
  ORRERY_TRY(const std::string text, workload::ReadUnpackedFile(path));
  Result<std::vector<workload::Framework>> frameworks = workload::FrameworksWithFits(text);
  if (!frameworks) {
    return FailWithin(path, frameworks);
  }
  Result<simulate::StepIntervals> intervals = simulate::ReadStepIntervals(text);
  if (!intervals) {
    return FailWithin(path, intervals);
  }
  Result<workload::FittedRuns> runs = workload::ReadFittedRuns(text);
  if (!runs) {
    return FailWithin(path, runs);
  }
  return OtherFits{*std::move(frameworks), *std::move(intervals), *std::move(runs)};
}

// Only the rows that are asked for need a fit without them.
LeftOutJudges JudgesWithout(const workload::RunTable& table, const kernel::ModelSet& models,
                            const calibrate::ValidateOptions& options,
                            const workload::Mechanisms& mechanisms, const CallOptions& call) {
  const workload::RunTable* const only = &table;
  calibrate::FrameworkFitting fitting(
      {&only, 1}, models,
      {.mechanisms = mechanisms,
       .engine = options.engine,
       .progress = [&](const std::string& text) { call.Report("fitting " + text); }});
  LeftOutJudges judges;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const workload::RunLabel label = table.Label(row);
    const calibrate::LeftOut left_out{label.stack, label.team};
    if (options.filter(label) && !judges.judges.contains(left_out)) {
      judges.judges[left_out] = {fitting.ModelsWithout(left_out),
                                 calibrate::CalibrateIntervals(fitting.Residuals(left_out))};
    }
  }
  return judges;
}

}  // namespace orrery::api
