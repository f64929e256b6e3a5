#pragma once

#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The tables of a run that was read (ingest::Run::tables, which this module does not know). They
/// must outlive the result.
template <typename Tables>
[[nodiscard]] std::vector<Measurement> MeasurementsOf(const Tables& tables) {
  std::vector<Measurement> measurements;
  for (const auto& table : tables) {
    measurements.push_back({table.format, table.file, &table.rows});
  }
  return measurements;
}

}  // namespace orrery::analyze
