#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/xplane/stat.h"

namespace orrery::ingest::xplane {

/// What holds for all events of a kind (XEventMetadata).
struct EventKind {
  std::string_view name;
  std::string_view display_name;
  std::vector<Stat> stats;
};

/// A plane taken apart (XPlane): a device, or the host. Views point into its bytes.
struct Plane {
  std::int64_t id = 0;
  std::string_view name;
  std::vector<std::string_view> lines;
  tsl::robin_map<std::int64_t, EventKind> kinds;
  StatNames stat_names;
  std::vector<Stat> stats;
  bool is_damaged = false;
};

[[nodiscard]] Plane ReadPlane(std::string_view message);

/// Returns only the name of a plane, of which `message` may be the beginning.
[[nodiscard]] std::string_view PlaneName(std::string_view message);

/// A line without its events (XLine): a stream, a thread.
struct Line {
  std::int64_t id = 0;
  std::string_view name;
  std::int64_t timestamp_ns = 0;  // what the offsets of its events count from
  bool is_damaged = false;
};

[[nodiscard]] Line ReadLine(std::string_view message);

/// One event of a line (XEvent).
struct Event {
  std::int64_t kind = 0;
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
  bool is_aggregate = false;  // counts occurrences and has no time
  std::vector<Stat> stats;
};

/// Reads an XEvent into `event`; returns whether it is sound.
[[nodiscard]] bool ReadEvent(std::string_view message, Event& event);

/// Returns the messages of a line's events, without one that is cut.
[[nodiscard]] std::vector<std::string_view> EventsOf(std::string_view line);

}  // namespace orrery::ingest::xplane
