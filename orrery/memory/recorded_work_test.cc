#include "orrery/memory/recorded_work.h"

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

TEST(RecordedWork, ItemsComeInOrderWithTheirRows) {
  TestRecording recording;
  const RowId first = recording.Born(0x1000, 64);
  const RowId second = recording.Born(0x2000, 64);
  const RowId add = recording.Launched("add");
  const RowId copy = recording.Copied("copy");
  recording.Touched(copy, second, 0, 64);
  recording.Touched(add, second, 64, 0);
  recording.Touched(add, first, 0, 64);
  recording.Touched(add, first, 64, 0);
  recording.Reached(add, second);
  const RecordedWork work(recording.trace);
  ASSERT_EQ(work.size(), 2U);
  const WorkItem item = work.At(0);
  EXPECT_EQ(work.NameOf(item), "add");
  EXPECT_TRUE(work.IsKernel(item));
  EXPECT_EQ(item.touches.size(), 4U);
  EXPECT_TRUE(work.IsCounted(item.touches.front()));
  EXPECT_FALSE(work.IsCounted(item.touches.back()));
  EXPECT_FALSE(work.IsKernel(work.At(1)));
}

TEST(RecordedWork, TracesWithoutObservationsGiveTheirActivitiesUnseen) {
  trace::Trace trace;
  trace.activities.Append({.begin_ns = 3});
  trace.activities.Append({.begin_ns = 9});
  const RecordedWork work(trace);
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work.At(1).activity, 1U);
  EXPECT_EQ(work.At(1).order, 1);
  EXPECT_EQ(work.At(1).coverage, trace::Coverage::kUnseen);
  EXPECT_EQ(work.DeviceOf(work.At(1)), -1);
}

TEST(RecordedWork, AnEmptyTraceHasNone) {
  EXPECT_EQ(RecordedWork(trace::Trace()).size(), 0U);
}

}  // namespace
}  // namespace orrery::memory
