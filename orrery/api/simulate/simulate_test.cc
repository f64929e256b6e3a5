#include "orrery/api/simulate.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace {

constexpr const char* kJob = R"(model: llama3-8b
training: {sequence: 1024, micro_batch: 1, global_batch: 16, precision: bf16}
plan: {tp: 2, pp: 2}
cluster: DGX H100
gpus: 8
framework: megatron-lm
)";

SimulateRequest RequestFor(std::string yaml) {
  SimulateRequest request;
  request.job_yaml = std::move(yaml);
  return request;
}

TEST(SimulateTest, AJobThatIsTextHasATypedResult) {
  const Session session;
  const Result<SimulateResult> result = Simulate(session, RequestFor(kJob));

  ASSERT_TRUE(result) << result.error().message();
  EXPECT_GT(result->step_time_s, 0);
  EXPECT_EQ(result->ranks, 8);
  ASSERT_TRUE(result->breakdown_s);
  double sum = 0;
  for (const auto& [part, seconds] : *result->breakdown_s) {
    sum += seconds;
  }
  EXPECT_NEAR(sum, result->step_time_s, 1e-9 * result->step_time_s);
}

// The JSON of a result has the same numbers as its members.
TEST(SimulateTest, TheJsonIsThatOfTheFields) {
  const Session session;
  const Result<SimulateResult> result = Simulate(session, RequestFor(kJob));
  ASSERT_TRUE(result);

  const Value data = MakeDocument(*result).data;
  EXPECT_EQ(*data.Find("step_time_s"), Value(result->step_time_s));
  EXPECT_EQ(*data.Find("ranks"), Value(std::int64_t{8}));
}

TEST(SimulateTest, StepOnlyIsTheSameStep) {
  const Session session;
  SimulateRequest request = RequestFor(kJob);
  const Result<SimulateResult> whole = Simulate(session, request);
  request.step_only = true;
  const Result<SimulateResult> step = Simulate(session, request);

  ASSERT_TRUE(whole && step);
  EXPECT_EQ(step->step_time_s, whole->step_time_s);
  EXPECT_FALSE(step->breakdown_s);
}

TEST(SimulateTest, ASecondCallOfTheSessionAnswersTheSame) {
  const Session session;
  const Result<SimulateResult> first = Simulate(session, RequestFor(kJob));
  const Result<SimulateResult> second = Simulate(session, RequestFor(kJob));

  ASSERT_TRUE(first && second);
  EXPECT_EQ(ToObject(*first), ToObject(*second));
}

TEST(SimulateTest, ACancelledCallFails) {
  const Session session;
  const std::atomic<bool> stop = true;
  SimulateRequest request = RequestFor(kJob);
  request.call.stop = &stop;

  const Result<SimulateResult> result = Simulate(session, request);

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "the call was cancelled");
}

TEST(SimulateTest, WordsOfTheRequestAreChecked) {
  const Session session;
  SimulateRequest request = RequestFor(kJob);
  request.network = "sideways";
  EXPECT_FALSE(Simulate(session, request));
  request.network = "";
  request.overlap = "some";
  EXPECT_FALSE(Simulate(session, request));
  EXPECT_FALSE(Simulate(session, SimulateRequest{}));
}

}  // namespace
}  // namespace orrery::api
