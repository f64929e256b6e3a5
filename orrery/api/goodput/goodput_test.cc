#include "orrery/api/goodput.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace {

using testing::HasSubstr;

constexpr const char* kJob =
    "{model: gpt2, training: {sequence: 128, global_batch: 64}, gpus: 16, cluster: DGX H100}";

GoodputRequest SmallRequest() {
  return {.job_yaml = kJob, .step_time = "2s", .runs = 10, .threads = 1};
}

TEST(GoodputTest, ProductiveAndLostTimeAddUpToTheWindow) {
  const auto result = Goodput(Session(), SmallRequest());
  ASSERT_TRUE(result) << result.error().message();

  double sum_s = result->productive_s;
  for (const auto& [cause, lost_s] : result->lost) {
    sum_s += lost_s;
  }
  EXPECT_NEAR(sum_s, result->window_s, 1e-3);
  EXPECT_EQ(result->step_time_s, 2);
  EXPECT_FALSE(result->step_is_simulated);
  EXPECT_EQ(result->gpus, 16);
  EXPECT_EQ(result->runs, 10);
}

TEST(GoodputTest, TheDocumentHasTheFieldsOfTheResult) {
  const auto result = Goodput(Session(), SmallRequest());
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_TRUE(MakeDocument(*result).data == ToObject(*result));
}

TEST(GoodputTest, ARequestHasOneJobAndOneSourceOfRates) {
  GoodputRequest request = SmallRequest();
  request.job = "job.yaml";
  EXPECT_THAT(Goodput(Session(), request).error().message(), HasSubstr("job.yaml is one too many"));
  EXPECT_THAT(Goodput(Session(), {}).error().message(), HasSubstr("JOB is required"));
  request = SmallRequest();
  request.node_mtbf = "20d";
  request.failures = "rsc-1";
  EXPECT_THAT(Goodput(Session(), request).error().message(), HasSubstr("leave one out"));
}

}  // namespace
}  // namespace orrery::api
