#include <cstdint>

#include "orrery/api/cancellation.h"
#include "orrery/api/fit.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/calibrate/jitter_fit.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::api {
namespace {

FitJitterResult ResultOf(const calibrate::RecordedStepTable& table,
                         const simulate::JitterModel& model) {
  FitJitterResult result{.records = static_cast<std::int64_t>(table.records),
                         .in_warm_up = static_cast<std::int64_t>(table.in_warm_up),
                         .at_the_end = static_cast<std::int64_t>(table.at_the_end),
                         .in_small_groups = static_cast<std::int64_t>(table.in_small_groups),
                         .systems = model.systems,
                         .submitters = model.submitters,
                         .least_gpus = model.least_gpus,
                         .most_gpus = model.most_gpus,
                         .gpus = model.gpus,
                         .step_sigma = model.step_sigma,
                         .sigma_of_32_steps = model.WindowSigma(32),
                         .sigma_deviation = model.sigma_deviation,
                         .stalls_per_gpu_s = model.stalls_per_gpu_s};
  if (model.stalls_per_gpu_s != 0) {
    result.median_stall_s = model.StallQuantile(0.5);
    result.p99_stall_s = model.StallQuantile(0.99);
    result.longest_stall_s = model.longest_stall_s;
  }
  return result;
}

Result<FitJitterResult> Run(const FitJitterRequest& request) {
  ORRERY_TRY(const calibrate::RecordedStepTable table, calibrate::ReadRecordedSteps(request.path));
  ORRERY_TRY(const simulate::JitterModel model, calibrate::FitJitter(table.groups));
  if (!request.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(request.output, simulate::JitterText(model)));
  }
  return ResultOf(table, model);
}

}  // namespace

Result<FitJitterResult> FitJitter(const Session& /*session*/, const FitJitterRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
