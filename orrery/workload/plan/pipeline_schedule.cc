#include "orrery/workload/plan/pipeline_schedule.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/workload/plan/pipeline_orders.h"

namespace orrery::workload {
namespace {

bool HasTwoChunks(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleV || schedule == PipelineSchedule::kDualPipe;
}

Status Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

Status CheckChunks(const PipelineShape& shape) {
  if (HasTwoChunks(shape.schedule)) {
    return shape.chunks == 2 ? Status()
                             : Refuse(fmt::format("plan.chunks must be 2 for plan.schedule {}, "
                                                  "which has no other shape, not {}",
                                                  ScheduleName(shape.schedule), shape.chunks));
  }
  if (shape.schedule == PipelineSchedule::kInterleaved) {
    return shape.chunks >= 2 ? Status()
                             : Refuse(fmt::format("plan.chunks must be 2 or more for plan.schedule "
                                                  "interleaved, not {}; one chunk is 1f1b",
                                                  shape.chunks));
  }
  return shape.chunks == 1 ? Status()
                           : Refuse(fmt::format("plan.chunks must be 1 for plan.schedule {}, not "
                                                "{}; several chunks need interleaved",
                                                ScheduleName(shape.schedule), shape.chunks));
}

Status CheckDualPipe(const PipelineShape& shape) {
  if (shape.stages % 2 != 0) {
    return Refuse(
        fmt::format("plan.pp must be even for plan.schedule dualpipe, not {}: choose "
                    "another of the two",
                    shape.stages));
  }
  if (shape.microbatches % 2 != 0 || shape.microbatches < 2 * shape.stages) {
    return Refuse(
        fmt::format("plan.schedule dualpipe needs an even number of micro-batches, at least "
                    "2 · plan.pp = {}, not {}: raise training.global_batch",
                    2 * shape.stages, shape.microbatches));
  }
  return {};
}

std::vector<PipelineStep> OrderOf(const PipelineShape& shape, int stage) {
  switch (shape.schedule) {
    case PipelineSchedule::kGpipe:
      return GpipeOrder(shape);
    case PipelineSchedule::k1f1b:
      return OneForwardOneBackwardOrder(shape, stage);
    case PipelineSchedule::kInterleaved:
      return InterleavedOrder(shape, stage);
    case PipelineSchedule::kZeroBubbleH1:
      return ZeroBubbleH1Order(shape, stage);
    case PipelineSchedule::kZeroBubbleV:
      return ZeroBubbleVOrder(shape, stage);
    case PipelineSchedule::kDualPipe:
      return DualPipeOrder(shape, stage);
  }
  return {};
}

/// Micro-batches of DualPipe enter and leave at both ends: the chain breaks in its middle.
bool IsBroken(const PipelineShape& shape, int position) {
  return shape.schedule == PipelineSchedule::kDualPipe && position == shape.stages;
}

}  // namespace

std::string_view ScheduleName(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGpipe:
      return "gpipe";
    case PipelineSchedule::k1f1b:
      return "1f1b";
    case PipelineSchedule::kInterleaved:
      return "interleaved";
    case PipelineSchedule::kZeroBubbleH1:
      return "zb-h1";
    case PipelineSchedule::kZeroBubbleV:
      return "zb-v";
    case PipelineSchedule::kDualPipe:
      return "dualpipe";
  }
  return {};
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
    return Refuse(fmt::format("plan.pp must be 1 or more, not {}", shape.stages));
  }
  if (shape.microbatches < 1) {
    return Refuse(
        fmt::format("a step must have a micro-batch or more, not {}: raise "
                    "training.global_batch to training.micro_batch · plan.dp",
                    shape.microbatches));
  }
  ORRERY_TRY_STATUS(CheckChunks(shape));
  return shape.schedule == PipelineSchedule::kDualPipe ? CheckDualPipe(shape) : Status();
}

Result<std::vector<PipelineStep>> ScheduleOf(const PipelineShape& shape, int stage) {
  ORRERY_TRY_STATUS(CheckShape(shape));
  ORRERY_CHECK(stage >= 0 && stage < shape.stages, "a stage of the pipeline");
  return OrderOf(shape, stage);
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

}  // namespace orrery::workload
