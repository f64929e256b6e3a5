#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/api/analyze/options.h"

namespace orrery::api {
namespace {

using Subject = analyze::WhatIfQuestion::Subject;

TEST(WhatIfQuestionTest, Questions) {
  const auto network = ParseWhatIf("network=4");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->subject, Subject::kNetwork);
  EXPECT_DOUBLE_EQ(network->speedup, 4);
  const auto named = ParseWhatIf("operator:aten::mm=1.5");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->subject, Subject::kOperator);
  EXPECT_EQ(named->name, "aten::mm");
  EXPECT_DOUBLE_EQ(named->speedup, 1.5);
  const auto rank = ParseWhatIf("rank:3");
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->subject, Subject::kRank);
  EXPECT_EQ(rank->name, "3");
}

TEST(WhatIfQuestionTest, WrongQuestionsSayTheForm) {
  for (const char* text :
       {"", "network", "network=", "network=0", "network=-1", "network=2x", "network:x=2",
        "kernel=2", "kernel:=2", "rank:3=2", "rank:x", "wind=2"}) {
    const auto question = ParseWhatIf(text);
    ASSERT_FALSE(question) << text;
    EXPECT_NE(question.error().message().find("must be network=K"), std::string::npos);
  }
}

}  // namespace
}  // namespace orrery::api
