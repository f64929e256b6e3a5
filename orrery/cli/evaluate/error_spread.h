#pragma once

#include <string_view>
#include <vector>

#include "orrery/draw/chart/spread_chart.h"

namespace orrery::cli {

/// How to read a chart of ErrorSpread.
inline constexpr std::string_view kSpreadCaption =
    "|error|: the bar ends at the median, the thick line spans the middle half of the rows, the "
    "thin one nine of ten";

/// How errors in per cent, at least one, are spread: from the 5th to the 95th of a hundred, with
/// their mean in the note.
[[nodiscard]] draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors);

}  // namespace orrery::cli
