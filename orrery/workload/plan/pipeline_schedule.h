#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
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

/// One pass of a micro-batch through a chunk of layers of a device.
struct PipelineStep {
  PipelinePass pass = PipelinePass::kForward;
  int chunk = 0;
  int microbatch = 0;
  bool runs_with_next = false;  // a forward pass beside the backward pass that follows it

  bool operator==(const PipelineStep&) const = default;
};

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  int stages = 1;        // devices
  int chunks = 1;        // of a device
  int microbatches = 1;  // of a step
  bool pairs_passes = false;  // interleaved: a forward pass beside the backward pass of another

  bool operator==(const PipelineShape&) const = default;
};

/// The first of its names.
[[nodiscard]] std::string_view ScheduleName(PipelineSchedule schedule);

/// The shape of a plan. Schedules that need two chunks have them without being told.
[[nodiscard]] PipelineShape ShapeOf(const Plan& plan, int microbatches);

/// Fails for shapes that the schedule cannot run, in one sentence that names the key and the fix.
[[nodiscard]] Status CheckShape(const PipelineShape& shape);

/// The steps of a device in one training step, in order. Fails as CheckShape does.
///
/// DualPipe: the first half of the micro-batches goes through chunks 0 from device 0 on, the second
/// half through chunks 1 from the last device on.
[[nodiscard]] Result<std::vector<PipelineStep>> ScheduleOf(const PipelineShape& shape, int stage);

/// The position of a device's chunk in the chain of layers: 0 … stages · chunks − 1. Interleaved:
/// chunk · stages + stage. V-shaped (ZB-V, DualPipe's second copy): down and up again.
[[nodiscard]] int PositionOf(const PipelineShape& shape, int stage, int chunk);

/// The device and the chunk at a position of the chain.
struct ChunkPlace {
  int stage = 0;
  int chunk = 0;

  bool operator==(const ChunkPlace&) const = default;
};

[[nodiscard]] ChunkPlace PlaceOf(const PipelineShape& shape, int position);

/// Parts that the layers of the model are cut into: one for each position, but in DualPipe, whose
/// second chunks are copies, one for each device.
[[nodiscard]] int NumParts(const PipelineShape& shape);

/// The part of the layers that a chunk holds, 0 … NumParts − 1 from the embedding to the head.
[[nodiscard]] int PartOf(const PipelineShape& shape, ChunkPlace place);

/// The chunks of a device by the layers that they hold. Devices that hold the same ones (DualPipe)
/// have the same order of layers.
[[nodiscard]] std::vector<std::size_t> ChunksInOrder(const PipelineShape& shape, int stage);

/// The chunk whose output is this one's input; nothing where a micro-batch enters.
[[nodiscard]] std::optional<ChunkPlace> ChunkBefore(const PipelineShape& shape, ChunkPlace place);

/// The chunk that this one's output goes to; nothing where the loss is computed.
[[nodiscard]] std::optional<ChunkPlace> ChunkAfter(const PipelineShape& shape, ChunkPlace place);

}  // namespace orrery::workload
