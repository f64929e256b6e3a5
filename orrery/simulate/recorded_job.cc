#include "orrery/simulate/recorded_job.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::simulate {
namespace {

using trace::Trace;
using workload::HostModel;
using workload::Program;
using workload::TaskId;

constexpr std::size_t kNumHalves = 2;

/// The step that stands for a recording.
RowId MiddleStep(const Trace& rank) {
  return static_cast<RowId>(rank.steps.size() / 2);
}

std::int64_t WaitingPs(const Program& program, const Timeline& simulated, RankClassId rank_class) {
  std::int64_t waiting_ps = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const std::size_t index = simulated.First(rank_class) + task;
    if (program.tasks.kind[task] == workload::TaskKind::kCollective &&
        simulated.transfer_ps[index] != kNeverPs) {
      waiting_ps += simulated.transfer_ps[index] - simulated.begin_ps[index];
    }
  }
  return waiting_ps;
}

class JobPredictor {
 public:
  JobPredictor(const trace::TraceSet& set, const RecordedJobSources& sources)
      : set_(set),
        sources_(sources),
        are_recorded_(std::ranges::all_of(set.ranks, [](const Trace& rank) {
          return !rank.activities.empty() && !rank.host_ops.empty() && !rank.steps.empty();
        })) {}

  Result<RecordedJob> Predict() {
    FindBegins();
    job_.host = sources_.host != nullptr                 ? HostSource::kGiven
                : are_recorded_ && set_.ranks.size() > 1 ? HostSource::kOtherRanks
                                                         : HostSource::kShared;
    const bool has_halves = job_.host == HostSource::kOtherRanks;
    if (has_halves) {
      for (const Trace& rank : set_.ranks) {
        static_cast<void>(fit_.Add(rank));
      }
    }
    for (std::size_t half = 0; half < (has_halves ? kNumHalves : 1); ++half) {
      ORRERY_TRY_STATUS(PredictHalf(half, has_halves));
    }
    return std::move(job_);
  }

 private:
  void FindBegins() {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (std::size_t place = 0; place < set_.ranks.size(); ++place) {
      const Trace& rank = set_.ranks[place];
      RankStep step{.rank = trace::RankOf(set_, place)};
      if (are_recorded_) {
        first_ns = std::min(first_ns, rank.steps.begin_ns[MiddleStep(rank)]);
        step.measured_ps = rank.steps.duration_ns[MiddleStep(rank)] * 1000;
      }
      job_.ranks.push_back(step);
    }
    for (std::size_t place = 0; are_recorded_ && place < set_.ranks.size(); ++place) {
      const Trace& rank = set_.ranks[place];
      job_.ranks[place].begin_ps = (rank.steps.begin_ns[MiddleStep(rank)] - first_ns) * 1000;
    }
  }

  [[nodiscard]] HostModel HostOf(std::size_t half) const {
    std::vector<std::size_t> without;
    for (std::size_t place = half; place < set_.ranks.size(); place += kNumHalves) {
      without.push_back(place);
    }
    return workload::WithMeans(fit_.Fit({.without = without}));
  }

  Result<std::vector<workload::GraphPrices>> PricesOf(const HostModel& host, bool is_first) {
    std::vector<workload::GraphPrices> prices;
    for (const Trace& rank : set_.ranks) {
      if (sources_.costs == nullptr) {
        prices.push_back(workload::RecordedPrices(rank));
      } else {
        ORRERY_TRY(const std::vector<workload::CallTree> steps, workload::GraphSteps(rank));
        prices.push_back(workload::PriceGraph(rank, workload::MiddleStep(steps), *sources_.gpu,
                                              *sources_.costs, host));
      }
      if (is_first) {
        Count(prices.back());
      }
    }
    return prices;
  }

  void Count(const workload::GraphPrices& prices) {
    job_.pricing.Add(prices.summary);
    for (const std::string& name : prices.unknown_names) {
      if (std::ranges::find(job_.unknown_names, name) == job_.unknown_names.end()) {
        job_.unknown_names.push_back(name);
      }
    }
  }

  Status PredictHalf(std::size_t half, bool has_halves) {
    const std::optional<HostModel> fitted = has_halves ? std::optional(HostOf(half)) : std::nullopt;
    const HostModel& host = fitted                     ? *fitted
                            : sources_.host != nullptr ? *sources_.host
                                                       : workload::DefaultHost();
    ORRERY_TRY(const std::vector<workload::GraphPrices> prices, PricesOf(host, half == 0));
    std::vector<workload::RankGraph> graphs;
    for (std::size_t place = 0; place < set_.ranks.size(); ++place) {
      const auto& tasks_of_node = prices[place].tasks_of_node;
      graphs.push_back({.graph = &set_.ranks[place],
                        .price = [&tasks_of_node](RowId node) { return tasks_of_node[node]; },
                        .begin_ps = job_.ranks[place].begin_ps});
    }
    ORRERY_TRY(const workload::RecordedEnsemble recorded, workload::EnsembleOfGraphs(graphs, host));
    if (half == 0) {
      job_.problems = recorded.problems;
    }
    return Simulate(recorded.ensemble, half, has_halves);
  }

  Status Simulate(const workload::Ensemble& ensemble, std::size_t half, bool has_halves) {
    const RankClasses rank_classes = Unfolded(ensemble, *sources_.links);
    ORRERY_TRY(const Timeline simulated, simulate::Simulate(rank_classes, *sources_.times));
    for (std::size_t place = half; place < job_.ranks.size();
         place += has_halves ? kNumHalves : 1) {
      const auto rank_class = static_cast<RankClassId>(place);
      RankStep& step = job_.ranks[place];
      const Program& program = rank_classes.ProgramOf(rank_class);
      step.step_ps = EndOfLanes(program, simulated, simulated.First(rank_class),
                                workload::LaneKind::kHostThread) -
                     step.begin_ps;
      step.waiting_ps = WaitingPs(program, simulated, rank_class);
    }
    return {};
  }

  const trace::TraceSet& set_;
  const RecordedJobSources& sources_;
  bool are_recorded_ = false;
  workload::HostFit fit_;
  RecordedJob job_;
};

}  // namespace

Result<RecordedJob> PredictRecordedJob(const trace::TraceSet& set,
                                       const RecordedJobSources& sources) {
  if (set.ranks.empty()) {
    return Fail(Error::Kind::kInvalidInput, "a job has at least one execution trace");
  }
  return JobPredictor(set, sources).Predict();
}

}  // namespace orrery::simulate
