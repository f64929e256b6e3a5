#include "orrery/simulate/explain/memory_timeline.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/string_table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::TaskId;

/// Kernels of 10, 20 and 30 one after the other, with 1,000 bytes of parameters.
class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() : rank_({}) {
    for (const std::int64_t duration_ps : {10, 20, 30}) {
      rank_.Kernel(duration_ps);
    }
    rank_.program.held_memory.Append({.category = Category("parameters"), .bytes = 1000});
  }

  StringId Category(std::string_view name) { return rank_.program.strings.Intern(name); }

  void Change(TaskId task, std::string_view category, std::int64_t bytes) {
    rank_.program.memory_changes.Append(
        {.task = task, .category = Category(category), .bytes = bytes});
  }

  MemoryTimeline Simulated(bool rounds = false) {
    const RankClasses rank_classes = SingleRank(rank_.program);
    PlainTimes times;
    return MemoryOf(rank_classes, *Simulate(rank_classes, times), 0, rounds);
  }

  RankWriter rank_;
};

// Activations of 500 from 0, of 300 from 10, both until 60; logits of 400 from 10 to 30: the peak
// is 1000 + 500 + 300 + 400 at 10.
TEST_F(MemoryTest, TakesAtTheBeginAndGivesBackAtTheEnd) {
  Change(0, "activations", 500);
  Change(1, "activations", 300);
  Change(1, "logits", 400);
  Change(1, "logits", -400);
  Change(2, "activations", -800);

  const MemoryTimeline memory = Simulated();

  EXPECT_THAT(memory.curve, ElementsAre(MemoryPoint{0, 1500}, MemoryPoint{10, 2200},
                                        MemoryPoint{30, 1800}, MemoryPoint{60, 1000}));
  EXPECT_EQ(memory.peak_bytes, 2200);
  EXPECT_EQ(memory.peak_ps, 10);
  EXPECT_THAT(memory.parts, ElementsAre(MemoryPart{"parameters", 1000},
                                        MemoryPart{"activations", 800}, MemoryPart{"logits", 400}));
}

// Memory that the first kernel gives back at 10 is free for the second, which begins at 10.
TEST_F(MemoryTest, WhatIsGivenBackIsThereForTheNext) {
  Change(0, "work", 500);
  Change(0, "work", -500);
  Change(1, "work", 500);

  EXPECT_EQ(Simulated().peak_bytes, 1500);
}

TEST_F(MemoryTest, WithoutChangesThePeakIsWhatIsHeld) {
  const MemoryTimeline memory = Simulated();

  EXPECT_EQ(memory.peak_bytes, 1000);
  EXPECT_THAT(memory.curve, ElementsAre(MemoryPoint{0, 1000}));
}

// 1,000 bytes of parameters are two pieces of 512; 3 MiB of activations two of 2 MiB.
TEST_F(MemoryTest, TheAllocatorRounds) {
  Change(0, "activations", 3 << 20);

  EXPECT_EQ(Simulated(/*rounds=*/true).peak_bytes, 1024 + (4 << 20));
}

// Tensors and workspaces, not the context and NCCL's buffers; from Hopper on workspaces are larger.
TEST_F(MemoryTest, TheAllocatorCountsTensorsAndWorkspaces) {
  const workload::MemoryConstants& constants = workload::DefaultMemoryConstants();
  const StageMemory stage{.peak_bytes = 9000,
                          .parts = {{"parameters", 4000},
                                    {"CUDA context", 3000},
                                    {"communication buffers", 2000}}};
  const std::int64_t ampere = AllocatedBytes(stage, *hardware::FindGpu("A100"));
  EXPECT_EQ(ampere, 4000 + constants.workspace_bytes);
  EXPECT_EQ(AllocatedBytes(stage, *hardware::FindGpu("H100")),
            ampere + constants.wide_workspace_bytes);
}

}  // namespace
}  // namespace orrery::simulate
