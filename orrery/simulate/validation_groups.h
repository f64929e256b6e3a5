#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/validation.h"

namespace orrery::simulate {

/// How far predictions are from measurements, in percent of the measured time. Without simulated
/// rows the errors are NaN.
struct ErrorFigures {
  std::size_t rows = 0;
  std::size_t simulated = 0;
  double mape = 0;    // mean |error|
  double median = 0;  // of |error|
  double max = 0;     // of |error|
  double bias = 0;    // mean error, with its sign

  bool operator==(const ErrorFigures&) const = default;
};

struct ErrorGroup {
  std::string name;
  ErrorFigures figures;
};

/// What rows are grouped by. Rows that were refused count where their table tells the group, by
/// source and grade; elsewhere groups hold simulated rows only.
enum class GroupKey : std::uint8_t {
  kSource,
  kGrade,
  kGpu,
  kScale,      // bands of the number of GPUs
  kDimension,  // of parallelism; a run that uses several is in several groups
};

[[nodiscard]] ErrorFigures FiguresOf(const Validation& validation);

/// Groups in the order in which they first occur; scales and dimensions in their own order.
[[nodiscard]] std::vector<ErrorGroup> GroupsOf(const Validation& validation, GroupKey key);

/// Runs with the largest |error|, worst first.
[[nodiscard]] std::vector<const EvaluatedRun*> WorstRuns(const Validation& validation,
                                                         std::size_t count);

/// A reason for which rows were refused, with the first of them.
struct RefusalGroup {
  std::string reason;
  std::size_t rows = 0;
  std::string first_id;
};

/// Most frequent first.
[[nodiscard]] std::vector<RefusalGroup> RefusalsOf(const Validation& validation);

}  // namespace orrery::simulate
