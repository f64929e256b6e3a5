#pragma once

#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/learn/metrics.h"

namespace orrery::calibrate {

struct CollectiveOutlier {
  const collective::Measurement* row = nullptr;
  double predicted_seconds = 0;
};

struct MachineCalibration {
  collective::MachineModel model;
  learn::Evaluation all;    // rows of at least `kLeastBytes`
  learn::Evaluation large;  // of 4 MB and more
  std::vector<CollectiveOutlier> outliers;
  /// Constants that the rows drive to a bound, and which were therefore put back to their priors.
  std::vector<collective::Constant> at_bounds;
};

/// Rows of one machine, source and setup, in this order.
[[nodiscard]] std::vector<std::vector<const collective::Measurement*>> GroupByMachine(
    std::span<const collective::Measurement> rows);

/// Fits the constants that the rows determine, at most ten, to rows of one group; the others keep
/// their defaults. Fails for fewer than four rows.
[[nodiscard]] Result<MachineCalibration> CalibrateMachine(
    std::span<const collective::Measurement* const> rows);

/// Machines that are fitted together, each the rows of one group.
using MachineClass = std::vector<std::vector<const collective::Measurement*>>;

/// A group with at least 30 rows is a class of its own, as are all smaller ones of a machine that
/// have so many together; the rest share the constants of all with GPUs of the same generation and
/// the same kinds of links and NICs.
[[nodiscard]] std::vector<MachineClass> ClassesOf(std::span<const collective::Measurement> rows);

/// One calibration for each machine of the class, in its order. Fails for fewer than 30 rows, whose
/// machines are then better described by the nearest one, unless it is the only class there is.
[[nodiscard]] Result<std::vector<MachineCalibration>> CalibrateMachineClass(
    const MachineClass& machines, bool is_only);
[[nodiscard]] Result<double> PredictRow(const collective::MachineModel& model,
                                        const collective::Measurement& row);

/// The time of a row by what `Find` answered for it.
[[nodiscard]] Result<double> PredictRow(const collective::MachineModels::Found& found,
                                        const collective::Measurement& row);

}  // namespace orrery::calibrate
