#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/workload_card.h"

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
  Table rows;
  trace::ProblemLog problems;
};

/// Says that a file holds only a part of a recording, whose other parts are other files.
struct Part {
  std::string recording;  // the same for all parts

  /// Called once, when all parts are together, in place of FinishTrace at the end of each.
  void (*complete)(trace::Trace& trace, const ReadOptions& options) = nullptr;
};

/// What one file held. Most files give exactly one of these.
struct FileContent {
  std::vector<trace::Trace> traces;
  std::vector<MeasurementTable> tables;
  std::optional<trace::WorkloadCard> card;
  std::optional<Part> part;    // of the traces
  trace::ProblemLog problems;  // of the file, where no trace or table can carry them
};

/// A format that Orrery recognises. To add one: a folder with a function that returns this, and
/// one line in registry.cc (see ADDING_A_FORMAT.md).
struct Format {
  std::string_view name;

  /// Decides from content; must be cheap and must not trust the file's name.
  bool (*matches)(const InputFile& file);

  /// Reads the whole file. Damage that leaves something usable is a problem in the result, an
  /// error means that nothing could be used.
  Result<FileContent> (*read)(const InputFile& file, const ReadOptions& options);
};

}  // namespace orrery::ingest
