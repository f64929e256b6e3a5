#include "orrery/base/nearest_word.h"

#include <array>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

// The classic: kitten → sitten → sittin → sitting.
TEST(NearestWord, CountsEdits) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("abc", "abc"), 0U);
}

TEST(NearestWord, FindsTheFirstOfTheNearest) {
  constexpr std::array<std::string_view, 3> kKnown{"tp", "pp", "sequence_parallel"};
  EXPECT_EQ(NearestWord("Sequence-Parallel", kKnown), "sequence_parallel");
  EXPECT_EQ(NearestWord("xp", kKnown), "tp");
  EXPECT_EQ(NearestWord("xp", {}), "");
}

RC_GTEST_PROP(NearestWord, DistanceIsAMetric,
              (const std::string& a, const std::string& b, const std::string& c)) {
  RC_ASSERT(EditDistance(a, b) == EditDistance(b, a));
  RC_ASSERT((EditDistance(a, b) == 0) == (a == b));
  RC_ASSERT(EditDistance(a, c) <= EditDistance(a, b) + EditDistance(b, c));
}

}  // namespace
}  // namespace orrery
