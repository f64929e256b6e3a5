#include "orrery/memory/join/joined_times.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::Coverage;

// Work of TestRecording begins at 100 times its order.
TestRecording Recorded() {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 64);                       // order 1
  const RowId gemm = recording.Launched("gemm", Coverage::kExact, 0);    // order 2
  recording.Launched("only here", Coverage::kUnseen, 0);                 // order 3
  const RowId relu = recording.Launched("relu", Coverage::kPartial, 0);  // order 4
  recording.Touched(gemm, object, 32, 0);
  recording.Touched(relu, object, 0, 64);
  return recording;
}

trace::Trace Timed() {
  trace::Trace times;
  const auto add = [&](std::string_view name, std::int64_t begin_ns, std::int64_t duration_ns) {
    times.activities.Append(
        {.begin_ns = begin_ns, .duration_ns = duration_ns, .name = times.strings.Intern(name)});
  };
  add("gemm", 5'000, 30);
  add("relu", 5'040, 10);
  add("only there", 5'060, 99);
  return times;
}

// gemm and relu have partners. "only here" was asked for half way between them (200, 300, 400), so
// its place is 5,020; it has no duration.
TEST(GiveTimes, WorkHasTheTimesOfItsPartner) {
  trace::Trace trace = Recorded().trace;

  const TimesJoin join = GiveTimes(Timed(), trace);

  EXPECT_EQ(join.kernels, (TimesJoin::Count{.all = 3, .with_times = 2}));
  EXPECT_EQ(join.lacking, (std::vector<TimesJoin::Lacking>{{.name = "only here", .count = 1}}));
  EXPECT_EQ(join.num_only_in_times, 1);
  EXPECT_EQ(trace.activities.begin_ns, (std::vector<std::int64_t>{5'000, 5'020, 5'040}));
  EXPECT_EQ(trace.activities.duration_ns, (std::vector<std::int64_t>{30, 0, 10}));
}

// 30 of 40 ns are exact, 10 partial; what has no time has no share.
TEST(GiveTimes, CoverageIsThenOfKernelTime) {
  trace::Trace trace = Recorded().trace;
  (void)GiveTimes(Timed(), trace);

  EXPECT_EQ(CoverageLine(CoverageOf(trace)),
            "coverage: 3 launches: 1 exact (75.0 % of the time of 2 launches), 1 partial (25.0 %), "
            "1 unseen "
            "(0.0 %)");
}

TEST(GiveTimes, WithoutPartnersNothingChanges) {
  trace::Trace trace = Recorded().trace;

  const TimesJoin join = GiveTimes(trace::Trace(), trace);

  EXPECT_EQ(join.kernels.with_times, 0);
  EXPECT_EQ(trace, Recorded().trace);
}

// relu, asked for last, began first on a stream of its own: its row comes first now, and what it
// touched still belongs to it.
TEST(GiveTimes, LinksFollowWorkThatBeganInAnotherOrder) {
  trace::Trace trace = Recorded().trace;
  trace::Trace times;
  for (const auto& [name, begin_ns] : {std::pair("relu", 100), std::pair("gemm", 200)}) {
    const RowId row = times.activities.Append(
        {.begin_ns = begin_ns, .duration_ns = 1, .name = times.strings.Intern(name)});
    times.observations.Append({.activity = row, .order = -begin_ns});
  }

  (void)GiveTimes(times, trace);

  const RecordedWork work(trace);
  ASSERT_EQ(work.size(), 3U);
  EXPECT_EQ(work.NameOf(work.At(0)), "gemm");
  EXPECT_EQ(work.NameOf(work.At(2)), "relu");
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "relu");
  ASSERT_EQ(work.At(2).touches.size(), 1U);
  EXPECT_EQ(trace.touches.write_bytes[work.At(2).touches[0]], 64);
}

}  // namespace
}  // namespace orrery::memory
