#pragma once

#include <string_view>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

/// Returns names and styles of the parts of a device's time, in the order of Part.
[[nodiscard]] const std::vector<draw::Series>& PartSeries();

/// Returns the style of a class of the critical path or of a kind of collective: the known ones
/// have a colour of their own, all others share one.
[[nodiscard]] std::string_view PathClassStyle(std::string_view path_class);

}  // namespace orrery::report
