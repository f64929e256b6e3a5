#include "orrery/api/search.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace {

using testing::Each;
using testing::Field;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kJob =
    "model: {hidden: 1024, layers: 4, heads: 16, ffn: 4096, vocabulary: 32000}\n"
    "training: {sequence: 1024, micro_batch: 1, global_batch: 16, precision: bf16}\n"
    "cluster: DGX H100\n"
    "gpus: 8\n"
    "framework: megatron-lm\n"
    "search: {plan.tp: [1, 2], training.micro_batch: [1, 2], plan.recompute: [none, full]}\n";

SearchRequest SmallRequest() {
  return {.job_yaml = kJob, .keep = 3, .no_reasons = true, .threads = 1};
}

TEST(SearchTest, TheBestPlanTakesAsLongAsSimulateSays) {
  const Session session;
  const auto found = Search(session, SmallRequest());
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_THAT(found->best, SizeIs(3));

  const auto step =
      Simulate(session, {.job_yaml = kJob, .job = {.settings = found->best.front().settings}});
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ(step->step_time_s, found->best.front().step_s);
  EXPECT_THAT(found->best, Each(Field(&SearchPlan::step_s, Ge(step->step_time_s))));
  EXPECT_EQ(found->considered, 8);  // 2 · 2 · 2, all of which divide the batch of 16
  EXPECT_EQ(found->pruned_by_memory + found->pruned_by_bound + found->simulated, 8);
  EXPECT_FALSE(found->IsPartial());
}

TEST(SearchTest, TheDocumentHasTheFieldsOfTheResult) {
  const auto found = Search(Session(), SmallRequest());
  ASSERT_TRUE(found) << found.error().message();

  EXPECT_TRUE(MakeDocument(*found).data == ToObject(*found));
}

TEST(SearchTest, NoPlanThatFitsIsAnAnswer) {
  SearchRequest request = SmallRequest();
  request.memory_reserve = 99;
  const auto found = Search(Session(), request);
  ASSERT_TRUE(found) << found.error().message();

  EXPECT_THAT(found->best, IsEmpty());
  ASSERT_TRUE(found->out_of_memory);
  EXPECT_THAT(*found->out_of_memory, HasSubstr("no plan fits"));
}

TEST(SearchTest, ASetFlagCancelsTheSearch) {
  const std::atomic<bool> stop = true;
  SearchRequest request = SmallRequest();
  request.call.stop = &stop;

  EXPECT_THAT(Search(Session(), request).error().message(), HasSubstr("cancelled"));
}

TEST(SearchTest, AnotherSessionResumesAStore) {
  const std::filesystem::path store = std::filesystem::temp_directory_path() /
                                      ("orrery_search_" + std::to_string(getpid()) + ".orrdb");
  std::filesystem::remove(store);
  SearchRequest request = SmallRequest();
  request.store = store;
  auto first = Search(Session(), request);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_THAT(Search(Session(), request).error().message(), HasSubstr("--resume"));
  request.resume = true;
  auto second = Search(Session(), request);
  ASSERT_TRUE(second) << second.error().message();
  first->seconds = second->seconds = 0;

  EXPECT_TRUE(ToObject(*first) == ToObject(*second));
  std::filesystem::remove(store);
  std::filesystem::remove(store.string() + ".lock");
}

TEST(SearchTest, MistakesAreNamed) {
  SearchRequest request = SmallRequest();
  request.objective = "speed";
  EXPECT_THAT(Search(Session(), request).error().message(),
              HasSubstr("--objective speed: write one of step, tokens_per_gpu, dollars, energy"));
  request = SmallRequest();
  request.job = "job.yaml";
  EXPECT_THAT(Search(Session(), request).error().message(), HasSubstr("job.yaml is one too many"));
  request = SmallRequest();
  request.emit = "megatron";
  request.plan = 4;
  EXPECT_THAT(Search(Session(), request).error().message(), HasSubstr("3 plans were kept"));
}

}  // namespace
}  // namespace orrery::api
