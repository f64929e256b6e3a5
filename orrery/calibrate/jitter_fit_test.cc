#include "orrery/calibrate/jitter_fit.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::calibrate {
namespace {

using simulate::JitterModel;
using simulate::StepJitter;
using simulate::StepSequence;

const JitterModel kTruth{.step_sigma = 0.004,
                         .persistence = 0.6,
                         .stalls_per_gpu_s = 2e-5,
                         .stall_scale_s = 0.2,
                         .stall_shape = 0.3,
                         .longest_stall_s = 20};

// Runs as the model draws them.
RecordedSteps Drawn(const JitterModel& model, const std::string& system, int gpus, int window,
                    std::uint64_t seed) {
  constexpr int kRuns = 4;
  constexpr int kRecords = 800;
  RecordedSteps steps{.system = system, .benchmark = "made", .gpu = "H200", .gpus = gpus};
  steps.window_steps = window;
  const StepJitter jitter(model, gpus, 2);
  for (int run = 0; run < kRuns; ++run) {
    StepSequence sequence(jitter, seed * kRuns + static_cast<std::uint64_t>(run));
    std::vector<double>& seconds = steps.runs.emplace_back();
    for (int record = 0; record < kRecords; ++record) {
      double sum = 0;
      for (int step = 0; step < window; ++step) {
        sum += sequence.Next();
      }
      seconds.push_back(sum / window);
    }
  }
  return steps;
}

std::vector<RecordedSteps> DrawnSystems() {
  std::vector<RecordedSteps> systems;
  std::uint64_t seed = 1;
  for (const std::string submitter : {"A", "B", "C", "D"}) {
    systems.push_back(Drawn(kTruth, submitter + "/small", 8, 16, seed++));
    systems.push_back(Drawn(kTruth, submitter + "/large", 1000, 1, seed++));
  }
  return systems;
}

TEST(JitterFitTest, ConstantsOfDrawnStepsAreFound) {
  const JitterModel fit = FitJitter(DrawnSystems()).value();

  EXPECT_NEAR(fit.step_sigma / kTruth.step_sigma, 1, 0.1);
  EXPECT_NEAR(fit.persistence, kTruth.persistence, 0.06);
  EXPECT_NEAR(fit.stalls_per_gpu_s / kTruth.stalls_per_gpu_s, 1, 0.3);
  EXPECT_NEAR(fit.StallQuantile(0.5) / kTruth.StallQuantile(0.5), 1, 0.4);
  EXPECT_LT(fit.sigma_deviation, 0.1);
  EXPECT_EQ(fit.systems, 8);
  EXPECT_EQ(fit.submitters, 4);
  EXPECT_EQ(fit.least_gpus, 8);
  EXPECT_EQ(fit.most_gpus, 1000);
}

TEST(JitterFitTest, WithoutStallsTheirRateIsZero) {
  JitterModel quiet = kTruth;
  quiet.stalls_per_gpu_s = 0;

  const JitterModel fit = FitJitter(std::vector{Drawn(quiet, "A/one", 8, 1, 1)}).value();

  EXPECT_EQ(fit.stalls_per_gpu_s, 0);
}

TEST(JitterFitTest, SystemsThatVaryAsTheOthersAreCloseAndOneThatVariesMoreIsNot) {
  std::vector<RecordedSteps> systems = DrawnSystems();
  JitterModel noisy = kTruth;
  noisy.step_sigma *= 8;
  systems.push_back(Drawn(noisy, "E/noisy", 8, 16, 99));

  const std::vector<JudgedSteps> judged = JudgeJitter(systems).value();

  ASSERT_EQ(judged.size(), 9U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_LT(judged[i].distance, 0.15) << judged[i].recorded.system;
  }
  // Normal distributions whose deviations differ by a factor of 8 are 0.38 apart: at x = 2.06 of
  // the smaller, where their densities are equal, Φ(2.06) - Φ(2.06 / 8) = 0.980 - 0.602.
  EXPECT_NEAR(judged[8].distance, 0.378, 0.05);
  EXPECT_GT(judged[8].step_sigma, 6 * kTruth.step_sigma);
}

TEST(JitterFitTest, OneSubmitterCannotBeJudgedByOthers) {
  const auto judged = JudgeJitter(std::vector{Drawn(kTruth, "A/one", 8, 1, 1)});

  ASSERT_FALSE(judged.has_value());
  EXPECT_NE(judged.error().message().find("one submitter only"), std::string::npos);
}

}  // namespace
}  // namespace orrery::calibrate
