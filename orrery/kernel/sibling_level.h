#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

class ModelSet;

/// A correction from few measurements for a GPU without a model of a kind: the ratio of its
/// measured times to the predictions of sibling models. The dependence on shapes is that of the
/// siblings.
struct SiblingLevel {
  std::string gpu;
  OperatorKind kind = OperatorKind::kGemm;
  DataType type = DataType::kFp32;
  std::array<double, 3> factor_of_timing = {1, 1, 1};  // by Timing
  double deviation = 0;  // of ln(predicted / measured), with the factor
  std::size_t rows = 0;
};

struct SiblingLevels {
  std::vector<std::string> sources;  // names of the tables
  std::vector<SiblingLevel> levels;
};

/// The minimum number of rows of a level.
inline constexpr std::size_t kFewestRowsOfLevel = 8;

/// Fits the levels of all GPUs, kinds and types that `models` predicts from siblings: the geometric
/// mean of measured over predicted. Eager rows count only from ten launch times on.
[[nodiscard]] std::vector<SiblingLevel> FitSiblingLevels(const ModelSet& models,
                                                         std::span<const Measurement> rows);

/// The file that `orrery fit siblings` writes.
[[nodiscard]] std::string SiblingLevelsText(const SiblingLevels& levels);

/// Reads it back; `name` stands for the file in errors.
[[nodiscard]] Result<SiblingLevels> ParseSiblingLevels(const std::string& text,
                                                       const std::string& name);

}  // namespace orrery::kernel
