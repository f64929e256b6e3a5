#include "orrery/serve/open_runs.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/paired_collectives.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/document.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/recorded_ranks.h"
#include "orrery/simulate/replay.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::serve {
namespace {

using report::AsBytes;
using report::AsShare;
using report::AsText;
using report::Document;
using report::NumberFormat;
using report::Unit;

constexpr std::size_t kMostRuns = 3;

bool IsJob(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

std::string NameOf(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Simulates jobs and recordings; loads the models once. One at a time: each takes all threads.
class Simulator {
 public:
  Simulator(const api::Session& session, const OpenRequest& request)
      : session_(session),
        kernel_models_(request.job.kernel_models),
        threads_(request.run.threads) {}

  Result<std::shared_ptr<ViewedRun>> Simulate(std::string name, workload::JobText text,
                                              std::vector<std::string> settings,
                                              const JobChanges& changes) {
    const std::lock_guard lock(mutex_);
    ORRERY_TRY_STATUS(Load());
    std::vector<std::string> all = settings;
    all.insert(all.end(), changes.settings.begin(), changes.settings.end());
    ORRERY_TRY(workload::JobFile file, workload::ReadJob(text, all));
    ORRERY_TRY(const std::shared_ptr<api::SimulatedRun> run,
               api::SimulateJob(std::move(file), *models_, options_, changes.scenario,
                                api::Explanation::kNetwork));
    run->has_pictures = true;
    SimulatedJob simulated{.run = run,
                           .job = &run->job,
                           .text = std::move(text),
                           .settings = std::move(settings),
                           .simulation = &run->simulation,
                           .summary = api::MakeDocument(api::MakeResult(run)),
                           .not_modelled = run->answer.not_modelled};
    return ViewedRun::Simulated(std::move(name), std::move(simulated), {.threads = threads_});
  }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the analyzer loses a moved unique_ptr

  // They are loaded when the first kernel is looked at.
  Result<const kernel::CostModel*> KernelModels() {
    const std::lock_guard lock(mutex_);
    ORRERY_TRY_STATUS(Load());
    return models_.get();
  }

  // Kernels from models where there is an execution trace, else as recorded; the host from its
  // model.
  Result<std::shared_ptr<ViewedRun>> Predict(const ViewedRun& run) {
    const std::lock_guard lock(mutex_);
    if (run.set().ranks.size() > 1) {
      return PredictSeveral(run);
    }
    const trace::Trace& rank = run.set().ranks.front();
    const workload::HostModel& host = workload::DefaultHost();
    ORRERY_TRY(const workload::RecordedProgram recorded, ProgramOf(rank, host));
    ORRERY_TRY(const simulate::Timeline timeline,
               simulate::SimulateRecording(recorded.program, kRepetitions));
    ingest::Run predicted;
    predicted.set = simulate::EnsembleTrace(simulate::SingleRank(recorded.program), timeline,
                                            {.gpu = trace::DeviceName(rank)});
    // The name is all that the page shows of how it was made.
    return ViewedRun::Recorded(CanPrice(rank)
                                   ? "prediction: kernels from models, host from its model"
                                   : "prediction: kernels as recorded, host from its model",
                               std::move(predicted), {.threads = threads_});
  }

 private:
  static constexpr int kRepetitions = 3;

  // Kernels as recorded, also where there are execution traces: these do not say what runs on
  // which stream.
  Result<std::shared_ptr<ViewedRun>> PredictSeveral(const ViewedRun& run) {
    ORRERY_TRY(simulate::PredictedRanks ranks,
               simulate::PredictRecordings(run.set(), run.view().matched, workload::DefaultHost(),
                                           kRepetitions));
    for (const std::string& remark : ranks.remarks) {
      ranks.set.problems.Note(remark, 1, "");
    }
    ingest::Run predicted;
    predicted.set = std::move(ranks.set);
    return ViewedRun::Recorded("prediction: kernels and transfers as recorded, host from its model",
                               std::move(predicted), {.threads = threads_});
  }

  Status Load() {
    if (models_ != nullptr) {
      return {};
    }
    api::SessionState& state = session_.state();
    ORRERY_TRY(options_, api::DefaultOptions(state));
    ORRERY_TRY(models_, state.Costs(kernel_models_));
    return {};
  }

  // Models price the calls of an execution trace, on a GPU of the catalogue.
  static bool CanPrice(const trace::Trace& rank) {
    return !rank.graph_nodes.empty() && hardware::FindGpu(trace::DeviceName(rank)) != nullptr;
  }

  Result<workload::RecordedProgram> ProgramOf(const trace::Trace& rank,
                                              const workload::HostModel& host) {
    if (!CanPrice(rank)) {
      return workload::ProgramOfMiddleStep(rank, host);
    }
    const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(rank));
    ORRERY_TRY_STATUS(Load());
    ORRERY_TRY(const auto steps, workload::GraphSteps(rank));
    const workload::CallTree& step = workload::MiddleStep(steps);
    const workload::GraphPrices prices = workload::PriceGraph(rank, step, *gpu, *models_, host);
    const workload::PriceNode price = [&](RowId node) { return prices.tasks_of_node[node]; };
    return workload::ProgramOfGraph(rank, step, host, price);
  }

  const api::Session& session_;
  std::vector<std::string> kernel_models_;
  int threads_ = 0;
  std::mutex mutex_;
  std::shared_ptr<const kernel::CostModel> models_;
  simulate::SimulationOptions options_;
};

workload::JobText JobTextOf(const search::StoredPlans& stored) {
  return {.yaml = stored.job_yaml,
          .place = stored.job,
          .folder = std::filesystem::path(stored.job).parent_path()};
}

Document PlansDocument(const search::StoredPlans& stored) {
  Document document{.title = stored.job, .kind = "Orrery search"};
  Document::Table table{.columns = {AsText("plan", "plan", 0),
                                    Document::Column{"step_s", "step", NumberFormat("{:.3f} s")},
                                    Document::Column{"tokens_per_s", "tokens/s", Unit::kCount},
                                    AsShare("mfu", "MFU"), AsBytes("memory_bytes", "memory")},
                        .max_shown = SIZE_MAX,
                        .has_filter = true};
  for (const search::StoredPlan& plan : stored.plans) {
    table.rows.push_back({plan.settings, plan.step_s,
                          static_cast<std::int64_t>(std::llround(plan.tokens_per_s)), plan.mfu,
                          plan.memory_bytes});
  }
  document.AddSection("Plans that were simulated and fit, fastest first")
      .Say(fmt::format(
          "{} plans of {}, by {}. The timeline shows the first; any other can be laid beside it.",
          stored.plans.size(), stored.job, stored.program))
      .Add(std::move(table));
  return document;
}

/// The runs of the command line, one after the other.
class RunOpener {
 public:
  RunOpener(const OpenRequest& request, std::shared_ptr<Simulator> simulator)
      : request_(request), simulator_(std::move(simulator)) {}

  Status Open(const std::string& path) {
    if (path.ends_with(".orrdb")) {
      return OpenStore(path);
    }
    return IsJob(path) ? OpenJob(path) : OpenRecording(path);
  }

  [[nodiscard]] OpenedRuns Take() && { return std::move(opened_); }

 private:
  Status OpenJob(const std::string& path) {
    ORRERY_TRY(workload::JobText text, workload::ReadJobText(path));
    return AddSimulation(NameOf(path), std::move(text), api::OverridesOf(request_.job));
  }

  Status OpenStore(const std::string& path) {
    ORRERY_TRY(const search::StoredPlans stored, search::ReadStore(path));
    if (stored.plans.empty()) {
      return api::InvalidInput("{}: the store holds no plan that was simulated and fits", path);
    }
    opened_.plans = PlansDocument(stored);
    opened_.actions.simulate_plan =
        [simulator = simulator_, stored](std::size_t plan) -> Result<std::shared_ptr<ViewedRun>> {
      if (plan >= stored.plans.size()) {
        return Fail(Error::Kind::kNotFound, "there is no such plan");
      }
      const std::string& settings = stored.plans[plan].settings;
      return simulator->Simulate(settings, JobTextOf(stored), WordsOf(settings), {});
    };
    return AddSimulation(NameOf(path), JobTextOf(stored), WordsOf(stored.plans.front().settings));
  }

  Status AddSimulation(std::string name, workload::JobText text,
                       std::vector<std::string> settings) {
    request_.call.Report("simulating");
    ORRERY_TRY(std::shared_ptr<ViewedRun> run,
               simulator_->Simulate(std::move(name), std::move(text), std::move(settings), {}));
    opened_.runs.push_back(std::move(run));
    return {};
  }

  Status OpenRecording(const std::string& path) {
    request_.call.Report("reading " + path);
    api::RunInput input = request_.run;
    input.paths = {path};
    ORRERY_TRY(ingest::Run run, api::ReadRun(input, request_.call.progress));
    opened_.runs.push_back(ViewedRun::Recorded(
        NameOf(path), std::move(run),
        {.threads = request_.run.threads,
         .kernel_models = [models = simulator_] { return models->KernelModels(); },
         .memory_documents = &MemoryDocuments}));
    if (opened_.runs.back()->num_events() == 0) {
      return api::InvalidInput("{}: nothing in it has a time; view needs the recording of a rank",
                               path);
    }
    return {};
  }

  const OpenRequest& request_;
  std::shared_ptr<Simulator> simulator_;
  OpenedRuns opened_;
};

}  // namespace

Result<OpenedRuns> OpenRuns(const api::Session& session, const OpenRequest& request) {
  if (request.paths.size() > kMostRuns) {
    return api::InvalidInput("view opens at most {} runs, and {} were given", kMostRuns,
                             request.paths.size());
  }
  const auto simulator = std::make_shared<Simulator>(session, request);
  RunOpener opener(request, simulator);
  for (const std::string& path : request.paths) {
    ORRERY_TRY_STATUS(opener.Open(path));
  }
  OpenedRuns opened = std::move(opener).Take();
  opened.actions.predict = [simulator](const ViewedRun& run) { return simulator->Predict(run); };
  opened.actions.simulate = [simulator](const ViewedRun& run, const JobChanges& changes) {
    const SimulatedJob& job = *run.simulated();
    return simulator->Simulate(run.name(), job.text, job.settings, changes);
  };
  return opened;
}

std::vector<std::string> RunsWithNothingInCommon(const RunList& runs) {
  std::vector<std::string> sentences;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (analyze::diff::PairCollectives(runs.front()->view(), runs[run]->view())
            .HasNothingInCommon()) {
      sentences.push_back(
          analyze::diff::NothingInCommonSentence(runs.front()->name(), runs[run]->name()));
    }
  }
  return sentences;
}

}  // namespace orrery::serve
