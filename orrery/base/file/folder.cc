#include "orrery/base/file/folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Incremented with an error code: a range-based loop throws. Entries know whether they are folders
// where their path is too long to ask.
Result<std::vector<fs::directory_entry>> EntriesOf(const std::string& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(*entry);
  }
  if (error == std::errc::no_such_file_or_directory) {
    return Fail(Error::Kind::kNotFound, fmt::format("{}: no such folder", folder));
  }
  if (error) {
    return Fail(Error::Kind::kSystem,
                fmt::format("{}: cannot read the folder: {}", folder, error.message()));
  }
  return entries;
}

}  // namespace

Result<std::vector<std::string>> PathsIn(const std::string& folder) {
  ORRERY_TRY(const std::vector<fs::directory_entry> entries, EntriesOf(folder));
  std::vector<std::string> paths;
  std::ranges::transform(entries, std::back_inserter(paths),
                         [](const auto& entry) { return entry.path().string(); });
  std::ranges::sort(paths);
  return paths;
}

Result<std::vector<std::string>> FilesBelow(const std::string& folder,
                                            std::vector<UnlistedFolder>* unlisted) {
  std::vector<std::string> files;
  ORRERY_TRY(std::vector<fs::directory_entry> entries, EntriesOf(folder));
  while (!entries.empty()) {
    const fs::directory_entry entry = std::move(entries.back());
    entries.pop_back();
    std::string path = entry.path().string();
    std::error_code ignored;
    if (!entry.is_directory(ignored)) {
      if (entry.is_regular_file(ignored)) {
        files.push_back(std::move(path));
      }
    } else if (entry.is_symlink(ignored)) {
      continue;
    } else if (auto below = EntriesOf(path)) {
      std::ranges::move(*below, std::back_inserter(entries));
    } else if (unlisted != nullptr) {
      unlisted->push_back({std::move(path), below.error()});
    } else {
      return tl::unexpected(below.error());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace orrery
