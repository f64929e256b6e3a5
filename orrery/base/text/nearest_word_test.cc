#include "orrery/base/text/nearest_word.h"

#include <array>
#include <string>

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

// "TPU" is two exchanged letters from "T4" (3 - 1 in common) and four insertions from "TPU-v6e".
TEST(NearestWord, ABeginningIsNearerThanTwoOtherLetters) {
  constexpr std::array<std::string_view, 2> kKnown{"T4", "TPU-v6e"};
  EXPECT_EQ(NearestWord("TPU", kKnown), "TPU-v6e");
  EXPECT_EQ(NearestWord("T5", kKnown), "T4");
}

// simualte → simuatle … two exchanges; a third of eight letters is 2. A third of "mfuu" is 1.
TEST(NearestWord, SuggestsOnlyWhatIsLikely) {
  constexpr std::array<std::string_view, 3> kKnown{"simulate", "mfu", "TPU-v6e"};
  EXPECT_EQ(DidYouMean("simualte", kKnown), "; did you mean 'simulate'?");
  EXPECT_EQ(DidYouMean("MFUU", kKnown), "; did you mean 'mfu'?");
  EXPECT_EQ(DidYouMean("tpu", kKnown), "; did you mean 'TPU-v6e'?");
  EXPECT_EQ(DidYouMean("speed", kKnown), "");
  EXPECT_EQ(DidYouMean("x", {}), "");
}

RC_GTEST_PROP(NearestWord, DistanceIsAMetric,
              (const std::string& a, const std::string& b, const std::string& c)) {
  RC_ASSERT(EditDistance(a, b) == EditDistance(b, a));
  RC_ASSERT((EditDistance(a, b) == 0) == (a == b));
  RC_ASSERT(EditDistance(a, c) <= EditDistance(a, b) + EditDistance(b, c));
}

}  // namespace
}  // namespace orrery
