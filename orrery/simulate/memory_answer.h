#pragma once

#include <cstdint>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/simulate/cast.h"
#include "orrery/simulate/memory_timeline.h"
#include "orrery/simulate/play.h"

namespace orrery::simulate {

/// The memory of the ranks that run one program: a stage of the pipeline.
struct StageMemory {
  workload::ProgramId program = 0;
  PlayerId player = 0;            // the first of those that run it
  std::int64_t peak_bytes = 0;    // what its tensors take, in blocks of the allocator
  std::int64_t needed_bytes = 0;  // and what lies idle between them
  std::int64_t peak_ps = 0;
  std::vector<MemoryPart> parts;  // at the peak, the largest first
};

/// Whether a step fits.
struct MemoryAnswer {
  std::vector<StageMemory> stages;  // by program
  std::int64_t usable_bytes = 0;    // of a GPU
  std::size_t fullest = 0;          // of the stages

  [[nodiscard]] bool fits() const { return stages[fullest].needed_bytes <= usable_bytes; }
};

/// Peak of every stage, when and of what, and whether that is more than the GPU has. A step that
/// does not fit is simulated all the same.
[[nodiscard]] MemoryAnswer MemoryAnswerOf(const Cast& cast, const Performance& performance,
                                          const hardware::Gpu& gpu);

}  // namespace orrery::simulate
