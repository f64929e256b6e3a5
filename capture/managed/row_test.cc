#include <gtest/gtest.h>

#include "capture/managed/experiment.h"

namespace managed {
namespace {

TEST(RowTest, ARowNamesTheExperimentAndItsTimes) {
  Experiment experiment;
  experiment.kind = "prefetch";
  experiment.access = "to_gpu";
  experiment.bytes = 8192;
  experiment.calls = 2;

  EXPECT_EQ(RowOf(experiment, {30, 10, 20}, {3, 1, 2}),
            R"({"experiment": "prefetch", "backing": "written", "order": "scattered", )"
            R"("access": "to_gpu", "resident": false, "blocks": 0, "pages_per_block": 0, )"
            R"("bytes": 8192, "calls": 2, "compute_ns": 0, "median_ns": 20, "call_median_ns": 2, )"
            R"("times_ns": [30, 10, 20]})");
}

TEST(RowTest, WithoutTimesOfCallsNoneAreSaid) {
  EXPECT_EQ(RowOf(Experiment(), {1}, {}).find("call_median_ns"), std::string::npos);
}

TEST(RowTest, TheMiddleOfAnEvenNumberIsTheLowerOne) {
  EXPECT_EQ(Median({4, 1, 3, 2}), 2);
  EXPECT_EQ(Median({7}), 7);
}

TEST(RowTest, NamesCannotBreakALine) {
  EXPECT_EQ(Quoted("a\"b\\c\nd"), R"("a\"b\\cd")");
}

}  // namespace
}  // namespace managed
