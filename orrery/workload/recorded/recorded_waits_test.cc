#include "orrery/workload/recorded/recorded_waits.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<StreamWait> WaitsWithoutRecords(RecordingWriter& writer) {
  writer.trace.syncs = {};  // the profiler was not asked for them
  return WaitsOf(writer.Finish()).of_streams;
}

/// Stream 7 has a kernel that ends at `end`, launched at 0; an event is recorded at 10, a stream
/// waits for it at 12, and stream 20 is launched on at 20 for a kernel that begins at 60.
RecordingWriter SideFollowsMain(std::int64_t end) {
  RecordingWriter writer;
  writer.Launch(0, 5, (end - 6) * 1000, 6);
  const std::int64_t event = writer.RecordEvent(10);
  writer.SwitchStream(20);
  writer.WaitForEvent(12, event);
  writer.Launch(20, 25, 1000, 60);
  return writer;
}

// The kernel of stream 20, launched at 20, begins at 60, when that of stream 7 has ended.
TEST(RecordedWaitsTest, WithoutRecordsTheNextLaunchWaitsForWhatOtherStreamsHad) {
  RecordingWriter writer = SideFollowsMain(60);
  EXPECT_THAT(WaitsWithoutRecords(writer), ElementsAre(StreamWait{20'000, 20, {10'000, 7}}));
}

// It begins at 60, and the kernel of stream 7 runs until 61.
TEST(RecordedWaitsTest, WhatRanBesideEachOtherDidNotWait) {
  RecordingWriter writer = SideFollowsMain(61);
  EXPECT_THAT(WaitsWithoutRecords(writer), IsEmpty());
}

// Stream 7 has kernels until 40 and 80, with an event behind each; stream 20 begins at 60, so it
// waited for the first event, though the second was recorded later.
TEST(RecordedWaitsTest, AnEarlierEventStandsWhereTheLaterOneHadNotPassed) {
  RecordingWriter writer;
  writer.Launch(0, 2, 34'000, 6);
  const std::int64_t event = writer.RecordEvent(3);
  writer.Launch(5, 7, 40'000, 40);
  writer.RecordEvent(9);
  writer.SwitchStream(20);
  writer.WaitForEvent(12, event);
  writer.Launch(20, 25, 1000, 60);
  EXPECT_THAT(WaitsWithoutRecords(writer), ElementsAre(StreamWait{20'000, 20, {3'000, 7}}));
}

// With the profiler's own records nothing is guessed: the wait is for the event it names.
TEST(RecordedWaitsTest, RecordsSayWhatIsWaitedFor) {
  RecordingWriter writer = SideFollowsMain(61);
  const RecordedWaits waits = WaitsOf(writer.Finish());
  EXPECT_FALSE(waits.are_inferred);
  EXPECT_THAT(waits.of_streams, ElementsAre(StreamWait{12'000, 20, {10'000, 7}}));
}

}  // namespace
}  // namespace orrery::workload
