#include <cstdint>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/goodput/answer.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000'000;

workload::Job SmallJob() {
  const auto file = workload::ReadJob(
      {.yaml = "{model: gpt2, training: {sequence: 128, global_batch: 64}, gpus: 16, "
               "cluster: DGX H100}",
       .place = "job"});
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
  return file->job;
}

std::string Failure(const GoodputRequest& arguments) {
  const workload::Job job = SmallJob();
  const auto setting = SettingOf(arguments, {.job = &job, .step_ps = kSecond});
  return setting ? "read" : setting.error().message();
}

TEST(GoodputOptionsTest, DefaultsAreSaid) {
  const workload::Job job = SmallJob();
  const auto setting = SettingOf({}, {.job = &job, .step_ps = kSecond});
  ASSERT_TRUE(setting.has_value()) << setting.error().message();

  EXPECT_EQ(setting->request.job.nodes, 2);
  EXPECT_EQ(setting->request.job.replicas, 16);
  EXPECT_EQ(setting->request.options.restart_ps, 480 * kSecond);
  EXPECT_EQ(setting->assumed.size(), 6U);  // planned interruptions among them
}

TEST(GoodputOptionsTest, WhatCannotBeIsOneSentence) {
  EXPECT_THAT(Failure({.node_mtbf = "0d"}), HasSubstr("must be above zero"));
  EXPECT_THAT(Failure({.storage = "0GB/s"}), HasSubstr("a rate above zero"));
  EXPECT_THAT(Failure({.storage = "200GB"}), HasSubstr("such as 200GB/s"));
  EXPECT_THAT(Failure({.checkpoint_size = "3TB", .storage_capacity = "5TB"}),
              HasSubstr("do not fit"));
  EXPECT_THAT(Failure({.checkpoint = "10s", .checkpoint_size = "30TB"}),
              HasSubstr("a checkpoint takes 2.5 min, longer than its interval"));
  EXPECT_THAT(Failure({.checkpoint = "soon"}), HasSubstr("--checkpoint: 'soon' is not a time"));
  EXPECT_THAT(Failure({.spares = "many"}), HasSubstr("--spares many"));
  EXPECT_THAT(Failure({.slow_nodes = "200d:0.5:1h"}), HasSubstr("200d:1.3:1h"));
  EXPECT_THAT(Failure({.failures = "absent.yaml"}), HasSubstr("absent.yaml"));
}

TEST(GoodputOptionsTest, PricesAreOfAllGpusOrByName) {
  const workload::Job job = SmallJob();
  EXPECT_EQ(DollarsPerHour("2.5", job, 8).value(), std::optional(60.0));
  EXPECT_EQ(DollarsPerHour("H100=2,A100-80GB=1", job, 0).value(), std::optional(32.0));
  EXPECT_EQ(DollarsPerHour("", job, 0).value(), std::nullopt);
  EXPECT_THAT(DollarsPerHour("A100-80GB=1", job, 0).error().message(),
              HasSubstr("no entry for H100"));
  EXPECT_THAT(DollarsPerHour("cheap", job, 0).error().message(), HasSubstr("--price cheap"));
}

}  // namespace
}  // namespace orrery::api
