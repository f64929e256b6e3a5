#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_card.h"

namespace orrery::cli {

/// The files that a model was fitted to, for its card.
[[nodiscard]] Result<std::vector<learn::DataCard::Source>> SourcesOf(
    std::span<const std::string> paths);

}  // namespace orrery::cli
