#include "orrery/simulate/goodput/checkpoint.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

TEST(CheckpointTest, HoldsWeightsMasterCopyAndMoments) {
  const auto file = workload::ReadJob(
      {.yaml = "{model: gpt2, training: {sequence: 128, global_batch: 1}, gpus: 1, gpu: H100}",
       .place = "job"});
  ASSERT_TRUE(file.has_value()) << file.error().message();

  // Mixed precision and Adam: 2 + 4 + 4 + 4 bytes of a parameter.
  EXPECT_EQ(CheckpointBytes(file->job).count, 14 * workload::TotalParameters(file->job.model));
}

TEST(CheckpointTest, BlockingWaitsForTheSlowerOfStorageAndHostLinks) {
  // 8 TB over 200 GB/s: 40 s; a share of 1 GB over 50 GB/s: 20 ms.
  CheckpointPath path{
      .size = {8'000'000'000'000}, .storage = {200e9}, .host_link = {50e9}, .gpus = 8'000};
  EXPECT_EQ(TimesOf(path), (CheckpointTimes{40 * kSecond, 0, 40 * kSecond}));

  // 1 TB a GPU over 50 GB/s: 20 s.
  path.gpus = 8;
  path.storage = {8e15};
  EXPECT_EQ(TimesOf(path), (CheckpointTimes{20 * kSecond, 0, 20 * kSecond}));
}

TEST(CheckpointTest, AsynchronousStallsForTheCopyToTheHost) {
  const CheckpointPath path{.size = {8'000'000'000'000},
                            .storage = {200e9},
                            .host_link = {50e9},
                            .gpus = 8'000,
                            .is_asynchronous = true};
  EXPECT_EQ(TimesOf(path), (CheckpointTimes{kSecond / 50, 40 * kSecond, 40 * kSecond}));
}

TEST(CheckpointTest, WithoutFailuresOnlyStallsAreLost) {
  EXPECT_DOUBLE_EQ(ExpectedEttr({.stall_s = 10, .down_s = 600}, 90), 0.9);
}

// λ = 1/1000, Δ = 100, s = 10, w = 20, R = 50:
// 100/1000 · e^(-0.07) / (e^0.11 - 1) = 0.1 · 0.932394 / 0.116278 = 0.801866.
TEST(CheckpointTest, ExpectedEttrOfARateByHand) {
  const RenewalModel model{.failures_per_s = 1e-3, .stall_s = 10, .write_s = 20, .down_s = 50};
  EXPECT_NEAR(ExpectedEttr(model, 100), 0.801866, 1e-6);
}

TEST(CheckpointTest, BestIntervalIsYoungsAndDalysWhereStallsAreShort) {
  for (const double mtbf_s : {3'600.0, 8'640.0, 86'400.0}) {
    for (const double share : {1e-5, 1e-4, 1e-3, 4e-3}) {
      const double stall_s = share * mtbf_s;
      const double best = BestIntervalSeconds({.failures_per_s = 1 / mtbf_s, .stall_s = stall_s});
      EXPECT_NEAR(YoungInterval(stall_s, mtbf_s) / best, 1, 0.05) << share;
      EXPECT_NEAR(DalyInterval(stall_s, mtbf_s) / best, 1, 0.001) << share;
    }
    // Daly's terms of higher order hold for long stalls too.
    const double stall_s = 0.2 * mtbf_s;
    const double best = BestIntervalSeconds({.failures_per_s = 1 / mtbf_s, .stall_s = stall_s});
    EXPECT_NEAR(DalyInterval(stall_s, mtbf_s) / best, 1, 0.05);
  }
}

TEST(CheckpointTest, NoOtherIntervalIsBetter) {
  const RenewalModel model{.failures_per_s = 1 / 9'000.0, .stall_s = 40, .down_s = 600};
  const double best = BestIntervalSeconds(model);
  for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
    EXPECT_LT(ExpectedEttr(model, factor * best), ExpectedEttr(model, best)) << factor;
  }
}

TEST(CheckpointTest, AsynchronousCheckpointsDoNotOvertakeEachOther) {
  EXPECT_DOUBLE_EQ(BestIntervalSeconds({.failures_per_s = 1e-4, .stall_s = 0.01, .write_s = 40}),
                   40.01);
}

// (1 - 512 · 6.5e-3 / 86,400 · (300 + 1,800)) / (1 + 120 / 3,600) = 0.919111 / 1.033333 = 0.889463.
TEST(CheckpointTest, KokolisByHand) {
  const RenewalModel model{.failures_per_s = 512 * 6.5e-3 / 86'400, .stall_s = 120, .down_s = 300};
  EXPECT_NEAR(KokolisEttr(model, 3'600), 0.889463, 1e-6);
}

}  // namespace
}  // namespace orrery::simulate
