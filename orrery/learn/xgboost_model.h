#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/error.h"
#include "orrery/learn/boosted_trees.h"

namespace orrery::learn {

/// Reads the first `num_trees` trees of a model that XGBoost saved as JSON. The losses stay empty.
[[nodiscard]] Result<BoostedTrees> ReadXgboostModel(const std::string& json, std::size_t num_trees);

}  // namespace orrery::learn
