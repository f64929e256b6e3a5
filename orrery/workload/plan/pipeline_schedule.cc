#include "orrery/workload/plan/pipeline_schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/workload/input.h"
#include "orrery/workload/keys/words.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan_key_words.h"

namespace orrery::workload {
namespace {

/// Puts forward passes ahead of backward passes: `warm_up` of them, then one of each in turn.
std::vector<PipelineStep> Alternate(const std::vector<PipelineStep>& forward,
                                    const std::vector<PipelineStep>& backward, int warm_up) {
  std::vector<PipelineStep> steps;
  steps.reserve(forward.size() + backward.size());
  const auto ahead = std::min(forward.size(), static_cast<std::size_t>(warm_up));
  steps.assign(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (i + ahead < forward.size()) {
      steps.push_back(forward[i + ahead]);
    }
    steps.push_back(backward[i]);
  }
  return steps;
}

/// The passes in groups of micro-batches, chunk by chunk; backward passes take the chunks from the
/// last one on.
std::vector<PipelineStep> InGroups(PipelinePass pass, const PipelineShape& shape) {
  std::vector<PipelineStep> steps;
  for (int group = 0; group < shape.microbatches; group += shape.stages) {
    for (int i = 0; i < shape.chunks; ++i) {
      const int chunk = pass == PipelinePass::kForward ? i : shape.chunks - 1 - i;
      for (int j = 0; j < shape.stages; ++j) {
        steps.push_back({.pass = pass, .chunk = chunk, .microbatch = group + j});
      }
    }
  }
  return steps;
}

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

// One chunk; a forward and a backward pass in turn behind `warm_up` forward passes.
std::vector<PipelineStep> InTurn(const PipelineShape& shape, int warm_up) {
  std::vector<PipelineStep> forward;
  std::vector<PipelineStep> backward;
  for (int i = 0; i < shape.microbatches; ++i) {
    forward.push_back({.pass = PipelinePass::kForward, .microbatch = i});
    backward.push_back({.pass = PipelinePass::kBackward, .microbatch = i});
  }
  return Alternate(forward, backward, warm_up);
}

// All forward passes, then all backward passes, first in first out.
std::vector<PipelineStep> GpipeOrder(const PipelineShape& shape, int /*stage*/) {
  return InTurn(shape, shape.microbatches);
}

// As many forward passes ahead as devices follow.
std::vector<PipelineStep> OneForwardOneBackwardOrder(const PipelineShape& shape, int stage) {
  return InTurn(shape, shape.stages - stage - 1);
}

// Removes the micro-batches that a schedule simulates beyond those of the step.
std::vector<PipelineStep> OnlyExisting(std::vector<PipelineStep> steps,
                                       const PipelineShape& shape) {
  std::erase_if(steps,
                [&](const PipelineStep& step) { return step.microbatch >= shape.microbatches; });
  return steps;
}

// Megatron's: micro-batches go through the chunks in groups as large as the pipeline. A short last
// group is simulated as a whole one of which some are missing, for its own order would deadlock.
std::vector<PipelineStep> InterleavedOrder(const PipelineShape& shape, int stage) {
  // One more where they run in pairs: the last device's must not depend on one another.
  const int warm_up = (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages +
                      (shape.pairs_passes ? 1 : 0);
  std::vector<PipelineStep> steps =
      OnlyExisting(Alternate(InGroups(PipelinePass::kForward, shape),
                             InGroups(PipelinePass::kBackward, shape), warm_up),
                   shape);
  for (std::size_t i = 0; shape.pairs_passes && i + 1 < steps.size(); ++i) {
    steps[i].runs_with_next = steps[i].pass == PipelinePass::kForward &&
                              steps[i + 1].pass == PipelinePass::kBackward &&
                              steps[i].microbatch != steps[i + 1].microbatch;
  }
  return steps;
}

// ZB-H1: 1F1B, where weight gradients wait until more than `stage` of them are pending.
std::vector<PipelineStep> ZeroBubbleH1Order(const PipelineShape& shape, int stage) {
  std::vector<PipelineStep> steps;
  std::deque<PipelineStep> pending;
  const auto finish_oldest = [&] {
    steps.push_back(pending.front());
    pending.pop_front();
  };
  for (PipelineStep step : OneForwardOneBackwardOrder(shape, stage)) {
    if (step.pass == PipelinePass::kForward) {
      steps.push_back(step);
      continue;
    }
    step.pass = PipelinePass::kInputBackward;
    steps.push_back(step);
    step.pass = PipelinePass::kWeightBackward;
    pending.push_back(step);
    if (pending.size() > static_cast<std::size_t>(stage)) {
      finish_oldest();
    }
  }
  while (!pending.empty()) {
    finish_oldest();
  }
  return steps;
}

/// All devices at once, each pass a unit long: a device takes a backward pass of activations where
/// one can run, else a forward pass while it holds fewer than `most` micro-batches, else a pass of
/// weights.
class GreedyZeroBubble {
 public:
  GreedyZeroBubble(const PipelineShape& shape, int most) : shape_(shape), most_(most) {
    done_.resize(static_cast<std::size_t>(shape.stages));
  }

  std::vector<PipelineStep> OrderOf(int stage) {
    std::vector<PipelineStep> order;
    std::vector<std::optional<PipelinePass>> chosen(done_.size());
    while (done_[static_cast<std::size_t>(stage)].weight < shape_.microbatches) {
      for (std::size_t i = 0; i < done_.size(); ++i) {
        chosen[i] = Choose(i);
      }
      for (std::size_t i = 0; i < done_.size(); ++i) {
        if (chosen[i]) {
          const int microbatch = Count(done_[i], *chosen[i])++;
          if (i == static_cast<std::size_t>(stage)) {
            order.push_back({.pass = *chosen[i], .microbatch = microbatch});
          }
        }
      }
    }
    return order;
  }

 private:
  struct Done {
    int forward = 0;
    int input = 0;
    int weight = 0;
  };

  static int& Count(Done& done, PipelinePass pass) {
    return pass == PipelinePass::kForward         ? done.forward
           : pass == PipelinePass::kInputBackward ? done.input
                                                  : done.weight;
  }

  [[nodiscard]] std::optional<PipelinePass> Choose(std::size_t stage) const {
    const Done& own = done_[stage];
    const bool is_last = stage + 1 == done_.size();
    if (own.input < own.forward && (is_last || done_[stage + 1].input > own.input)) {
      return PipelinePass::kInputBackward;
    }
    const bool has_input = stage == 0 || done_[stage - 1].forward > own.forward;
    if (own.forward < shape_.microbatches && has_input && own.forward - own.weight < most_) {
      return PipelinePass::kForward;
    }
    return own.weight < own.input ? std::optional(PipelinePass::kWeightBackward) : std::nullopt;
  }

  PipelineShape shape_;
  int most_;
  std::vector<Done> done_;  // of each device
};

// ZB-2p (Qi et al., 2024): twice the activations of 1F1B, no idle time inside a device for equal
// passes.
std::vector<PipelineStep> ZeroBubble2pOrder(const PipelineShape& shape, int stage) {
  return GreedyZeroBubble(shape, 2 * shape.stages).OrderOf(stage);
}

// ZB-V (Qi et al., 2024): two chunks in a V, no idle time inside a device for equal passes.
std::vector<PipelineStep> ZeroBubbleVOrder(const PipelineShape& shape, int stage) {
  // Fewer micro-batches than fill the pipeline are simulated as if some were missing.
  const int microbatches = std::max(shape.microbatches, 2 * shape.stages - 1);
  const int behind = shape.stages - stage;
  TwoChunkWriter writer({0, 0});
  const auto backward = [&](int chunk) {
    writer.InputBackward(chunk);
    writer.FinishOldestOf(chunk);
  };
  for (int i = 0; i < 2 * behind - 1; ++i) {
    writer.Forward(0);
  }
  for (int i = 0; i < stage; ++i) {
    writer.Forward(1);
    writer.Forward(0);
  }
  for (int i = 0; i < behind; ++i) {
    writer.Forward(1);
    backward(1);
  }
  while (writer.num_forward(1) < microbatches) {
    if (writer.num_forward(0) < microbatches) {
      writer.Forward(0);
    }
    backward(0);
    writer.Forward(1);
    backward(1);
  }
  for (int i = 0; i < stage; ++i) {
    writer.InputBackward(0);
    writer.InputBackward(1);
  }
  for (int i = 0; i < behind; ++i) {
    backward(0);
  }
  while (writer.FinishOldestOf(1) || writer.FinishOldestOf(0)) {
  }
  return OnlyExisting(writer.Take(), shape);
}

// DualPipe (DeepSeek-V3): micro-batches from both ends, forward and backward passes side by side.
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

bool HasTwoChunks(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleV || schedule == PipelineSchedule::kDualPipe;
}

Status CheckChunks(const PipelineShape& shape) {
  constexpr std::int64_t kMostParts = 1'000'000;
  if (std::int64_t{shape.stages} * shape.chunks > kMostParts) {
    return Refuse("plan.pp {} with plan.chunks {} makes more than {} parts: lower one of the two",
                  shape.stages, shape.chunks, kMostParts);
  }
  if (HasTwoChunks(shape.schedule)) {
    return shape.chunks == 2
               ? Status()
               : Refuse(
                     "plan.chunks must be 2 for plan.schedule {}, which has no other shape, not {}",
                     ScheduleName(shape.schedule), shape.chunks);
  }
  if (shape.schedule == PipelineSchedule::kInterleaved) {
    return shape.chunks >= 2 ? Status()
                             : Refuse(
                                   "plan.chunks must be 2 or more for plan.schedule interleaved, "
                                   "not {}; one chunk is 1f1b",
                                   shape.chunks);
  }
  return shape.chunks == 1 ? Status()
                           : Refuse(
                                 "plan.chunks must be 1 for plan.schedule {}, not {}; several "
                                 "chunks need interleaved",
                                 ScheduleName(shape.schedule), shape.chunks);
}

Status CheckDualPipe(const PipelineShape& shape) {
  if (shape.stages % 2 != 0) {
    return Refuse(
        "plan.pp must be even for plan.schedule dualpipe, not {}: choose another of the two",
        shape.stages);
  }
  if (shape.microbatches % 2 != 0 || shape.microbatches < 2 * shape.stages) {
    return Refuse(
        "plan.schedule dualpipe needs an even number of micro-batches, at least 2 · plan.pp = {}, "
        "not {}: raise training.global_batch",
        2 * shape.stages, shape.microbatches);
  }
  return {};
}

// By PipelineSchedule.
constexpr std::array kOrders{GpipeOrder,        OneForwardOneBackwardOrder, InterleavedOrder,
                             ZeroBubbleH1Order, ZeroBubble2pOrder,          ZeroBubbleVOrder,
                             DualPipeOrder};

/// Micro-batches of DualPipe enter and leave at both ends: the chain breaks in its middle.
bool IsBroken(const PipelineShape& shape, int position) {
  return shape.schedule == PipelineSchedule::kDualPipe && position == shape.stages;
}

}  // namespace

std::string_view ScheduleName(PipelineSchedule schedule) {
  return WordOf(kPipelineScheduleWords, schedule);
}

PipelineShape ShapeOf(const Plan& plan, int microbatches) {
  const bool is_left_open = HasTwoChunks(plan.schedule) && plan.chunks == 1;
  return {.schedule = plan.schedule,
          .stages = plan.pp,
          .chunks = is_left_open ? 2 : plan.chunks,
          .microbatches = microbatches};
}

Status CheckShape(const PipelineShape& shape) {
  if (shape.stages < 1) {
    return Refuse("plan.pp must be 1 or more, not {}", shape.stages);
  }
  if (shape.microbatches < 1) {
    return Refuse(
        "a step must have a micro-batch or more, not {}: raise training.global_batch to "
        "training.micro_batch · plan.dp",
        shape.microbatches);
  }
  ORRERY_TRY_STATUS(CheckChunks(shape));
  return shape.schedule == PipelineSchedule::kDualPipe ? CheckDualPipe(shape) : Status();
}

Result<std::vector<PipelineStep>> ScheduleOf(const PipelineShape& shape, int stage) {
  ORRERY_TRY_STATUS(CheckShape(shape));
  ORRERY_CHECK(stage >= 0 && stage < shape.stages, "a stage of the pipeline");
  return kOrders[static_cast<std::size_t>(shape.schedule)](shape, stage);
}

int PositionOf(const PipelineShape& shape, int stage, int chunk) {
  if (HasTwoChunks(shape.schedule)) {
    return chunk == 0 ? stage : 2 * shape.stages - 1 - stage;
  }
  return chunk * shape.stages + stage;
}

ChunkPlace PlaceOf(const PipelineShape& shape, int position) {
  const int chunk = position / shape.stages;
  const int rest = position % shape.stages;
  const bool goes_up = HasTwoChunks(shape.schedule) && chunk == 1;
  return {.stage = goes_up ? shape.stages - 1 - rest : rest, .chunk = chunk};
}

int NumParts(const PipelineShape& shape) {
  return shape.schedule == PipelineSchedule::kDualPipe ? shape.stages : shape.stages * shape.chunks;
}

int PartOf(const PipelineShape& shape, ChunkPlace place) {
  return PositionOf(shape, place.stage, place.chunk) % NumParts(shape);
}

std::vector<std::size_t> ChunksInOrder(const PipelineShape& shape, int stage) {
  std::vector<std::size_t> chunks(static_cast<std::size_t>(shape.chunks));
  std::iota(chunks.begin(), chunks.end(), 0);
  std::ranges::sort(chunks, {}, [&](std::size_t chunk) {
    return PartOf(shape, {stage, static_cast<int>(chunk)});
  });
  return chunks;
}

std::optional<ChunkPlace> ChunkBefore(const PipelineShape& shape, ChunkPlace place) {
  const int position = PositionOf(shape, place.stage, place.chunk);
  if (position == 0 || IsBroken(shape, position)) {
    return std::nullopt;
  }
  return PlaceOf(shape, position - 1);
}

std::optional<ChunkPlace> ChunkAfter(const PipelineShape& shape, ChunkPlace place) {
  const int next = PositionOf(shape, place.stage, place.chunk) + 1;
  if (next == shape.stages * shape.chunks || IsBroken(shape, next)) {
    return std::nullopt;
  }
  return PlaceOf(shape, next);
}

}  // namespace orrery::workload
