#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {

/// Lists what is in a folder, sorted. A folder that cannot be listed is an error with the reason.
[[nodiscard]] Result<std::vector<std::string>> PathsIn(const std::string& folder);

struct UnlistedFolder {
  std::string path;
  Error error;
};

/// Lists the files in a folder and in all folders below it, sorted; links to folders are not
/// followed. A folder below that cannot be listed is an error, or goes to `unlisted`.
[[nodiscard]] Result<std::vector<std::string>> FilesBelow(
    const std::string& folder, std::vector<UnlistedFolder>* unlisted = nullptr);

}  // namespace orrery
