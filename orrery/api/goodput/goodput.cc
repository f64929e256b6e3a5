#include "orrery/api/goodput.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/api/input/job_source.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/base/error.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {
namespace {

constexpr double kMostStepSeconds = 86'400;

/// Time that steps lose together while a checkpoint is written over their NICs.
Result<std::int64_t> CheckpointLoss(const workload::Job& job, const kernel::CostModel& costs,
                                    simulate::SimulationOptions options,
                                    const GoodputSetting& setting, std::int64_t step_ps) {
  const auto write_ps = static_cast<double>(setting.request.options.checkpoint.write_ps);
  if (write_ps == 0) {
    return 0;
  }
  options.network.model = simulate::NetworkModel::kShared;
  options.network.checkpoint = simulate::CheckpointWrite{
      .storage = {static_cast<double>(setting.checkpoint.count) / (write_ps * 1e-12)},
      .size = setting.checkpoint};
  ORRERY_TRY(const simulate::Simulation beside, simulate::Simulate(job, costs, options));
  const auto added_ps = static_cast<double>(beside.step_ps() - step_ps);
  const double steps = std::max(1.0, write_ps / static_cast<double>(beside.step_ps()));
  return std::llround(std::max(0.0, added_ps) * steps);
}

Result<GoodputStep> SimulatedStepOf(const Session& session, const GoodputRequest& request,
                                    const workload::Job& job, const GoodputSetting& setting) {
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.state().Costs(request.changes.kernel_models));
  ORRERY_TRY(const simulate::SimulationOptions options, DefaultOptions(session.state()));
  request.call.Report("simulating the step");
  ORRERY_TRY(const std::shared_ptr<SimulatedRun> run,
             SimulateJob({.job = job, .yaml = {}}, *costs, options, {}, Explanation::kStep));
  const simulate::StepSummary& summary = run->answer.summary;
  std::int64_t loss_ps = 0;
  if (request.checkpoint_traffic) {
    ORRERY_TRY(loss_ps, CheckpointLoss(job, *costs, options, setting, summary.step_ps));
  }
  return GoodputStep{.job = &job,
                     .step_ps = summary.step_ps,
                     .interval = run->answer.interval,
                     .fits = !summary.IsOutOfMemory(),
                     .checkpoint_loss_ps = loss_ps};
}

Result<GoodputStep> StepOf(const Session& session, const GoodputRequest& request,
                           const workload::Job& job, const GoodputSetting& setting) {
  if (request.step_time.empty()) {
    return SimulatedStepOf(session, request, job, setting);
  }
  const Result<double> step_s = ParseSeconds(request.step_time);
  if (!step_s) {
    return FailWithin("--step-time", step_s);
  }
  if (*step_s < 1e-6 || *step_s > kMostStepSeconds) {
    return InvalidInput("--step-time {}: a step takes between a microsecond and a day",
                        request.step_time);
  }
  return GoodputStep{.job = &job, .step_ps = std::llround(*step_s * 1e12), .is_simulated = false};
}

// Sets the cost of an hour. Needs the study, which chooses the spares.
Status AddCost(const GoodputRequest& request, GoodputAnswer& answer) {
  const std::int64_t per_node = answer.setting.request.job.gpus_per_node;
  const std::int64_t spares = answer.study.options.spares;
  ORRERY_TRY(answer.dollars_per_hour, DollarsPerHour(request.price, answer.job, spares * per_node));
  ORRERY_TRY(const std::optional<double> with_one_more,
             DollarsPerHour(request.price, answer.job, (spares + 1) * per_node));
  answer.dollars_of_spare = with_one_more.value_or(0) - answer.dollars_per_hour.value_or(0);
  return {};
}

Result<GoodputResult> RunRequest(const Session& session, const GoodputRequest& request) {
  ORRERY_TRY(workload::JobFile file, ReadJob(request.job, request.job_yaml, request.changes));
  const auto answer = std::make_shared<GoodputAnswer>();
  answer->job = std::move(file.job);
  answer->left_out = std::move(file.not_modelled);
  answer->has_checkpoint_traffic = request.checkpoint_traffic;
  // Options are read with a step of a second first, so that a mistake in them is told at once.
  ORRERY_TRY(const GoodputSetting first,
             SettingOf(request, {.job = &answer->job, .step_ps = std::int64_t{1'000'000'000'000}}));
  ORRERY_TRY_STATUS(
      DollarsPerHour(request.price, answer->job, 0).map([](const std::optional<double>&) {}));
  ORRERY_TRY(answer->step, StepOf(session, request, answer->job, first));
  ORRERY_TRY(answer->setting, SettingOf(request, answer->step));
  request.call.Report("simulating months");
  answer->study = simulate::StudyGoodput(answer->setting.request);
  ORRERY_TRY_STATUS(AddCost(request, *answer));
  return MakeResult(answer);
}

}  // namespace

Result<GoodputResult> Goodput(const Session& session, const GoodputRequest& request) {
  return RunCancellable(request.call, [&] { return RunRequest(session, request); });
}

report::Document MakeDocument(const GoodputResult& result) {
  report::Document document = GoodputDocument(*result.answer);
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
