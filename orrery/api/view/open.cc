#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/api/view.h"
#include "orrery/api/view/memory_tools.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/document.h"
#include "orrery/search/store/plan_store.h"
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

namespace orrery::api {
namespace view {
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
  Simulator(const Session& session, const ViewRequest& request)
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
    ORRERY_TRY(
        const std::shared_ptr<SimulatedRun> run,
        SimulateJob(std::move(file), *models_, options_, changes.scenario, Explanation::kNetwork));
    run->has_pictures = true;
    SimulatedJob simulated{.run = run,
                           .job = &run->job,
                           .text = std::move(text),
                           .settings = std::move(settings),
                           .simulation = &run->simulation,
                           .summary = MakeDocument(MakeResult(run)),
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
               simulate::PredictRecordings(run.set(), run.view().matched, workload::HostChoice{},
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
    SessionState& state = session_.state();
    ORRERY_TRY(options_, DefaultOptions(state));
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
      return workload::ProgramOfMiddleStep(rank, {.model = host});
    }
    const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(rank));
    ORRERY_TRY_STATUS(Load());
    ORRERY_TRY(const auto steps, workload::GraphSteps(rank));
    const workload::CallTree& step = workload::MiddleStep(steps);
    const workload::GraphPrices prices = workload::PriceGraph(rank, step, *gpu, *models_, host);
    const workload::PriceNode price = [&](RowId node) { return prices.tasks_of_node[node]; };
    return workload::ProgramOfGraph(rank, step, host, price);
  }

  const Session& session_;
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
  RunOpener(const ViewRequest& request, std::shared_ptr<Simulator> simulator)
      : request_(request), simulator_(std::move(simulator)) {
    makers_.predict = [own = simulator_](const ViewedRun& run) { return own->Predict(run); };
    makers_.simulate = [own = simulator_](const ViewedRun& run, const JobChanges& changes) {
      const SimulatedJob& job = *run.simulated();
      return own->Simulate(run.name(), job.text, job.settings, changes);
    };
  }

  Status Open(const std::string& path) {
    if (path.ends_with(".orrdb")) {
      return OpenStore(path);
    }
    return IsJob(path) ? OpenJob(path) : OpenRecording(path);
  }

  [[nodiscard]] std::unique_ptr<ViewState> Take() && {
    auto state = std::make_unique<ViewState>(std::move(runs_), std::move(makers_));
    state->plans = std::move(plans_);
    return state;
  }

 private:
  Status OpenJob(const std::string& path) {
    ORRERY_TRY(workload::JobText text, workload::ReadJobText(path));
    return AddSimulation(NameOf(path), std::move(text), OverridesOf(request_.job));
  }

  Status OpenStore(const std::string& path) {
    ORRERY_TRY(const search::StoredPlans stored, search::ReadStore(path));
    if (stored.plans.empty()) {
      return InvalidInput("{}: the store holds no plan that was simulated and fits", path);
    }
    plans_ = PlansDocument(stored);
    makers_.simulate_plan = [simulator = simulator_,
                             stored](std::size_t plan) -> Result<std::shared_ptr<ViewedRun>> {
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
    runs_.push_back(std::move(run));
    return {};
  }

  Status OpenRecording(const std::string& path) {
    request_.call.Report("reading " + path);
    RunInput input = request_.run;
    input.paths = {path};
    ORRERY_TRY(ingest::Run run, ReadRun(input, request_.call.progress));
    runs_.push_back(ViewedRun::Recorded(
        NameOf(path), std::move(run),
        {.threads = request_.run.threads,
         .kernel_models = [models = simulator_] { return models->KernelModels(); },
         .memory_documents = &MemoryDocuments}));
    if (runs_.back()->num_events() == 0) {
      return InvalidInput("{}: nothing in it has a time; view needs the recording of a rank", path);
    }
    return {};
  }

  const ViewRequest& request_;
  std::shared_ptr<Simulator> simulator_;
  RunList runs_;
  RunMakers makers_;
  std::optional<Document> plans_;
};

}  // namespace
}  // namespace view

Result<View> OpenView(const Session& session, const ViewRequest& request) {
  if (request.paths.empty()) {
    return InvalidInput("a view needs a run: paths is empty");
  }
  if (request.paths.size() > view::kMostRuns) {
    return InvalidInput("view opens at most {} runs, and {} were given", view::kMostRuns,
                        request.paths.size());
  }
  view::RunOpener opener(request, std::make_shared<view::Simulator>(session, request));
  for (const std::string& path : request.paths) {
    ORRERY_TRY_STATUS(opener.Open(path));
  }
  return View(std::move(opener).Take());
}

}  // namespace orrery::api
