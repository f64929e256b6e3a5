#include "orrery/cli/command.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/output.h"
#include "orrery/cli/overlap_option.h"
#include "orrery/cli/simulate/imports.h"
#include "orrery/cli/simulate/options.h"
#include "orrery/cli/simulate/output.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/trace_output.h"
#include "orrery/compat/echo/tracer_files.h"
#include "orrery/hardware/cluster.h"
#include "orrery/simulate/bottleneck.h"
#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/not_modelled.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/summary.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job_facts.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/recorded/traced_job.h"

namespace orrery::cli {
namespace {

using Clock = std::chrono::steady_clock;

// --gpu, --cluster and --gpu-of are settings that have a name of their own.
Result<std::vector<std::string>> OverridesOf(const SimulateArguments& arguments) {
  std::vector<std::string> overrides;
  if (!arguments.cluster.empty()) {
    overrides.push_back("cluster=" + arguments.cluster);
  }
  if (!arguments.gpu.empty()) {
    overrides.push_back("gpu=" + arguments.gpu);
  }
  for (const std::string& text : arguments.gpu_of) {
    ORRERY_TRY(std::string setting, GpuOfSetting(text));
    overrides.push_back(std::move(setting));
  }
  overrides.insert(overrides.end(), arguments.settings.begin(), arguments.settings.end());
  return overrides;
}

/// The machine on which the program of another tool runs; all else of a job is as it is made.
Result<workload::Job> MachineOf(const SimulateArguments& arguments,
                                const ImportedProgram& imported) {
  const std::string& name = arguments.cluster.empty() ? imported.gpu : arguments.cluster;
  if (name.empty()) {
    return Fail(
        Error::Kind::kInvalidInput,
        "--cluster NAME says on which machine this program runs (data/hardware/clusters.yaml "
        "lists them)");
  }
  const hardware::Cluster* const cluster = hardware::FindCluster(name);
  if (cluster == nullptr) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("--cluster {}: not in the catalogue (data/hardware/clusters.yaml)", name));
  }
  workload::Job machine;
  machine.cluster = *cluster;
  machine.gpus = static_cast<int>(imported.ensemble.num_ranks());
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(!arguments.gpu.empty() ? arguments.gpu
                                                      : imported.gpu.empty() ? cluster->gpu
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

class SimulateRun {
 public:
  explicit SimulateRun(const SimulateArguments& arguments)
      : arguments_(arguments), begin_(Clock::now()) {}

  Status Run() {
    if (!arguments_.trace.empty()) {
      ORRERY_TRY_STATUS(TraceFormatOf(arguments_.trace).map([](TraceFormat) {}));
    }
    if (!arguments_.emulated.empty()) {
      ORRERY_TRY(const report::Document document, EmulatedWorkload(arguments_));
      return Deliver(document, arguments_.output);
    }
    ORRERY_TRY(options_, EngineOptions(arguments_));
    ORRERY_TRY(overlap_model_, LoadOverlapModel(options_));
    const SimulateInput kind = InputKind(arguments_);
    return kind == SimulateInput::kJob ? RunJob() : RunProgram(kind);
  }

 private:
  Status RunJob() {
    if (arguments_.inputs.size() > 1) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("one job at a time: {} and {} were given", arguments_.inputs[0],
                              arguments_.inputs[1]));
    }
    ORRERY_TRY(const std::vector<std::string> overrides, OverridesOf(arguments_));
    ORRERY_TRY(const workload::JobFile file,
               workload::ReadJobFile(arguments_.inputs.front(), overrides));
    ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(arguments_.kernel_models));
    ORRERY_TRY(const simulate::Simulation simulation,
               simulate::Simulate(file.job, models, options_));
    SimulationAnswer answer;
    answer.name = file.job.name;
    answer.title = workload::JobLine(file.job);
    answer.job = &file.job;
    answer.what_ifs = simulate::WhatIfs(file.job, options_);
    answer.not_modelled = simulate::NotModelled(file.job, *simulation.generated, options_);
    answer.not_modelled.insert(answer.not_modelled.end(), file.not_modelled.begin(),
                               file.not_modelled.end());
    const simulate::SimulatedStep simulated{&simulation.rank_classes, &simulation.timeline,
                                            &file.job};
    answer.summary = simulate::Summarize(simulated);
    return Finish(simulated, std::move(answer));
  }

  Status RunProgram(SimulateInput kind) {
    if (!arguments_.gpu_of.empty()) {
      return Fail(Error::Kind::kInvalidInput,
                  "--gpu-of needs a job: programs of other tools bring the times of their kernels; "
                  "--slow says how much longer a rank takes");
    }
    ORRERY_TRY(ImportedProgram imported, ImportProgram(kind, arguments_));
    ORRERY_TRY(const workload::Job machine, MachineOf(arguments_, imported));
    options_.steps_before = imported.steps_before;
    ORRERY_TRY(const simulate::SimulatedEnsemble simulated,
               simulate::SimulateEnsemble(machine, imported.ensemble, options_));
    SimulationAnswer answer;
    answer.name =
        std::filesystem::path(arguments_.from.empty() ? arguments_.inputs.front() : arguments_.from)
            .filename()
            .string();
    answer.title = imported.title;
    answer.remarks = imported.remarks;
    answer.replayed = imported.replayed;
    if (!imported.gpu.empty() && arguments_.cluster.empty() && machine.gpus > 1) {
      answer.remarks.push_back(
          fmt::format("Ranks talk as on {}, which has this GPU; --cluster NAME takes another.",
                      machine.cluster.name));
    }
    const simulate::SimulatedStep step{&simulated.rank_classes, &simulated.timeline, nullptr};
    answer.summary = simulate::Summarize(step);
    answer.summary.figures = FiguresOf(imported, answer.summary.step_ps);
    if (!imported.memory_of_program.empty()) {
      simulate::SetMemory(simulated.rank_classes, imported.memory_of_program, answer.summary);
    }
    answer.what_ifs = simulate::WhatIfs(machine, options_);
    answer.not_modelled = imported.notes;
    const std::vector<std::string> of_faults = simulate::NotModelled(options_.faults);
    answer.not_modelled.insert(answer.not_modelled.end(), of_faults.begin(), of_faults.end());
    gpu_ = machine.gpu.name;
    return Finish(step, std::move(answer));
  }

  Status Finish(const simulate::SimulatedStep& simulated, SimulationAnswer answer) {
    answer.bottleneck = simulate::BottleneckSentence(answer.summary);
    answer.wall_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (arguments_.output.as_json) {
      answer.exposed_ps = simulate::MeanExposedPs(*simulated.rank_classes, *simulated.timeline);
    }
    ORRERY_TRY_STATUS(Deliver(
        SimulationDocument(answer, arguments_.output.html_file.empty() ? nullptr : &simulated),
        arguments_.output));
    if (!arguments_.output.html_file.empty() && !arguments_.output.as_json) {
      Print(fmt::format("{}: the report, for a browser\n", arguments_.output.html_file));
    }
    return WriteTrace(simulated);
  }

  Status WriteTrace(const simulate::SimulatedStep& simulated) {
    if (arguments_.trace.empty()) {
      return {};
    }
    trace::TraceSet set =
        simulate::EnsembleTrace(*simulated.rank_classes, *simulated.timeline,
                                {.gpu = simulated.job != nullptr ? simulated.job->gpu.name : gpu_,
                                 .gpu_of_program = GpuOfProgram(simulated)});
    ORRERY_TRY_STATUS(WriteTraceFile(set, arguments_.trace).map([](const TraceOutput&) {}));
    if (!arguments_.output.as_json) {
      Print(fmt::format("{}: traces of {} rank{} written\n", arguments_.trace, set.ranks.size(),
                        set.ranks.size() == 1 ? "" : "s"));
    }
    return {};
  }

  const SimulateArguments& arguments_;
  Clock::time_point begin_;
  simulate::SimulationOptions options_;
  std::shared_ptr<const overlap::Model> overlap_model_;
  std::string gpu_;
};

// A folder of Echo's tracer stands for the files in it.
Status ReadFrom(SimulateArguments& arguments) {
  if (arguments.from.empty() && arguments.inputs.empty()) {
    return Fail(Error::Kind::kInvalidInput, "JOB is required (orrery --help lists what there is)");
  }
  if (arguments.from.empty()) {
    return arguments.world == 0 ? Status()
                                : Fail(Error::Kind::kInvalidInput,
                                       "--world is of --from; a job says how many GPUs it has");
  }
  if (!arguments.inputs.empty()) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("--from {} is a job: {} is one too many",
                                                        arguments.from, arguments.inputs.front()));
  }
  if (workload::HoldsTracedJob(arguments.from)) {
    return {};
  }
  ORRERY_TRY(compat::echo::TracerFiles files, compat::echo::FindTracerFiles(arguments.from));
  arguments.inputs = std::move(files.graphs);
  arguments.echo_times = std::move(files.times);
  return {};
}

Status Simulate(SimulateArguments& arguments) {
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
