#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/kineto/chunk.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// Puts chunks together, in the order of the file, into one trace.
class Assembler {
 public:
  void Add(const Chunk& chunk);

  [[nodiscard]] std::int64_t num_events() const { return num_events_; }

  [[nodiscard]] const Features& features() const { return features_; }

  [[nodiscard]] trace::Trace& trace() { return trace_; }

  /// Gives tracks the names that the file has for them.
  void NameTracks();

  /// Arrows that are neither launches nor forward-backward links become rows; returns the
  /// forward-backward pairs.
  std::vector<std::pair<FlowEnd, FlowEnd>> PairFlows();

 private:
  void MergeRows(const Chunk& chunk, const std::vector<StringId>& strings);

  trace::Trace trace_;
  tsl::robin_map<std::string, RowId> tracks_;
  tsl::robin_map<std::string, RowId> shapes_;
  tsl::robin_map<std::string, RowId> groups_;
  std::vector<FlowEnd> flow_ends_;
  std::vector<TrackName> track_names_;
  std::int64_t num_events_ = 0;
  Features features_;
};

}  // namespace orrery::ingest::kineto
