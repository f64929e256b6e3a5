#include "capture/sanitizer/host/object_table.h"

#include <array>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::capture::sanitizer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kDriver = 0;
constexpr std::uint32_t kSegment = 1;
constexpr std::uint32_t kTensor = 2;

std::vector<std::uint64_t> BeginsOf(const ObjectSnapshot& snapshot) {
  std::vector<std::uint64_t> begins;
  for (const Range& range : snapshot.ranges) {
    begins.push_back(range.begin);
  }
  return begins;
}

TEST(ObjectTableTest, InnerObjectsSplitOuterOnes) {
  ObjectTable table(12);
  table.Add(kDriver, 1, 0, 1000);
  table.Add(kTensor, 2, 200, 100);
  table.Add(kTensor, 3, 300, 100);
  const auto snapshot = table.Snapshot();
  EXPECT_THAT(BeginsOf(*snapshot), ElementsAre(0, 200, 300, 400));
  EXPECT_THAT(snapshot->objects, ElementsAre(1, 2, 3, 1));
  EXPECT_EQ(snapshot->Find(399), 2);
  EXPECT_EQ(snapshot->Find(999), 3);
  EXPECT_EQ(snapshot->Find(1000), -1);
}

TEST(ObjectTableTest, AnInnerObjectMayReachBeyondItsOuterOnes) {
  ObjectTable table(12);
  table.Add(kDriver, 1, 0, 100);
  table.Add(kDriver, 2, 100, 100);
  table.Add(kSegment, 3, 50, 400);
  const auto snapshot = table.Snapshot();
  EXPECT_THAT(BeginsOf(*snapshot), ElementsAre(0, 50));
  EXPECT_THAT(snapshot->objects, ElementsAre(1, 3));
}

TEST(ObjectTableTest, EpochsAreSharedUntilSomethingChanges) {
  ObjectTable table(12);
  table.Add(kDriver, 1, 0, 100);
  const auto first = table.Snapshot();
  EXPECT_EQ(table.Snapshot(), first);
  EXPECT_FALSE(table.Remove(kDriver, 50));
  EXPECT_EQ(table.Snapshot(), first);
  EXPECT_TRUE(table.Remove(kDriver, 0));
  EXPECT_THAT(table.Snapshot()->ranges, IsEmpty());
  EXPECT_EQ(first->num_ranges(), 1U);
}

TEST(ObjectTableTest, MemoryThatWasFreedUnseenMakesRoom) {
  ObjectTable table(12);
  table.Add(kDriver, 1, 0, 100);
  table.Add(kDriver, 2, 50, 100);
  EXPECT_THAT(table.Snapshot()->objects, ElementsAre(2));
}

TEST(ObjectTableTest, PagesAreNumberedThroughAllRanges) {
  ObjectTable table(12);
  table.Add(kDriver, 1, 4000, 200);   // two pages: 0 and 1
  table.Add(kDriver, 2, 8192, 4096);  // one
  table.Add(kDriver, 3, 20000, 1);    // one
  const auto snapshot = table.Snapshot();
  EXPECT_THAT(snapshot->first_page_bit, ElementsAre(0, 2, 3));
  EXPECT_EQ(snapshot->num_page_bits, 4U);
}

// Each byte belongs to the innermost level that holds it, or to no object.
RC_GTEST_PROP(ObjectTableProperty, EveryByteHasItsInnermostObject, ()) {
  constexpr std::uint64_t kSpace = 64;
  ObjectTable table(2);
  std::array<std::map<std::uint64_t, std::uint64_t>, 3> owner_of_byte;
  const int num_objects = *rc::gen::inRange(0, 20);
  for (int object = 1; object <= num_objects; ++object) {
    const auto level = *rc::gen::inRange<std::uint32_t>(0, 3);
    const auto address = *rc::gen::inRange<std::uint64_t>(0, kSpace);
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 16);
    auto& owners = owner_of_byte[level];
    // Objects that overlap are removed as a whole.
    std::set<std::uint64_t> replaced;
    for (std::uint64_t byte = address; byte < address + bytes; ++byte) {
      if (owners.contains(byte)) {
        replaced.insert(owners[byte]);
      }
    }
    std::erase_if(owners, [&](const auto& entry) { return replaced.contains(entry.second); });
    for (std::uint64_t byte = address; byte < address + bytes; ++byte) {
      owners[byte] = static_cast<std::uint64_t>(object);
    }
    table.Add(level, static_cast<std::uint64_t>(object), address, bytes);
  }
  const auto snapshot = table.Snapshot();
  for (std::uint64_t byte = 0; byte < kSpace + 16; ++byte) {
    std::uint64_t expected = 0;
    for (const auto& owners : owner_of_byte) {
      const auto found = owners.find(byte);
      expected = found == owners.end() ? expected : found->second;
    }
    const std::int64_t range = snapshot->Find(byte);
    RC_ASSERT((range < 0 ? 0 : snapshot->objects[static_cast<std::size_t>(range)]) == expected);
  }
}

}  // namespace
}  // namespace orrery::capture::sanitizer
