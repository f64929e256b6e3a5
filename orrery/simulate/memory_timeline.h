#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/engine.h"

namespace orrery::simulate {

/// From here on so many bytes are in use.
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

struct MemoryOptions {
  int repetition = 0;
  /// Rounds what each category has as PyTorch's allocator rounds blocks: to 512 bytes, from 2 MiB
  /// on to 2 MiB. By category, not by block, because changes may sum up several blocks.
  bool rounds_like_allocator = false;
};

/// Memory that is taken (above 0) or given back.
struct MemoryStep {
  std::int64_t at_ps = 0;
  workload::TaskId task = 0;
  StringId category{};
  std::int64_t bytes = 0;
};

/// The changes of a repetition whose tasks begin at index `first`, in order of time.
[[nodiscard]] std::vector<MemoryStep> MemorySteps(const workload::Program& program,
                                                  const Timeline& timeline,
                                                  std::size_t first);

/// The memory of a rank_class over a step. At one instant changes come in the order of the program, and
/// a task takes before it gives back.
[[nodiscard]] MemoryTimeline MemoryOf(const RankClasses& rank_classes, const Timeline& timeline,
                                      RankClassId rank_class, const MemoryOptions& options = {});

}  // namespace orrery::simulate
