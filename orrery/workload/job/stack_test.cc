#include "orrery/workload/job/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery::workload {
namespace {

using testing::HasSubstr;

TEST(StackTest, ThoseWhoRunTheSameCodeAreOneStack) {
  EXPECT_EQ(StackName("", "NeMo / Megatron-Core", "NVIDIA"), "NVIDIA");
  EXPECT_EQ(StackName("", "NeMo / Megatron-Core", "Dell"), "NVIDIA");
  EXPECT_EQ(StackName("", "Megatron-LM (commit 285068c8)", "ByteDance"), "NVIDIA");
  EXPECT_EQ(StackName("", "NGC Pytorch 24.09, NGC HugeCTR 24.09", "Dell"), "NVIDIA");
}

TEST(StackTest, AForkIsAnotherStack) {
  EXPECT_EQ(StackName("", "Megatron-DeepSpeed", "KAIST"), "Megatron-DeepSpeed");
  EXPECT_EQ(StackName("", "Megatron-LM + DeepSpeed ZeRO-3", "NVIDIA"), "Megatron-DeepSpeed");
  EXPECT_EQ(StackName("", "MegaScale ablation", "ByteDance"), "MegaScale");
}

TEST(StackTest, WhatTheTableStatesGoesFirstAndTheTeamLast) {
  EXPECT_EQ(StackName("ours", "NeMo", "NVIDIA"), "ours");
  EXPECT_EQ(StackName("", "HAI-LLM (DualPipe)", "DeepSeek"), "DeepSeek");
}

TEST(StackTest, CollectivesBelongToThoseWhoMeasuredThem) {
  using testing::Contains;
  EXPECT_THAT(CollectivesMeasuredBy("Megatron-DeepSpeed", "KAIST"),
              testing::ElementsAre("vTrain all-reduce LUT"));
  EXPECT_THAT(CollectivesMeasuredBy("NVIDIA", "Dell"), Contains("aiconfigurator"));
  EXPECT_THAT(CollectivesMeasuredBy("nanotron", "Hugging Face"), testing::IsEmpty());
}

TEST(StackTest, AFileThatIsWrongIsRefusedByName) {
  const auto read =
      ReadStacks("stacks:\n  - {name: A, match: [[a]], reason: b, other: c}\ncollectives: []\n");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("other"));
}

}  // namespace
}  // namespace orrery::workload
