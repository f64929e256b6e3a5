#include "orrery/analyze/run_view.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

// Three steps; each launches one kernel that begins 10 µs later, so the windows follow the device:
// the middle step is selected, from the kernel at 120 to the one at 220.
TEST(RunViewTest, WindowsFollowWhatStepsLaunch) {
  Rank rank(0);
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = std::int64_t{100} * step;
    rank.Step(step, {at, at + 100});
    rank.Kernel("gemm", {at + 20, at + 60}, 7, rank.Call({at + 10, at + 15}));
    rank.Copy("Memcpy HtoD", {at + 50, at + 70});
  }
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  ASSERT_EQ(run.devices.size(), 1u);
  const DeviceView& device = run.devices[0];
  ASSERT_EQ(device.windows.size(), 1u);
  EXPECT_EQ(device.windows[0].time, (Interval{120'000, 220'000}));
  EXPECT_EQ(device.total.compute_ns, 40'000);
  EXPECT_EQ(device.total.exposed_memory_ns, 10'000);
  EXPECT_EQ(device.total.idle_ns, 50'000);
}

TEST(RunViewTest, StepsCanBeChosen) {
  Rank rank(0);
  for (int step = 0; step < 4; ++step) {
    const std::int64_t at = std::int64_t{100} * step;
    rank.Step(step, {at, at + 100});
    rank.Kernel("gemm", {at + 20, at + 60}, 7, rank.Call({at + 10, at + 15}));
  }
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {.steps = StepRange{2, 4}});
  ASSERT_EQ(run.devices[0].windows.size(), 2u);
  EXPECT_EQ(run.devices[0].windows[0].number, 2);
  EXPECT_EQ(run.devices[0].windows[1].time, (Interval{320'000, 360'000}));
}

TEST(RunViewTest, WithoutStepsTheWholeRecordingIsOneWindow) {
  Rank rank(0);
  rank.Kernel("gemm", {20, 60}).Kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", {50, 80});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  const Breakdown& total = run.devices[0].total;
  EXPECT_EQ(total.window_ns, 60'000);
  EXPECT_EQ(total.compute_ns, 40'000);
  EXPECT_EQ(total.exposed_communication_ns, 20'000);
  EXPECT_EQ(total.communication_ns, 30'000);
  EXPECT_EQ(total.kernel_sum_ns, 70'000);
}

}  // namespace
}  // namespace orrery::analyze
