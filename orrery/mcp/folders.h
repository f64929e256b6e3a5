#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::mcp {

/// The folders that the server was started for. Nothing is known of which arguments are paths, so
/// that none can be forgotten: each text of a call counts as one. Links and `..` are resolved.
class Folders {
 public:
  /// Values of jobs and files of folders that are looked at before a call is refused.
  static constexpr std::size_t kMostLookedAt = 100'000;

  /// `writable` is empty where nothing may be written; it may be read, too.
  [[nodiscard]] static Result<Folders> Open(const std::vector<std::string>& readable,
                                            const std::string& writable);

  /// Resolved. The first is where relative paths begin: the program works in it.
  [[nodiscard]] const std::vector<std::filesystem::path>& readable() const { return readable_; }

  [[nodiscard]] bool can_write() const { return !writable_.empty(); }

  /// Refuses texts that name something outside the folders, also in jobs that they name or are
  /// (`job_yaml`), and folders with links that lead out of them.
  [[nodiscard]] Status CheckArguments(const Value& arguments) const;

  /// The path of a file to write; fails where it is not below the writable folder, or exists.
  [[nodiscard]] Result<std::string> OutputPath(std::string_view argument,
                                               const std::string& file) const;

 private:
  Folders() = default;

  std::vector<std::filesystem::path> readable_;
  std::filesystem::path writable_;
};

}  // namespace orrery::mcp
