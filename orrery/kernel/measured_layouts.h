#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/kernel/measurement.h"

namespace orrery::kernel {

/// One row of a table of some layout: an operator and its time, not yet checked. A row may contain
/// several times.
struct LayoutRow {
  Operator op;
  std::string_view gpu;
  double seconds = 0;
  double spread = 0;
};

/// The layout of a publisher's columns.
struct Layout {
  std::string_view name;
  Timing timing;
  std::vector<std::string_view> needs;  // required columns, which identify the layout
  Result<std::vector<LayoutRow>> (*read)(const Table& table, std::size_t row);
};

/// Returns the layout of a table; fails and names the nearest layout and its missing columns.
[[nodiscard]] Result<const Layout*> FindLayout(const Table& table);

}  // namespace orrery::kernel
