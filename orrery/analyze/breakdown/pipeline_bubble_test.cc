#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;
using test_run::Span;

// One-forward-one-backward over `p` stages and `m` micro-batches, forward 10, backward 20,
// transfers that take no time: what each stage computes, and when it waits for a neighbour.
class OneForwardOneBackward {
 public:
  OneForwardOneBackward(int p, int m) : stages_(p), micro_batches_(m) {
    forward_end_.assign(static_cast<std::size_t>(p),
                        std::vector<std::int64_t>(static_cast<std::size_t>(m), -1));
    backward_end_ = forward_end_;
    for (int stage = 0; stage < p; ++stage) {
      orders_.push_back(OrderOf(stage));
    }
    Run();
  }

  [[nodiscard]] std::vector<trace::Trace> Traces() const {
    std::vector<trace::Trace> traces;
    for (int stage = 0; stage < stages_; ++stage) {
      traces.push_back(Writer(stage).Finish());
    }
    return traces;
  }

  // A receive is posted when the stage is free and ends when the data is there; the send is posted
  // when the data is ready and ends with the receive.
  [[nodiscard]] Rank Writer(int stage) const {
    Rank rank(stage);
    std::string ranks = "[";
    for (int i = 0; i < stages_; ++i) {
      ranks += (i == 0 ? "" : ", ") + std::to_string(i);
    }
    const RowId group = rank.Group("pp", ranks + "]", stages_, "PIPELINE_MODEL_PARALLEL_GROUP");
    rank.Step(0, {-100, 100'000});
    for (const Task& task : orders_[static_cast<std::size_t>(stage)]) {
      const int from = task.is_forward ? stage - 1 : stage + 1;
      if (from >= 0 && from < stages_) {
        rank.Collective({.kind = CollectiveKind::kRecv,
                         .span = {task.stage_free, std::max(task.stage_free, task.time.begin)},
                         .group = group,
                         .peer = from,
                         .stream = 20 + from});
      }
      rank.Kernel("gemm", task.time, 7, rank.Call({-50, -49}));
      const int to = task.is_forward ? stage + 1 : stage - 1;
      if (to >= 0 && to < stages_) {
        rank.Collective({.kind = CollectiveKind::kSend,
                         .span = {task.time.end, task.time.end},
                         .group = group,
                         .peer = to,
                         .stream = 40 + to});
      }
    }
    return rank;
  }

 private:
  struct Task {
    bool is_forward = true;
    int micro_batch = 0;
    Span time = {};
    std::int64_t stage_free = 0;  // when the stage was ready for it
  };

  [[nodiscard]] std::vector<Task> OrderOf(int stage) const {
    const int warm_up = std::min(stages_ - 1 - stage, micro_batches_);
    std::vector<Task> order;
    int backward = 0;
    for (int forward = 0; forward < micro_batches_; ++forward) {
      order.push_back({true, forward});
      if (forward >= warm_up) {
        order.push_back({false, backward++});
      }
    }
    while (backward < micro_batches_) {
      order.push_back({false, backward++});
    }
    return order;
  }

  [[nodiscard]] std::int64_t ReadyAt(int stage, const Task& task) const {
    const auto s = static_cast<std::size_t>(stage);
    const auto m = static_cast<std::size_t>(task.micro_batch);
    if (task.is_forward) {
      return stage == 0 ? 0 : forward_end_[s - 1][m];
    }
    return stage == stages_ - 1 ? forward_end_[s][m] : backward_end_[s + 1][m];
  }

  void Run() {
    std::vector<std::size_t> next(orders_.size(), 0);
    std::vector<std::int64_t> free_at(orders_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int stage = 0; stage < stages_; ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        if (next[s] == orders_[s].size()) {
          continue;
        }
        Task& task = orders_[s][next[s]];
        const std::int64_t ready = ReadyAt(stage, task);
        if (ready < 0) {
          continue;
        }
        task.stage_free = free_at[s];
        task.time.begin = std::max(free_at[s], ready);
        task.time.end = task.time.begin + (task.is_forward ? 10 : 20);
        (task.is_forward ? forward_end_
                         : backward_end_)[s][static_cast<std::size_t>(task.micro_batch)] =
            task.time.end;
        free_at[s] = task.time.end;
        ++next[s];
        moved = true;
      }
    }
  }

  int stages_;
  int micro_batches_;
  std::vector<std::vector<Task>> orders_;
  std::vector<std::vector<std::int64_t>> forward_end_;
  std::vector<std::vector<std::int64_t>> backward_end_;
};

trace::TraceSet RunOf(int p, int m) {
  trace::TraceSet set;
  set.ranks = OneForwardOneBackward(p, m).Traces();
  return set;
}

// Two stages, three micro-batches: stage 0 waits 20-40 and 90-100 for gradients, stage 1 has
// nothing to do 0-10 and 100-120; 30 of 120 each.
TEST(PipelineBubbleTest, TwoStagesThreeMicroBatches) {
  trace::TraceSet set = RunOf(2, 3);
  const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  const std::vector<PipelineStep> steps = MeasurePipelines(run);
  ASSERT_EQ(steps.size(), 1u);
  ASSERT_EQ(steps[0].stages.size(), 2u);
  EXPECT_EQ(steps[0].stages[0].window_ns, 120'000);
  EXPECT_EQ(steps[0].stages[0].p2p_wait_ns, 30'000);
  EXPECT_EQ(steps[0].stages[0].edge_ns, 0);
  EXPECT_EQ(steps[0].stages[1].p2p_wait_ns, 0);
  EXPECT_EQ(steps[0].stages[1].edge_ns, 30'000);
}

// Equal stages leave (p - 1) / (m + p - 1) idle.
TEST(PipelineBubbleTest, OneForwardOneBackwardLeavesTheKnownBubble) {
  for (int p = 2; p <= 8; ++p) {
    for (int m = p; m <= 32; m += 3) {
      trace::TraceSet set = RunOf(p, m);
      const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
      const std::vector<PipelineStep> steps = MeasurePipelines(run);
      ASSERT_EQ(steps.size(), 1u) << p << " stages, " << m << " micro-batches";
      for (const StageTime& stage : steps[0].stages) {
        // Exactly: bubble * (m + p - 1) == window * (p - 1).
        EXPECT_EQ(stage.bubble_ns() * (m + p - 1), stage.window_ns * (p - 1))
            << p << " stages, " << m << " micro-batches, rank " << stage.rank;
      }
    }
  }
}

// The same two stages, whose step ends with an optimizer, 15 on stage 0 and 5 on stage 1, and a sum
// over both that takes 4: stage 1 waits from 105 until stage 0 is there at 135. Its last pass ended
// 20 earlier than that of stage 0, which is the drain; the other 10 are for the optimizer.
TEST(PipelineBubbleTest, TheDrainIsWaitedInTheSumOverAllStages) {
  trace::TraceSet set;
  const auto add = [&](std::int32_t stage, std::int64_t end, std::int64_t work) {
    Rank rank = OneForwardOneBackward(2, 3).Writer(stage);
    const RowId all = rank.Group("all", "[0, 1]", 2, "default_pg");
    rank.Kernel("multi_tensor_apply_kernel adam", {end, end + work}, 7, rank.Call({-50, -49}));
    rank.Collective({.span = {end + work, 139}, .group = all, .sequence = 1});
    set.ranks.push_back(rank.Finish());
  };
  add(0, 120, 15);
  add(1, 100, 5);
  const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  const std::vector<PipelineStep> steps = MeasurePipelines(run);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].stages[0].window_ns, 139'000);
  EXPECT_EQ(steps[0].stages[0].bubble_ns(), 30'000);
  EXPECT_EQ(steps[0].stages[1].edge_ns, 10'000);
  EXPECT_EQ(steps[0].stages[1].drain_ns, 20'000);
  EXPECT_EQ(steps[0].stages[1].bubble_ns(), 30'000);
}

TEST(PipelineBubbleTest, NoPipelineNoBubble) {
  trace::TraceSet set = RunOf(1, 4);
  EXPECT_TRUE(MeasurePipelines(ViewRun(set, {}, {})).empty());
}

}  // namespace
}  // namespace orrery::analyze
