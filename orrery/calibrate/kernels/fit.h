#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"

namespace orrery::calibrate {

struct KernelFitOptions {
  std::uint64_t seed = 1;
  double validation_share = 0.1;  // for early stopping; trained on afterwards
  int threads = 2;
};

struct MeasurementGroup {
  kernel::OperatorKind kind = kernel::OperatorKind::kGemm;
  const hardware::Gpu* gpu = nullptr;
  kernel::Timing timing = kernel::Timing::kKernels;
  std::vector<const kernel::Measurement*> rows;
};

/// Sorts rows into groups, in order of GPU name, timing and kind.
[[nodiscard]] std::vector<MeasurementGroup> GroupMeasurements(
    std::span<const kernel::Measurement> rows);
inline constexpr std::size_t kFewestRows = 30;

/// Learns the efficiency of a group of at least `kFewestRows` rows. The number of trees is chosen
/// on validation rows (shapes that are not in training); the returned model is trained on all rows.
[[nodiscard]] Result<kernel::EfficiencyModel> FitEfficiency(const MeasurementGroup& group,
                                                            const KernelFitOptions& options);

/// Called with the number of finished groups and of all groups.
using KernelFitProgress = std::function<void(std::size_t, std::size_t)>;

[[nodiscard]] Result<kernel::ModelSet> FitModels(std::span<const kernel::Measurement> rows,
                                                 const KernelFitOptions& options,
                                                 const KernelFitProgress& progress);

inline constexpr std::size_t kFewestRowsOfLevel = 8;

/// Fits the levels of all GPUs, kinds and types that `models` predicts from siblings: the geometric
/// mean of measured over predicted. Eager rows count only from ten launch times on.
[[nodiscard]] std::vector<kernel::SiblingLevel> FitSiblingLevels(
    const kernel::ModelSet& models, std::span<const kernel::Measurement> rows);

}  // namespace orrery::calibrate
