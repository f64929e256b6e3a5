#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest {

struct ReadOptions {
  int threads = 0;  // 0: one for each core
  UnpackLimits unpack = {};
  std::string step_marker = {};  // regular expression; empty: the known markers
};

/// Measurements that are a table rather than a trace, such as an nccl-tests log.
struct MeasurementTable {
  std::string format;
  std::string file;
  Table rows = {};
  trace::ProblemLog problems = {};
};

/// A file that holds only a part of a recording; other files hold the rest.
struct Part {
  std::string recording;  // the same for all parts

  /// Called once when all parts are joined, instead of FinishTrace for each part.
  void (*complete)(trace::Trace& trace, const ReadOptions& options) = nullptr;
};

/// The content of one file. Most files have exactly one of these.
struct FileContent {
  std::vector<trace::Trace> traces;
  std::vector<MeasurementTable> tables;
  std::optional<trace::WorkloadCard> card;
  std::optional<Part> part;    // of the traces
  trace::ProblemLog problems;  // of the file, where there is no trace or table to hold them
};

/// Returns a trace as the content of its file.
[[nodiscard]] inline FileContent ContentOf(trace::Trace trace) {
  FileContent content;
  content.traces.push_back(std::move(trace));
  return content;
}

/// Returns a table as the content of its file; fails with `if_empty` where it has no row.
[[nodiscard]] inline Result<FileContent> ContentOf(MeasurementTable table,
                                                   std::string_view if_empty) {
  if (table.rows.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput, std::string(if_empty));
  }
  FileContent content;
  content.tables.push_back(std::move(table));
  return content;
}

/// A format that Orrery reads. To add one, see docs/guides/adding-a-format.md.
struct Format {
  std::string_view name;

  /// Decides by content; must be cheap and must not trust the file name.
  bool (*matches)(const InputFile& file);

  /// Reads the whole file. Damage that leaves something usable is a problem in the result, an
  /// error means that nothing could be used. Use Read, which adds the path to errors.
  Result<FileContent> (*read)(const InputFile& file, const ReadOptions& options);

  /// Reads a file; an error begins with its path.
  [[nodiscard]] Result<FileContent> Read(const InputFile& file, const ReadOptions& options) const {
    auto content = read(file, options);
    if (!content && !content.error().message().starts_with(file.path() + ": ")) {
      return FailWithin(file.path(), content);
    }
    return content;
  }
};

}  // namespace orrery::ingest
