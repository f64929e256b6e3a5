#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <tsl/robin_set.h>

#include "orrery/export/chrome_rows.h"
#include "orrery/export/json_writer.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

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

/// Writes all slices of a rank, table by table in row order, so that a reader that sorts stably
/// gets the rows in their original order.
void WriteSlices(const ChromeRank& rank, ChromeEvents& events);

/// Writes memory events, counters and instant events.
void WritePoints(const ChromeRank& rank, ChromeEvents& events);

/// Writes the flow arrows: launch to device, forward to backward, and those of the file. As in
/// Kineto, in a file with one rank the id of a launch arrow is the correlation id.
void WriteFlows(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events);

}  // namespace orrery::exporting
