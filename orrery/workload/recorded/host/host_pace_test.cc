#include "orrery/workload/recorded/host/host_pace.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/host_machine.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::workload {
namespace {

constexpr double kShareNs = 900;  // of a profiler, inside an operator

/// Six operators that launch in 5 µs, and one that does next to nothing, on a host of that pace
/// under a profiler.
HostModel Host(double pace, double profiler_ns, int operators = 6) {
  HostModel model;
  for (int i = 0; i < operators; ++i) {
    model.Set(HostPart::kLaunch, "aten::op" + std::to_string(i),
              {.typical = 5'000 * pace, .count = 10});
  }
  model.Set(HostPart::kWhole, "aten::alias", {.typical = 100 + profiler_ns, .count = 50});
  model.Set(HostPart::kLaunches, "aten::alias", {.typical = 0, .count = 50});
  model.Set(HostPart::kWaits, "aten::alias", {.typical = 0, .count = 50});
  return model;
}

TEST(HostPaceTest, ScalesTimesOfTheHostByTheirPart) {
  HostModel model;
  model.Set(HostPart::kWhole, "aten::view", {.typical = 100, .mean = 110});
  model.Set(HostPart::kGap, "aten::view", {.typical = 200});
  model.Set(HostPart::kLaunch, "aten::mul", {.typical = 300});
  model.Set(HostPart::kLaunches, "aten::mul", {.typical = 1});
  model.Set(HostPart::kLaunchLatency, "*", {.typical = 400});

  const HostModel scaled = AtPace(model, {.operators = 2, .program = 3, .launches = 4});

  EXPECT_EQ(scaled.Find(HostPart::kWhole, "aten::view")->typical, 200);
  EXPECT_EQ(scaled.Find(HostPart::kWhole, "aten::view")->mean, 220);
  EXPECT_EQ(scaled.Find(HostPart::kGap, "aten::view")->typical, 600);
  EXPECT_EQ(scaled.Find(HostPart::kLaunch, "aten::mul")->typical, 1200);
  EXPECT_EQ(scaled.Find(HostPart::kLaunches, "aten::mul")->typical, 1);
  EXPECT_EQ(scaled.Find(HostPart::kLaunchLatency, "*")->typical, 400);
}

TEST(HostPaceTest, ScalesTasksOfHostThreadsOnly) {
  Program program;
  const LaneId host = program.lanes.Append({.kind = LaneKind::kHostThread});
  const LaneId stream = program.lanes.Append({.kind = LaneKind::kStream});
  const CallId op = program.calls.Append({.lane = host});
  program.tasks.Append({.lane = host, .duration_ps = 100});
  program.tasks.Append({.lane = host, .duration_ps = 100, .call = op});
  program.tasks.Append({.lane = host, .kind = TaskKind::kLaunch, .duration_ps = 100, .call = op});
  program.tasks.Append({.lane = stream, .kind = TaskKind::kKernel, .duration_ps = 100});

  ScaleHost({.operators = 2, .program = 3, .launches = 4}, program);

  EXPECT_THAT(program.tasks.duration_ps, ::testing::ElementsAre(300, 200, 400, 100));
}

TEST(HostPaceTest, LaunchesTellTheRatioAndTrivialOperatorsTheProfiler) {
  const RecordedPace pace = PaceOf(Host(1.5, kShareNs), Host(1, 0));

  EXPECT_EQ(pace.operators, 6);
  EXPECT_NEAR(pace.under_profiler, 1.5, 1e-9);
  EXPECT_NEAR(pace.profiler.whole_ns, kShareNs, 1e-9);
  EXPECT_FALSE(pace.has_observer);
}

TEST(HostPaceTest, SlowerRecordingHasTheLargerRatio) {
  const HostModel reference = Host(1, 0);

  EXPECT_LT(PaceOf(Host(1, kShareNs), reference).ratio, PaceOf(Host(2, kShareNs), reference).ratio);
}

TEST(HostPaceTest, OneOutlierChangesNothing) {
  HostModel recorded = Host(1.5, kShareNs);
  recorded.Set(HostPart::kLaunch, "aten::op0", {.typical = 500'000, .count = 10});

  EXPECT_NEAR(PaceOf(recorded, Host(1, 0)).under_profiler, 1.5, 1e-9);
}

TEST(HostPaceTest, FewOperatorsTellNoRatio) {
  const RecordedPace pace = PaceOf(Host(1.5, kShareNs, 4), Host(1, 0));

  EXPECT_EQ(pace.operators, 0);
  EXPECT_EQ(pace.ratio, 1);
}

TEST(HostPaceTest, TenMicrosecondsInsideATrivialOperatorAreAnObserver) {
  EXPECT_TRUE(PaceOf(Host(1, 10'000), Host(1, 0)).has_observer);
}

// The paces of two hosts, one with costs that are twice the other's, differ by that factor.
TEST(HostMachineTest, CostsThatAreTwiceAsLargeAreTwiceThePace) {
  const std::string slow =
      "costs: {python: {ns: 200}, module: {ns: 2000}, view: {ns: 2000}, empty: {ns: 2000}, "
      "operator: {ns: 6000}, backward: {ns: 80000}, launch: {ns: 14000}}";
  const std::string fast =
      "costs: {python: {ns: 100}, module: {ns: 1000}, view: {ns: 1000}, empty: {ns: 1000}, "
      "operator: {ns: 3000}, backward: {ns: 40000}, launch: {ns: 7000}}";

  const HostPace slow_pace = PaceOfMeasuredHost(slow, "slow.yaml").value();
  const HostPace fast_pace = PaceOfMeasuredHost(fast, "fast.yaml").value();

  EXPECT_NEAR(slow_pace.operators / fast_pace.operators, 2, 1e-9);
  EXPECT_NEAR(slow_pace.program / fast_pace.program, 2, 1e-9);
  EXPECT_NEAR(slow_pace.launches / fast_pace.launches, 2, 1e-9);
}

TEST(HostMachineTest, WithoutAGpuLaunchesAreAsSlowAsOperators) {
  const std::string yaml =
      "costs: {python: {ns: 200}, module: {ns: 2000}, view: {ns: 2000}, empty: {ns: 2000}, "
      "operator: {ns: 6000}, backward: {ns: 80000}}";

  const HostPace pace = PaceOfMeasuredHost(yaml, "host.yaml").value();

  EXPECT_EQ(pace.launches, pace.operators);
}

TEST(HostMachineTest, RefusesWhatSaysNothingAboutOperators) {
  const auto without = PaceOfMeasuredHost("costs: {hash: {ns: 3000}}", "host.yaml");
  const auto negative = PaceOfMeasuredHost("costs: {python: {ns: -1}}", "host.yaml");
  const auto damaged = PaceOfMeasuredHost("costs: [", "host.yaml");

  EXPECT_THAT(without.error().message(), ::testing::HasSubstr("PyTorch"));
  EXPECT_THAT(negative.error().message(), ::testing::HasSubstr("costs.python"));
  EXPECT_THAT(damaged.error().message(), ::testing::StartsWith("host.yaml: "));
}

TEST(HostMachineTest, TheReferenceIsKnown) {
  const HostMachine* const reference = FindHost("reference");

  ASSERT_NE(reference, nullptr);
  EXPECT_EQ(reference->pace, HostPace{});
  EXPECT_EQ(FindHost("no such host"), nullptr);
}

}  // namespace
}  // namespace orrery::workload
