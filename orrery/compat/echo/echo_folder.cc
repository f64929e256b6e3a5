#include "orrery/compat/echo/echo_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

namespace orrery::compat::echo {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesBelow(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->is_regular_file(error)) {
      files.push_back(file->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class EchoFiles {
 public:
  explicit EchoFiles(const std::string& folder) : folder_(folder), files_(FilesBelow(folder)) {}

  Result<EchoFolder> Find() {
    EchoFolder found;
    for (const std::string_view part : {"forward", "backward", "ddp"}) {
      ORRERY_TRY(const std::optional<std::string> graph, One(fmt::format("{}_graph", part)));
      if (graph) {
        found.graphs.push_back(*graph);
      }
    }
    ORRERY_TRY(const std::optional<std::string> all, One("global_ops"));
    if (all) {
      found.times.push_back(*all);
    } else {
      ORRERY_TRY(const std::optional<std::string> forward, One("forward_ops"));
      ORRERY_TRY(const std::optional<std::string> backward, One("backward_ops"));
      if (forward && backward) {
        found.times = {*forward, *backward};
      }
    }
    if (found.graphs.size() < 2 || found.times.empty()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: neither the folder of a traced job (it has no trace.json) nor "
                              "graphs and times of Echo's tracer (docs/formats/echo.md)",
                              folder_));
    }
    return found;
  }

 private:
  [[nodiscard]] Result<std::optional<std::string>> One(std::string_view prefix) const {
    std::optional<std::string> found;
    for (const fs::path& file : files_) {
      if (!file.filename().string().starts_with(prefix)) {
        continue;
      }
      if (found) {
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("{}: several files {}*, of {} and {}: keep those of one job",
                                folder_, prefix, *found, file.string()));
      }
      found = file.string();
    }
    return found;
  }

  std::string folder_;
  std::vector<fs::path> files_;
};

}  // namespace

Result<EchoFolder> FindEchoFiles(const std::string& folder) {
  return EchoFiles(folder).Find();
}

}  // namespace orrery::compat::echo
