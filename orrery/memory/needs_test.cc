#include <array>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

std::optional<std::string> WhyUnmet(Need need, const trace::Trace& trace) {
  RecordedParts parts;
  parts.Add(trace);
  return parts.WhyUnmet(need);
}

constexpr std::array kAllNeeds{Need::kKernels,      Need::kKernelTimes, Need::kObjects,
                               Need::kMemoryEvents, Need::kTouches,     Need::kPages,
                               Need::kAccesses,     Need::kOverheads};

// PASTA defect 11: every tool runs on an empty stream …
TEST(Needs, AnEmptyStreamMeetsAll) {
  EXPECT_TRUE(CheckNeeds(kAllNeeds, trace::Trace()));
}

// … and refuses one without the records it needs.
TEST(Needs, MissingRecordsAreRefusedWithTheRecordersReason) {
  TestRecording recording;
  recording.Launched("a", trace::Coverage::kUnseen);
  recording.trace.coverage_counts.Append({.kind = trace::CoverageKind::kLaunchesSkipped,
                                          .name = recording.trace.strings.Intern("coarse mode"),
                                          .count = 1});
  EXPECT_EQ(WhyUnmet(Need::kPages, recording.trace),
            "not recorded: pages that kernels touch (1 launches skipped: coarse mode)");
}

TEST(Needs, WithoutSuchRowsTheCoverageIsTheReason) {
  TestRecording recording;
  recording.Launched("a", trace::Coverage::kUnseen, 0);
  EXPECT_EQ(WhyUnmet(Need::kAccesses, recording.trace),
            "not recorded: single accesses (coverage: 1 launch: accesses were not recorded)");
}

TEST(Needs, TracesOfOtherProfilersNameTheirFormat) {
  trace::Trace trace;
  trace.info.format = "Kineto JSON";
  trace.activities.Append({.duration_ns = 5});
  EXPECT_EQ(WhyUnmet(Need::kTouches, trace),
            "not recorded: what kernels touch (no such rows in Kineto JSON)");
  EXPECT_EQ(WhyUnmet(Need::kKernelTimes, trace), std::nullopt);
}

TEST(Needs, TouchesOfCopiesAreNoSightOfKernels) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 64);
  recording.Launched("a", trace::Coverage::kUnseen);
  recording.Touched(recording.Copied("copy"), object, 64, 0);
  EXPECT_TRUE(WhyUnmet(Need::kTouches, recording.trace));
  recording.Touched(recording.Launched("b"), object, 64, 0);
  EXPECT_FALSE(WhyUnmet(Need::kTouches, recording.trace));
}

}  // namespace
}  // namespace orrery::memory
