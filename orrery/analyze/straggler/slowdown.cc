#include "orrery/analyze/straggler/slowdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"

namespace orrery::analyze {
namespace {

constexpr std::size_t kWorstPercent = 3;  // of the workers: the paper's M_W

/// Visits of edges that the replays of single workers may take: beyond, only the workers whose
/// operations took longest against the ideal are replayed.
constexpr std::size_t kMaxEdgeVisits = 2'000'000'000;

/// The operations that keep their measured duration, by class and worker.
class Kept {
 public:
  using Test = std::function<bool(std::size_t operation_class, std::size_t worker)>;

  Kept(const OperationSteps& operations, const Test& keeps)
      : num_workers_(operations.workers.size()) {
    for (std::size_t in_class = 0; in_class < operations.classes.size(); ++in_class) {
      for (std::size_t worker = 0; worker < num_workers_; ++worker) {
        is_kept_.push_back(keeps(in_class, worker) ? 1 : 0);
      }
    }
  }

  [[nodiscard]] bool Has(std::size_t operation_class, std::size_t worker) const {
    return is_kept_[operation_class * num_workers_ + worker] != 0;
  }

 private:
  std::size_t num_workers_;
  std::vector<std::uint8_t> is_kept_;
};

std::int64_t ReplayStep(const OperationSteps& operations, const OperationStep& step,
                        const Kept& kept) {
  const OperationGraph& operation_graph = operations.graphs[step.graph];
  std::vector<std::int64_t> weight_ns = step.weight_ns;
  for (EdgeId edge = 0; edge < weight_ns.size(); ++edge) {
    const std::uint32_t in_class = operation_graph.edge_class[edge];
    if (in_class != kNoLabel && !kept.Has(in_class, operation_graph.edge_worker[edge])) {
      weight_ns[edge] = step.ideal_ns[edge];
    }
  }
  const std::vector<std::int64_t> time_ns = Replay(operation_graph.graph, weight_ns);
  return time_ns.back() - time_ns.front();
}

/// Replays of all steps, in the order in which they were asked for.
class Replays {
 public:
  explicit Replays(const OperationSteps& operations) : operations_(operations) {}

  /// Returns the number of the replay.
  std::size_t Ask(const Kept::Test& keeps) {
    asked_.emplace_back(operations_, keeps);
    return asked_.size() - 1;
  }

  void Run(int threads) {
    const std::size_t num_steps = operations_.steps.size();
    const std::size_t first = step_ns_.size();
    step_ns_.resize(asked_.size() * num_steps);
    ParallelFor(step_ns_.size() - first, threads, [&](std::size_t i) {
      const std::size_t place = first + i;
      step_ns_[place] =
          ReplayStep(operations_, operations_.steps[place % num_steps], asked_[place / num_steps]);
    });
  }

  [[nodiscard]] std::int64_t StepNs(std::size_t replay, std::size_t step) const {
    return step_ns_[replay * operations_.steps.size() + step];
  }

  [[nodiscard]] double MeanNs(std::size_t replay) const {
    std::int64_t sum_ns = 0;
    for (std::size_t step = 0; step < operations_.steps.size(); ++step) {
      sum_ns += StepNs(replay, step);
    }
    return static_cast<double>(sum_ns) / static_cast<double>(operations_.steps.size());
  }

 private:
  const OperationSteps& operations_;
  std::vector<Kept> asked_;
  std::vector<std::int64_t> step_ns_;  // [replay][step]
};

std::vector<std::int32_t> Distinct(const std::vector<StragglerWorker>& workers,
                                   std::int32_t StragglerWorker::* member) {
  std::set<std::int32_t> numbers;
  for (const StragglerWorker& worker : workers) {
    numbers.insert(worker.*member);
  }
  numbers.erase(-1);
  return {numbers.begin(), numbers.end()};
}

// The workers that may have a slowdown of their own, those whose operations took longest against
// the ideal first.
std::vector<std::size_t> WorkersToReplay(const OperationSteps& operations) {
  std::vector<std::int64_t> excess_ns(operations.workers.size());
  std::size_t num_edges = 0;
  for (const OperationStep& step : operations.steps) {
    const OperationGraph& graph = operations.graphs[step.graph];
    num_edges += step.weight_ns.size();
    for (EdgeId edge = 0; edge < step.weight_ns.size(); ++edge) {
      if (graph.edge_class[edge] != kNoLabel) {
        excess_ns[graph.edge_worker[edge]] += step.weight_ns[edge] - step.ideal_ns[edge];
      }
    }
  }
  std::vector<std::size_t> order(operations.workers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t worker) { return excess_ns[worker]; });
  order.resize(
      std::min(order.size(),
               std::max<std::size_t>(1, kMaxEdgeVisits / std::max<std::size_t>(1, num_edges))));
  return order;
}

std::vector<double> SlowdownsOf(const Replays& replays, const std::vector<std::size_t>& numbers,
                                double ideal_ns) {
  std::vector<double> slowdowns;
  for (const std::size_t number : numbers) {
    slowdowns.push_back(replays.MeanNs(number) / ideal_ns);
  }
  return slowdowns;
}

/// Asks for everything, and then for the shares of who turned out to be worst.
class SlowdownMeasurement {
 public:
  SlowdownMeasurement(const OperationSteps& operations, int threads)
      : operations_(operations), threads_(threads), replays_(operations) {
    result_.classes = operations.classes;
    result_.workers = operations.workers;
    result_.stages = Distinct(operations.workers, &StragglerWorker::stage);
    result_.dp_ranks = Distinct(operations.workers, &StragglerWorker::dp_rank);
  }

  Result<StragglerSlowdown> Run() {
    const std::size_t nodelay = replays_.Ask([](std::size_t, std::size_t) { return true; });
    const std::size_t ideal = replays_.Ask([](std::size_t, std::size_t) { return false; });
    AskGroups();
    replays_.Run(threads_);
    TakeSteps(nodelay, ideal);
    if (result_.ideal_ns <= 0 || result_.nodelay_ns <= 0) {
      return Invalid("the operations take no time");
    }
    TakeGroups();
    const std::vector<std::size_t> worst = WorstWorkers();
    std::vector<std::size_t> last;
    for (std::size_t worker = 0; worker < result_.workers.size(); ++worker) {
      if (result_.stages.size() > 1 && StageOf(worker) == result_.stages.back()) {
        last.push_back(worker);
      }
    }
    result_.worst_workers = ShareOf(worst);
    if (!last.empty()) {
      result_.last_stage = ShareOf(last);
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int32_t StageOf(std::size_t worker) const {
    return result_.workers[worker].stage;
  }

  [[nodiscard]] std::int32_t DpRankOf(std::size_t worker) const {
    return result_.workers[worker].dp_rank;
  }

  // With both known a worker's score follows from those of its stage and data-parallel rank.
  [[nodiscard]] bool HasScores() const {
    return std::ranges::all_of(result_.workers, [](const StragglerWorker& worker) {
      return worker.stage >= 0 && worker.dp_rank >= 0;
    });
  }

  void AskGroups() {
    for (std::size_t wanted = 0; wanted < result_.classes.size(); ++wanted) {
      of_class_.push_back(
          replays_.Ask([=](std::size_t in_class, std::size_t) { return in_class == wanted; }));
    }
    for (const std::int32_t stage : result_.stages) {
      of_stage_.push_back(replays_.Ask(
          [this, stage](std::size_t, std::size_t worker) { return StageOf(worker) == stage; }));
    }
    for (const std::int32_t rank : result_.dp_ranks) {
      of_dp_rank_.push_back(replays_.Ask(
          [this, rank](std::size_t, std::size_t worker) { return DpRankOf(worker) == rank; }));
    }
    if (!HasScores()) {
      for (const std::size_t wanted : WorkersToReplay(operations_)) {
        of_worker_[wanted] =
            replays_.Ask([=](std::size_t, std::size_t worker) { return worker == wanted; });
      }
    }
  }

  void TakeSteps(std::size_t nodelay, std::size_t ideal) {
    std::int64_t measured_ns = 0;
    for (std::size_t i = 0; i < operations_.steps.size(); ++i) {
      const OperationStep& step = operations_.steps[i];
      result_.steps.push_back(
          {step.number, step.measured_ns, replays_.StepNs(nodelay, i), replays_.StepNs(ideal, i)});
      measured_ns += step.measured_ns;
    }
    result_.measured_ns =
        static_cast<double>(measured_ns) / static_cast<double>(operations_.steps.size());
    result_.nodelay_ns = replays_.MeanNs(nodelay);
    result_.ideal_ns = replays_.MeanNs(ideal);
  }

  void TakeGroups() {
    result_.slowdown = result_.nodelay_ns / result_.ideal_ns;
    result_.launch_slowdown = result_.measured_ns / result_.nodelay_ns;
    result_.by_class = SlowdownsOf(replays_, of_class_, result_.ideal_ns);
    result_.by_stage = SlowdownsOf(replays_, of_stage_, result_.ideal_ns);
    result_.by_dp_rank = SlowdownsOf(replays_, of_dp_rank_, result_.ideal_ns);
    result_.by_worker.resize(result_.workers.size());
    for (const auto& [worker, replay] : of_worker_) {
      result_.by_worker[worker] = replays_.MeanNs(replay) / result_.ideal_ns;
    }
    if (HasScores()) {
      for (std::size_t worker = 0; worker < result_.workers.size(); ++worker) {
        result_.by_worker[worker] = Score(worker);
      }
    }
  }

  [[nodiscard]] double Score(std::size_t worker) const {
    const auto place = [](const std::vector<std::int32_t>& numbers, std::int32_t number) {
      return static_cast<std::size_t>(std::ranges::lower_bound(numbers, number) - numbers.begin());
    };
    return std::min(result_.by_stage[place(result_.stages, StageOf(worker))],
                    result_.by_dp_rank[place(result_.dp_ranks, DpRankOf(worker))]);
  }

  // Ties go to the worker that comes first.
  [[nodiscard]] std::vector<std::size_t> WorstWorkers() const {
    std::vector<std::size_t> order(result_.workers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t worker) {
      return result_.by_worker[worker].value_or(0);
    });
    order.resize((order.size() * kWorstPercent + 99) / 100);
    return order;
  }

  [[nodiscard]] SlowdownShare ShareOf(std::vector<std::size_t> workers) {
    const std::set<std::size_t> chosen(workers.begin(), workers.end());
    const std::size_t fixed =
        replays_.Ask([&](std::size_t, std::size_t worker) { return !chosen.contains(worker); });
    const std::size_t alone =
        replays_.Ask([&](std::size_t, std::size_t worker) { return chosen.contains(worker); });
    replays_.Run(threads_);
    SlowdownShare share{.workers = std::move(workers),
                        .fixed_ns = replays_.MeanNs(fixed),
                        .alone_ns = replays_.MeanNs(alone),
                        .removed = {},
                        .added = {}};
    const double lost_ns = result_.nodelay_ns - result_.ideal_ns;
    if (lost_ns != 0) {
      share.removed = (result_.nodelay_ns - share.fixed_ns) / lost_ns;
      share.added = (share.alone_ns - result_.ideal_ns) / lost_ns;
    }
    return share;
  }

  const OperationSteps& operations_;
  int threads_;
  Replays replays_;
  StragglerSlowdown result_;
  std::vector<std::size_t> of_class_;
  std::vector<std::size_t> of_stage_;
  std::vector<std::size_t> of_dp_rank_;
  std::map<std::size_t, std::size_t> of_worker_;
};

}  // namespace

const std::string& StragglerSlowdown::WorstClass() const {
  const auto worst = std::ranges::max_element(by_class) - by_class.begin();
  return classes[static_cast<std::size_t>(worst)];
}

const StragglerWorker& StragglerSlowdown::WorstWorker() const {
  return workers[worst_workers.workers.front()];
}

Result<StragglerSlowdown> MeasureStragglers(const OperationSteps& operations, int threads) {
  ORRERY_CHECK(!operations.steps.empty() && !operations.workers.empty(), "there is a step");
  return SlowdownMeasurement(operations, threads).Run();
}

std::int64_t MeanNs(const std::vector<std::int64_t>& values_ns) {
  std::int64_t sum_ns = 0;
  for (const std::int64_t value_ns : values_ns) {
    sum_ns += value_ns;
  }
  return std::llround(static_cast<double>(sum_ns) / static_cast<double>(values_ns.size()));
}

void RemoveDelays(DependencyGraph& graph) {
  for (NodeId node = 1; node < graph.num_nodes(); ++node) {
    graph.time_ns[node] = graph.ExplainedNs(node);
  }
}

}  // namespace orrery::analyze
