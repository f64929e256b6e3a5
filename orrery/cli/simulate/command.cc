#include <algorithm>
#include <cstddef>
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

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/simulate/simulate.h"
#include "orrery/cli/trace_output.h"
#include "orrery/cli/verb.h"
#include "orrery/compat/echo/program.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/energy.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/network/link_utilisation.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/workload_card.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/recorded/traced_job.h"

namespace orrery::cli {
namespace {

/// The machine on which the program of another tool runs; all else of a job is as it is made.
Result<workload::Job> MachineOf(const SimulateArguments& arguments,
                                const ImportedProgram& imported) {
  const std::string& name = arguments.job.cluster.empty() ? imported.gpu : arguments.job.cluster;
  if (arguments.job.cluster.empty() && hardware::FindCluster(name) == nullptr) {
    return InvalidInput(
        "--cluster NAME says on which machine this program runs (orrery list clusters)");
  }
  ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(name));
  workload::Job machine;
  machine.cluster = *cluster;
  machine.gpus = static_cast<int>(imported.ensemble.num_ranks());
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(!arguments.job.gpu.empty() ? arguments.job.gpu
                                                      : imported.gpu.empty()     ? cluster->gpu
                                                                                 : imported.gpu));
  machine.gpu = *gpu;
  if (const workload::Framework* const framework = workload::FindFramework(imported.framework)) {
    machine.framework = *framework;
  }
  return machine;
}

// Where ranks of a job have different GPUs.
std::vector<std::string> GpuOfProgram(const simulate::SimulatedStep& simulated) {
  std::vector<std::string> names;
  if (simulated.job != nullptr && !simulated.job->other_gpus.empty()) {
    names.resize(simulated.rank_classes->programs.size());
    for (const simulate::RankClass& rank_class : simulated.rank_classes->classes) {
      names[rank_class.program] = workload::GpuOfRank(*simulated.job, rank_class.rank).name;
    }
  }
  return names;
}

// Of a program without a job. How its kernels compute what the model needs was not described.
std::optional<simulate::JobFigures> FiguresOf(const ImportedProgram& imported,
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

// Folds, which changes no time, unless every rank differs.
simulate::SimulationOptions VariantOptions(simulate::SimulationOptions options) {
  options.folds = options.folds || options.jitter == 0;
  return options;
}

Result<simulate::VariantStep> SimulateJobVariant(const workload::Job& job,
                                                 const kernel::CostModel& costs,
                                                 const simulate::SimulationOptions& options) {
  ORRERY_TRY(const simulate::Simulation simulation,
             simulate::Simulate(job, costs, VariantOptions(options)));
  const simulate::MemoryAnswer memory =
      simulate::MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  const simulate::RankClassId slowest =
      simulate::SlowestOfPrograms(simulation.rank_classes, simulation.timeline).front();
  return simulate::VariantStep{
      .step_ps = simulation.step_ps(),
      .fits = memory.stages[memory.fullest].free_bytes() >= 0,
      .breakdown = simulate::BreakdownOf(simulation.rank_classes, simulation.timeline, slowest)};
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
        ORRERY_TRY(const simulate::Simulation simulation,
                   simulate::SimulateEnsemble(changed, ensemble, VariantOptions(changed_options)));
        return simulate::VariantStep{.step_ps = simulation.step_ps()};
      });
  ensemble.slowness_of_rank = slowness;
  return advice;
}

/// The same without the checkpoint.
Status AddCheckpoint(const simulate::Simulation& simulation, simulate::SimulationOptions options,
                     const SimulateWith& simulate_with, SimulationAnswer& answer) {
  if (answer.is_step_only || !simulation.checkpoint) {
    return {};
  }
  answer.checkpoint = CheckpointAnswer{.storage = options.network.checkpoint->storage,
                                       .written = *simulation.checkpoint};
  options.network.checkpoint.reset();
  ORRERY_TRY(const simulate::Simulation without, simulate_with(options));
  answer.checkpoint->added_ps = simulation.step_ps() - without.step_ps();
  return {};
}

// Jobs that one process simulates one after the other have operators in common.
const kernel::CostModel& ShippedCosts(const kernel::ModelSet& shipped) {
  static const kernel::GpuMemo costs(shipped);
  return costs;
}

// Flows are of every rank, and there are many changes.
bool TriesChanges(SimulationAnswer& answer) {
  if (answer.is_step_only) {
    return false;
  }
  if (answer.network != simulate::NetworkModel::kFlows) {
    return true;
  }
  answer.remarks.emplace_back("Changes are not tried with flows; --network shared gives advice.");
  return false;
}

class SimulateRun {
 public:
  explicit SimulateRun(const SimulateArguments& arguments) : arguments_(arguments) {}

  Result<int> Run() {
    if (!arguments_.trace.empty()) {
      ORRERY_TRY_STATUS(TraceFormatOf(arguments_.trace).map([](TraceFormat) {}));
    }
    if (!arguments_.emulated.empty()) {
      if (arguments_.steps > 0) {
        return InvalidInput("--steps needs a simulated step; --emulate predicts one only");
      }
      ORRERY_TRY(const Document document, EmulatedWorkload(arguments_));
      return Deliver(document, arguments_.output);
    }
    ORRERY_TRY(options_, EngineOptions(arguments_));
    ORRERY_TRY(network_, ReadNetwork(arguments_.network));
    options_.network = network_.options;
    ORRERY_TRY(overlap_model_, LoadOverlapModel(options_));
    const SimulateInput kind = InputKind(arguments_);
    return kind == SimulateInput::kJob ? RunJob() : RunProgram(kind);
  }

 private:
  Result<int> RunJob() {
    if (arguments_.inputs.size() > 1) {
      return RunTogether();
    }
    ORRERY_TRY(const JobArguments changes, JobArgumentsOf(arguments_));
    ORRERY_TRY(const workload::JobFile file, ReadJob(arguments_.inputs.front(), changes));
    ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
               LoadKernelModels(arguments_.job.kernel_models));
    const kernel::GpuMemo own_costs(*models);
    const kernel::CostModel& costs =
        arguments_.job.kernel_models.empty() ? ShippedCosts(*models) : own_costs;
    ProgressLine progress(TerminalProgress(), "simulating");
    ORRERY_TRY(const simulate::Simulation simulation,
               simulate::Simulate(file.job, costs, options_));
    SimulationAnswer answer;
    answer.is_step_only = arguments_.is_step_only;
    answer.name = file.job.name;
    answer.title = workload::JobLine(file.job);
    answer.job = &file.job;
    answer.what_ifs = simulate::WhatIfs(file.job, options_);
    answer.not_modelled = simulate::NotModelled(file.job, *simulation.generated, options_);
    answer.left_out = file.not_modelled;
    const simulate::SimulatedStep simulated{&simulation.rank_classes, &simulation.timeline,
                                            &file.job};
    answer.summary = simulate::Summarize(simulated, Detail());
    if (!answer.is_step_only) {
      AddInterval(file.job, *simulation.generated, answer);
    }
    answer.energy = simulate::EnergyOf(file.job, *simulation.generated, answer.summary.step_ps);
    const auto simulate_with = [&](const simulate::SimulationOptions& options) {
      return simulate::SimulateEnsemble(file.job, simulation.generated->ensemble, options);
    };
    ORRERY_TRY_STATUS(AddContention(simulation, options_, simulate_with, answer));
    ORRERY_TRY_STATUS(AddCheckpoint(simulation, options_, simulate_with, answer));
    ORRERY_TRY_STATUS(AddLinks(file.job, simulation.generated->ensemble, simulation, answer));
    card_ = simulate::CardOf(file.job);
    if (TriesChanges(answer)) {
      answer.advice = simulate::TryChanges(
          file.job, options_, answer.summary, simulate::JobScope::kWhole,
          [&](const workload::Job& job, const simulate::SimulationOptions& options) {
            return SimulateJobVariant(job, costs, options);
          });
    }
    progress.Clear();
    return Finish(simulated, std::move(answer));
  }

  [[nodiscard]] simulate::SummaryDetail Detail() const {
    return arguments_.is_step_only ? simulate::SummaryDetail::kStepOnly
                                   : simulate::SummaryDetail::kAll;
  }

  // For the page.
  Status AddLinks(const workload::Job& machine, const workload::Ensemble& ensemble,
                  const simulate::Simulation& simulation, SimulationAnswer& answer) const {
    constexpr std::size_t kParts = 120;
    constexpr std::size_t kMostLinks = 32;
    if (!arguments_.output.html_file.empty() && !answer.is_step_only) {
      ORRERY_TRY(answer.links, simulate::UtilisationOf(machine, ensemble, options_, simulation,
                                                       kParts, kMostLinks));
    }
    return {};
  }

  Result<int> RunTogether() {
    if (!arguments_.trace.empty()) {
      return InvalidInput("--trace is of one job: {} were given", arguments_.inputs.size());
    }
    if (!options_.slow_ranks.empty() || !options_.faults.empty() || arguments_.steps > 0) {
      return InvalidInput("--slow, --fail, --degrade and --steps are of one job: {} were given",
                          arguments_.inputs.size());
    }
    if (arguments_.is_step_only) {
      return InvalidInput("--step-only is of one job: {} were given", arguments_.inputs.size());
    }
    if (options_.network.checkpoint) {
      return InvalidInput("--checkpoint-traffic is of one job: {} were given",
                          arguments_.inputs.size());
    }
    ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
               LoadKernelModels(arguments_.job.kernel_models));
    ProgressLine progress(TerminalProgress(), "simulating");
    ORRERY_TRY(const TogetherAnswer answer, JobsTogether(arguments_, *models, options_));
    progress.Clear();
    ORRERY_TRY_STATUS(Deliver(answer.document, arguments_.output));
    return answer.is_out_of_memory ? kExitOutOfMemory : kExitOk;
  }

  Result<int> RunProgram(SimulateInput kind) {
    if (!arguments_.gpu_of.empty()) {
      return InvalidInput(
          "--gpu-of needs a job: programs of other tools bring the times of their kernels; "
          "--slow says how much longer a rank takes");
    }
    if (options_.network.checkpoint) {
      return InvalidInput(
          "--checkpoint-traffic needs a job: a program of another tool does not say how large its "
          "checkpoint is");
    }
    ORRERY_TRY(ImportedProgram imported, ImportProgram(kind, arguments_));
    ORRERY_TRY(const workload::Job machine, MachineOf(arguments_, imported));
    options_.steps_before = imported.steps_before;
    ProgressLine progress(TerminalProgress(), "simulating");
    ORRERY_TRY(const simulate::Simulation simulated,
               simulate::SimulateEnsemble(machine, imported.ensemble, options_));
    SimulationAnswer answer;
    answer.name =
        std::filesystem::path(arguments_.from.empty() ? arguments_.inputs.front() : arguments_.from)
            .filename()
            .string();
    answer.title = imported.title;
    answer.remarks = imported.remarks;
    answer.replayed = imported.replayed;
    if (!imported.gpu.empty() && arguments_.job.cluster.empty() && machine.gpus > 1) {
      answer.remarks.push_back(fmt::format(
          "Ranks communicate as on {}, which has this GPU; --cluster NAME selects another.",
          machine.cluster.name));
    }
    const simulate::SimulatedStep step{&simulated.rank_classes, &simulated.timeline, nullptr};
    answer.is_step_only = arguments_.is_step_only;
    answer.summary = simulate::Summarize(step, Detail());
    answer.summary.figures = FiguresOf(imported, answer.summary.step_ps);
    if (!imported.memory_of_program.empty()) {
      simulate::SetMemory(simulated.rank_classes, imported.memory_of_program, answer.summary);
    }
    ORRERY_TRY_STATUS(AddContention(
        simulated, options_,
        [&](const simulate::SimulationOptions& options) {
          return simulate::SimulateEnsemble(machine, imported.ensemble, options);
        },
        answer));
    answer.what_ifs = simulate::WhatIfs(machine, options_);
    answer.not_modelled = imported.notes;
    std::ranges::move(simulate::NotModelledOfNetwork(machine, options_),
                      std::back_inserter(answer.not_modelled));
    ORRERY_TRY_STATUS(AddLinks(machine, imported.ensemble, simulated, answer));
    if (TriesChanges(answer)) {
      answer.advice = AdviceForProgram(machine, options_, answer.summary, imported.ensemble);
    }
    gpu_ = machine.gpu.name;
    card_ = simulate::MachineCardOf(machine);
    progress.Clear();
    return Finish(step, std::move(answer));
  }

  Result<int> Finish(const simulate::SimulatedStep& simulated, SimulationAnswer answer) {
    answer.steps = DrawStepsOf(
        arguments_, simulated.job != nullptr ? simulated.job->gpu.name : gpu_, answer.summary);
    if (!answer.is_step_only) {
      answer.bottleneck = simulate::BottleneckSentence(answer.summary, answer.advice);
    }
    if (!answer.is_step_only) {
      answer.means = simulate::MeansOf(*simulated.rank_classes, *simulated.timeline);
    }
    ORRERY_TRY_STATUS(Deliver(
        SimulationDocument(answer, arguments_.output.html_file.empty() ? nullptr : &simulated),
        arguments_.output));
    ORRERY_TRY_STATUS(WriteTrace(simulated));
    return answer.summary.IsOutOfMemory() ? kExitOutOfMemory : kExitOk;
  }

  Status WriteTrace(const simulate::SimulatedStep& simulated) {
    if (arguments_.trace.empty()) {
      return {};
    }
    trace::TraceSet set =
        simulate::EnsembleTrace(*simulated.rank_classes, *simulated.timeline,
                                {.gpu = simulated.job != nullptr ? simulated.job->gpu.name : gpu_,
                                 .gpu_of_program = GpuOfProgram(simulated),
                                 .card = card_});
    return WriteTraceFile(set, arguments_.trace).map([](const TraceOutput&) {});
  }

  const SimulateArguments& arguments_;
  simulate::SimulationOptions options_;
  NetworkInput network_;
  std::shared_ptr<const overlap::Model> overlap_model_;
  std::string gpu_;
  trace::WorkloadCard card_ = {};
};

// A folder of Echo's tracer stands for the files in it.
Status ReadFrom(SimulateArguments& arguments) {
  if (arguments.from.empty() && arguments.inputs.empty()) {
    return InvalidInput("JOB is required (orrery --help lists what there is)");
  }
  if (arguments.from.empty()) {
    return arguments.world == 0
               ? Status()
               : InvalidInput("--world is of --from; a job says how many GPUs it has");
  }
  if (!arguments.inputs.empty()) {
    return InvalidInput("--from {} is a job: {} is one too many", arguments.from,
                        arguments.inputs.front());
  }
  if (workload::HoldsTracedJob(arguments.from)) {
    return {};
  }
  ORRERY_TRY(compat::echo::TracerFiles files, compat::echo::FindTracerFiles(arguments.from));
  arguments.inputs = std::move(files.graphs);
  arguments.echo_times = std::move(files.times);
  return {};
}

Result<int> Simulate(SimulateArguments& arguments) {
  ORRERY_TRY_STATUS(ReadFrom(arguments));
  return SimulateRun(arguments).Run();
}

}  // namespace

void AddSimulateCommand(Verb& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  Verb verb = app.AddVerb("simulate", "The step time, memory and timeline of a training job");
  AddSimulateOptions(verb, *arguments);
  verb.OnRun([arguments] { return Simulate(*arguments); });
}

}  // namespace orrery::cli
