#include "orrery/ingest/orr/orr.h"

#include <memory>
#include <string>
#include <utility>

#include "orrery/base/byte_source.h"
#include "orrery/trace/orr/orr.h"

namespace orrery::ingest::orr {
namespace {

bool Matches(const InputFile& file) {
  return trace::IsOrr(file.head());
}

// A container that was packed once more, or that comes from memory, is unpacked into memory first.
Result<trace::TraceSet> ReadCopy(const InputFile& file, const trace::OrrReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> content, file.OpenContent());
  ORRERY_TRY(const std::string bytes, ReadAll(*content));
  return trace::ReadOrrBytes(bytes, options);
}

Result<trace::TraceSet> ReadSet(const InputFile& file, const trace::OrrReadOptions& options) {
  if (file.is_plain_file()) {
    return trace::ReadOrr(file.path(), options);
  }
  auto set = ReadCopy(file, options);
  if (!set) {
    return FailWithin(file.path(), set);
  }
  return set;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  trace::OrrReadOptions orr_options;
  orr_options.threads = options.threads;
  ORRERY_TRY(trace::TraceSet set, ReadSet(file, orr_options));
  FileContent content;
  content.traces = std::move(set.ranks);
  content.card = std::move(set.card);
  content.problems = std::move(set.problems);
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "Orrery container", .matches = Matches, .read = Read};
  return kFormat;
}

}  // namespace orrery::ingest::orr
