#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/ingest/xplane/plane.h"

namespace orrery::ingest::xplane {
namespace {

AsyncHalf Start(const char* name, std::int64_t begin_ns) {
  return {.is_start = true, .start_name = name, .begin_ns = begin_ns, .end_ns = begin_ns + 1};
}

AsyncHalf Done(const char* name, std::int64_t begin_ns, std::int64_t end_ns) {
  return {.is_start = false, .start_name = name, .begin_ns = begin_ns, .end_ns = end_ns};
}

TEST(AsyncPairsTest, WorkLastsFromTheStartsBeginToTheDonesEnd) {
  const AsyncPairs pairs =
      PairAsync({Start("a", 0), Start("b", 2), Done("a", 10, 15), Done("b", 15, 16)});

  ASSERT_EQ(pairs.works.size(), 2U);
  EXPECT_EQ(pairs.works[0].begin_ns, 0);
  EXPECT_EQ(pairs.works[0].end_ns, 15);
  EXPECT_EQ(pairs.works[1].begin_ns, 2);
  EXPECT_EQ(pairs.works[1].end_ns, 16);
  EXPECT_EQ(pairs.num_unpaired, 0);
}

// The recording begins inside a copy and loses the done of the next one.
TEST(AsyncPairsTest, HalvesWithoutTheOtherAreCounted) {
  const AsyncPairs pairs =
      PairAsync({Done("a", 0, 1), Start("a", 2), Start("a", 5), Done("a", 7, 8), Start("b", 9)});

  ASSERT_EQ(pairs.works.size(), 1U);
  EXPECT_EQ(pairs.works[0].begin_ns, 5);
  EXPECT_EQ(pairs.num_unpaired, 3);
}

TEST(AsyncPairsTest, InOnePointOfTimeTheStartComesFirst) {
  const AsyncPairs pairs = PairAsync({Done("a", 4, 9), Start("a", 4)});

  ASSERT_EQ(pairs.works.size(), 1U);
  EXPECT_EQ(pairs.works[0].end_ns, 9);
}

TEST(AsyncPairsTest, ADoneNamesItsStart) {
  EXPECT_EQ(StartOfDone("copy-done.9", "%copy-done.9 = f32[8] copy-done((f32[8]) %copy-start.2)"),
            "copy-start.2");
  EXPECT_EQ(StartOfDone("async-done", "%async-done = f32[8] async-done(%start.1), calls=%f"),
            "start.1");
  EXPECT_EQ(StartOfDone("copy-done.9", ""), "copy-start.9");
}

}  // namespace
}  // namespace orrery::ingest::xplane
