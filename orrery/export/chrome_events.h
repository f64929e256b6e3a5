#pragma once

#include <algorithm>
#include <cstddef>

#include <tsl/robin_set.h>

#include "orrery/export/json_writer.h"
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

/// The process and thread on which each track and lane of a rank is drawn.
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

/// The array of events while it is written: one event per line.
class ChromeEvents {
 public:
  ChromeEvents(JsonWriter& json, std::int64_t base_ns) : json_(json), base_ns_(base_ns) {}

  /// Opens the object of an event, with a comma after the one before, and writes `parts`.
  template <typename... Parts>
  void Begin(const Parts&... parts) {
    json_.Write(any_ ? ",\n{" : "\n{", parts...);
    any_ = true;
  }

  /// Writes the process, thread and time of an event, as fields with a comma in front.
  void Place(std::string_view place, std::int64_t at_ns) {
    json_.Write(",", place, ",\"ts\":", JsonMicroseconds{at_ns - base_ns_});
  }

  [[nodiscard]] JsonWriter& json() { return json_; }

 private:
  JsonWriter& json_;
  std::int64_t base_ns_;
  bool any_ = false;
};

/// All that is needed to draw one rank.
struct ChromeRank {
  const trace::Trace& trace;
  const RankLayout& layout;
  const ChromeRows& rows;
  JsonStrings& strings;
  bool like_kineto = false;
};

/// Ids of arrows, unique in the file.
class FlowIds {
 public:
  /// Returns `preferred` if it is below the ids handed out here and not in use yet, else a new id.
  std::int64_t Take(std::int64_t preferred) {
    const bool is_free = preferred >= 0 && preferred < next_ && taken_.insert(preferred).second;
    return is_free ? preferred : next_++;
  }

  /// Keeps the ids up to `largest` for `Take`.
  void Reserve(std::int64_t largest) { next_ = std::max(next_, largest + 1); }

 private:
  std::int64_t next_ = 1;
  tsl::robin_set<std::int64_t> taken_;
};

/// Writes the names and the order of processes and threads.
void WriteRowNames(const ChromeRows& rows, ChromeEvents& events);

/// Writes the events of a rank. Slices come table by table in row order, so that a reader that
/// sorts stably gets the rows in their original order; then memory events, counters and instant
/// events; then flow arrows: launch to device, forward to backward, and those of the file. As in
/// Kineto, in a file with one rank the id of a launch arrow is the correlation id.
void WriteRank(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events);

}  // namespace orrery::exporting
