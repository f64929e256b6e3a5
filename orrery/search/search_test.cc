#include "orrery/search/search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/search/space.h"
#include "orrery/simulate/simulation.h"

namespace orrery::search {
namespace {

// Values of some keys, by random; the same for all orders of dimensions.
std::string RandomSection(bool has_experts) {
  std::string section = "search:\n";
  const auto add = [&](const std::string& key, const std::vector<std::string>& values) {
    const auto count = *rc::gen::inRange<std::size_t>(1, values.size() + 1);
    section += "  " + key + ": [";
    for (std::size_t i = 0; i < count; ++i) {
      section += (i > 0 ? ", " : "") + values[i];
    }
    section += "]\n";
  };
  add("plan.tp", {"2", "8", "4"});
  add("plan.pp", {"1", "2", "8"});
  add("plan.schedule", {"1f1b", "interleaved", "zb-h1"});
  add("plan.chunks", {"2", "4"});
  add("plan.sharding", {"zero1", "zero3"});
  add("plan.recompute", {"none", "full"});
  add("training.micro_batch", {"1", "4"});
  if (has_experts) {
    add("plan.ep", {"1", "2"});
  }
  // Enough for some plans and not for all.
  section += "  memory_share: " + *rc::gen::elementOf(std::vector<std::string>{"1", "0.05"}) + "\n";
  return section;
}

// Simulates all plans and sorts them.
std::vector<PlanId> BruteForce(const PlanEvaluation& evaluation, const SearchOptions& options) {
  const Space& space = evaluation.space();
  std::vector<std::pair<double, PlanId>> fitting;
  Space::Walk walk(space, 0, space.num_ids());
  while (walk.Next()) {
    const SimulatedPlan simulated = evaluation.Simulate(walk.id());
    if (simulated.refusal.empty() &&
        static_cast<double>(simulated.memory_bytes) <=
            static_cast<double>(simulated.usable_bytes) * space.memory_share()) {
      fitting.emplace_back(ObjectiveOf(simulated, walk.job(), options), walk.id());
    }
  }
  std::ranges::sort(fitting);
  std::vector<PlanId> ids;
  for (std::size_t i = 0; i < std::min(fitting.size(), options.keep); ++i) {
    ids.push_back(fitting[i].second);
  }
  return ids;
}

std::vector<PlanId> IdsOf(const SearchResult& result) {
  std::vector<PlanId> ids;
  for (const RankedPlan& ranked : result.best) {
    ids.push_back(ranked.bounded.id);
  }
  return ids;
}

RC_GTEST_PROP(SearchProperty, FindsWhatBruteForceFinds, ()) {
  const bool has_experts = *rc::gen::arbitrary<bool>();
  const auto framework =
      *rc::gen::elementOf(std::vector<std::string>{"megatron-lm", "nemo", "torch-fsdp"});
  const Result<Space> space =
      SmallSpace(SmallJobText(framework, has_experts, RandomSection(has_experts)));
  RC_ASSERT(space.has_value());
  const RooflineCosts costs;
  PlanEvaluation evaluation(*space, costs, {});
  SearchOptions options;
  options.keep = *rc::gen::inRange<std::size_t>(1, 5);
  options.objective = *rc::gen::element(Objective::kStep, Objective::kEnergy);
  ThreadDealer dealer(*rc::gen::inRange(1, 3));
  const Result<SearchResult> result = Search(evaluation, dealer, options);
  RC_ASSERT(result.has_value());
  RC_ASSERT(IdsOf(*result) == BruteForce(evaluation, options));
  RC_ASSERT(result->considered ==
            result->pruned_by_memory + result->pruned_by_bound + result->simulated.size());
  RC_CLASSIFY(result->pruned_by_bound > 0, "pruned by bound");
  RC_CLASSIFY(result->pruned_by_memory > 0, "pruned by memory");
}

class SearchTest : public testing::Test {
 protected:
  static SearchResult ResultOf(const std::string& section, const SearchOptions& options,
                               int threads) {
    const Result<Space> space = SmallSpace(SmallJobText("megatron-lm", false, section));
    EXPECT_TRUE(space.has_value()) << (space ? "" : space.error().message());
    const RooflineCosts costs;
    PlanEvaluation evaluation(*space, costs, {});
    ThreadDealer dealer(threads);
    return Search(evaluation, dealer, options).value();
  }
};

constexpr const char* kSection =
    "search: {plan.tp: [1, 2, 4, 8], plan.pp: [1, 2, 4], plan.sharding: [none, zero1, zero3]}\n";

TEST_F(SearchTest, CountsAreTheSameForAnyNumberOfThreads) {
  const SearchResult one = ResultOf(kSection, {.keep = 3}, 1);
  const SearchResult two = ResultOf(kSection, {.keep = 3}, 2);
  EXPECT_EQ(IdsOf(one), IdsOf(two));
  EXPECT_EQ(one.simulated.size(), two.simulated.size());
  EXPECT_EQ(one.pruned_by_bound, two.pruned_by_bound);
  EXPECT_EQ(one.decided_share, 1);
}

// 4 · 3 · 3 combinations. 16 GPUs have no tp 8 with pp 4 (3 of them), and one replica with tp 8 and
// pp 2 or tp 4 and pp 4, of which sharding changes nothing (2 each).
TEST_F(SearchTest, ConsidersAllCombinations) {
  const SearchResult result = ResultOf(kSection, {.keep = 1}, 1);
  EXPECT_EQ(result.considered, 29U);
}

// A step on 8 GPUs is longer than all that are kept of 16, and its best plan is simulated anyway.
TEST_F(SearchTest, FindsTheBestPlanOfEachNumberOfGpus) {
  const Result<Space> space = Space::Of(
      {.text = {.yaml = SmallJobText("megatron-lm", false, kSection), .place = "job.yaml"},
       .gpus = {"8", "16"}});
  ASSERT_TRUE(space.has_value()) << space.error().message();
  const RooflineCosts costs;
  PlanEvaluation evaluation(*space, costs, {});
  ThreadDealer dealer(1);
  const SearchResult result = Search(evaluation, dealer, {.keep = 1}).value();
  std::vector<std::int64_t> simulated_ps(2, std::numeric_limits<std::int64_t>::max());
  std::vector<std::int64_t> all_ps = simulated_ps;
  for (const RankedPlan& ranked : result.simulated) {
    std::int64_t& best_ps = simulated_ps[ranked.bounded.base];
    best_ps = std::min(best_ps, ranked.simulated.step_ps);
  }
  Space::Walk walk(*space, 0, space->num_ids());
  while (walk.Next()) {
    all_ps[walk.base()] = std::min(all_ps[walk.base()], evaluation.Simulate(walk.id()).step_ps);
  }
  EXPECT_EQ(simulated_ps, all_ps);
  EXPECT_LT(result.simulated.size(), result.considered);
}

// Two ranges are bounded, and their plans are simulated.
TEST_F(SearchTest, SimulatesPlansWhenBoundingEndsEarly) {
  int asked = 0;
  SearchOptions options{.keep = 1};
  options.ends_bounding = [&] { return ++asked >= 2; };
  const SearchResult result = ResultOf(kSection, options, 1);
  EXPECT_LT(result.bounded_share, 1);
  EXPECT_LT(result.decided_share, 1);
  EXPECT_EQ(result.best.size(), 1U);
}

TEST_F(SearchTest, EndsEarlyAndSaysHowFarItGot) {
  int asked = 0;
  SearchOptions options{.keep = 1};
  options.is_over = [&] { return ++asked > 2; };
  const SearchResult result = ResultOf(kSection, options, 1);
  EXPECT_LT(result.decided_share, 1);
}

}  // namespace
}  // namespace orrery::search
