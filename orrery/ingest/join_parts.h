#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/ingest/format.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest {

/// Joins recordings that a tool writes as several files.
class PartJoiner {
 public:
  /// Takes the trace of a content with a `part`.
  void Add(FileContent content);

  /// Completes the recordings, in order of their names. Several without a rank are several
  /// processes of one run and get numbers in this order.
  [[nodiscard]] std::vector<trace::Trace> Take(const ReadOptions& options);

 private:
  struct Recording {
    trace::Trace trace;
    Part part;
  };

  std::map<std::string, Recording> recording_of_name_;
};

}  // namespace orrery::ingest
