#include "orrery/simulate/explain/energy.h"

#include <optional>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"

namespace orrery::simulate {
namespace {

workload::Job TwoGpus() {
  workload::Job job;
  job.gpus = 2;
  job.gpu = *hardware::FindGpu("H200");
  return job;
}

TEST(StepEnergyTest, BusyAndWaitingTimeAddUp) {
  workload::GeneratedJob generated;
  generated.power = {{.clock = 0.8,
                      .busy_watts = 700,
                      .waiting_watts = 300,
                      .busy_seconds = 3,
                      .measured_on = "H200"}};

  // Two GPUs: 3 s of 700 W and 1 s of 300 W each.
  const std::optional<StepEnergy> energy = EnergyOf(TwoGpus(), generated, 4'000'000'000'000);

  ASSERT_TRUE(energy.has_value());
  EXPECT_DOUBLE_EQ(energy->joules, 4800);
  EXPECT_DOUBLE_EQ(energy->watts_of_gpu, 600);
  EXPECT_DOUBLE_EQ(energy->clock, 0.8);
  EXPECT_DOUBLE_EQ(energy->MonthKwh(2), 864);  // 1.2 kW · 720 h
}

TEST(StepEnergyTest, WithoutTheGpusPowerThereIsNone) {
  workload::GeneratedJob generated;
  generated.power = {{.busy_watts = 0}};

  EXPECT_FALSE(EnergyOf(TwoGpus(), generated, 1'000'000'000'000).has_value());
}

}  // namespace
}  // namespace orrery::simulate
