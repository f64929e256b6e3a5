#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

using trace::MemoryClass;

// PASTA defect 2: an access in a gap, at the end, and below the first object is unknown.
TEST(ObjectMap, GapsEndsAndWhatIsBelowBelongToNobody) {
  TestRecording recording;
  const RowId first = recording.Born(0x1000, 0x100);
  const RowId second = recording.Born(0x2000, 0x100);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  ObjectMap map(lifetimes);
  map.AdvanceTo(2);
  EXPECT_EQ(map.Find(0xFFF), kNoRow);
  EXPECT_EQ(map.Find(0x1000), first);
  EXPECT_EQ(map.Find(0x10FF), first);
  EXPECT_EQ(map.Find(0x1100), kNoRow);
  EXPECT_EQ(map.Find(0x1800), kNoRow);
  EXPECT_EQ(map.Find(0x2000), second);
}

// PASTA defect 3: an address equal to the end belongs to the next object if that is adjacent.
TEST(ObjectMap, TheEndOfOneIsTheBeginOfTheNext) {
  TestRecording recording;
  recording.Born(0x1000, 0x100);
  const RowId next = recording.Born(0x1100, 0x100);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  ObjectMap map(lifetimes);
  map.AdvanceTo(2);
  EXPECT_EQ(map.Find(0x1100), next);
}

TEST(ObjectMap, TheInnermostLiveObjectOwnsAnAddress) {
  TestRecording recording;
  const RowId segment = recording.Born(0x1000, 0x1000, MemoryClass::kSegment);  // order 1
  const RowId tensor = recording.Born(0x1000, 0x100);                           // order 2
  recording.Died(tensor);                                                       // order 3
  const RowId reused = recording.Born(0x1000, 0x80);                            // order 4
  const Lifetimes lifetimes(recording.trace.memory_objects);
  ObjectMap map(lifetimes);
  map.AdvanceTo(2);
  EXPECT_EQ(map.Find(0x1080), tensor);
  map.AdvanceTo(3);
  EXPECT_EQ(map.Find(0x1080), segment);
  map.AdvanceTo(4);
  EXPECT_EQ(map.Find(0x1000), reused);
  EXPECT_EQ(map.Find(0x1080), segment);
}

// Two tensors at one address: the younger owns it, and after its death the older again.
TEST(ObjectMap, TheYoungestAtAnAddressOwnsIt) {
  TestRecording recording;
  const RowId older = recording.Born(0x1000, 64);
  const RowId younger = recording.Born(0x1000, 64);
  recording.Died(younger);  // order 3
  const Lifetimes lifetimes(recording.trace.memory_objects);
  ObjectMap map(lifetimes);
  map.AdvanceTo(2);
  EXPECT_EQ(map.Find(0x1000), younger);
  map.AdvanceTo(3);
  EXPECT_EQ(map.Find(0x1000), older);
}

}  // namespace
}  // namespace orrery::memory
