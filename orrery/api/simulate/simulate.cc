#include "orrery/api/simulate.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/job_source.h"
#include "orrery/api/input/trace_output.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/engine_input.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/api/simulate/program_run.h"
#include "orrery/base/error.h"
#include "orrery/compat/echo/program.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/network/link_utilisation.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/recorded/ranks/traced_job.h"

namespace orrery::api {
namespace {

// A folder of Echo's tracer stands for the files in it.
Result<SimulateRequest> WithFilesOfFolder(SimulateRequest request) {
  if (request.from.empty()) {
    if (request.jobs.empty() && request.job_yaml.empty()) {
      return InvalidInput("JOB is required (orrery --help lists what there is)");
    }
    if (request.world != 0) {
      return InvalidInput("--world applies to --from; a job says how many GPUs it has");
    }
    if (!request.host.empty()) {
      return InvalidInput(
          "--host applies to --from; of a job, framework.launch_us is what its host takes for a "
          "kernel");
    }
    return request;
  }
  if (!request.jobs.empty()) {
    return InvalidInput("--from {} is a job: {} is one too many", request.from,
                        request.jobs.front());
  }
  if (workload::HoldsTracedJob(request.from)) {
    return request;
  }
  ORRERY_TRY(compat::echo::TracerFiles files, compat::echo::FindTracerFiles(request.from));
  request.jobs = std::move(files.graphs);
  request.echo_ops = std::move(files.times);
  return request;
}

Result<workload::JobFile> ReadRequestedJob(const SimulateRequest& request) {
  ORRERY_TRY(const JobInput changes, JobInputOf(request));
  return ReadJob(request.jobs.empty() ? "" : request.jobs.front(), request.job_yaml, changes);
}

// Flows are of every rank, and there are many changes.
bool TriesChanges(const SimulateRequest& request, const simulate::NetworkModel network) {
  return !request.step_only && network != simulate::NetworkModel::kFlows;
}

Result<std::shared_ptr<SimulatedRun>> RunJob(const Session& session, const SimulateRequest& request,
                                             const EngineInput& engine) {
  ORRERY_TRY(workload::JobFile file, ReadRequestedJob(request));
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.state().Costs(request.job.kernel_models));
  request.call.Report("simulating");
  const simulate::NetworkModel network = simulate::NetworkModelOf(file.job, engine.options);
  const Explanation explanation = request.step_only                ? Explanation::kStepOnly
                                  : TriesChanges(request, network) ? Explanation::kAdvice
                                                                   : Explanation::kNetwork;
  return SimulateJob(std::move(file), *costs, engine.options, engine.scenario, explanation);
}

// For pages.
Status AddLinks(const simulate::SimulationOptions& options, SimulatedRun& run) {
  constexpr std::size_t kParts = 120;
  constexpr std::size_t kMostLinks = 32;
  if (!run.has_pictures || run.answer.is_step_only) {
    return {};
  }
  const workload::Ensemble& ensemble =
      run.has_job ? run.simulation.generated->ensemble : run.ensemble;
  ORRERY_TRY(run.answer.links, simulate::UtilisationOf(run.job, ensemble, options, run.simulation,
                                                       kParts, kMostLinks));
  return {};
}

Result<SimulateResult> RunRequest(const Session& session, const SimulateRequest& given) {
  ORRERY_TRY(const SimulateRequest request, WithFilesOfFolder(given));
  ORRERY_TRY(const EngineInput engine, ReadEngineInput(session, request));
  const SimulateInput kind = request.job_yaml.empty() ? InputKind(request) : SimulateInput::kJob;
  if (kind == SimulateInput::kJob && request.jobs.size() > 1) {
    return InvalidInput("{} jobs were given: SimulateTogether simulates several",
                        request.jobs.size());
  }
  const bool tries_changes = TriesChanges(request, engine.options.network.model);
  ORRERY_TRY(const std::shared_ptr<SimulatedRun> run,
             kind == SimulateInput::kJob
                 ? RunJob(session, request, engine)
                 : SimulateProgram(session, request, kind, engine, tries_changes));
  if (run->answer.network == simulate::NetworkModel::kFlows && !request.step_only) {
    run->answer.remarks.emplace_back(
        "Changes are not tried with flows; --network shared gives advice.");
  }
  run->has_pictures = request.needs_pictures;
  ORRERY_TRY_STATUS(AddLinks(engine.options, *run));
  run->answer.steps = DrawStepsOf(request, run->job.gpu.name, run->answer.summary);
  return MakeResult(run);
}

// The GPU of each program, where ranks of a job have different ones.
std::vector<std::string> GpuOfProgram(const SimulatedRun& run) {
  std::vector<std::string> names;
  if (run.has_job && !run.job.other_gpus.empty()) {
    names.resize(run.simulation.rank_classes.programs.size());
    for (const simulate::RankClass& rank_class : run.simulation.rank_classes.classes) {
      names[rank_class.program] = workload::GpuOfRank(run.job, rank_class.rank).name;
    }
  }
  return names;
}

}  // namespace

Result<SimulateResult> Simulate(const Session& session, const SimulateRequest& request) {
  return RunCancellable(request.call, [&] { return RunRequest(session, request); });
}

report::Document MakeDocument(const SimulateResult& result) {
  const SimulatedRun& run = *result.run;
  const simulate::SimulatedStep step = run.step();
  report::Document document = SimulationDocument(run.answer, run.has_pictures ? &step : nullptr);
  document.data = ToObject(result);
  return document;
}

Status WriteTrace(const SimulateResult& result, const std::string& path) {
  const SimulatedRun& run = *result.run;
  trace::TraceSet set = simulate::EnsembleTrace(
      run.simulation.rank_classes, run.simulation.timeline,
      {.gpu = run.job.gpu.name, .gpu_of_program = GpuOfProgram(run), .card = run.card});
  return WriteTraceFile(set, path).map([](const TraceOutput&) {});
}

}  // namespace orrery::api
