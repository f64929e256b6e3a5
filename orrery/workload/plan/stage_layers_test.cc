#include "orrery/workload/plan/stage_layers.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;

PipelineShape Plain(int stages) {
  return {.schedule = PipelineSchedule::k1f1b, .stages = stages};
}

PipelineShape Chunked(PipelineSchedule schedule, int stages, int chunks) {
  return {.schedule = schedule, .stages = stages, .chunks = chunks};
}

std::vector<int> Numbers(const LayerCut& cut) {
  std::vector<int> numbers;
  const auto parts = CutLayers(cut);
  EXPECT_TRUE(parts.has_value());
  for (const PartLayers& part : parts.value_or(std::vector<PartLayers>())) {
    numbers.push_back(part.num_blocks);
  }
  return numbers;
}

std::string ErrorOf(const LayerCut& cut) {
  const auto parts = CutLayers(cut);
  return parts ? "no error" : parts.error().message();
}

TEST(StageLayersTest, BlocksThatDivideAreSpreadEvenly) {
  EXPECT_THAT(*CutLayers({.shape = Plain(4), .blocks = 8}),
              ElementsAre(PartLayers{0, 2, true, false}, PartLayers{2, 2}, PartLayers{4, 2},
                          PartLayers{6, 2, false, true}));
  EXPECT_THAT(*CutLayers({.shape = Plain(1), .blocks = 3}),
              ElementsAre(PartLayers{0, 3, true, true}));
}

// Llama 3 405B: 126 layers and the two ends are 128, two for each of 8 · 8 parts.
TEST(StageLayersTest, EndsCountAsABlockWhereBlocksDoNotDivide) {
  const std::vector<int> numbers =
      Numbers({.shape = Chunked(PipelineSchedule::kInterleaved, 8, 8), .blocks = 126});
  ASSERT_EQ(numbers.size(), 64u);
  EXPECT_EQ(numbers.front(), 1);
  EXPECT_THAT(std::vector(numbers.begin() + 1, numbers.end() - 1), testing::Each(2));
  EXPECT_EQ(numbers.back(), 1);
}

// 30 with the ends: four for each of the first six parts, three for the others.
TEST(StageLayersTest, WhatIsLeftOverGoesToTheFirstParts) {
  EXPECT_THAT(Numbers({.shape = Plain(8), .blocks = 28}), ElementsAre(3, 4, 4, 4, 4, 4, 3, 2));
}

// 28 blocks and a head of 4 are 32, shares of 8: the block that passes 8 still belongs to the
// first part, the one that passes 16 to the second.
TEST(StageLayersTest, WorkIsCutBehindTheBlockThatPassesTheShare) {
  EXPECT_THAT(Numbers({.shape = Plain(4), .blocks = 28, .head_work = 4.0}),
              ElementsAre(9, 8, 8, 3));
  EXPECT_THAT(Numbers({.shape = Plain(4), .blocks = 4, .head_work = 4.5}), ElementsAre(3, 1, 0, 0));
}

// A head of 128,256 words against 4 · 4096 + 3 · 14336 = 59,392 of a block: 2.16 blocks.
TEST(StageLayersTest, FrameworksChooseHowWorkIsCut) {
  Framework framework;
  EXPECT_EQ(LayerCutOf(Llama3(), Plan{}, framework, Plain(4)).head_work, std::nullopt);
  framework.splits_layers_by_work = true;
  const LayerCut cut = LayerCutOf(Llama3(), Plan{}, framework, Plain(4));
  EXPECT_EQ(cut.blocks, 32);
  EXPECT_DOUBLE_EQ(cut.head_work.value_or(0), 128256.0 / 59392);
  EXPECT_THAT(Numbers(cut), ElementsAre(9, 9, 8, 6));
}

TEST(StageLayersTest, ThePlanDecidesWhereItNamesLayers) {
  EXPECT_THAT(Numbers({.shape = Plain(3), .blocks = 9, .layers_per_stage = {4, 4, 1}}),
              ElementsAre(4, 4, 1));
  // Stage 0 holds parts 0 and 2 of an interleaved chain, parts 0 and 3 of a V.
  EXPECT_THAT(Numbers({.shape = Chunked(PipelineSchedule::kInterleaved, 2, 2),
                       .blocks = 7,
                       .layers_per_stage = {5, 2}}),
              ElementsAre(3, 1, 2, 1));
  EXPECT_THAT(Numbers({.shape = Chunked(PipelineSchedule::kZeroBubbleV, 2, 2),
                       .blocks = 7,
                       .layers_per_stage = {5, 2}}),
              ElementsAre(3, 1, 1, 2));
  EXPECT_THAT(Numbers({.shape = Chunked(PipelineSchedule::kZeroBubbleV, 2, 2),
                       .blocks = 7,
                       .layers_per_stage = {1, 2, 3, 1}}),
              ElementsAre(1, 2, 3, 1));
}

TEST(StageLayersTest, DualPipeCutsOnceForBothDirections) {
  EXPECT_THAT(Numbers({.shape = Chunked(PipelineSchedule::kDualPipe, 4, 2), .blocks = 8}),
              ElementsAre(2, 2, 2, 2));
}

TEST(StageLayersTest, WrongNumbersNameTheKeyAndTheFix) {
  EXPECT_EQ(ErrorOf({.shape = Plain(4), .blocks = 8, .layers_per_stage = {4, 4}}),
            "plan.layers_per_stage has 2 numbers for 4 stages: give one for each of plan.pp");
  EXPECT_EQ(ErrorOf({.shape = Plain(2), .blocks = 8, .layers_per_stage = {4, 3}}),
            "plan.layers_per_stage adds up to 7 layers and the model has 8: change one number");
  EXPECT_EQ(ErrorOf({.shape = Plain(2), .blocks = 8, .layers_per_stage = {9, -1}}),
            "plan.layers_per_stage has a number below 0: give 0 or more for each stage");
  EXPECT_EQ(ErrorOf({.shape = Plain(41), .blocks = 32}),
            "plan.pp 41 with plan.chunks 1 makes 41 parts of 32 layers: lower one of the two");
}

RC_GTEST_PROP(StageLayersProperty, EveryBlockIsInOnePart, ()) {
  LayerCut cut{.shape = Chunked(PipelineSchedule::kInterleaved, *rc::gen::inRange(1, 9),
                                *rc::gen::inRange(2, 5))};
  cut.blocks = NumParts(cut.shape) + *rc::gen::inRange(0, 100);
  if (*rc::gen::arbitrary<bool>()) {
    cut.head_work = *rc::gen::inRange(0, 9);
  }
  const auto parts = CutLayers(cut);
  RC_ASSERT(parts.has_value());
  int next = 0;
  for (const PartLayers& part : *parts) {
    RC_ASSERT(part.first_block == next);
    next += part.num_blocks;
  }
  RC_ASSERT(next == cut.blocks);
}

// 30 blocks, embedding and loss over four parts of eight: the first and the last have seven.
TEST(StageLayersTest, EndsMayCountAsLayers) {
  LayerCut cut{.shape = {PipelineSchedule::k1f1b, 4, 1, 8},
               .blocks = 30,
               .counts_embedding = true,
               .counts_loss = true};
  const auto both = CutLayers(cut);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->front().num_blocks, 7);
  EXPECT_EQ((*both)[1].num_blocks, 8);
  EXPECT_EQ(both->back().num_blocks, 7);
  cut.blocks = 31;
  cut.counts_embedding = false;
  const auto loss = CutLayers(cut);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->front().num_blocks, 8);
  EXPECT_EQ(loss->back().num_blocks, 7);
}

TEST(StageLayersTest, LayoutsAreReadAsMegatronWritesThem) {
  EXPECT_EQ(LayersOfLayout("Ett|ttt|tL"), (std::vector{2, 3, 1}));
  EXPECT_EQ(LayersOfLayout("Et*4|(t*4|)*2tmL"), (std::vector{4, 4, 4, 1}));
  EXPECT_EQ(LayersOfLayout("Et|(tt|)*3mL"), (std::vector{1, 2, 2, 2, 0}));
  for (const std::string_view wrong :
       {"", "tt|tt", "Et|x|L", "Et*0|L", "E(t|L", "Et|t)L", "Et*99999999|L"}) {
    EXPECT_EQ(LayersOfLayout(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace orrery::workload
