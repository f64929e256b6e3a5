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
  bool with_network = true;  // in addition to trees
  int threads = 2;
};

/// Called with the name of each part before it is fitted.
using FitProgress = std::function<void(std::string_view)>;

/// Fits models to measured pairs, once with all measured features and once with those of a plan.
[[nodiscard]] Result<LearnedModel> FitOverlap(std::span<const MeasuredPair* const> rows,
                                              const FitOptions& options,
                                              const FitProgress& progress = {});

enum class Knowledge : std::uint8_t { kMeasured, kPlanned };

/// The training data of the compute kernel's slowdown: ln(time / time alone) of overlaps and of
/// pairs in steady state, grouped by kernel.
[[nodiscard]] learn::DataSet SlowdownData(std::span<const MeasuredPair* const> rows,
                                          Knowledge knowledge);

/// Shorter delays are launch noise.
inline constexpr double kLeastDelayUs = 2;

}  // namespace orrery::overlap
