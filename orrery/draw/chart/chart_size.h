#pragma once

namespace orrery::draw {

// What all charts share, so that plots stand exactly under each other on a page.
inline constexpr double kChartWidth = 1080;
inline constexpr double kLabelWidth = 92;   // left of the plot
inline constexpr double kRightMargin = 24;  // room for half a tick text
inline constexpr double kAxisHeight = 26;   // under the plot, without a title
inline constexpr double kTitleHeight = 20;  // … of an axis, on top

}  // namespace orrery::draw
