#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/work.h"

namespace orrery::calibrate {

/// Rows of element-wise operators and GEMMs on a GPU whose times are 2 µs and 1.5 times the
/// roofline, which a fit must recover. For tests.
inline std::vector<kernel::Measurement> GeneratedRows(const hardware::Gpu& gpu, int rows_of_kind) {
  std::vector<kernel::Measurement> rows;
  const auto add = [&](const kernel::Operator& op) {
    const double roofline = kernel::BoundOf(op, kernel::WorkOf(op), gpu).Seconds();
    rows.push_back({.op = op, .gpu = &gpu, .seconds = 2e-6 + 1.5 * roofline});
  };
  for (int i = 0; i < rows_of_kind; ++i) {
    const auto size = static_cast<std::int64_t>(std::exp2(10 + 14.0 * i / rows_of_kind));
    add(kernel::Operator(kernel::OperatorKind::kElementwise, DataType::kBf16)
            .Set(kernel::Key::kN, size));
    const auto side = static_cast<std::int64_t>(std::exp2(5 + 7.0 * i / rows_of_kind));
    add(kernel::Operator(kernel::OperatorKind::kGemm, DataType::kBf16)
            .Set(kernel::Key::kM, side)
            .Set(kernel::Key::kN, 64 + side / 2)
            .Set(kernel::Key::kK, 2 * side));
  }
  return rows;
}

}  // namespace orrery::calibrate
