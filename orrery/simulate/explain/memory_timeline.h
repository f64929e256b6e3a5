#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The bytes in use from a time on.
struct MemoryPoint {
  std::int64_t at_ps = 0;
  std::int64_t bytes = 0;

  bool operator==(const MemoryPoint&) const = default;
};

struct MemoryPart {
  std::string category;
  std::int64_t bytes = 0;

  bool operator==(const MemoryPart&) const = default;
};

struct MemoryTimeline {
  std::vector<MemoryPoint> curve;  // in order of time, one point an instant; the first at 0
  std::int64_t peak_bytes = 0;     // may be higher than the curve: inside an instant
  std::int64_t peak_ps = 0;        // the first time it is reached
  std::vector<MemoryPart> parts;   // at the peak, the largest first
};

/// Memory that is allocated (above 0) or freed.
struct MemoryStep {
  std::int64_t at_ps = 0;
  workload::TaskId task = 0;
  StringId category{};
  std::int64_t bytes = 0;
};

/// The changes of a repetition whose tasks begin at index `first`, in order of time.
[[nodiscard]] std::vector<MemoryStep> MemorySteps(const workload::Program& program,
                                                  const Timeline& timeline, std::size_t first);

/// The memory of a rank class over a step. At one instant changes come in the order of the program,
/// and a task takes before it gives back. `rounds` what each category has as PyTorch's allocator
/// rounds blocks: to 512 bytes, from 2 MiB on to 2 MiB. By category, not by block, because changes
/// may sum up several blocks.
[[nodiscard]] MemoryTimeline MemoryOf(const RankClasses& rank_classes, const Timeline& timeline,
                                      RankClassId rank_class, bool rounds = false);

/// Memory over a step in columns of equal time, for a picture: each shows its fullest instant.
struct MemoryColumns {
  std::vector<std::string> categories;           // in the order in which the program names them
  std::vector<std::vector<std::int64_t>> bytes;  // by column, then by category
};

/// O(changes · categories + columns · categories).
[[nodiscard]] MemoryColumns MemoryColumnsOf(const RankClasses& rank_classes,
                                            const Timeline& timeline, RankClassId rank_class,
                                            std::size_t num_columns);

/// The memory of a GPU that a program can use: the limit that every answer compares with. Less than
/// the card has, more than 10^9 bytes for each GB of its data sheet (data/workload/memory.yaml).
[[nodiscard]] std::int64_t UsableBytes(const hardware::Gpu& gpu);

/// The share of it up to which a job is safe to start, and up to which `search` fills GPUs: memory
/// of fragments and of libraries differs from run to run by some percent. A convention, not a
/// measurement.
inline constexpr double kSafeMemoryShare = 0.95;

/// The memory of the ranks that run one program: a stage of the pipeline.
struct StageMemory {
  workload::ProgramId program = 0;
  RankClassId rank_class = 0;     // the first of those that run it
  std::int64_t peak_bytes = 0;    // of its tensors, in blocks of the allocator
  std::int64_t needed_bytes = 0;  // including fragmentation
  std::int64_t usable_bytes = 0;  // that a job can use of its GPU
  std::int64_t peak_ps = 0;
  std::vector<MemoryPart> parts;  // at the peak, the largest first

  /// Memory that is left; below 0 it does not fit.
  [[nodiscard]] std::int64_t free_bytes() const { return usable_bytes - needed_bytes; }
};

/// The most that PyTorch's allocator gives out at one time (`max_memory_allocated`): tensors and
/// workspaces of libraries, without the rest of the CUDA context and NCCL's buffers.
[[nodiscard]] std::int64_t AllocatedBytes(const StageMemory& stage, const hardware::Gpu& gpu);

/// The memory of a step, and whether it fits.
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
