#include "orrery/cli/model_sources.h"

#include <filesystem>

#include "orrery/base/mapped_file.h"
#include "orrery/learn/random.h"

namespace orrery::cli {

Result<std::vector<learn::DataCard::Source>> SourcesOf(std::span<const std::string> paths) {
  std::vector<learn::DataCard::Source> sources;
  for (const std::string& path : paths) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
    const std::string_view bytes = file.bytes();
    sources.push_back(
        {std::filesystem::path(path).filename().string(), bytes.size(), learn::HashText(bytes, 0)});
  }
  return sources;
}

}  // namespace orrery::cli
