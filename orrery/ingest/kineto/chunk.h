#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// One end of an flow event ("s" or "f" event) that becomes a link or a row of its own.
struct FlowEnd {
  std::int64_t time_ns = 0;
  std::int64_t id = 0;
  RowId track = kNoRow;
  StringId category = StringId::kEmpty;
  StringId name = StringId::kEmpty;
  bool is_start = false;
};

/// A name the file gives to a process or thread ("M" event).
struct TrackName {
  bool is_thread = false;
  std::int64_t process = -1;
  std::int64_t thread = -1;
  StringId process_text = StringId::kEmpty;  // where the process is named, not numbered
  StringId name = StringId::kEmpty;
};

/// Which features the events have; they tell the generation of the file.
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
};

}  // namespace orrery::ingest::kineto
