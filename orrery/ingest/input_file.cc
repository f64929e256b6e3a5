#include "orrery/ingest/input_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {
namespace {

constexpr std::size_t kHeadBytes = 256 << 10;

}  // namespace

Result<InputFile> InputFile::Open(const std::string& path, const UnpackLimits& limits) {
  InputFile file;
  file.path_ = path;
  file.limits_ = limits;
  ORRERY_TRY_STATUS(file.ReadHead());
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  file.packed_bytes_ = ignored ? -1 : static_cast<std::int64_t>(bytes);
  return file;
}

Result<InputFile> InputFile::FromMemory(std::string name, std::string_view bytes,
                                        const UnpackLimits& limits) {
  InputFile file;
  file.path_ = std::move(name);
  file.in_memory_ = true;
  file.memory_ = bytes;
  file.packed_bytes_ = static_cast<std::int64_t>(bytes.size());
  file.limits_ = limits;
  ORRERY_TRY_STATUS(file.ReadHead());
  return file;
}

Result<std::unique_ptr<ByteSource>> InputFile::OpenContent() const {
  if (in_memory_) {
    return Unpack(OpenMemory(memory_), limits_);
  }
  ORRERY_TRY(auto file, OpenFile(path_));
  if (is_plain_file_) {
    return file;
  }
  return Unpack(std::move(file), limits_);
}

Result<std::string> InputFile::ReadText(std::int64_t max_bytes, trace::ProblemLog& problems) const {
  ORRERY_TRY(const auto source, OpenContent());
  ORRERY_TRY(std::string text, ReadAll(*source, max_bytes));
  if (const std::string damage = source->damage(); !damage.empty()) {
    problems.Loss(damage);
  }
  return text;
}

Status InputFile::ReadHead() {
  std::string magic(4, '\0');
  if (!in_memory_) {
    ORRERY_TRY(auto packed, OpenFile(path_));
    auto count = ReadFully(*packed, magic);
    if (!count) {
      return FailWithin(path_, count);
    }
    magic.resize(*count);
    is_plain_file_ = SniffCompression(magic) == Compression::kNone;
  }
  ORRERY_TRY(auto content, OpenContent());
  head_.resize(kHeadBytes);
  auto count = ReadFully(*content, head_);
  if (!count) {
    return FailWithin(path_, count);
  }
  head_.resize(*count);
  return {};
}

}  // namespace orrery::ingest
