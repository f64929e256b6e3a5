#include "orrery/memory/coverage.h"

#include <gtest/gtest.h>

#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

using trace::Coverage;

TEST(Coverage, LineCountsKernelsAndTheirTime) {
  TestRecording recording;
  recording.Launched("a", Coverage::kExact, 30);
  recording.Launched("b", Coverage::kUnseen, 10);
  recording.Copied("copy");
  EXPECT_EQ(CoverageLine(CoverageOf(recording.trace)),
            "coverage: 2 launches: 1 exact (75.0 % of kernel time), 1 unseen (25.0 %)");
}

TEST(Coverage, WithoutTimesThereAreNoShares) {
  TestRecording recording;
  recording.Launched("a", Coverage::kByArgument, 0);
  EXPECT_EQ(CoverageLine(CoverageOf(recording.trace)), "coverage: 1 launch: 1 by argument");
}

TEST(Coverage, ARecordingOfTimesSaysThatAccessesWereNotRecorded) {
  TestRecording recording;
  recording.Launched("a", Coverage::kUnseen, 30);
  EXPECT_EQ(CoverageLine(CoverageOf(recording.trace)),
            "coverage: 1 launch: accesses were not recorded");
}

// PASTA defect 9: every tool prints zeros for an empty stream.
TEST(Coverage, NothingRecordedIsZeroLaunches) {
  EXPECT_EQ(CoverageLine(CoverageOf(trace::Trace())), "coverage: 0 launches");
}

TEST(Coverage, KernelsThatNoObservationNamesAreUnseen) {
  trace::Trace trace;
  trace.activities.Append({.duration_ns = 5});
  EXPECT_EQ(CoverageOf(trace).Of(Coverage::kUnseen).num_launches, 1);
}

TEST(Coverage, RanksAddUp) {
  TestRecording recording;
  recording.Launched("a");
  LaunchCoverage sum = CoverageOf(recording.trace);
  sum += CoverageOf(recording.trace);
  EXPECT_EQ(sum.Total().num_launches, 2);
}

}  // namespace
}  // namespace orrery::memory
