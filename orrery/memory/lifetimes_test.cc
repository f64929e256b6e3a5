#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

std::vector<RowId> AliveAt(const Lifetimes& lifetimes, std::int64_t order) {
  std::vector<RowId> alive;
  for (RowId row = 0; row < lifetimes.objects().size(); ++row) {
    if (lifetimes.IsAlive(row, order)) {
      alive.push_back(row);
    }
  }
  return alive;
}

TEST(Lifetimes, AnObjectLivesFromItsBirthUntilBeforeItsDeath) {
  TestRecording recording;
  const RowId early = recording.Born(0x1000, 64);  // order 1
  recording.Died(early);                           // order 2
  const RowId late = recording.Born(0x1000, 64);   // order 3
  const Lifetimes lifetimes(recording.trace.memory_objects);
  EXPECT_EQ(AliveAt(lifetimes, 0), std::vector<RowId>{});
  EXPECT_EQ(AliveAt(lifetimes, 1), std::vector<RowId>{early});
  EXPECT_EQ(AliveAt(lifetimes, 2), std::vector<RowId>{});
  EXPECT_EQ(AliveAt(lifetimes, 99), std::vector<RowId>{late});
}

TEST(Lifetimes, SomeContainOthers) {
  TestRecording recording;
  const RowId outer = recording.Born(0x1000, 64);  // 1 to 4
  const RowId inner = recording.Born(0x1000, 64);  // 2 to 3
  recording.Died(inner);
  recording.Died(outer);
  const RowId lasting = recording.Born(0x1000, 64);  // from 5
  const Lifetimes lifetimes(recording.trace.memory_objects);
  EXPECT_TRUE(lifetimes.LifetimeContains(outer, inner));
  EXPECT_TRUE(lifetimes.LifetimeContains(lasting, lasting));
  EXPECT_FALSE(lifetimes.LifetimeContains(inner, outer));
  EXPECT_FALSE(lifetimes.LifetimeContains(outer, lasting));
  EXPECT_FALSE(lifetimes.LifetimeContains(lasting, outer));
}

// PASTA defect 5: memory that was there before the recording began is known.
TEST(Lifetimes, WhatWasThereBeforeTheRecordingLivesFromTheBegin) {
  trace::MemoryObjects objects;
  objects.Append({.bytes = 8, .birth_order = -1, .death_order = 4});
  const Lifetimes lifetimes(objects);
  EXPECT_TRUE(lifetimes.IsAlive(0, 0));
  EXPECT_FALSE(lifetimes.IsAlive(0, 4));
}

TEST(Lifetimes, EnclosingObjectsGoOutwardsAndEnd) {
  TestRecording recording;
  const RowId driver = recording.Born(0x1000, 4096, trace::MemoryClass::kDevice);
  const RowId segment = recording.Born(0x1000, 2048, trace::MemoryClass::kSegment, driver);
  const RowId tensor = recording.Born(0x1000, 64, trace::MemoryClass::kTensor, segment);
  const Lifetimes lifetimes(recording.trace.memory_objects);
  EXPECT_EQ(lifetimes.Enclosing(tensor), (std::vector<RowId>{segment, driver}));
  recording.trace.memory_objects.parent[driver] = tensor;  // a damaged file
  EXPECT_EQ(Lifetimes(recording.trace.memory_objects).Enclosing(tensor).size(), 3U);
}

RC_GTEST_PROP(Lifetimes, WalkingAgreesWithLooking, ()) {
  trace::MemoryObjects objects;
  const auto lives = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(-1, 12), rc::gen::inRange(-1, 12)));
  for (const auto& [birth, death] : lives) {
    objects.Append({.birth_order = birth, .death_order = death});
  }
  const Lifetimes lifetimes(objects);
  LifetimeWalk walk(lifetimes);
  std::set<RowId> alive;
  for (std::int64_t order = 0; order < 13; ++order) {
    walk.AdvanceTo(
        order, [&](RowId object) { RC_ASSERT(alive.insert(object).second); },
        [&](RowId object) { RC_ASSERT(alive.erase(object) == 1U); });
    RC_ASSERT(std::vector<RowId>(alive.begin(), alive.end()) == AliveAt(lifetimes, order));
  }
}

}  // namespace
}  // namespace orrery::memory
