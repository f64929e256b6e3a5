#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

using trace::MemoryClass;

using Places = std::vector<ObjectsByAddress::Place>;

// [0, 100) and [50, 150) share 50 bytes, [200, 210) lies apart: 160 in all, each object once.
TEST(ObjectsByAddress, BytesOfSeveralObjectsCountOnce) {
  TestRecording recording;
  const RowId last = recording.Born(200, 10);
  const RowId first = recording.Born(0, 100);
  const RowId second = recording.Born(50, 100);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  const ObjectsByAddress objects(lifetimes);
  Places places;
  for (const RowId row : {last, second, first, last}) {
    places.push_back(objects.AliveAt(row, 3));
  }
  EXPECT_EQ(objects.UnionBytes(places), 160);
  EXPECT_EQ(places, (Places{0, 1, 2}));
}

TEST(ObjectsByAddress, OthersAreNowhere) {
  TestRecording recording;
  const RowId object = recording.Born(0, 8);  // order 1
  recording.Died(object);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  const ObjectsByAddress objects(lifetimes);
  EXPECT_EQ(objects.AliveAt(object, 0), ObjectsByAddress::kNowhere);
  EXPECT_EQ(objects.AliveAt(object, 1), 0U);
  EXPECT_EQ(objects.AliveAt(object, 2), ObjectsByAddress::kNowhere);
  EXPECT_EQ(objects.AliveAt(kNoRow, 1), ObjectsByAddress::kNowhere);
}

// The allocation dies at order 4: then the segment is the outermost.
TEST(ObjectsByAddress, TheOutermostLives) {
  TestRecording recording;
  const RowId driver = recording.Born(0, 4096, MemoryClass::kDevice);
  const RowId segment = recording.Born(1024, 2048, MemoryClass::kSegment, driver);
  const RowId tensor = recording.Born(1536, 64, MemoryClass::kTensor, segment);
  recording.Died(driver);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  const ObjectsByAddress objects(lifetimes);
  const auto place = objects.AliveAt(tensor, 3);
  EXPECT_EQ(objects.OutermostAt(place, 3), objects.AliveAt(driver, 3));
  EXPECT_EQ(objects.OutermostAt(place, 4), objects.AliveAt(segment, 4));
}

// A damaged file.
TEST(ObjectsByAddress, ObjectsInEachOtherEnd) {
  TestRecording recording;
  const RowId a = recording.Born(0, 64);
  const RowId b = recording.Born(0, 64, MemoryClass::kTensor, a);
  recording.trace.memory_objects.parent[a] = b;
  const Lifetimes lifetimes(recording.trace.memory_objects);
  const ObjectsByAddress objects(lifetimes);
  EXPECT_LT(objects.OutermostAt(objects.AliveAt(b, 2), 2), 2U);
}

}  // namespace
}  // namespace orrery::memory
