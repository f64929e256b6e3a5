#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::overlap {

struct FitOptions {
  std::uint64_t seed = 1;
  bool with_network = true;  // beside the trees
  int threads = 2;
};

/// Called with what is being learned.
using FitProgress = std::function<void(std::string_view)>;

/// Learns from measured pairs, once with all that was measured of them and once as a plan would
/// know them.
[[nodiscard]] Result<LearnedModel> FitOverlap(std::span<const MeasuredPair* const> rows,
                                              const FitOptions& options,
                                              const FitProgress& progress = {});

enum class Knowledge : std::uint8_t { kMeasured, kPlanned };

/// What the model of the compute kernel's slowdown learns from: ln of its time over its time alone,
/// of overlap_events and of pairs in steady state, grouped by kernel.
[[nodiscard]] learn::DataSet SlowdownData(std::span<const MeasuredPair* const> rows,
                                         Knowledge knowledge);

/// Delays below this are the noise of launches.
inline constexpr double kLeastDelayUs = 2;

}  // namespace orrery::overlap
