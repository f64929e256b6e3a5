#include "orrery/ingest/manifest.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxBytes = 64 << 20;
constexpr std::string_view kKey = "\"orrery_manifest\"";
constexpr std::int64_t kVersion = 1;
constexpr std::int32_t kMaxRanks = 1 << 20;

}  // namespace

bool IsManifest(const InputFile& file) {
  const std::string_view head = Trimmed(file.head());
  return head.starts_with('{') && Trimmed(head.substr(1)).starts_with(kKey);
}

Result<RunManifest> ReadManifest(const InputFile& file) {
  ORRERY_TRY(const auto source, file.OpenContent());
  ORRERY_TRY(const std::string text, ReadAll(*source, kMaxBytes));
  JsonText json;
  const auto whole = json.Parse(text);
  const auto version = Integer(Field(whole, "orrery_manifest"));
  if (version != kVersion) {
    return version ? Fail(Error::Kind::kUnsupported,
                          file.path() + ": the manifest was written by a newer Orrery")
                   : Fail(Error::Kind::kInvalidInput,
                          file.path() + ": the manifest is truncated or not JSON");
  }
  RunManifest manifest{.world_size = SmallInteger(Field(whole, "world_size"))};
  ForEachElement(Field(whole, "files"), [&](const JsonElement& entry) {
    if (const auto name = Text(Field(entry, "file"))) {
      manifest.files.push_back({std::string(*name), SmallInteger(Field(entry, "rank"))});
    }
  });
  return manifest;
}

void ManifestCheck::Add(const std::string& manifest_path, const RunManifest& manifest) {
  const fs::path folder = fs::path(manifest_path).parent_path();
  for (const RunManifest::File& file : manifest.files) {
    files_.insert((folder / file.name).lexically_normal());
    ranks_.insert(file.rank);
  }
  num_ranks_ = std::max(num_ranks_, manifest.world_size);
}

void ManifestCheck::Found(const std::string& path) {
  found_.insert(fs::path(path).lexically_normal());
}

void ManifestCheck::NoteMissing(trace::ProblemLog& problems) const {
  for (const fs::path& file : files_) {
    if (!found_.contains(file)) {
      problems.Loss("missing stream that a manifest names", 1, file.string());
    }
  }
  // Processes of a job without ranks have none that could be missing.
  for (std::int32_t rank = 0; num_ranks_ > 1 && rank < std::min(num_ranks_, kMaxRanks); ++rank) {
    if (!ranks_.contains(rank)) {
      problems.Loss("rank of the job without a stream in any manifest", 1,
                    fmt::format("rank {}", rank));
    }
  }
}

}  // namespace orrery::ingest
