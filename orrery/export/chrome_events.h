#pragma once

#include <cstdint>
#include <string_view>

#include <tsl/robin_set.h>

#include "orrery/export/chrome_rows.h"
#include "orrery/export/json_writer.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// The array of events while it is written: one event a line.
class ChromeEvents {
 public:
  ChromeEvents(JsonWriter& json, std::int64_t base_ns) : json_(json), base_ns_(base_ns) {}

  /// Starts an event: separates it from the one before and opens the object.
  JsonWriter& Begin() {
    json_.Raw(any_ ? ",\n{" : "\n{");
    any_ = true;
    return json_;
  }

  /// Writes the time of an event, as a field with a comma in front.
  void Time(std::int64_t at_ns) {
    json_.Raw(",\"ts\":");
    json_.Microseconds(at_ns - base_ns_);
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

/// Numbers for arrows, unique in the file.
class FlowIds {
 public:
  /// Returns `wanted` if it is a number that was not given out yet, else a new one.
  std::int64_t Take(std::int64_t wanted);

  /// Keeps the numbers up to `largest` for `Take`.
  void Reserve(std::int64_t largest);

 private:
  std::int64_t next_ = 1;
  tsl::robin_set<std::int64_t> taken_;
};

/// Writes the names and the order of processes and threads.
void WriteRowNames(const ChromeRows& rows, ChromeEvents& events);

/// Writes all slices of a rank, table by table in row order, so that a reader that sorts stably
/// finds the rows as they were.
void WriteSlices(const ChromeRank& rank, ChromeEvents& events);

/// Writes memory events, counters and marks.
void WritePoints(const ChromeRank& rank, ChromeEvents& events);

/// Writes the arrows: launch to device, forward to backward, and those of the file. As in Kineto,
/// where one rank is written alone, the first arrow of a correlation has its number.
void WriteFlows(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events);

}  // namespace orrery::exporting
