#include "orrery/simulate/goodput/failure_rates.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::simulate {
namespace {

using testing::HasSubstr;

constexpr double kDay = 86'400;
constexpr UnitCounts kLlama{.gpus = 16'384, .nics = 16'384, .nodes = 2'048};

std::string Failure(const std::string& yaml) {
  const auto read = ReadFailureRates(yaml, "mine.yaml");
  return read ? "read" : read.error().message();
}

std::string OneCause(const std::string& rate) {
  return "sets: [{name: mine, repair: 1d, causes: [{name: any, part: node, per: node, " + rate +
         "}]}]";
}

// Of 466 interruptions 47 were planned.
TEST(FailureRatesTest, DefaultsAreTheUnexpectedInterruptionsOfLlama3) {
  const FailureRates& llama = ShippedFailureRates().front();
  EXPECT_NEAR(FailuresOf(llama, kLlama).per_s() * 54 * kDay, 419, 1e-9);
  EXPECT_NEAR(PlannedPerSecond(llama, kLlama) * 54 * kDay, 47, 1e-9);
}

TEST(FailureRatesTest, WhatIsPlannedIsNoFailure) {
  const auto read = ReadFailureRates(
      "sets: [{name: mine, repair: 1d, causes: [{name: a, part: node, per: job, mtbf: 10d}, "
      "{name: b, part: software, per: job, mtbf: 5d, planned: true}]}]",
      "mine.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_NEAR(FailuresOf(read->front(), {}).per_s() * kDay, 0.1, 1e-12);
  EXPECT_NEAR(PlannedPerSecond(read->front(), {}) * kDay, 0.2, 1e-12);
  EXPECT_THAT(Failure(OneCause("mtbf: 1d, planned: true")), HasSubstr("not planned"));
}

// The paper projects 1.8 h for 16,384 GPUs and 0.23 h for 131,072 on RSC-1.
TEST(FailureRatesTest, RscReproducesTheProjectedTimesToFailure) {
  const FailureRates& rsc = ShippedFailureRates()[1];
  ASSERT_EQ(rsc.name, "rsc-1");
  EXPECT_NEAR(1 / FailuresOf(rsc, kLlama).per_s() / 3'600, 1.8, 0.01);
  EXPECT_NEAR(1 / FailuresOf(rsc, {.nodes = 16'384}).per_s() / 3'600, 0.23, 0.006);
}

TEST(FailureRatesTest, RatesAreCountsRatesOrTimesBetweenFailures) {
  const std::string yaml =
      "sets: [{name: mine, observed: {gpus: 100, days: 10}, repair: 4h, causes: ["
      "{name: a, part: gpu, per: gpu, count: 5}, {name: b, part: nic, per: nic, mtbf: 500d},"
      "{name: c, part: switch, per: job, per_1000_days: 20, nodes_lost: 2}]}]";
  const auto read = ReadFailureRates(yaml, "mine.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->front().repair_s, 4 * 3'600);

  const JobFailures failures =
      FailuresOf(read->front(), {.gpus = 1'000, .nics = 250, .nodes = 125});

  // 5 of 1,000 GPU-days; one of 500 NIC-days; 20 of 1,000 days.
  EXPECT_NEAR(failures.causes[0].per_s * kDay, 5, 1e-12);
  EXPECT_NEAR(failures.causes[1].per_s * kDay, 0.5, 1e-12);
  EXPECT_NEAR(failures.causes[2].per_s * kDay, 0.02, 1e-12);
  EXPECT_EQ(failures.causes[2].nodes_lost, 2);
}

TEST(FailureRatesTest, ScalingKeepsTheProportions) {
  const JobFailures failures = FailuresOf(ShippedFailureRates().front(), kLlama);
  const JobFailures scaled = ScaledTo(failures, 1e-3);
  EXPECT_NEAR(scaled.per_s(), 1e-3, 1e-15);
  EXPECT_NEAR(scaled.causes[0].per_s / scaled.per_s(), 148.0 / 419, 1e-12);
}

TEST(FailureRatesTest, AZeroRateIsRefused) {
  EXPECT_THAT(Failure(OneCause("mtbf: 0d")), HasSubstr("mtbf must be a time above zero"));
  EXPECT_THAT(Failure(OneCause("per_1000_days: 0")), HasSubstr("per_1000_days"));
  EXPECT_THAT(Failure(OneCause("count: 3")), HasSubstr("needs `observed`"));
  EXPECT_THAT(Failure(OneCause("mtbf: 3")), HasSubstr("such as 1d"));
}

TEST(FailureRatesTest, WhatIsNoFileOfRatesIsRefused) {
  EXPECT_THAT(Failure("sets: []"), HasSubstr("mine.yaml: sets must have at least one"));
  EXPECT_THAT(Failure("[1, 2]"), HasSubstr("mine.yaml"));
  EXPECT_THAT(Failure("{sets: ["), HasSubstr("mine.yaml"));
  EXPECT_THAT(Failure(OneCause("mtbf: 3d, colour: red")), HasSubstr("colour"));
}

TEST(FailureRatesTest, ALogIsReadInOrderOfTime) {
  const auto log = ReadFailureLog(
      "time_s,cause,part,nodes_lost\n7200,HBM,gpu,1\n3600,bug,software,0\n9000,HBM,gpu,1\n");
  ASSERT_TRUE(log.has_value()) << log.error().message();
  ASSERT_EQ(log->log.size(), 3U);
  EXPECT_EQ(log->log[0].at_s, 3'600);
  EXPECT_EQ(log->causes[log->log[0].cause].part, FailedPart::kSoftware);
  EXPECT_EQ(log->log[1].cause, log->log[2].cause);
  EXPECT_EQ(log->causes[log->log[1].cause].nodes_lost, 1);
}

TEST(FailureRatesTest, ALogNamesWhatItCannotUse) {
  EXPECT_THAT(ReadFailureLog("when\n3\n").error().message(), HasSubstr("column when"));
  EXPECT_THAT(ReadFailureLog("cause\nx\n").error().message(), HasSubstr("time_s is missing"));
  EXPECT_THAT(ReadFailureLog("time_s\n1\n-2\n").error().message(), HasSubstr("line 3"));
  EXPECT_THAT(ReadFailureLog("time_s,part\n1,fan\n").error().message(), HasSubstr("not fan"));
}

}  // namespace
}  // namespace orrery::simulate
