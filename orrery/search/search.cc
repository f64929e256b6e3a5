#include "orrery/search/search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/search/open_plans.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::search {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kSecondsOfHour = 3600;
constexpr PlanId kMostRanges = 4096;
constexpr std::size_t kMostTogether = 32;  // plans that are simulated before the bar is lowered
constexpr std::size_t kRefinedTogether = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Tokens of a step; samples of a model without tokens.
double ItemsOf(const workload::Job& job) {
  return static_cast<double>(job.training.global_batch) *
         static_cast<double>(std::max<std::int64_t>(job.training.sequence, 1));
}

double ObjectiveValue(double step_s, double joules, const workload::Job& base,
                      const SearchOptions& options) {
  switch (options.objective) {
    case Objective::kStep:
      return step_s;
    case Objective::kTokensPerGpu:
      return step_s * base.gpus / ItemsOf(base);
    case Objective::kDollars: {
      const auto price = options.prices.find(base.gpu.name);
      const double an_hour = price == options.prices.end() ? 0 : price->second;
      return step_s * base.gpus * an_hour / kSecondsOfHour / ItemsOf(base);
    }
    case Objective::kEnergy:
      return joules / ItemsOf(base);
  }
  return step_s;
}

// For each base, the index of the first one with the same cluster and number of GPUs.
std::vector<std::size_t> MachinesOf(const Space& space) {
  const auto machine = [](const workload::JobFile& base) {
    return std::tuple(base.job.gpus, std::string_view(base.job.cluster.name),
                      std::string_view(base.job.gpu.name));
  };
  std::vector<std::size_t> machines;
  for (const workload::JobFile& base : space.bases()) {
    const auto first = std::ranges::find(space.bases(), machine(base), machine);
    machines.push_back(static_cast<std::size_t>(first - space.bases().begin()));
  }
  return machines;
}

/// Ends a Run early.
tl::unexpected<Error> Stopped() {
  return Fail(Error::Kind::kUnsupported, "the time of the search is over");
}

class SearchRun {
 public:
  SearchRun(PlanEvaluation& evaluation, WorkDealer& dealer, const SearchOptions& options)
      : evaluation_(evaluation),
        space_(evaluation.space()),
        dealer_(dealer),
        options_(options),
        machine_of_base_(MachinesOf(space_)),
        best_of_machine_(space_.bases().size(), kInfinity) {}

  Result<SearchResult> Run() {
    ORRERY_TRY_STATUS(BoundAll());
    OpenPlans open(
        std::exchange(bounded_, {}),
        [this](const std::vector<OpenPlan>& plans) { return Refine(plans); },
        [this](const OpenPlan& plan) { return BarOf(plan); });
    ORRERY_TRY_STATUS(SimulateByBound(open));
    Finish(open);
    ORRERY_TRY_STATUS(AddDetails());
    return std::move(result_);
  }

 private:
  struct Range {
    PlanId first = 0;
    PlanId last = 0;
  };

  [[nodiscard]] bool IsOver() {
    is_over_ = is_over_ || (options_.is_over && options_.is_over());
    return is_over_;
  }

  // Ranges of whole blocks of layers, so that no two threads price the same ones.
  [[nodiscard]] std::vector<Range> Ranges() const {
    const PlanId blocks = (space_.num_ids() + space_.layer_block() - 1) / space_.layer_block();
    const PlanId size = space_.layer_block() * ((blocks + kMostRanges - 1) / kMostRanges);
    std::vector<Range> ranges;
    for (PlanId first = 0; first < space_.num_ids(); first += size) {
      ranges.push_back({first, std::min(first + size, space_.num_ids())});
    }
    return ranges;
  }

  Status BoundAll() {
    const std::vector<Range> ranges = Ranges();
    std::vector<std::optional<PlanBounds>> bounds_of_ranges(ranges.size());
    std::vector<std::size_t> missing;
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (options_.store != nullptr) {
        ORRERY_TRY(bounds_of_ranges[i],
                   options_.store->FindBounds(ranges[i].first, ranges[i].last));
      }
      if (bounds_of_ranges[i]) {
        ORRERY_TRY_STATUS(CheckPlans(*bounds_of_ranges[i], ranges[i]));
        progress_.ids_bounded += ranges[i].last - ranges[i].first;
        progress_.considered += bounds_of_ranges[i]->considered;
      } else {
        missing.push_back(i);
      }
    }
    if (options_.ends_bounding) {
      // If bounding ends early, the bounded ids are spread over all parts of the space.
      std::ranges::sort(missing, {}, [](std::size_t i) { return MixBits(i); });
    }
    for (const std::size_t i : missing) {
      requests.push_back(PlanEvaluation::BoundRequest(ranges[i].first, ranges[i].last));
    }
    progress_.num_ids = space_.num_ids();
    Status run = dealer_.Run(
        requests, evaluation_.work(), [&](std::size_t index, Result<std::string> answer) -> Status {
          ORRERY_TRY(const std::string bytes, std::move(answer));
          const Range& range = ranges[missing[index]];
          ORRERY_TRY(bounds_of_ranges[missing[index]], DecodeBounds(bytes));
          ORRERY_TRY_STATUS(CheckPlans(*bounds_of_ranges[missing[index]], range));
          const PlanBounds& plan_bounds = *bounds_of_ranges[missing[index]];
          if (options_.store != nullptr) {
            ORRERY_TRY_STATUS(options_.store->Keep(range.first, range.last, plan_bounds));
          }
          progress_.ids_bounded += range.last - range.first;
          progress_.considered += plan_bounds.considered;
          Report();
          bounding_ends_ = options_.ends_bounding && options_.ends_bounding();
          return bounding_ends_ || IsOver() ? Status(Stopped()) : Status();
        });
    if (!run && !is_over_ && !bounding_ends_) {
      return run;
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (bounds_of_ranges[i]) {
        Add(*bounds_of_ranges[i]);
      }
      ids_bounded_ += bounds_of_ranges[i] ? ranges[i].last - ranges[i].first : 0;
    }
    return {};
  }

  // They come from a file or from other processes.
  [[nodiscard]] Status CheckPlans(const PlanBounds& plan_bounds, const Range& range) const {
    const auto is_possible = [&](const BoundedPlan& plan) {
      return plan.id >= range.first && plan.id < range.last && plan.base < space_.bases().size();
    };
    return std::ranges::all_of(plan_bounds.plans, is_possible) &&
                   plan_bounds.smallest.base < space_.bases().size()
               ? Status()
               : Invalid("bounds of plans {} to {} name plans that are none of the space",
                         range.first, range.last);
  }

  void Add(const PlanBounds& plan_bounds) {
    if (plan_bounds.considered > 0 &&
        (result_.considered == 0 ||
         plan_bounds.smallest.memory_bytes < result_.smallest.memory_bytes)) {
      result_.smallest = plan_bounds.smallest;
    }
    result_.considered += plan_bounds.considered;
    result_.refused += plan_bounds.refused;
    result_.pruned_by_memory += plan_bounds.too_large;
    if (result_.first_refusal.empty()) {
      result_.first_refusal = plan_bounds.first_refusal;
    }
    for (const BoundedPlan& bounded : plan_bounds.plans) {
      bounded_.push_back({bounded, BoundOf(bounded)});
    }
  }

  [[nodiscard]] const workload::Job& BaseOf(const BoundedPlan& bounded) const {
    return space_.bases()[bounded.base].job;
  }

  // Of the objective.
  [[nodiscard]] double BoundOf(const BoundedPlan& bounded) const {
    return ObjectiveValue(static_cast<double>(bounded.bound_ps) / kPicoseconds,
                          bounded.bound_joules, BaseOf(bounded), options_);
  }

  Result<std::vector<OpenPlan>> Refine(const std::vector<OpenPlan>& plans) {
    // Neighbours in the space share layers.
    std::vector<std::size_t> by_id(plans.size());
    std::iota(by_id.begin(), by_id.end(), 0);
    std::ranges::sort(by_id, {}, [&](std::size_t i) { return plans[i].bounded.id; });
    std::vector<std::string> requests;
    for (std::size_t first = 0; first < by_id.size(); first += kRefinedTogether) {
      BoundedPlans together;
      for (std::size_t i = first; i < std::min(first + kRefinedTogether, by_id.size()); ++i) {
        together.push_back(plans[by_id[i]].bounded);
      }
      requests.push_back(PlanEvaluation::RefineRequest(together));
    }
    std::vector<OpenPlan> refined = plans;
    ORRERY_TRY_STATUS(dealer_.Run(
        requests, evaluation_.work(), [&](std::size_t index, Result<std::string> answer) -> Status {
          ORRERY_TRY(const std::string bytes, std::move(answer));
          ORRERY_TRY(const BoundedPlans together, DecodeBoundedPlans(bytes));
          for (std::size_t i = 0; i < together.size(); ++i) {
            OpenPlan& plan = refined[by_id[index * kRefinedTogether + i]];
            plan = {together[i], BoundOf(together[i])};
          }
          return {};
        }));
    return refined;
  }

  // The worst of those that are kept; a plan with a larger bound is not among them.
  [[nodiscard]] double Bar() const {
    return kept_.size() < options_.keep ? kInfinity : kept_.rbegin()->first;
  }

  // The same for a plan on one of several machines. The best plan of each is looked for in any
  // case: who asks for several numbers of GPUs wants to know what each of them gives.
  [[nodiscard]] double BarOf(const OpenPlan& plan) const {
    return std::max(Bar(), best_of_machine_[machine_of_base_[plan.bounded.base]]);
  }

  // Plans are simulated in the order of their bounds. In parallel more may be simulated than one
  // after the other would need: those that do not count are dropped.
  Status SimulateByBound(OpenPlans& open) {
    while (!IsOver()) {
      const std::size_t wave = NumSimulatedTogether();
      std::vector<OpenPlan> plans;
      while (plans.size() < wave) {
        ORRERY_TRY(const std::optional<OpenPlan> plan, open.At(place_ + plans.size()));
        if (!plan) {
          break;
        }
        plans.push_back(*plan);
      }
      if (plans.empty()) {
        return {};
      }
      ORRERY_TRY_STATUS(SimulateWave(plans, open));
    }
    return {};
  }

  // All workers have something to do; and as many as are kept are simulated in any case.
  [[nodiscard]] std::size_t NumSimulatedTogether() const {
    const auto workers = static_cast<std::size_t>(dealer_.num_workers());
    return std::max(2 * workers, std::min(options_.keep - kept_.size(), kMostTogether));
  }

  [[nodiscard]] std::size_t num_simulated() const { return result_.simulated.size(); }

  Status SimulateWave(const std::vector<OpenPlan>& plans, const OpenPlans& open) {
    std::vector<std::optional<SimulatedPlan>> answers(plans.size());
    ORRERY_TRY_STATUS(Simulate(plans, open, answers));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!answers[i]) {
        return {};
      }
      ++place_;
      if (plans[i].bound <= BarOf(plans[i])) {
        Count(plans[i], *std::move(answers[i]));
      }
    }
    return {};
  }

  Status Simulate(const std::vector<OpenPlan>& plans, const OpenPlans& open,
                  std::vector<std::optional<SimulatedPlan>>& answers) {
    std::vector<std::size_t> missing;
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const PlanId id = plans[i].bounded.id;
      if (options_.store != nullptr) {
        ORRERY_TRY(answers[i], options_.store->FindSimulatedPlan(id));
      }
      if (answers[i]) {
        ++progress_.simulated;
      } else {
        missing.push_back(i);
        requests.push_back(
            PlanEvaluation::SimulationRequest(id, {.details_up_to_ps = LongestKeptPs(plans[i])}));
      }
    }
    const Status run = dealer_.Run(
        requests, evaluation_.work(), [&](std::size_t index, Result<std::string> answer) -> Status {
          ORRERY_TRY(const std::string bytes, std::move(answer));
          std::optional<SimulatedPlan>& simulated = answers[missing[index]];
          ORRERY_TRY(simulated, DecodeSimulatedPlan(bytes));
          if (options_.store != nullptr) {
            ORRERY_TRY_STATUS(
                options_.store->Keep(space_, plans[missing[index]].bounded, *simulated));
          }
          ++progress_.simulated;
          Report(&open);
          return IsOver() ? Status(Stopped()) : Status();
        });
    return run || is_over_ ? Status() : run;
  }

  void Count(const OpenPlan& open, SimulatedPlan simulated) {
    RankedPlan ranked{.bounded = open.bounded, .simulated = std::move(simulated)};
    if (!ranked.simulated.refusal.empty()) {
      ++result_.failed;
      if (result_.first_failure.empty()) {
        result_.first_failure = ranked.simulated.refusal;
      }
      result_.simulated.push_back(std::move(ranked));
      return;
    }
    ranked.objective = ObjectiveOf(ranked.simulated, BaseOf(open.bounded), options_);
    const double limit = static_cast<double>(ranked.simulated.usable_bytes) * space_.memory_share();
    if (static_cast<double>(ranked.simulated.memory_bytes) > limit) {
      ++result_.too_large;
    } else {
      double& best = best_of_machine_[machine_of_base_[open.bounded.base]];
      best = std::min(best, ranked.objective);
      kept_.emplace(ranked.objective, open.bounded.id);
      if (kept_.size() > options_.keep) {
        kept_.erase(std::prev(kept_.end()));
      }
    }
    result_.simulated.push_back(std::move(ranked));
  }

  void Report(const OpenPlans* open = nullptr) {
    if (options_.progress) {
      progress_.open = open == nullptr ? 0 : num_simulated() + open->LeftFrom(place_).plans;
      options_.progress(progress_);
    }
  }

  void Finish(const OpenPlans& open) {
    for (const RankedPlan& ranked : result_.simulated) {
      if (kept_.contains({ranked.objective, ranked.bounded.id}) &&
          ranked.simulated.refusal.empty()) {
        result_.best.push_back(ranked);
      }
    }
    std::ranges::sort(result_.best, {}, [](const RankedPlan& ranked) {
      return std::pair(ranked.objective, ranked.bounded.id);
    });
    const OpenPlans::Left left = open.LeftFrom(place_);
    result_.open = left.plans;
    result_.best_open = left.smallest;
    result_.pruned_by_bound = open.size() - num_simulated() - left.plans;
    result_.bounded_share = static_cast<double>(ids_bounded_) /
                            static_cast<double>(std::max<PlanId>(space_.num_ids(), 1));
    const double decided = result_.considered > 0 ? 1 - static_cast<double>(result_.open) /
                                                            static_cast<double>(result_.considered)
                                                  : 1;
    result_.decided_share = result_.bounded_share * decided;
  }

  // A longer step is not among those that are kept; the objective of energy is not known by time.
  [[nodiscard]] std::int64_t LongestKeptPs(const OpenPlan& plan) const {
    const double of_second = ObjectiveValue(1, 0, BaseOf(plan.bounded), options_);
    const double longest_ps = of_second > 0 ? Bar() / of_second * kPicoseconds : 0;
    constexpr double kMargin = 1.001;  // rounding
    return of_second > 0 && longest_ps < static_cast<double>(kAlways) / 2
               ? std::llround(kMargin * longest_ps)
               : kAlways;
  }

  // Plans of a store may lack what tells where their time goes.
  Status AddDetails() {
    std::vector<RankedPlan*> missing;
    std::vector<std::string> requests;
    for (RankedPlan& ranked : result_.best) {
      if (!ranked.simulated.has_details()) {
        missing.push_back(&ranked);
        requests.push_back(
            PlanEvaluation::SimulationRequest(ranked.bounded.id, {.details_up_to_ps = kAlways}));
      }
    }
    return dealer_.Run(requests, evaluation_.work(),
                       [&](std::size_t index, Result<std::string> answer) -> Status {
                         ORRERY_TRY(const std::string bytes, std::move(answer));
                         ORRERY_TRY(missing[index]->simulated, DecodeSimulatedPlan(bytes));
                         return {};
                       });
  }

  PlanEvaluation& evaluation_;
  const Space& space_;
  WorkDealer& dealer_;
  const SearchOptions& options_;
  SearchResult result_;
  SearchProgress progress_;
  std::vector<OpenPlan> bounded_;  // until all are
  std::set<std::pair<double, PlanId>> kept_;
  std::vector<std::size_t> machine_of_base_;
  std::vector<double> best_of_machine_;  // of plans that fit
  std::size_t place_ = 0;                // in the order of open plans: those before it are decided
  PlanId ids_bounded_ = 0;
  bool bounding_ends_ = false;
  bool is_over_ = false;
};

}  // namespace

double ObjectiveOf(const SimulatedPlan& simulated, const workload::Job& base,
                   const SearchOptions& options) {
  return ObjectiveValue(static_cast<double>(simulated.step_ps) / kPicoseconds, simulated.joules,
                        base, options);
}

Result<SearchResult> Search(PlanEvaluation& evaluation, WorkDealer& dealer,
                            const SearchOptions& options) {
  return SearchRun(evaluation, dealer, options).Run();
}

}  // namespace orrery::search
