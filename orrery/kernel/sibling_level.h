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

/// What a few measurements say of a GPU that has no model of a kind: how many times longer its
/// operators take than other GPUs, which speak for it, would have it. Shapes stay what those say.
struct SiblingLevel {
  std::string gpu;
  OperatorKind kind = OperatorKind::kGemm;
  DataType type = DataType::kFp32;
  std::array<double, 3> factor_of_timing = {1, 1, 1};  // by Timing: who speaks depends on it
  double deviation = 0;  // of ln(predicted / measured), with the factor
  std::size_t rows = 0;
};

struct SiblingLevels {
  std::vector<std::string> sources;  // names of the tables
  std::vector<SiblingLevel> levels;
};

/// Fewer rows than this set no level.
inline constexpr std::size_t kFewestRowsOfLevel = 8;

/// Fits the levels of all GPUs, kinds and types for which siblings speak in `models`: the geometric
/// mean of measured over predicted. Rows with the host in them count from ten launches on.
[[nodiscard]] std::vector<SiblingLevel> FitSiblingLevels(const ModelSet& models,
                                                         std::span<const Measurement> rows);

/// The file `orrery fit siblings` writes.
[[nodiscard]] std::string SiblingLevelsText(const SiblingLevels& levels);

/// Reads it back; `name` stands for the file in errors.
[[nodiscard]] Result<SiblingLevels> ParseSiblingLevels(const std::string& text,
                                                       const std::string& name);

}  // namespace orrery::kernel
