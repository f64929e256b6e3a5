#include "orrery/trace/orr/orr.h"

#include <memory>
#include <string>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest::orr {
namespace {

bool Matches(const InputFile& file) {
  return trace::IsOrr(file.head());
}

// A container that was compressed again, or that comes from memory, is decompressed into memory
// first.
Result<trace::TraceSet> ReadCopy(const InputFile& file, const trace::OrrReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> content, file.OpenContent());
  ORRERY_TRY(const std::string bytes, ReadAll(*content));
  return trace::ReadOrrBytes(bytes, options);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  trace::OrrReadOptions orr_options;
  orr_options.threads = options.threads;
  ORRERY_TRY(trace::TraceSet set, file.is_plain_file() ? trace::ReadOrr(file.path(), orr_options)
                                                       : ReadCopy(file, orr_options));
  FileContent content;
  content.traces = std::move(set.ranks);
  content.card = std::move(set.card);
  content.problems = std::move(set.problems);
  return content;
}

}  // namespace

// Orrery's own container (docs/formats/orr.md): gives the ranks, the card and the problems as they
// were written.
constinit const Format kFormat{.name = "Orrery container", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::orr
