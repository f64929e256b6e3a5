#include "orrery/api/simulate/program_run.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/engine_input.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/workload_card.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {
namespace {

// The machine on which the program runs; all else of a job keeps its default.
Result<workload::Job> MachineOf(const SimulateRequest& request, const ImportedProgram& imported) {
  const std::string& name = request.job.cluster.empty() ? imported.gpu : request.job.cluster;
  if (request.job.cluster.empty() && hardware::FindCluster(name) == nullptr) {
    return InvalidInput(
        "--cluster NAME says on which machine this program runs (orrery list clusters)");
  }
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(name));
  workload::Job machine;
  machine.cluster = *cluster;
  machine.gpus = static_cast<int>(imported.ensemble.num_ranks());
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(!request.job.gpu.empty() ? request.job.gpu
                                                      : imported.gpu.empty()   ? cluster->gpu
                                                                               : imported.gpu));
  machine.gpu = *gpu;
  if (const workload::Framework* const framework = workload::FindFramework(imported.framework)) {
    machine.framework = *framework;
  }
  return machine;
}

// Throughput of a program without a job. How its kernels compute what the model needs was not
// described.
std::optional<simulate::JobFigures> Throughput(const ImportedProgram& imported,
                                               std::int64_t step_ps) {
  if (imported.samples_per_step == 0 || step_ps == 0) {
    return std::nullopt;
  }
  simulate::JobFigures figures;
  figures.samples_per_s =
      static_cast<double>(imported.samples_per_step) / (static_cast<double>(step_ps) * 1e-12);
  if (imported.tokens_per_sample > 0) {
    figures.tokens_per_s = figures.samples_per_s * static_cast<double>(imported.tokens_per_sample);
  }
  if (imported.described) {
    figures.model = simulate::ModelUtilisation(*imported.described, step_ps);
  }
  return figures;
}

// Programs that were recorded keep their memory. There is one copy of them, so that one variant
// after the other is simulated; slow ranks are noted in it.
simulate::Advice AdviceForProgram(const workload::Job& machine,
                                  const simulate::SimulationOptions& options,
                                  const simulate::StepSummary& summary,
                                  workload::Ensemble& ensemble) {
  const std::vector<double> slowness = ensemble.slowness_of_rank;
  std::mutex mutex;
  simulate::Advice advice = simulate::TryChanges(
      machine, options, summary, simulate::JobScope::kMachine,
      [&](const workload::Job& changed,
          const simulate::SimulationOptions& changed_options) -> Result<simulate::VariantStep> {
        const std::lock_guard lock(mutex);
        std::ranges::fill(ensemble.slowness_of_rank, 1.0);
        simulate::SimulationOptions folded = changed_options;
        folded.folds = folded.folds || folded.jitter == 0;
        ORRERY_TRY(const simulate::Simulation simulation,
                   simulate::SimulateEnsemble(changed, ensemble, folded));
        return simulate::VariantStep{.step_ps = simulation.step_ps()};
      });
  ensemble.slowness_of_rank = slowness;
  return advice;
}

Status CheckProgramRequest(const SimulateRequest& request, const simulate::Scenario& scenario) {
  const auto of_kernels =
      std::ranges::find_if(scenario.speedups, simulate::IsOfKernels, &trace::Speedup::part);
  if (of_kernels != scenario.speedups.end()) {
    return InvalidInput(
        "--what-if {} needs a job file: recorded programs bring the times of their kernels; "
        "network, nics and links can change",
        of_kernels->text);
  }
  if (!request.gpu_of.empty()) {
    return InvalidInput(
        "--gpu-of needs a job: programs of other tools bring the times of their kernels; "
        "--slow says how much longer a rank takes");
  }
  if (!request.checkpoint_traffic.empty()) {
    return InvalidInput(
        "--checkpoint-traffic needs a job: a program of another tool does not say how large its "
        "checkpoint is");
  }
  return {};
}

// Notes of the import; what the network leaves out follows.
void AddNotes(ImportedProgram& imported, const SimulateRequest& request,
              const simulate::SimulationOptions& options, SimulatedRun& run) {
  SimulationAnswer& answer = run.answer;
  answer.is_step_only = request.step_only;
  answer.name = std::filesystem::path(request.from.empty() ? request.jobs.front() : request.from)
                    .filename()
                    .string();
  answer.title = std::move(imported.title);
  answer.remarks = std::move(imported.remarks);
  answer.replayed = std::move(imported.replayed);
  if (!imported.gpu.empty() && request.job.cluster.empty() && run.job.gpus > 1) {
    answer.remarks.push_back(fmt::format(
        "Ranks communicate as on {}, which has this GPU; --cluster NAME selects another.",
        run.job.cluster.name));
  }
  answer.what_ifs = simulate::WhatIfs(run.job, options);
  answer.not_modelled = std::move(imported.notes);
  std::ranges::move(simulate::NotModelledOfNetwork(run.job, options),
                    std::back_inserter(answer.not_modelled));
}

void AddSummary(const ImportedProgram& imported, SimulatedRun& run) {
  SimulationAnswer& answer = run.answer;
  answer.summary =
      simulate::Summarize(run.step(), answer.is_step_only ? simulate::SummaryDetail::kStepOnly
                                                          : simulate::SummaryDetail::kAll);
  answer.summary.figures = Throughput(imported, answer.summary.step_ps);
  if (!imported.memory_of_program.empty()) {
    simulate::SetMemory(run.simulation.rank_classes, imported.memory_of_program, answer.summary);
  }
}

}  // namespace

Result<std::shared_ptr<SimulatedRun>> SimulateProgram(const Session& session,
                                                      const SimulateRequest& request,
                                                      SimulateInput kind, const EngineInput& engine,
                                                      bool tries_changes) {
  ORRERY_TRY_STATUS(CheckProgramRequest(request, engine.scenario));
  ORRERY_TRY(ImportedProgram imported, ImportProgram(session, kind, request));
  const auto run = std::make_shared<SimulatedRun>();
  run->has_job = false;
  ORRERY_TRY(run->job, MachineOf(request, imported));
  simulate::SimulationOptions options = engine.options;
  engine.scenario.ApplyTo(run->job);
  run->card = simulate::MachineCardOf(run->job);
  run->ensemble = std::move(imported.ensemble);
  options.steps_before = imported.steps_before;
  request.call.Report("simulating");
  ORRERY_TRY(run->simulation, simulate::SimulateEnsemble(run->job, run->ensemble, options));
  AddNotes(imported, request, options, *run);
  AddSpeedups(engine.scenario, run->answer);
  AddSummary(imported, *run);
  ORRERY_TRY_STATUS(AddContention(
      run->simulation, options,
      [&](const simulate::SimulationOptions& changed) {
        return simulate::SimulateEnsemble(run->job, run->ensemble, changed);
      },
      run->answer));
  if (tries_changes) {
    run->answer.advice = AdviceForProgram(run->job, options, run->answer.summary, run->ensemble);
  }
  AddConclusion(*run);
  return run;
}

}  // namespace orrery::api
