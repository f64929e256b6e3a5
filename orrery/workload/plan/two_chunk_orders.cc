#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "orrery/workload/plan/pipeline_orders.h"

namespace orrery::workload {
namespace {

/// Writes the steps of a device with two chunks; each chunk takes its micro-batches in order.
class TwoChunkWriter {
 public:
  /// Micro-batches of a chunk count from `first_of_chunk`.
  explicit TwoChunkWriter(std::array<int, 2> first_of_chunk)
      : next_forward_(first_of_chunk), next_backward_(first_of_chunk) {}

  void Forward(int chunk) { Add(PipelinePass::kForward, chunk, next_forward_.at(Index(chunk))++); }

  void Backward(int chunk) {
    Add(PipelinePass::kBackward, chunk, next_backward_.at(Index(chunk))++);
  }

  /// The weights' part waits for a FinishOldest.
  void InputBackward(int chunk) {
    Add(PipelinePass::kInputBackward, chunk, next_backward_.at(Index(chunk))++);
    pending_.push_back(steps_.back());
  }

  void FinishOldest() {
    const PipelineStep oldest = pending_.front();
    pending_.pop_front();
    Add(PipelinePass::kWeightBackward, oldest.chunk, oldest.microbatch);
  }

  /// The oldest of one chunk; nothing where none of it is pending.
  bool FinishOldestOf(int chunk) {
    const auto found = std::ranges::find(pending_, chunk, &PipelineStep::chunk);
    if (found == pending_.end()) {
      return false;
    }
    Add(PipelinePass::kWeightBackward, chunk, found->microbatch);
    pending_.erase(found);
    return true;
  }

  void ForwardBesideBackward(int forward_chunk, int backward_chunk) {
    Forward(forward_chunk);
    steps_.back().runs_with_next = true;
    Backward(backward_chunk);
  }

  [[nodiscard]] int num_forward(int chunk) const { return next_forward_.at(Index(chunk)); }

  [[nodiscard]] std::vector<PipelineStep> Take() { return std::move(steps_); }

 private:
  static std::size_t Index(int chunk) { return static_cast<std::size_t>(chunk); }

  void Add(PipelinePass pass, int chunk, int microbatch) {
    steps_.push_back({.pass = pass, .chunk = chunk, .microbatch = microbatch});
  }

  std::array<int, 2> next_forward_;
  std::array<int, 2> next_backward_;
  std::deque<PipelineStep> pending_;  // whose weights wait
  std::vector<PipelineStep> steps_;
};

void BackwardInTwoParts(TwoChunkWriter& writer, int chunk) {
  writer.InputBackward(chunk);
  writer.FinishOldestOf(chunk);
}

void WarmUpV(TwoChunkWriter& writer, int stages, int stage) {
  for (int i = 0; i < 2 * (stages - stage) - 1; ++i) {
    writer.Forward(0);
  }
  for (int i = 0; i < stage; ++i) {
    writer.Forward(1);
    writer.Forward(0);
  }
  for (int i = 0; i < stages - stage; ++i) {
    writer.Forward(1);
    BackwardInTwoParts(writer, 1);
  }
}

void SteadyV(TwoChunkWriter& writer, int microbatches) {
  while (writer.num_forward(1) < microbatches) {
    if (writer.num_forward(0) < microbatches) {
      writer.Forward(0);
    }
    BackwardInTwoParts(writer, 0);
    writer.Forward(1);
    BackwardInTwoParts(writer, 1);
  }
}

void CoolDownV(TwoChunkWriter& writer, int stages, int stage) {
  for (int i = 0; i < stage; ++i) {
    writer.InputBackward(0);
    writer.InputBackward(1);
  }
  for (int i = 0; i < stages - stage; ++i) {
    BackwardInTwoParts(writer, 0);
  }
  while (writer.FinishOldestOf(1)) {
  }
  while (writer.FinishOldestOf(0)) {
  }
}

/// The eight phases of DualPipe on one device. `near` is the chunk whose micro-batches enter at the
/// end of the pipeline that is closer, `far` the other; `rank` counts from that end.
struct DualPipePhases {
  TwoChunkWriter& writer;
  int near;
  int far;
  int rank;
  int half_stages;
  int half_microbatches;

  void Fill() const {
    for (int i = 0; i < 2 * (half_stages - rank - 1); ++i) {
      writer.Forward(near);
    }
    for (int i = 0; i <= rank; ++i) {
      writer.Forward(near);
      writer.Forward(far);
    }
    for (int i = 0; i < half_stages - rank - 1; ++i) {
      writer.InputBackward(far);
      writer.FinishOldest();
      writer.Forward(far);
    }
  }

  void Steady() const {
    const bool is_middle = rank == half_stages - 1;
    for (int i = 0; i < half_microbatches - 2 * half_stages + rank + 1; ++i) {
      if (i == 0 &&
          is_middle) {  // its first two come from each other: side by side they would wait
        writer.Forward(near);
        writer.Backward(far);
      } else {
        writer.ForwardBesideBackward(near, far);
      }
      writer.ForwardBesideBackward(far, near);
    }
    for (int i = 0; i < half_stages - rank - 1; ++i) {
      writer.Backward(far);
      writer.ForwardBesideBackward(far, near);
    }
  }

  /// The second half of the last backward passes leaves its weights for later.
  void Drain() const {
    const int passes = 2 * (rank + 1);
    for (int i = 0; i < passes; ++i) {
      const int chunk = i % 2 == 0 ? far : near;
      if (i < rank + 1) {
        writer.Backward(chunk);
      } else {
        writer.InputBackward(chunk);
      }
    }
    for (int i = 0; i < half_stages - rank - 1; ++i) {
      writer.FinishOldest();
      writer.InputBackward(near);
    }
    for (int i = 0; i <= rank; ++i) {
      writer.FinishOldest();
    }
  }
};

}  // namespace

std::vector<PipelineStep> ZeroBubbleVOrder(const PipelineShape& shape, int stage) {
  // Fewer micro-batches than fill the pipeline are simulated as if some were missing.
  const int microbatches = std::max(shape.microbatches, 2 * shape.stages - 1);
  TwoChunkWriter writer({0, 0});
  WarmUpV(writer, shape.stages, stage);
  SteadyV(writer, microbatches);
  CoolDownV(writer, shape.stages, stage);
  std::vector<PipelineStep> steps = writer.Take();
  std::erase_if(steps,
                [&](const PipelineStep& step) { return step.microbatch >= shape.microbatches; });
  return steps;
}

std::vector<PipelineStep> DualPipeOrder(const PipelineShape& shape, int stage) {
  const int half_microbatches = shape.microbatches / 2;
  const bool is_second_half = stage >= shape.stages / 2;
  TwoChunkWriter writer({0, half_microbatches});
  const DualPipePhases phases{.writer = writer,
                              .near = is_second_half ? 1 : 0,
                              .far = is_second_half ? 0 : 1,
                              .rank = std::min(stage, shape.stages - 1 - stage),
                              .half_stages = shape.stages / 2,
                              .half_microbatches = half_microbatches};
  phases.Fill();
  phases.Steady();
  phases.Drain();
  return writer.Take();
}

}  // namespace orrery::workload
