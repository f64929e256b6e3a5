#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {

/// The manifest that `orrery capture` writes next to the streams of several processes
/// (docs/formats/orrs.md): their names, and the number of ranks of the job. Everything else is in
/// the streams.
struct RunManifest {
  struct File {
    std::string name;        // in the folder of the manifest
    std::int32_t rank = -1;  // -1: not said

    bool operator==(const File&) const = default;
  };

  std::int32_t world_size = -1;
  std::vector<File> files = {};
};

/// Recognized by its first key, "orrery_manifest".
[[nodiscard]] bool IsManifest(const InputFile& file);

[[nodiscard]] Result<RunManifest> ReadManifest(const InputFile& file);

/// Compares the manifests of a run with the files that exist.
class ManifestCheck {
 public:
  void Add(const std::string& manifest_path, const RunManifest& manifest);
  void Found(const std::string& path);

  /// A missing stream or rank is a loss.
  void NoteMissing(trace::ProblemLog& problems) const;

 private:
  std::set<std::filesystem::path> files_;
  std::set<std::filesystem::path> found_;
  std::set<std::int32_t> ranks_;
  std::int32_t num_ranks_ = 0;
};

}  // namespace orrery::ingest
