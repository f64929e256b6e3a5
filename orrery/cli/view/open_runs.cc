#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/simulate/simulate.h"
#include "orrery/cli/verb.h"
#include "orrery/cli/view/view.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/simulate/advice.h"
#include "orrery/simulate/energy.h"
#include "orrery/simulate/interval.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/summary.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kMostRuns = 2;

bool IsJob(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

std::string NameOf(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

/// Kernels that are faster than a model says.
class ScaledCosts : public kernel::CostModel {
 public:
  ScaledCosts(const kernel::CostModel& costs, double speedup) : costs_(costs), speedup_(speedup) {}

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    costs_.Predict(operators, gpu, estimates);
    for (kernel::Estimate& estimate : estimates) {
      estimate.seconds /= speedup_;
    }
  }

 private:
  const kernel::CostModel& costs_;
  double speedup_;
};

// What `orrery simulate` says of it, without changes that are tried.
void Summarize(const workload::JobFile& file, const simulate::SimulationOptions& options,
               serve::SimulatedJob& simulated) {
  const workload::Job& job = *simulated.job;
  const simulate::Simulation& simulation = simulated.simulation;
  const simulate::SimulatedStep step{&simulation.rank_classes, &simulation.timeline, &job};
  SimulationAnswer answer;
  answer.name = job.name;
  answer.title = workload::JobLine(job);
  answer.job = &job;
  answer.what_ifs = simulate::WhatIfs(job, options);
  answer.not_modelled = simulate::NotModelled(job, *simulation.generated, options);
  answer.left_out = file.not_modelled;
  answer.summary = simulate::Summarize(step);
  answer.interval =
      simulate::IntervalOf(answer.summary.breakdown, job, simulation.generated->coverage);
  answer.energy = simulate::EnergyOf(job, *simulation.generated, answer.summary.step_ps);
  answer.network = simulation.network;
  answer.classes_alone = static_cast<std::uint32_t>(simulation.rank_classes.classes.size());
  answer.bottleneck = simulate::BottleneckSentence(answer.summary, answer.advice);
  simulated.summary = SimulationDocument(answer, &step);
  simulated.not_modelled = answer.not_modelled;
}

/// Simulates jobs; loads the models once.
class JobSimulator {
 public:
  explicit JobSimulator(const ViewArguments& arguments) : arguments_(arguments) {}

  Result<std::shared_ptr<serve::ViewedRun>> Simulate(const std::string& path,
                                                     const serve::JobChanges& changes) {
    ORRERY_TRY_STATUS(Load());
    JobArguments job_arguments = arguments_.job;
    job_arguments.settings.insert(job_arguments.settings.end(), changes.settings.begin(),
                                  changes.settings.end());
    ORRERY_TRY(const workload::JobFile file, ReadJob(path, job_arguments));
    serve::SimulatedJob simulated{.job = std::make_unique<workload::Job>(file.job)};
    workload::Job& job = *simulated.job;
    job.cluster.nics.bandwidth.bytes_per_second *= changes.network;
    job.cluster.island.per_gpu.bytes_per_second *= changes.network;
    simulate::SimulationOptions options = options_;
    options.slow_ranks = changes.slow_ranks;
    const ScaledCosts costs(*models_, changes.compute);
    ORRERY_TRY(simulated.simulation, simulate::Simulate(job, costs, options));
    Summarize(file, options, simulated);
    return serve::ViewedRun::Simulated(NameOf(path), std::move(simulated), arguments_.run.threads);
  }

 private:
  Status Load() {
    if (models_ != nullptr) {
      return {};
    }
    ORRERY_TRY(kernel::ModelSet models, LoadKernelModels(arguments_.job.kernel_models));
    options_.overlap = DefaultOverlap();
    ORRERY_TRY(overlap_, LoadOverlapModel(options_));
    models_ = std::make_unique<kernel::ModelSet>(std::move(models));
    return {};
  }

  ViewArguments arguments_;
  std::unique_ptr<kernel::ModelSet> models_;
  simulate::SimulationOptions options_;
  std::shared_ptr<const overlap::Model> overlap_;
};

}  // namespace

Result<serve::RunList> OpenRuns(const ViewArguments& arguments) {
  if (arguments.paths.size() > kMostRuns) {
    return InvalidInput("view shows one run or two beside each other, and {} were given",
                        arguments.paths.size());
  }
  JobSimulator simulator(arguments);
  serve::RunList runs;
  for (const std::string& path : arguments.paths) {
    if (IsJob(path)) {
      ProgressLine progress(TerminalProgress(), "simulating");
      ORRERY_TRY(std::shared_ptr<serve::ViewedRun> run, simulator.Simulate(path, {}));
      progress.Clear();
      runs.push_back(std::move(run));
      continue;
    }
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments.run, {path}));
    runs.push_back(serve::ViewedRun::Recorded(NameOf(path), std::move(run), arguments.run.threads));
    if (runs.back()->num_events() == 0) {
      return InvalidInput("{}: nothing in it has a time; view needs the recording of a rank", path);
    }
  }
  return runs;
}

serve::ViewActions ActionsFor(const ViewArguments& arguments) {
  serve::ViewActions actions;
  std::string job_path;
  for (const std::string& path : arguments.paths) {
    job_path = job_path.empty() && IsJob(path) ? path : job_path;
  }
  if (!job_path.empty()) {
    const auto simulator = std::make_shared<JobSimulator>(arguments);
    const auto mutex = std::make_shared<std::mutex>();
    actions.simulate = [=](const serve::ViewedRun& /*run*/, const serve::JobChanges& changes) {
      const std::lock_guard lock(*mutex);  // one simulation takes all threads
      return simulator->Simulate(job_path, changes);
    };
  }
  return actions;
}

}  // namespace orrery::cli
