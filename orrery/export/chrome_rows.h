#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// A process of a Chrome trace: a block of rows with a title.
struct ChromeProcess {
  std::string pid;  // as JSON: a number, or a string for rows that are not a process
  std::string name;
  std::string labels;
  std::int64_t sort_index = 0;
};

/// A thread of a Chrome trace: one row of slices, which nest.
struct ChromeThread {
  std::size_t process = 0;  // into ChromeRows::processes
  std::string tid;          // as JSON
  std::string name;
  std::int64_t sort_index = 0;
  bool is_used = true;
  std::string place;  // the fields that put an event here: "pid":538,"tid":598
};

/// Which process and thread each track and lane of a rank is drawn on.
struct ChromeRows {
  std::vector<ChromeProcess> processes;
  std::vector<ChromeThread> threads;
  std::vector<std::size_t> first_thread_of_track;  // its lanes follow; see DrawnTracks

  [[nodiscard]] const ChromeThread& Thread(RowId drawn_track, Lane lane = 0) const {
    return threads[first_thread_of_track[drawn_track] + lane];
  }
};

/// Rows for a single rank, numbered as Kineto does, so that its readers understand the file: host
/// events under the process id and thread id, device events under the device and stream. Further
/// lanes of a track count on behind the largest thread id of their process.
[[nodiscard]] ChromeRows KinetoRows(const trace::Trace& trace, const RankLayout& layout);

/// Rows for one of several ranks: a process for the host, with number `first_pid`, then one for
/// each device in order. Thread ids are those of the trace where they are free.
[[nodiscard]] ChromeRows RankRows(const trace::Trace& trace, const RankLayout& layout,
                                  std::int64_t rank, std::int64_t first_pid);

}  // namespace orrery::exporting
