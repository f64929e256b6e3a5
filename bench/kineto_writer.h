#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/output_file.h"
#include "bench/training_step.h"

namespace orrery::bench {

/// Tensor-parallel groups are neighbours.
inline constexpr int kGroupSize = 8;

/// Returns the group of a rank as a JSON array: "[8, 9, …]".
[[nodiscard]] std::string RanksOfGroup(int rank);

struct KinetoFileOptions {
  int num_steps = 1;
  int rank = 0;
  int world_size = 8;
  std::uint64_t seed = 0;
};

/// How many rows of each category were written.
struct CategoryCount {
  std::string_view category;
  std::int64_t rows = 0;
};

struct KinetoStatistics {
  std::vector<CategoryCount> categories;
  std::int64_t rows = 0;
};

/// Writes `num_steps` repetitions of `step` as the PyTorch profiler would with stacks, shapes and
/// memory: operators of the autograd thread, then of the main thread, memory, Python, then device
/// and runtime rows side by side, ranges on the device, and names. Each repetition is stretched a
/// little, so that no two are alike.
KinetoStatistics WriteKinetoFile(const TrainingStep& step, const KinetoFileOptions& options,
                                 TextWriter& out);

}  // namespace orrery::bench
