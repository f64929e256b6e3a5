#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"

namespace orrery::kernel {

struct FitOptions {
  std::uint64_t seed = 1;
  double validation_share = 0.1;  // for early stopping; trained on afterwards
  int threads = 2;
};

/// Rows of one kind, GPU and timing method.
struct MeasurementGroup {
  OperatorKind kind = OperatorKind::kGemm;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  std::vector<const Measurement*> rows;
};

/// Sorts rows into groups, in order of GPU name, timing and kind.
[[nodiscard]] std::vector<MeasurementGroup> GroupMeasurements(std::span<const Measurement> rows);

/// The minimum number of rows of a model.
inline constexpr std::size_t kFewestRows = 30;

/// Learns the efficiency of a group of at least `kFewestRows` rows. The number of trees is chosen
/// on validation rows (shapes that are not in training); the returned model is trained on all rows.
[[nodiscard]] Result<EfficiencyModel> FitEfficiency(const MeasurementGroup& group,
                                                    const FitOptions& options);

/// Called with the number of finished groups and of all groups.
using FitProgress = std::function<void(std::size_t, std::size_t)>;

/// Fits every group that has enough rows.
[[nodiscard]] Result<ModelSet> FitModels(std::span<const Measurement> rows,
                                         const FitOptions& options, const FitProgress& progress);

}  // namespace orrery::kernel
