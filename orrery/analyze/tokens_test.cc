#include <gtest/gtest.h>

#include "orrery/analyze/step_time.h"

namespace orrery::analyze {
namespace {

TEST(TokensTest, OlderEngineSteps) {
  const auto step = ParseEngineStep("execute_context_2(512)_generation_3(3)");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->num_prompts, 2);
  EXPECT_EQ(step->context_tokens, 512);
  EXPECT_EQ(step->generated_tokens, 3);
}

TEST(TokensTest, NewerEngineStepsCountAllTokensFirst) {
  const auto step = ParseEngineStep("execute_515_context_2(sq512sk512)_generation_3(sq3sk900)");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->num_prompts, 2);
  EXPECT_EQ(step->context_tokens, 512);
  EXPECT_EQ(step->generated_tokens, 3);
}

TEST(TokensTest, OtherNamesAreNotEngineSteps) {
  for (const char* name : {"", "execute", "execute_12", "execute_model", "ProfilerStep#3"}) {
    EXPECT_FALSE(ParseEngineStep(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::analyze
