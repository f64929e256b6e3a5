#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

using trace::MemoryClass;

// A segment of 4096 bytes in an allocation of 8192, two tensors of 512 in the segment:
// tensors 1024, segments 4096, other 8192, and the allocation holds them all.
TEST(Footprint, EachClassCountsItsOwnAndTheTotalEachByteOnce) {
  TestRecording recording;
  const RowId driver = recording.Born(0x10000, 8192, MemoryClass::kDevice);
  const RowId segment = recording.Born(0x10000, 4096, MemoryClass::kSegment, driver);
  recording.Born(0x10000, 512, MemoryClass::kTensor, segment);
  const RowId second = recording.Born(0x10200, 512, MemoryClass::kTensor, segment);  // order 4
  recording.Died(second);                                                            // order 5
  const Lifetimes lifetimes(recording.trace.memory_objects);
  FootprintWalk walk(lifetimes);
  EXPECT_EQ(walk.At(0), Footprint());
  EXPECT_EQ(walk.At(4), (Footprint{.class_bytes = {1024, 4096, 8192}, .total_bytes = 8192}));
  EXPECT_EQ(walk.At(5).Of(FootprintClass::kTensor), 512);
}

TEST(Footprint, TensorsWhoseSegmentIsNotKnownCount) {
  TestRecording recording;
  recording.Born(0x10000, 512);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  EXPECT_EQ(FootprintWalk(lifetimes).At(1).total_bytes, 512);
}

// The segment is freed before the tensor in it: the tensor's bytes stay.
TEST(Footprint, WhatOutlivesWhatItLiesInCounts) {
  TestRecording recording;
  const RowId segment = recording.Born(0x10000, 4096, MemoryClass::kSegment);
  recording.Born(0x10000, 512, MemoryClass::kTensor, segment);
  recording.Died(segment);  // order 3
  const Lifetimes lifetimes(recording.trace.memory_objects);
  FootprintWalk walk(lifetimes);
  EXPECT_EQ(walk.At(2).total_bytes, 4096);
  EXPECT_EQ(walk.At(3).total_bytes, 512);
}

// Only half of the tensor lies in what is said to hold it.
TEST(Footprint, WhatStandsOutCounts) {
  TestRecording recording;
  const RowId segment = recording.Born(0x10000, 4096, MemoryClass::kSegment);
  recording.Born(0x10800, 4096, MemoryClass::kTensor, segment);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  EXPECT_EQ(FootprintWalk(lifetimes).At(2).total_bytes, 6144);
}

}  // namespace
}  // namespace orrery::memory
