#pragma once

#include <cstdint>
#include <vector>

#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/memory_timeline.h"
#include "orrery/simulate/engine.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The memory of the ranks that run one program: a stage of the pipeline.
struct StageMemory {
  workload::ProgramId program = 0;
  RankClassId rank_class = 0;            // the first of those that run it
  std::int64_t peak_bytes = 0;    // what its tensors take, in blocks of the allocator
  std::int64_t needed_bytes = 0;  // and what lies idle between them
  std::int64_t usable_bytes = 0;  // that a job can use of its GPU
  std::int64_t peak_ps = 0;
  std::vector<MemoryPart> parts;  // at the peak, the largest first

  /// What is left; below 0 it does not fit.
  [[nodiscard]] std::int64_t free_bytes() const { return usable_bytes - needed_bytes; }
};

/// Whether a step fits.
struct MemoryAnswer {
  std::vector<StageMemory> stages;  // by program
  std::size_t fullest = 0;          // of the stages: the one with the least memory left

  [[nodiscard]] bool fits() const { return stages[fullest].free_bytes() >= 0; }
};

/// Peak of every stage, when and of what, and whether that is more than its GPU has. A step that
/// does not fit is simulated all the same.
[[nodiscard]] MemoryAnswer MemoryAnswerOf(const RankClasses& rank_classes, const Timeline& timeline,
                                          const workload::Job& job);

}  // namespace orrery::simulate
