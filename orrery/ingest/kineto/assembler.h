#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// One end of a flow event ("s" or "f" event) that becomes a link or a row of its own.
struct FlowEnd {
  std::int64_t time_ns = 0;
  std::int64_t id = 0;
  RowId track = kNoRow;
  StringId category = StringId::kEmpty;
  StringId name = StringId::kEmpty;
  bool is_start = false;
};

/// The name of a process or thread ("M" event).
struct TrackName {
  bool is_thread = false;
  std::int64_t process = -1;
  std::int64_t thread = -1;
  StringId process_text = StringId::kEmpty;  // if the process has a name instead of a number
  StringId name = StringId::kEmpty;
};

/// Features of the events, from which the generation of the file is inferred.
struct Features {
  bool capital_categories = false;  // 2021
  bool async_flows = false;         // 2021, 2022
  bool decimal_times = false;       // nanoseconds, since 2024
  bool group_sequence = false;      // 2026
  bool kineto_categories = false;   // any category of the PyTorch profiler

  void Merge(const Features& other);
};

/// The rows of one piece of the file, with their own strings and tracks. Links to tracks, launch
/// shapes and collectives are row numbers of this chunk.
struct Chunk {
  trace::Trace rows;
  std::vector<FlowEnd> flow_ends;
  std::vector<TrackName> track_names;
  std::int64_t num_events = 0;
  Features features;
  bool has_several_ranks = false;  // tracks are then processes and threads of the file
};

/// Merges chunks into one trace, in the order of the file.
class Assembler {
 public:
  void Add(const Chunk& chunk);

  /// Gives tracks the names that the file has for them.
  void NameTracks();

  /// Arrows that are neither launches nor forward-backward links become rows; returns the
  /// forward-backward pairs.
  std::vector<std::pair<FlowEnd, FlowEnd>> PairFlows();

  trace::Trace trace;
  std::int64_t num_events = 0;
  Features features;
  bool has_several_ranks = false;  // written by Orrery: SplitRanks takes them apart

 private:
  tsl::robin_map<std::string, RowId> tracks_;
  tsl::robin_map<std::string, RowId> shapes_;
  tsl::robin_map<std::string, RowId> groups_;
  std::vector<FlowEnd> flow_ends_;
  std::vector<TrackName> track_names_;
};

}  // namespace orrery::ingest::kineto
