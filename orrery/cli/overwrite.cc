#include "orrery/cli/overwrite.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include <yaml-cpp/yaml.h>

#include "orrery/api/input/run_input.h"
#include "orrery/base/error.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

bool IsSameFile(const fs::path& one, const fs::path& other) {
  std::error_code ignored;
  return fs::equivalent(one, other, ignored);
}

// A job names files of its own, relative to its folder: the configuration of its model, say.
std::string PathInJob(const std::string& written, const YAML::Node& node, const fs::path& folder) {
  if (node.IsScalar()) {
    const fs::path path = folder / node.Scalar();
    return IsSameFile(written, path) ? path.string() : "";
  }
  std::string path;
  for (auto part = node.begin(); part != node.end() && path.empty(); ++part) {
    path = PathInJob(written, node.IsMap() ? part->second : YAML::Node(*part), folder);
  }
  return path;
}

std::string PathInJob(const std::string& written, const std::string& read) {
  constexpr std::uintmax_t kLargestJob = 1 << 18;  // traces are larger, and slow to parse as YAML
  std::error_code error;
  if (const std::uintmax_t size = fs::file_size(read, error); error || size > kLargestJob) {
    return {};
  }
  try {
    return PathInJob(written, YAML::LoadFile(read), fs::path(read).parent_path());
  } catch (const YAML::Exception&) {  // no job
    return {};
  }
}

// Returns the path by which `read` reaches the file `written`; empty: it does not.
std::string PathTo(const std::string& written, const std::string& read) {
  if (IsSameFile(written, read)) {
    return read;
  }
  std::error_code error;
  if (!fs::is_directory(read, error)) {
    return PathInJob(written, read);
  }
  // A page or table of an earlier run is none, and may be written again beside the recordings.
  if (!api::IsRecording(written)) {
    return {};
  }
  constexpr auto kAllReadable = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(read, kAllReadable, error), end;
       !error && entry != end; entry.increment(error)) {
    if (IsSameFile(entry->path(), written)) {
      return entry->path().string();
    }
  }
  return {};
}

}  // namespace

Status CheckInputsAreKept(std::span<const std::string> read, std::span<const std::string> written) {
  for (const std::string& output : written) {
    std::error_code ignored;
    if (!fs::is_regular_file(output, ignored)) {
      continue;
    }
    for (const std::string& input : read) {
      const std::string value = input.substr(input.find('=') + 1);
      for (const std::string& candidate : {input, value}) {
        if (const std::string path = PathTo(output, candidate); !path.empty()) {
          return InvalidInput("{}: this would overwrite the input {}; name another file to write",
                              output, path);
        }
      }
    }
  }
  return {};
}

}  // namespace orrery::cli
