#include "orrery/workload/plan/pipeline_schedule.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

// Most micro-batches that a device holds at once, counted in chunks.
int MostChunksInFlight(const std::vector<PipelineStep>& steps) {
  int held = 0;
  int most = 0;
  for (const PipelineStep& step : steps) {
    if (step.pass == PipelinePass::kForward) {
      most = std::max(most, ++held);
    } else if (step.pass != PipelinePass::kInputBackward) {
      --held;
    }
  }
  return most;
}

using Steps = std::vector<PipelineStep>;

constexpr PipelineSchedule kAllSchedules[] = {
    PipelineSchedule::kGpipe,        PipelineSchedule::k1f1b,
    PipelineSchedule::kInterleaved,  PipelineSchedule::kZeroBubbleH1,
    PipelineSchedule::kZeroBubble2p, PipelineSchedule::kZeroBubbleV,
    PipelineSchedule::kDualPipe,
};

Steps StepsOf(const PipelineShape& shape, int stage) {
  auto steps = ScheduleOf(shape, stage);
  EXPECT_TRUE(steps.has_value());
  return steps ? *std::move(steps) : Steps();
}

/// Times of the passes of one micro-batch through one chunk.
struct PassTimes {
  int forward = 0;
  int input = 0;
  int weight = 0;
};

struct Window {
  int begin = 0;
  int end = 0;

  [[nodiscard]] int length() const { return end - begin; }
};

/// Simulates the orders of all devices with free communication: a step begins when the step before
/// it on its device and the same micro-batch's step at the neighbour are done.
class ListScheduler {
 public:
  ListScheduler(const PipelineShape& shape, PassTimes times) : shape_(shape), times_(times) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      steps_.push_back(StepsOf(shape, stage));
    }
    next_.resize(steps_.size());
    windows_.resize(steps_.size());
  }

  /// When each device begins and ends; nothing when all wait for each other.
  std::optional<std::vector<Window>> Schedule() {
    bool moves = true;
    while (moves) {
      moves = false;
      for (std::size_t stage = 0; stage < steps_.size(); ++stage) {
        while (next_[stage] < steps_[stage].size() && Advance(stage)) {
          moves = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < steps_.size(); ++stage) {
      if (next_[stage] < steps_[stage].size()) {
        return std::nullopt;
      }
    }
    return windows_;
  }

 private:
  using Key = std::tuple<bool, int, int, int>;  // forward?, stage, chunk, micro-batch

  [[nodiscard]] int TimeOf(const PipelineStep& step) const {
    switch (step.pass) {
      case PipelinePass::kForward:
        return times_.forward;
      case PipelinePass::kBackward:
        return times_.input + times_.weight;
      case PipelinePass::kInputBackward:
        return times_.input;
      case PipelinePass::kWeightBackward:
        return times_.weight;
    }
    return 0;
  }

  /// When what a step needs from others is there: 0 for nothing, nothing when not known yet.
  [[nodiscard]] std::optional<int> Ready(int stage, const PipelineStep& step) const {
    if (step.pass == PipelinePass::kWeightBackward) {
      return 0;
    }
    const bool forward = step.pass == PipelinePass::kForward;
    const ChunkPlace here{stage, step.chunk};
    std::optional<ChunkPlace> from = forward ? ChunkBefore(shape_, here) : ChunkAfter(shape_, here);
    if (!from && forward) {
      return 0;
    }
    const Key key = from ? Key{forward, from->stage, from->chunk, step.microbatch}
                         : Key{true, stage, step.chunk, step.microbatch};
    const auto found = ends_.find(key);
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
  }

  bool Advance(std::size_t stage) {
    const Steps& steps = steps_[stage];
    const std::size_t first = next_[stage];
    const std::size_t count = steps[first].runs_with_next ? 2 : 1;
    int begin = windows_[stage].end;
    int length = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      const auto ready = Ready(static_cast<int>(stage), steps[i]);
      if (!ready) {
        return false;
      }
      begin = std::max(begin, *ready);
      length += TimeOf(steps[i]);
    }
    for (std::size_t i = first; i < first + count; ++i) {
      Finish(static_cast<int>(stage), steps[i], begin + length);
    }
    windows_[stage] = {.begin = first == 0 ? begin : windows_[stage].begin, .end = begin + length};
    next_[stage] += count;
    return true;
  }

  void Finish(int stage, const PipelineStep& step, int end) {
    if (step.pass != PipelinePass::kWeightBackward) {
      ends_[{step.pass == PipelinePass::kForward, stage, step.chunk, step.microbatch}] = end;
    }
  }

  PipelineShape shape_;
  PassTimes times_;
  std::vector<Steps> steps_;
  std::vector<std::size_t> next_;
  std::vector<Window> windows_;
  std::map<Key, int> ends_;
};

int Makespan(const PipelineShape& shape, PassTimes times) {
  const auto windows = ListScheduler(shape, times).Schedule();
  EXPECT_TRUE(windows.has_value());
  int end = 0;
  for (const Window& window : windows.value_or(std::vector<Window>())) {
    end = std::max(end, window.end);
  }
  return end;
}

PipelineShape Shape(PipelineSchedule schedule, int stages, int chunks, int microbatches) {
  return {schedule, stages, chunks, microbatches};
}

std::vector<int> InFlight(const PipelineShape& shape) {
  std::vector<int> counts;
  for (int stage = 0; stage < shape.stages; ++stage) {
    counts.push_back(MostChunksInFlight(StepsOf(shape, stage)));
  }
  return counts;
}

constexpr PassTimes kTens{10, 10, 10};

// Work of a device is m · 30; 1F1B and GPipe add (p − 1) · 30: 240 + 90 and 480 + 210.
TEST(PipelineScheduleTest, GpipeAndOneForwardOneBackwardHaveTheSameBubble) {
  for (const auto schedule : {PipelineSchedule::kGpipe, PipelineSchedule::k1f1b}) {
    EXPECT_EQ(Makespan(Shape(schedule, 4, 1, 8), kTens), 330);
    EXPECT_EQ(Makespan(Shape(schedule, 8, 1, 16), kTens), 690);
  }
}

// ZB-H1 adds (p − 1)(10 + 10 − 10): 240 + 30 and 480 + 70.
TEST(PipelineScheduleTest, ZeroBubbleH1KeepsAThirdOfTheBubble) {
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kZeroBubbleH1, 4, 1, 8), kTens), 270);
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kZeroBubbleH1, 8, 1, 16), kTens), 550);
}

// (p − 1) · 30 / v more than the work. Passes of a chunk take 10/v; times are given in units of
// 1/v, so that 285 is 570 halves, 262.5 is 1,050 quarters and 550 is 1,650 thirds.
TEST(PipelineScheduleTest, InterleavingDividesTheBubbleByTheChunks) {
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kInterleaved, 4, 2, 8), kTens), 2 * 285);
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kInterleaved, 4, 4, 8), kTens), 1050);
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kInterleaved, 8, 3, 16), kTens), 3 * 550);
}

// No idle time inside a device: the work of 8 micro-batches and 2 chunks is 2 · 8 · 30 halves.
TEST(PipelineScheduleTest, ZeroBubbleVKeepsEveryDeviceBusy) {
  for (const int stages : {2, 4, 8}) {
    const auto windows =
        ListScheduler(Shape(PipelineSchedule::kZeroBubbleV, stages, 2, 2 * stages), kTens)
            .Schedule();
    ASSERT_TRUE(windows);
    for (const Window& window : *windows) {
      EXPECT_EQ(window.length(), 2 * 2 * stages * 30);
    }
    EXPECT_EQ(windows->back().begin, (stages - 1) * 10);
  }
}

// The same with one chunk; the pipeline fills in (p − 1) · 10, so the last device begins then.
TEST(PipelineScheduleTest, ZeroBubble2pKeepsEveryDeviceBusy) {
  for (const int stages : {2, 4, 8}) {
    const auto windows =
        ListScheduler(Shape(PipelineSchedule::kZeroBubble2p, stages, 1, 3 * stages), kTens)
            .Schedule();
    ASSERT_TRUE(windows);
    for (const Window& window : *windows) {
      EXPECT_EQ(window.length(), 3 * stages * 30);
    }
    EXPECT_EQ(windows->back().begin, (stages - 1) * 10);
  }
}

// Forward 10, backward 10 + 10, side by side 30: (p/2 − 1)(30 + 20 − 3 · 10), and no chunk's
// work is half a device's here, for a micro-batch meets each device once.
TEST(PipelineScheduleTest, DualPipeHasTheBubbleOfItsFormula) {
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kDualPipe, 2, 2, 4), kTens), 4 * 30);
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kDualPipe, 4, 2, 8), kTens), 8 * 30 + 20);
  EXPECT_EQ(Makespan(Shape(PipelineSchedule::kDualPipe, 8, 2, 20), kTens), 20 * 30 + 3 * 20);
}

TEST(PipelineScheduleTest, MicrobatchesInFlightAreThoseOfThePapers) {
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::kGpipe, 4, 1, 8)), testing::ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::k1f1b, 4, 1, 8)), testing::ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::k1f1b, 4, 1, 2)), testing::ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::kZeroBubbleH1, 4, 1, 8)), testing::Each(4));
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::kZeroBubble2p, 4, 1, 8)), testing::Each(8));
  EXPECT_EQ(InFlight(Shape(PipelineSchedule::kInterleaved, 4, 2, 8)).front(), 11);
  EXPECT_EQ(InFlight(Shape(PipelineSchedule::kInterleaved, 8, 3, 16)).front(), 31);
  EXPECT_EQ(InFlight(Shape(PipelineSchedule::kInterleaved, 4, 4, 8)).front(), 19);
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::kZeroBubbleV, 4, 2, 8)), testing::Each(8));
  EXPECT_THAT(InFlight(Shape(PipelineSchedule::kDualPipe, 4, 2, 8)), testing::Each(5));
}

// Stage 1 of 2: no warm-up but the first chunk's group, then backward passes from the last chunk.
TEST(PipelineScheduleTest, InterleavedOrderIsMegatrons) {
  const Steps steps = StepsOf(Shape(PipelineSchedule::kInterleaved, 2, 2, 2), 1);
  const auto f = PipelinePass::kForward;
  const auto b = PipelinePass::kBackward;
  EXPECT_THAT(steps, testing::ElementsAre(PipelineStep{f, 0, 0}, PipelineStep{f, 0, 1},
                                          PipelineStep{f, 1, 0}, PipelineStep{b, 1, 0},
                                          PipelineStep{f, 1, 1}, PipelineStep{b, 1, 1},
                                          PipelineStep{b, 0, 0}, PipelineStep{b, 0, 1}));
}

// One forward pass more comes first, so that the last device's pairs are of two micro-batches.
TEST(PipelineScheduleTest, PairsOfInterleavedPassesAreIndependent) {
  PipelineShape shape = Shape(PipelineSchedule::kInterleaved, 2, 2, 2);
  shape.pairs_passes = true;
  const auto f = PipelinePass::kForward;
  const auto b = PipelinePass::kBackward;
  EXPECT_THAT(StepsOf(shape, 1),
              testing::ElementsAre(PipelineStep{f, 0, 0}, PipelineStep{f, 0, 1},
                                   PipelineStep{f, 1, 0}, PipelineStep{f, 1, 1, true},
                                   PipelineStep{b, 1, 0}, PipelineStep{b, 1, 1},
                                   PipelineStep{b, 0, 0}, PipelineStep{b, 0, 1}));
  for (const auto& [stages, chunks] : {std::pair(2, 2), {4, 2}, {4, 4}, {8, 3}}) {
    shape = Shape(PipelineSchedule::kInterleaved, stages, chunks, 3 * stages);
    const int before = InFlight(shape).front();
    shape.pairs_passes = true;
    EXPECT_EQ(InFlight(shape).front(), before + 1);
    EXPECT_TRUE(ListScheduler(shape, kTens).Schedule()) << "devices wait for each other";
  }
}

TEST(PipelineScheduleTest, ChainsGoDownAndInAVUpAgain) {
  const PipelineShape interleaved = Shape(PipelineSchedule::kInterleaved, 4, 3, 8);
  EXPECT_EQ(PositionOf(interleaved, 1, 2), 9);
  EXPECT_EQ(ChunkAfter(interleaved, {3, 0}), (ChunkPlace{0, 1}));
  const PipelineShape v = Shape(PipelineSchedule::kZeroBubbleV, 4, 2, 8);
  EXPECT_EQ(PositionOf(v, 0, 1), 7);
  EXPECT_EQ(ChunkAfter(v, {3, 0}), (ChunkPlace{3, 1}));
  EXPECT_EQ(ChunkBefore(v, {2, 1}), (ChunkPlace{3, 1}));
}

TEST(PipelineScheduleTest, DualPipeHoldsEveryPartTwice) {
  const PipelineShape shape = Shape(PipelineSchedule::kDualPipe, 4, 2, 8);
  EXPECT_EQ(NumParts(shape), 4);
  EXPECT_EQ(PartOf(shape, {3, 1}), 0);
  EXPECT_EQ(PartOf(shape, {1, 0}), PartOf(shape, {2, 1}));
  EXPECT_EQ(ChunkBefore(shape, {3, 1}), std::nullopt);
  EXPECT_EQ(ChunkAfter(shape, {3, 0}), std::nullopt);
  EXPECT_EQ(ChunkAfter(shape, {3, 1}), (ChunkPlace{2, 1}));
  EXPECT_EQ(ChunkAfter(shape, {0, 1}), std::nullopt);
}

TEST(PipelineScheduleTest, PlansWithoutChunksHaveThoseOfTheirSchedule) {
  Plan plan{.pp = 4, .schedule = PipelineSchedule::kZeroBubbleV};
  EXPECT_EQ(ShapeOf(plan, 8), Shape(PipelineSchedule::kZeroBubbleV, 4, 2, 8));
  plan.schedule = PipelineSchedule::k1f1b;
  EXPECT_EQ(ShapeOf(plan, 8).chunks, 1);
}

std::string ErrorOf(const PipelineShape& shape) {
  const auto steps = ScheduleOf(shape, 0);
  return steps ? "no error" : steps.error().message();
}

TEST(PipelineScheduleTest, WrongShapesNameTheKeyAndTheFix) {
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::k1f1b, 4, 2, 8)),
            "plan.chunks must be 1 for plan.schedule 1f1b, not 2; several chunks need interleaved");
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::kInterleaved, 4, 1, 8)),
            "plan.chunks must be 2 or more for plan.schedule interleaved, not 1; one chunk is "
            "1f1b");
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::kZeroBubbleV, 4, 3, 8)),
            "plan.chunks must be 2 for plan.schedule zb-v, which has no other shape, not 3");
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::kDualPipe, 3, 2, 8)),
            "plan.pp must be even for plan.schedule dualpipe, not 3: choose another of the two");
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::kDualPipe, 4, 2, 6)),
            "plan.schedule dualpipe needs an even number of micro-batches, at least 2 · plan.pp = "
            "8, not 6: raise training.global_batch");
  EXPECT_EQ(ErrorOf(Shape(PipelineSchedule::k1f1b, 4, 1, 0)),
            "a step must have a micro-batch or more, not 0: raise training.global_batch to "
            "training.micro_batch · plan.dp");
}

PipelineShape ArbitraryShape() {
  PipelineShape shape;
  shape.schedule =
      *rc::gen::elementOf(std::vector(std::begin(kAllSchedules), std::end(kAllSchedules)));
  shape.stages = *rc::gen::inRange(1, 10);
  shape.microbatches = *rc::gen::inRange(1, 40);
  if (shape.schedule == PipelineSchedule::kInterleaved) {
    shape.chunks = *rc::gen::inRange(2, 6);
  }
  if (shape.schedule == PipelineSchedule::kZeroBubbleV) {
    shape.chunks = 2;
  }
  if (shape.schedule == PipelineSchedule::kDualPipe) {
    shape.chunks = 2;
    shape.stages *= 2;
    shape.microbatches = 2 * (shape.stages + shape.microbatches);
  }
  return shape;
}

bool Meets(const PipelineShape& shape, int chunk, int microbatch) {
  return shape.schedule != PipelineSchedule::kDualPipe ||
         (chunk == 0) == (microbatch < shape.microbatches / 2);
}

RC_GTEST_PROP(PipelineScheduleProperty, NobodyWaitsForEver, ()) {
  const PipelineShape shape = ArbitraryShape();
  RC_ASSERT(ListScheduler(shape, {3, 4, 2}).Schedule().has_value());
}

RC_GTEST_PROP(PipelineScheduleProperty, EveryPassIsRunOnceAndWeightsAfterInputs, ()) {
  const PipelineShape shape = ArbitraryShape();
  const Steps steps = StepsOf(shape, *rc::gen::inRange(0, shape.stages));
  std::map<std::pair<int, int>, std::vector<PipelinePass>> passes;
  for (const PipelineStep& step : steps) {
    passes[{step.chunk, step.microbatch}].push_back(step.pass);
  }
  const std::vector<PipelinePass> whole = {PipelinePass::kForward, PipelinePass::kBackward};
  const std::vector<PipelinePass> parts = {PipelinePass::kForward, PipelinePass::kInputBackward,
                                           PipelinePass::kWeightBackward};
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    for (int i = 0; i < shape.microbatches; ++i) {
      const std::vector<PipelinePass>& seen = passes[{chunk, i}];
      RC_ASSERT(seen.empty() == !Meets(shape, chunk, i));
      RC_ASSERT((seen.empty() || seen == whole || seen == parts));
    }
  }
  RC_ASSERT(static_cast<int>(passes.size()) == shape.chunks * shape.microbatches);
}

RC_GTEST_PROP(PipelineScheduleProperty, PlacesAndPositionsAreEachOthersInverse, ()) {
  const PipelineShape shape = ArbitraryShape();
  std::set<int> positions;
  for (int stage = 0; stage < shape.stages; ++stage) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const int position = PositionOf(shape, stage, chunk);
      RC_ASSERT(PlaceOf(shape, position) == (ChunkPlace{stage, chunk}));
      positions.insert(position);
    }
  }
  RC_ASSERT(static_cast<int>(positions.size()) == shape.stages * shape.chunks);
  RC_ASSERT(*positions.rbegin() == shape.stages * shape.chunks - 1);
}

}  // namespace
}  // namespace orrery::workload
