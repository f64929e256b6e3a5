#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// Latency and time per byte of one step of a ring, from the all-reduces of a run.
struct HockneyFit {
  std::int32_t num_ranks = 0;
  std::size_t num_samples = 0;
  std::size_t num_sizes = 0;
  double alpha_s = 0;
  double beta_s_per_byte = 0;
};

/// Fits t / (2 (n - 1)) = alpha + beta * S / n by least squares over the all-reduces of the group
/// size with most records. Needs 5 of 2 sizes; else `reason` follows "n/a: ".
[[nodiscard]] std::optional<HockneyFit> FitHockney(const RunView& run, std::string& reason);

}  // namespace orrery::analyze
