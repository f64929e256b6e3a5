#pragma once

#include <string>

#include "orrery/memory/timeline/timeline.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// What layers hold, as lines over the axis, with the peak marked.
[[nodiscard]] report::Document::Picture LayerPicture(const memory::timeline::Timeline& timeline,
                                                     memory::timeline::Axis axis,
                                                     const std::string& title);

/// What categories hold, as columns over the axis.
[[nodiscard]] report::Document::Picture CategoryPicture(const memory::timeline::Timeline& timeline,
                                                        memory::timeline::Axis axis,
                                                        const std::string& title);

}  // namespace orrery::cli
