#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/overlap_option.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/interval_calibration.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::api {
namespace {

Result<std::vector<std::unique_ptr<workload::RunTable>>> OpenTables(
    const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<workload::RunTable>> tables;
  for (const std::string& path : paths) {
    ORRERY_TRY(tables.emplace_back(), workload::OpenRunTable(path));
  }
  return tables;
}

Result<calibrate::FrameworkFitOptions> FitOptions(const Session& session,
                                                  const FitFrameworksRequest& request) {
  calibrate::FrameworkFitOptions options;
  ORRERY_TRY(options.engine.overlap, OverlapNamed(request.overlap));
  ORRERY_TRY_STATUS(session.state().SetOverlapModel(options.engine));
  if (request.call.progress) {
    options.progress = [&call = request.call, done = std::int64_t{0}](
                           const std::string& text) mutable { call.progress(++done, 0, text); };
  }
  return options;
}

FittedFramework FrameworkOf(const calibrate::FrameworkFit& fit) {
  FittedFramework framework{.name = fit.framework.name,
                            .rows = static_cast<std::int64_t>(fit.rows),
                            .error_before = fit.error_before,
                            .error_after = fit.error_after};
  for (const workload::FittedScalar& scalar : workload::FittedScalars()) {
    framework.scalars.emplace_back(scalar.key, fit.framework.*scalar.member);
  }
  return framework;
}

Result<FitFrameworksResult> Run(const Session& session, const FitFrameworksRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY(const std::vector<std::unique_ptr<workload::RunTable>> opened,
             OpenTables(request.paths));
  std::vector<const workload::RunTable*> tables;
  for (const std::unique_ptr<workload::RunTable>& table : opened) {
    tables.push_back(table.get());
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, session.state().Models({}));
  ORRERY_TRY(const calibrate::FrameworkFitOptions options, FitOptions(session, request));
  request.call.Report("fitting");
  calibrate::FrameworkFitting fitting(tables, *models, options);
  const calibrate::LeftOut left_out{request.without_stack, request.without_team};
  const calibrate::PopulationFit fit = fitting.FitWithout(left_out);
  const simulate::StepIntervals intervals =
      calibrate::CalibrateIntervals(fitting.Residuals(left_out));
  if (fit.frameworks.empty()) {
    return InvalidInput(
        "{}: no row of grade A or A- that can be simulated names a framework of "
        "the catalogue",
        request.paths.front());
  }
  if (!request.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(request.output, calibrate::FitsText(fit, intervals)));
  }
  FitFrameworksResult result;
  for (const calibrate::FrameworkFit& one : fit.frameworks) {
    result.frameworks.push_back(FrameworkOf(one));
  }
  return result;
}

}  // namespace

Result<FitFrameworksResult> FitFrameworks(const Session& session,
                                          const FitFrameworksRequest& request) {
  return RunCancellable(request.call, [&] { return Run(session, request); });
}

}  // namespace orrery::api
