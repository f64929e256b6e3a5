#pragma once

#include <vector>

#include "orrery/serve/answers.h"

namespace orrery::serve {

/// The files of the page that are part of the program; empty where it was built without node.
[[nodiscard]] std::vector<Asset> PageAssets();

}  // namespace orrery::serve
