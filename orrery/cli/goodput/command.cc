#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "orrery/api/session_state.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/base/duration_text.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/goodput/goodput.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::cli {
namespace {

constexpr double kMostStepSeconds = 86'400;

constexpr const char* kFooter =
    "JOB.yaml is a job of `orrery simulate` (docs/formats/job.md), whose step is simulated once.\n"
    "Then months of it are: failures by chance or from a log, detection, restart, work done\n"
    "again since the last durable checkpoint, repair and spares (docs/design/0016-goodput.md). "
    "The\n"
    "parts of lost time add up to the window. No prices are shipped: --price gives them.\n\n"
    "--failures takes a set of data/hardware/failures.yaml (llama3-405b, rsc-1, rsc-2), a file of\n"
    "the same form, a log (.csv; docs/formats/failures.md), or none.\n\n"
    "Examples:\n"
    "  orrery goodput job.yaml --days 30 --storage 200GB/s --price H100=2.5 --html month.html\n"
    "  orrery goodput job.yaml --node-mtbf 20d --checkpoint 30m --restart 8m --detect 2m\n"
    "  orrery goodput job.yaml --failures rsc-1 --async --spares 8 --elastic --json\n"
    "  orrery goodput job.yaml --slow-nodes 200d:1.3:1h --step-time 6.2s";

/// What steps lose together while a checkpoint is written over their NICs.
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

Result<GoodputStep> SimulatedStepOf(const GoodputArguments& arguments, const workload::Job& job,
                                    const GoodputSetting& setting) {
  api::SessionState& session = ProgramSession().state();
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.Costs(arguments.job.kernel_models));
  ORRERY_TRY(const simulate::SimulationOptions options, api::DefaultOptions(session));
  ProgressLine progress(TerminalProgress(), "simulating the step");
  ORRERY_TRY(const std::shared_ptr<api::SimulatedRun> run,
             api::SimulateJob({.job = job, .yaml = {}}, *costs, options, api::Explanation::kStep));
  const simulate::StepSummary& summary = run->answer.summary;
  std::int64_t loss_ps = 0;
  if (arguments.has_checkpoint_traffic) {
    ORRERY_TRY(loss_ps, CheckpointLoss(job, *costs, options, setting, summary.step_ps));
  }
  return GoodputStep{.job = &job,
                     .step_ps = summary.step_ps,
                     .interval = run->answer.interval,
                     .fits = !summary.IsOutOfMemory(),
                     .checkpoint_loss_ps = loss_ps};
}

Result<GoodputStep> StepOf(const GoodputArguments& arguments, const workload::Job& job,
                           const GoodputSetting& setting) {
  if (arguments.step_time.empty()) {
    return SimulatedStepOf(arguments, job, setting);
  }
  const Result<double> step_s = ParseSeconds(arguments.step_time);
  if (!step_s) {
    return FailWithin("--step-time", step_s);
  }
  if (*step_s < 1e-6 || *step_s > kMostStepSeconds) {
    return InvalidInput("--step-time {}: a step takes between a microsecond and a day",
                        arguments.step_time);
  }
  return GoodputStep{.job = &job, .step_ps = std::llround(*step_s * 1e12), .is_simulated = false};
}

Result<int> Run(const GoodputArguments& arguments) {
  ORRERY_TRY(const workload::JobFile file, ReadJob(arguments.path, arguments.job));
  // Options are read with a step of a second first, so that a mistake in them is told at once.
  ORRERY_TRY(const GoodputSetting first,
             SettingOf(arguments, {.job = &file.job, .step_ps = std::int64_t{1'000'000'000'000}}));
  ORRERY_TRY_STATUS(
      DollarsPerHour(arguments.price, file.job, 0).map([](const std::optional<double>&) {}));
  GoodputAnswer answer;
  answer.left_out = file.not_modelled;
  answer.has_checkpoint_traffic = arguments.has_checkpoint_traffic;
  ORRERY_TRY(answer.step, StepOf(arguments, file.job, first));
  ORRERY_TRY(answer.setting, SettingOf(arguments, answer.step));
  ProgressLine progress(TerminalProgress(), "simulating months");
  answer.study = simulate::StudyGoodput(answer.setting.request);
  progress.Clear();
  const std::int64_t per_node = answer.setting.request.job.gpus_per_node;
  const std::int64_t spares = answer.study.options.spares;
  ORRERY_TRY(answer.dollars_per_hour, DollarsPerHour(arguments.price, file.job, spares * per_node));
  ORRERY_TRY(const std::optional<double> with_one_more,
             DollarsPerHour(arguments.price, file.job, (spares + 1) * per_node));
  answer.dollars_of_spare = with_one_more.value_or(0) - answer.dollars_per_hour.value_or(0);
  ORRERY_TRY_STATUS(Deliver(GoodputDocument(answer), arguments.output));
  return answer.step.fits ? kExitOk : kExitOutOfMemory;
}

void AddStepOptions(Verb& verb, GoodputArguments& arguments) {
  verb.AddOption("JOB", arguments.path, "a job").Required();
  AddJobOptions(verb, arguments.job);
  verb.AddOption("--step-time TIME", arguments.step_time,
                 "a measured step, 6.2s, instead of a simulated one");
  AddKernelModelsOption(verb, arguments.job);
}

void AddFailureOptions(Verb& verb, GoodputArguments& arguments) {
  verb.AddOption("--node-mtbf TIME", arguments.node_mtbf,
                 "mean time between failures of one node, of all causes: 20d");
  verb.AddOption("--failures SET", arguments.failures,
                 "rates of a set or file, failures of a log, or none (llama3-405b)")
      .Excludes("--node-mtbf");
  verb.AddOption("--detect TIME", arguments.detect, "until a failure is detected (2m)");
  verb.AddOption("--restart TIME", arguments.restart,
                 "to reschedule and initialise, without loading the checkpoint (8m)");
  verb.AddOption("--repair TIME", arguments.repair,
                 "until a failed node can be used again (of the rates: 1d)");
  verb.AddOption("--spares NODES", arguments.spares, "nodes that stand by, or auto (auto)");
  verb.AddFlag("--elastic", arguments.is_elastic,
               "run with fewer data-parallel replicas rather than wait for a node");
  verb.AddOption("--slow-nodes MTBF:FACTOR:FOUND", arguments.slow_nodes,
                 "nodes that become slow: 200d:1.3:1h (none)");
}

void AddCheckpointOptions(Verb& verb, GoodputArguments& arguments) {
  verb.AddOption("--checkpoint INTERVAL", arguments.checkpoint,
                 "work between checkpoints: 30m, auto or off (auto)");
  verb.AddFlag("--async", arguments.is_asynchronous,
               "training waits for the copy to the host only, storage is written beside it");
  verb.AddFlag("--checkpoint-traffic", arguments.has_checkpoint_traffic,
               "with --async: the checkpoint takes the NICs of training, whose steps are longer "
               "meanwhile (simulated)");
  verb.AddOption("--storage RATE", arguments.storage,
                 "of checkpoints, all nodes together (200GB/s)");
  verb.AddOption("--checkpoint-size SIZE", arguments.checkpoint_size,
                 "1.6TB (weights, master copy and moments of the job)");
  verb.AddOption("--storage-capacity SIZE", arguments.storage_capacity,
                 "refuse checkpoints that have no room, two at a time");
}

}  // namespace

void AddGoodputCommand(Verb& program) {
  const auto arguments = std::make_shared<GoodputArguments>();
  Verb verb = program.AddVerb(
      "goodput", "A month of a training job with failures: effective training time, cost, advice");
  verb.Footer(kFooter);
  AddStepOptions(verb, *arguments);
  verb.AddOption("--days", arguments->days, "the window (30)").Range(0.001, 100.0);
  AddFailureOptions(verb, *arguments);
  AddCheckpointOptions(verb, *arguments);
  verb.AddOption("--price DOLLARS", arguments->price,
                 "of a GPU hour: 2.5, or H100=2.5,A100-80GB=1.1");
  verb.AddOption("--runs", arguments->runs, "months to simulate (1000)")
      .Range(std::int64_t{1}, std::int64_t{1'000'000});
  verb.AddOption("--seed", arguments->seed, "of what happens by chance (0)");
  verb.AddOption("--threads", arguments->threads, "threads to use (default: one for each core)")
      .Range(0, 1024);
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments] { return Run(*arguments); });
}

}  // namespace orrery::cli
