#include "orrery/ingest/format.h"

#include <string>
#include <string_view>
#include <utility>

namespace orrery::ingest {

FileContent ContentOf(trace::Trace trace) {
  FileContent content;
  content.traces.push_back(std::move(trace));
  return content;
}

Result<FileContent> ContentOf(MeasurementTable table, std::string_view if_empty) {
  if (table.rows.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput, std::string(if_empty));
  }
  FileContent content;
  content.tables.push_back(std::move(table));
  return content;
}

Result<FileContent> Format::Read(const InputFile& file, const ReadOptions& options) const {
  auto content = read(file, options);
  if (!content && !content.error().message().starts_with(file.path() + ": ")) {
    return FailWithin(file.path(), content);
  }
  return content;
}

}  // namespace orrery::ingest
