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
  double validation_share = 0.1;  // to stop by; they are trained on afterwards
  int threads = 2;
};

/// Rows of one kind, one GPU and one way of timing.
struct MeasurementGroup {
  OperatorKind kind = OperatorKind::kGemm;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  std::vector<const Measurement*> rows;
};

/// Sorts rows into groups, in order of GPU name, timing and kind.
[[nodiscard]] std::vector<MeasurementGroup> GroupMeasurements(std::span<const Measurement> rows);

/// Fewer rows than this teach nothing.
inline constexpr std::size_t kFewestRows = 30;

/// Learns the efficiency of a group of at least `kFewestRows` rows. The number of trees is chosen
/// on validation rows (shapes that are not in training); the model that is returned has learned
/// from all rows.
[[nodiscard]] Result<EfficiencyModel> FitEfficiency(const MeasurementGroup& group,
                                                    const FitOptions& options);

/// Called with the groups that are done and all of them.
using FitProgress = std::function<void(std::size_t, std::size_t)>;

/// Fits every group that has enough rows.
[[nodiscard]] Result<ModelSet> FitModels(std::span<const Measurement> rows,
                                         const FitOptions& options, const FitProgress& progress);

}  // namespace orrery::kernel
