#include "orrery/mcp/folders.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"

namespace orrery::mcp {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestJob = 1 << 20;
constexpr int kDeepestJob = 64;  // jobs may refer to themselves by aliases

bool IsBelow(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

bool IsBelowOne(const fs::path& path, std::span<const fs::path> folders) {
  return std::ranges::any_of(folders,
                             [&](const fs::path& folder) { return IsBelow(path, folder); });
}

// A text that is too long for a path cannot be opened either.
fs::path Resolve(const fs::path& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : resolved;
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool IsJobName(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

Result<fs::path> OpenFolder(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::canonical(folder, error);
  if (error || !fs::is_directory(path, error)) {
    return Invalid("{}: there is no such folder", folder);
  }
  return path;
}

// Looks at all texts of one call.
class Check {
 public:
  explicit Check(std::span<const fs::path> folders) : folders_(folders), bases_{Here()} {}

  Status Arguments(const Value& arguments) {
    Collect("", arguments);
    // Files that settings name, as in "model=qwen.json", lie beside a job.
    for (const auto& [name, text] : texts_) {
      const fs::path path = text;
      if (path.has_parent_path() && Exists(path)) {
        bases_.push_back(path.parent_path());
      }
    }
    for (const auto& [name, text] : texts_) {
      const Status checked =
          name == "job_yaml" ? Yaml(text, std::span(bases_).first(1)) : Text(name, text);
      if (!checked) {
        return FailWithin(name, checked);
      }
    }
    return {};
  }

 private:
  static fs::path Here() {
    std::error_code error;
    return fs::current_path(error);
  }

  void Collect(std::string_view name, const Value& value) {
    if (const auto* const text = std::get_if<std::string>(&value.variant())) {
      texts_.emplace_back(name, *text);
    } else if (value.IsList()) {
      for (const Value& item : value.items()) {
        Collect(name, item);
      }
    } else if (value.IsObject()) {
      for (const auto& [field, item] : value.fields()) {
        Collect(field, item);
      }
    }
  }

  Status Text(std::string_view name, const std::string& text) {
    ORRERY_TRY_STATUS(Path(text, std::span(bases_).first(1)));
    if (const std::size_t equals = text.find('='); equals != std::string::npos) {
      const std::string value = text.substr(equals + 1);
      ORRERY_TRY_STATUS(Path(value, bases_));
      ORRERY_TRY_STATUS(Yaml(value, bases_));
      ORRERY_TRY_STATUS(Content(name, value));
    }
    return Content(name, text);
  }

  // Fails unless a text lies below the folders, seen from the first of `bases`, where it is looked
  // for, and if it exists there, also from the others.
  Status Path(const std::string& text, std::span<const fs::path> bases) {
    if (text.find('\0') != std::string::npos) {
      return Invalid("a text must not have a null character");
    }
    for (std::size_t base = 0; base < bases.size(); ++base) {
      const fs::path path = Resolve(bases[base] / text);
      if (!IsBelowOne(path, folders_) && (base == 0 || Exists(path))) {
        return Invalid("{}: outside the folders that orrery mcp was started for", text);
      }
    }
    return {};
  }

  Status Yaml(const std::string& text, std::span<const fs::path> bases) {
    try {
      return Node(YAML::Load(text), bases, 0);
    } catch (const YAML::Exception&) {  // no verb reads it either
      return {};
    }
  }

  Status Node(const YAML::Node& node, std::span<const fs::path> bases, int depth) {
    if (depth > kDeepestJob || ++num_looked_at_ > Folders::kMostLookedAt) {
      return Fail(Error::Kind::kLimit, "the job has too many levels or aliases");
    }
    if (node.IsScalar()) {
      return Path(node.Scalar(), bases);
    }
    for (auto part = node.begin(); part != node.end(); ++part) {
      ORRERY_TRY_STATUS(Node(node.IsMap() ? part->second : YAML::Node(*part), bases, depth + 1));
    }
    return {};
  }

  // Of a file or folder that a text names, if there is one.
  Status Content(std::string_view name, const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      return Folder(path);
    }
    const bool is_job = name == "job" || name == "jobs" || IsJobName(path);
    return is_job && fs::is_regular_file(path, error) ? Job(path) : Status();
  }

  Status Folder(const fs::path& folder) {
    std::error_code error;
    constexpr auto kReadable = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator entry(folder, kReadable, error), end;
         !error && entry != end; entry.increment(error)) {
      if (++num_looked_at_ > Folders::kMostLookedAt) {
        return Fail(Error::Kind::kLimit, folder.string() + ": too many files; name a folder below");
      }
      ORRERY_TRY_STATUS(Path(entry->path().string(), std::span(bases_).first(1)));
      if (IsJobName(entry->path()) && entry->is_regular_file(error)) {
        ORRERY_TRY_STATUS(Job(entry->path()));
      }
    }
    return {};
  }

  Status Job(const fs::path& path) {
    std::error_code error;
    if (path.extension() == ".et" || path.stem().extension() == ".et") {  // of Chakra
      return {};
    }
    if (fs::file_size(path, error) > kLargestJob) {
      return Fail(Error::Kind::kLimit, path.string() + ": too large for a job");
    }
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path.string()));
    const std::vector<fs::path> bases = {bases_.front() / path.parent_path(), bases_.front()};
    const Status checked = Yaml(std::string(file.bytes()), bases);
    return checked ? checked : FailWithin(path.string(), checked);
  }

  std::span<const fs::path> folders_;
  std::vector<fs::path> bases_;
  std::vector<std::pair<std::string_view, std::string>> texts_ = {};  // with their fields
  std::size_t num_looked_at_ = 0;
};

}  // namespace

Result<Folders> Folders::Open(const std::vector<std::string>& readable,
                              const std::string& writable) {
  Folders folders;
  for (const std::string& folder : readable) {
    ORRERY_TRY(fs::path path, OpenFolder(folder));
    folders.readable_.push_back(std::move(path));
  }
  if (!writable.empty()) {
    ORRERY_TRY(folders.writable_, OpenFolder(writable));
    folders.readable_.push_back(folders.writable_);
  }
  return folders;
}

Status Folders::CheckArguments(const Value& arguments) const {
  return Check(readable_).Arguments(arguments);
}

Result<std::string> Folders::OutputPath(std::string_view argument, const std::string& file) const {
  if (!can_write()) {
    return Invalid("{}: nothing may be written; orrery mcp --write DIR allows it in DIR", argument);
  }
  const fs::path path = Resolve(writable_ / file);
  if (file.find('\0') != std::string::npos || path == writable_ || !IsBelow(path, writable_)) {
    return Invalid("{}: {}: outside the folder that may be written", argument, file);
  }
  if (Exists(path)) {
    return Invalid("{}: {}: there is such a file, and none is replaced", argument, file);
  }
  return path.string();
}

}  // namespace orrery::mcp
