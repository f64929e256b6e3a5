#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "orrery/compat/simai/workload.h"
#include "test_paths.h"

namespace orrery::compat::simai {
namespace {

constexpr Settings kExample{.machine = {.nvlink_gib_per_second = 360, .nic_gib_per_second = 48.5}};

std::array<std::int64_t, 8> MicrosecondsOf(const StepTimes& step) {
  const auto us = [](double nanoseconds) { return std::llround(nanoseconds / 1e3); };
  return {us(step.data_ns),     us(step.expert_data_ns), us(step.tensor_ns),  us(step.expert_ns),
          us(step.pipeline_ns), us(step.bubble_ns),      us(step.compute_ns), us(step.total_ns())};
}

// Two stages of one GPU pair each; two micro-batches. 1 GiB all-reduced over two ranks in a server
// at 100 GiB/s takes 2 · 1/2 · 10 ms = 10 ms. Data parallelism over two ranks has one rank of each
// of 2 "nodes" with 8 / 2 NICs of 50: 200 GiB/s, above NVLink, so it crosses: 100 · 4/3 for four
// groups a server. 1 GiB gathered by half: 1/2 / 133.33 s = 3.75 ms.
// Bubble: (2 - 1)/2 of all but the embedding: 10 ms + 3 ms + 2 ms, halved 7.5 ms.
TEST(SimaiSimulationTest, AStepByHand) {
  const Workload workload =
      ParseWorkload(
          "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 1 ga: 2 "
          "all_gpus: 8\n"
          "3\n"
          "embedding_layer -1 1000000 ALLREDUCE 1073741824 0 NONE 0 0 NONE 0 100\n"
          "attention -1 1000000 ALLREDUCE 1073741824 1000000 NONE 0 1000000 NONE 0 100\n"
          "grads -1 0 BROADCAST 4 2000000 NONE 0 0 ALLGATHER 1073741824 100\n")
          .value();
  const Settings setting{.machine = {.nvlink_gib_per_second = 100, .nic_gib_per_second = 50}};
  const StepTimes step = SimulateStep(workload, setting).value();
  EXPECT_EQ(MicrosecondsOf(step),
            (std::array<std::int64_t, 8>{3'750, 0, 20'000, 0, 0, 7'500, 6'000, 37'250}));
  EXPECT_EQ(step.num_free_calls, 1);
  EXPECT_EQ(StepText(step),
            "exposed DP            3750 us  10.07%\n"
            "exposed DP_EP            0 us   0.00%\n"
            "exposed TP           20000 us  53.69%\n"
            "exposed EP               0 us   0.00%\n"
            "exposed PP               0 us   0.00%\n"
            "bubble                7500 us  20.13%\n"
            "compute               6000 us  16.11%\n"
            "total                37250 us 100.00%\n");

  Settings hidden = setting;
  hidden.overlap.tensor = 0.25;
  EXPECT_EQ(MicrosecondsOf(SimulateStep(workload, hidden).value())[2], 15'000);
}

TEST(SimaiSimulationTest, PlansThatDoNotFitAreRejected) {
  const Workload workload =
      ParseWorkload(
          "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 16 all_gpus: 64\n"
          "1\ngrads -1 0 NONE 0 0 NONE 0 0 ALLGATHER_DP_EP 1073741824 100\n")
          .value();
  EXPECT_EQ(SimulateStep(workload, kExample).error().message(),
            "8 data-parallel ranks are too few for 16 groups of experts");
}

class SimaiExampleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) {
      GTEST_SKIP() << "the shared workloads are not here: " << folder_;
    }
    const auto workload = ReadWorkload(folder_ + "workload_analytical.txt.gz").value();
    step_ = SimulateStep(workload, kExample).value();
  }

  const std::string folder_ = ORRERY_SHARED "/workloads/simai/";
  StepTimes step_;
};

TEST_F(SimaiExampleTest, TheBreakdownMatchesSimai) {
  EXPECT_EQ(MicrosecondsOf(step_),
            (std::array<std::int64_t, 8>{40'332, 1'067'010, 326'686, 1'222'811, 0, 345'984,
                                         4'542'795, 7'545'619}));
}

}  // namespace
}  // namespace orrery::compat::simai
