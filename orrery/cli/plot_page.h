#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::cli {

/// A picture inside of another: what it draws, without its own frame, and its height.
struct PlotPart {
  std::string content;
  double height = 0;
};

/// A series in the head's legend.
struct PlotLook {
  std::string_view name;
  std::string_view style;
};

/// A whole picture as a part.
[[nodiscard]] PlotPart PlotPartOf(std::string_view svg);

/// The title, a sentence below it and the legend.
[[nodiscard]] PlotPart PlotHead(std::string_view title, std::string_view sentence,
                                std::span<const PlotLook> looks);

[[nodiscard]] PlotPart PlotCaption(std::string_view text);

/// One SVG document of parts below each other.
[[nodiscard]] std::string PlotDocument(std::string_view title, const std::vector<PlotPart>& parts);

[[nodiscard]] Status WritePlot(const std::string& svg, const std::string& path);

}  // namespace orrery::cli
