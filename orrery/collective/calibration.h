#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_constants.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/tuner_tables.h"
#include "orrery/learn/metrics.h"

namespace orrery::collective {

/// Smaller messages are dominated by the launch and neither fitted nor evaluated.
inline constexpr std::int64_t kLeastBytes = 1024;

/// A machine as described by one source's measurements.
struct MachineModel {
  std::string machine;       // name of a cluster of the catalogue
  std::string source;        // who measured
  std::string setup;         // what they call the machine
  std::string nccl_version;  // of the tuner's constants: given, or the best fit
  bool was_version_told = false;
  /// Inferred NCCL settings between nodes where the data do not give them: "" or what fits better.
  /// Operators and plugins change them without documenting it.
  std::string assumed_settings;
  MachineConstants constants;
  std::vector<Constant> fitted;
  std::size_t rows = 0;
  int most_gpus = 0;
};

/// A row that is far from the fit, with its error.
struct Outlier {
  const Measurement* row = nullptr;
  double predicted_seconds = 0;
};

struct Calibration {
  MachineModel model;
  learn::Evaluation all;    // rows of at least `kLeastBytes`
  learn::Evaluation large;  // of 4 MB and more
  std::vector<Outlier> outliers;
};

/// Rows of one machine, source and setup, in this order.
[[nodiscard]] std::vector<std::vector<const Measurement*>> GroupByMachine(
    std::span<const Measurement> rows);

/// Fits the constants that the rows determine, at most ten, to rows of one group; the others keep
/// their defaults. Fails for fewer than four rows.
[[nodiscard]] Result<Calibration> Calibrate(std::span<const Measurement* const> rows);

/// The predicted time of a row.
[[nodiscard]] Result<double> PredictRow(const MachineModel& model, const Measurement& row);

}  // namespace orrery::collective
