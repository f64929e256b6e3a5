#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

enum class PipelinePass : std::uint8_t {
  kForward,
  kBackward,       // the whole backward pass
  kInputBackward,  // gradients of activations only; its kWeightBackward follows later
  kWeightBackward,
};

/// One piece of work of a device: a pass of a micro-batch through one of its chunks of layers.
struct PipelineStep {
  PipelinePass pass = PipelinePass::kForward;
  int chunk = 0;
  int microbatch = 0;

  bool operator==(const PipelineStep&) const = default;
};

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  int stages = 1;        // devices
  int chunks = 1;        // of a device
  int microbatches = 1;  // of a step
};

/// What a device does in one training step, in order. Fails for shapes that the schedule cannot
/// run, in one sentence that names the key and the mend.
[[nodiscard]] Result<std::vector<PipelineStep>> ScheduleOf(const PipelineShape& shape, int stage);

/// Where a chunk of a device stands in the chain of layers: 0 … stages · chunks − 1. Interleaved:
/// chunk · stages + stage. V-shaped (ZB-V, DualPipe's second copy): down and up again.
[[nodiscard]] int PositionOf(const PipelineShape& shape, int stage, int chunk);

/// The device and the chunk at a position of the chain.
struct ChunkPlace {
  int stage = 0;
  int chunk = 0;

  bool operator==(const ChunkPlace&) const = default;
};

[[nodiscard]] ChunkPlace PlaceOf(const PipelineShape& shape, int position);

/// Most micro-batches that a device holds at once, counted in chunks (divide by `chunks`).
[[nodiscard]] int MostChunksInFlight(const std::vector<PipelineStep>& steps);

}  // namespace orrery::workload
