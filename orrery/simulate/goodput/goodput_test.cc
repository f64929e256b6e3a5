#include "orrery/simulate/goodput/goodput.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

// Eight nodes of eight GPUs in four replicas, steps of 10 s.
constexpr GoodputJob kJob{
    .step_ps = 10 * kSecond, .nodes = 8, .gpus = 64, .gpus_per_node = 8, .replicas = 4};

std::int64_t Lost(const GoodputMonth& month, LostTime what) {
  return month.lost_ps[static_cast<std::size_t>(what)];
}

double LostSeconds(const GoodputMonth& month, LostTime what) {
  return static_cast<double>(Lost(month, what)) * 1e-12;
}

std::int64_t Sum(const GoodputMonth& month) {
  return std::accumulate(month.lost_ps.begin(), month.lost_ps.end(), month.productive_ps);
}

JobFailures Log(const std::vector<double>& times_s, int nodes_lost = 0) {
  JobFailures failures{.causes = {{.name = "any", .nodes_lost = nodes_lost}}, .is_log = true};
  for (const double at_s : times_s) {
    failures.log.push_back({at_s, 0});
  }
  return failures;
}

JobFailures Rate(double per_s, int nodes_lost = 0) {
  return {.causes = {{.name = "any", .per_s = per_s, .nodes_lost = nodes_lost}}};
}

// A checkpoint of 5 s after every 10 steps; 20 s to detect, 60 s to restart, 15 s to load.
constexpr GoodputOptions kOptions{.window_ps = 1'000 * kSecond,
                                  .interval_steps = 10,
                                  .checkpoint = {.stall_ps = 5 * kSecond, .load_ps = 15 * kSecond},
                                  .detect_ps = 20 * kSecond,
                                  .restart_ps = 60 * kSecond,
                                  .repair_ps = 400 * kSecond};

TEST(GoodputTest, WithoutFailuresAMonthIsStepsTimesStepTimeExactly) {
  GoodputJob job = kJob;
  job.step_ps = 6'543'210'987'654;
  const GoodputOptions options{.window_ps = 30 * kDay};

  const GoodputMonth month = SimulateMonth(job, {}, options, 0);

  EXPECT_EQ(month.steps, 30 * kDay / job.step_ps);
  EXPECT_EQ(month.productive_ps, month.steps * job.step_ps);
  EXPECT_EQ(Lost(month, LostTime::kUnfinishedStep), 30 * kDay % job.step_ps);
  EXPECT_EQ(Sum(month), 30 * kDay);
}

// A period is 105 s: nine of them are 945 s, then five steps and 5 s of the next.
TEST(GoodputTest, CheckpointsStallTraining) {
  const GoodputMonth month = SimulateMonth(kJob, {}, kOptions, 0);

  EXPECT_EQ(month.steps, 95);
  EXPECT_EQ(month.checkpoints, 9);
  EXPECT_EQ(LostSeconds(month, LostTime::kCheckpoint), 45);
  EXPECT_EQ(LostSeconds(month, LostTime::kUnfinishedStep), 5);
  EXPECT_EQ(Sum(month), kOptions.window_ps);
}

// Failure at 237 s: two checkpoints are durable at 210 s, 27 s are lost. Running again at 237 + 95
// = 332 s; 668 s are six periods (630 s), three steps and 8 s.
TEST(GoodputTest, AFailureCostsDetectionRestartLoadAndWorkSinceTheLastCheckpoint) {
  const GoodputMonth month = SimulateMonth(kJob, Log({237}), kOptions, 0);

  EXPECT_EQ(LostSeconds(month, LostTime::kLostWork), 27);
  EXPECT_EQ(LostSeconds(month, LostTime::kDetection), 20);
  EXPECT_EQ(LostSeconds(month, LostTime::kRestart), 60);
  EXPECT_EQ(LostSeconds(month, LostTime::kLoad), 15);
  EXPECT_EQ(month.steps, 20 + 60 + 3);
  EXPECT_EQ(LostSeconds(month, LostTime::kUnfinishedStep), 8);
  EXPECT_EQ(Sum(month), kOptions.window_ps);
}

// 207 s is 2 s into the second stall: its ten steps are lost, the stall is time for a checkpoint.
TEST(GoodputTest, ACheckpointThatFailsIsNotDurable) {
  const GoodputMonth month = SimulateMonth(kJob, Log({207}), kOptions, 0);

  EXPECT_EQ(LostSeconds(month, LostTime::kLostWork), 100);
  EXPECT_EQ(LostSeconds(month, LostTime::kCheckpoint), 5 + 2 + 5 * 6);  // six periods after 302 s
}

// The second failure comes 30 s after the first: 20 s of detection, 10 s of restart, then both
// start again.
TEST(GoodputTest, AFailureDuringARestartBeginsItAnew) {
  const GoodputMonth month = SimulateMonth(kJob, Log({237, 267}), kOptions, 0);

  EXPECT_EQ(LostSeconds(month, LostTime::kDetection), 40);
  EXPECT_EQ(LostSeconds(month, LostTime::kRestart), 70);
  EXPECT_EQ(LostSeconds(month, LostTime::kLoad), 15);
  EXPECT_EQ(LostSeconds(month, LostTime::kLostWork), 27);
}

// Stall 1 s, written for 80 s: snapshots end at 101 s and 202 s, the second is durable at 282 s.
TEST(GoodputTest, AsynchronousCheckpointsCountWhenTheyAreWritten) {
  GoodputOptions options = kOptions;
  options.checkpoint = {.stall_ps = kSecond, .write_ps = 80 * kSecond};

  // Before: back to the first snapshot, so the second ten steps and 79 s are lost.
  EXPECT_EQ(LostSeconds(SimulateMonth(kJob, Log({281}), options, 0), LostTime::kLostWork), 179);
  EXPECT_EQ(LostSeconds(SimulateMonth(kJob, Log({283}), options, 0), LostTime::kLostWork), 81);
}

// The only spare takes the first place. The second failure, at 450 s, waits after detection (470 s)
// for the node that failed at 100 s and is repaired at 500 s.
TEST(GoodputTest, WithoutASpareTheJobWaitsForRepair) {
  GoodputOptions options = kOptions;
  options.spares = 1;

  const GoodputMonth month = SimulateMonth(kJob, Log({100, 450}, 1), options, 0);

  EXPECT_EQ(LostSeconds(month, LostTime::kWaitingForNode), 30);
  EXPECT_EQ(month.failures[static_cast<std::size_t>(FailedPart::kNode)], 2);
  EXPECT_EQ(Sum(month), options.window_ps);
}

// Seven nodes are enough for three of four replicas: a step takes 40/3 s, rounded up. It runs from
// 95 s on; the node returns at 400 s, the step that ends after that is the 23rd. 2 periods of ten
// steps and 5 s, three steps, a stall, 60 s and 15 s: 485 s and some.
TEST(GoodputTest, AnElasticJobShrinksAndGrowsAgain) {
  GoodputOptions options = kOptions;
  options.is_elastic = true;

  const GoodputMonth month = SimulateMonth(kJob, Log({0}, 1), options, 0);

  const std::int64_t longer = (40 * kSecond + 2) / 3 - 10 * kSecond;
  EXPECT_EQ(Lost(month, LostTime::kShrunk), 23 * longer);
  EXPECT_EQ(month.planned_stops, 1);
  EXPECT_EQ(LostSeconds(month, LostTime::kRestart), 120);
  EXPECT_EQ(LostSeconds(month, LostTime::kDetection), 20);
  EXPECT_EQ(LostSeconds(month, LostTime::kLostWork), 0);
  EXPECT_EQ(Sum(month), options.window_ps);
}

// Slow nodes come at once and are never found: all steps but the first take twice as long.
TEST(GoodputTest, ASlowNodeMakesAllOthersWait) {
  GoodputOptions options = kOptions;
  options.interval_steps = 0;
  options.slow = {.per_s = 10, .factor = 2, .found_after_ps = 2'000 * kSecond};

  const GoodputMonth month = SimulateMonth(kJob, {}, options, 0);

  EXPECT_EQ(month.steps, 1 + 99 / 2);
  EXPECT_EQ(LostSeconds(month, LostTime::kSlowNode), 490);
  EXPECT_EQ(Sum(month), options.window_ps);
}

// One slow node in a hundred windows, found after 200 s: the step that runs when it comes, and
// twenty or so slow ones, then a stop. Without a spare it stays.
TEST(GoodputTest, ASlowNodeIsReplacedOnceItIsFound) {
  GoodputOptions options = kOptions;
  options.window_ps = 100'000 * kSecond;
  options.slow = {.per_s = 2e-5, .factor = 2, .found_after_ps = 200 * kSecond};
  options.spares = 100;
  std::int64_t stops = 0;
  double slow_s = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const GoodputMonth month = SimulateMonth(kJob, {}, options, i);
    stops += month.planned_stops;
    slow_s += LostSeconds(month, LostTime::kSlowNode);
  }

  EXPECT_NEAR(static_cast<double>(stops), 1'000, 100);
  EXPECT_NEAR(slow_s / static_cast<double>(stops), 100, 5);  // half of 200 s

  options.spares = 0;
  EXPECT_EQ(SimulateMonth(kJob, {}, options, 0).planned_stops, 0);
}

TEST(GoodputTest, SimulatedMonthsAgreeWithTheRenewalModel) {
  const double rate = 1 / 9'000.0;
  for (const std::int64_t steps : {20, 80, 300}) {
    for (const std::int64_t write_s : {0, 150}) {
      GoodputOptions options = kOptions;
      options.window_ps = 30 * kDay;
      options.interval_steps = steps;
      options.checkpoint.write_ps = write_s * kSecond;
      const std::vector<GoodputMonth> months = SimulateMonths(kJob, Rate(rate), options, 400, 1);
      const RenewalModel model{.failures_per_s = rate,
                               .stall_s = 5,
                               .write_s = static_cast<double>(write_s),
                               .down_s = 95};

      // A partial step is lost as well: the exact share is a little lower than with work that can
      // be cut anywhere, and a window ends within an interval.
      EXPECT_NEAR(Summarize(months, options.window_ps).ettr_mean,
                  ExpectedEttr(model, static_cast<double>(10 * steps)), 0.003)
          << steps << " " << write_s;
    }
  }
}

// Nodes, failures of 1,000 nodes a day, minutes between checkpoints, seconds of a checkpoint and of
// a restart: losses of up to 15 %.
TEST(GoodputTest, SimulatedMonthsAgreeWithKokolis) {
  struct Case {
    double nodes, rate, minutes, stall_s, restart_s;
  };

  for (const Case& it : {Case{128, 6.50, 60, 120, 300}, Case{256, 6.50, 60, 60, 300},
                         Case{512, 2.34, 60, 120, 300}, Case{1'024, 6.50, 20, 30, 300},
                         Case{2'048, 6.50, 10, 10, 120}, Case{2'048, 2.34, 15, 20, 300}}) {
    const double rate = it.nodes * it.rate / 1'000 / 86'400;
    GoodputOptions options{.window_ps = 30 * kDay,
                           .interval_steps = static_cast<std::int64_t>(6 * it.minutes)};
    options.checkpoint.stall_ps = static_cast<std::int64_t>(it.stall_s) * kSecond;
    options.restart_ps = static_cast<std::int64_t>(it.restart_s) * kSecond;

    const std::vector<GoodputMonth> months = SimulateMonths(kJob, Rate(rate), options, 400, 1);

    const double published = KokolisEttr(
        {.failures_per_s = rate, .stall_s = it.stall_s, .down_s = it.restart_s}, 60 * it.minutes);
    EXPECT_NEAR(Summarize(months, options.window_ps).ettr_mean / published, 1, 0.02) << it.nodes;
  }
}

TEST(GoodputTest, FailuresComeAsOftenAsTheRateSays) {
  GoodputOptions options = kOptions;
  options.window_ps = 10 * kDay;
  options.spares = 1'000;
  JobFailures failures;
  failures.causes = {{.name = "a", .part = FailedPart::kGpu, .per_s = 3e-4, .nodes_lost = 1},
                     {.name = "b", .part = FailedPart::kSwitch, .per_s = 1e-4}};

  const GoodputSummary summary =
      Summarize(SimulateMonths(kJob, failures, options, 400, 1), options.window_ps);

  EXPECT_NEAR(summary.failures[static_cast<std::size_t>(FailedPart::kGpu)], 259.2, 3);
  EXPECT_NEAR(summary.failures[static_cast<std::size_t>(FailedPart::kSwitch)], 86.4, 2);
  EXPECT_NEAR(summary.num_failures(), 345.6, 4);
}

TEST(GoodputTest, MonthsAreTheSameForAnyNumberOfThreads) {
  GoodputOptions options = kOptions;
  options.window_ps = kDay;
  options.seed = 7;
  const std::vector<GoodputMonth> one = SimulateMonths(kJob, Rate(1e-3, 1), options, 50, 1);
  EXPECT_EQ(one, SimulateMonths(kJob, Rate(1e-3, 1), options, 50, 4));
  EXPECT_NE(one[0], one[1]);
}

TEST(GoodputTest, IntervalsAreWholeStepsThatACheckpointFitsInto) {
  const CheckpointTimes none;
  EXPECT_EQ(IntervalSteps(104, 10 * kSecond, none, kDay), 10);
  EXPECT_EQ(IntervalSteps(0.1, 10 * kSecond, none, kDay), 1);
  EXPECT_EQ(IntervalSteps(1e30, 10 * kSecond, none, kDay), 8'640);
  EXPECT_EQ(IntervalSteps(10, 10 * kSecond, {.stall_ps = kSecond, .write_ps = 20 * kSecond}, kDay),
            3);
}

// Whatever happens, every picosecond of the window is productive or lost to one thing.
RC_GTEST_PROP(GoodputTest, TimesAddUpToTheWindow, ()) {
  const auto up_to = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(0, most); };
  const GoodputJob job{.step_ps = 1 + up_to(20 * kSecond),
                       .nodes = 8,
                       .gpus = 64,
                       .gpus_per_node = 8,
                       .replicas = std::int64_t{1} << up_to(5)};
  GoodputOptions options{.window_ps = 1 + up_to(kDay),
                         .detect_ps = up_to(100 * kSecond),
                         .restart_ps = up_to(600 * kSecond),
                         .repair_ps = up_to(2 * kDay),
                         .spares = up_to(4),
                         .is_elastic = *rc::gen::arbitrary<bool>()};
  options.checkpoint = {up_to(50 * kSecond), up_to(100 * kSecond), up_to(50 * kSecond)};
  if (up_to(4) > 0) {
    options.interval_steps = IntervalSteps(static_cast<double>(up_to(1'000)), job.step_ps,
                                           options.checkpoint, options.window_ps);
  }
  options.slow = {static_cast<double>(up_to(10)) * 1e-5, 1 + static_cast<double>(up_to(10)) / 10,
                  up_to(kDay)};
  const JobFailures failures =
      Rate(static_cast<double>(up_to(20)) * 1e-4, static_cast<int>(up_to(3)));

  const GoodputMonth month =
      SimulateMonth(job, failures, options, *rc::gen::arbitrary<std::uint64_t>());

  RC_ASSERT(Sum(month) == options.window_ps);
  RC_ASSERT(month.productive_ps == month.steps * job.step_ps);
  for (const std::int64_t lost : month.lost_ps) {
    RC_ASSERT(lost >= 0);
  }
}

}  // namespace
}  // namespace orrery::simulate
