#include "orrery/ingest/capture_manifest/capture_manifest.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/byte_source.h"
#include "orrery/ingest/json_value.h"

namespace orrery::ingest::capture_manifest {
namespace {

constexpr std::int64_t kMaxBytes = 64 << 20;
constexpr std::string_view kKey = "\"orrery_manifest\"";
constexpr std::int64_t kVersion = 1;

bool Matches(const InputFile& file) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::string_view head = file.head();
  head.remove_prefix(std::min(head.find_first_not_of(kBlanks), head.size()));
  if (!head.starts_with('{')) {
    return false;
  }
  head.remove_prefix(std::min(head.find_first_not_of(kBlanks, 1), head.size()));
  return head.starts_with(kKey);
}

Result<RunManifest> ReadManifest(const InputFile& file) {
  ORRERY_TRY(const auto source, file.OpenContent());
  ORRERY_TRY(const std::string text, ReadAll(*source, kMaxBytes));
  JsonText json;
  const auto whole = json.Parse(text);
  const auto version = Integer(Field(whole, "orrery_manifest"));
  if (!version) {
    return Fail(Error::Kind::kInvalidInput, "the manifest is cut off or no JSON");
  }
  if (*version != kVersion) {
    return Fail(Error::Kind::kUnsupported, "the manifest is of a newer Orrery");
  }
  RunManifest manifest{.world_size = SmallInteger(Field(whole, "world_size"))};
  ForEachElement(Field(whole, "files"), [&](const JsonElement& entry) {
    if (const auto name = Text(Field(entry, "file"))) {
      manifest.files.push_back(
          {.name = std::string(*name), .rank = SmallInteger(Field(entry, "rank"))});
    }
  });
  return manifest;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  auto manifest = ReadManifest(file);
  if (!manifest) {
    return FailWithin(file.path(), manifest);
  }
  FileContent content;
  content.manifest = *std::move(manifest);
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "Orrery manifest", .matches = &Matches, .read = &Read};
  return kFormat;
}

}  // namespace orrery::ingest::capture_manifest
