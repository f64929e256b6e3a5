#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/hlo.h"
#include "orrery/ingest/xplane/stat.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {

/// Properties of all events of a kind (XEventMetadata).
struct EventKind {
  std::string_view name;
  std::string_view display_name;
  std::vector<Stat> stats;
};

/// A parsed plane (XPlane): a device, or the host. Views point into its bytes.
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
  std::int64_t timestamp_ns = 0;  // origin of its events' offsets
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

/// Reads an XEvent into `event`; returns whether it is valid.
[[nodiscard]] bool ReadEvent(std::string_view message, Event& event);

/// Returns the messages of a line's events, without one that is truncated.
[[nodiscard]] std::vector<std::string_view> EventsOf(std::string_view line);

/// A kind of events, as a trace needs it.
struct EventKindInfo {
  StringId name = StringId::kEmpty;
  std::string_view short_name;
  std::string_view long_name;
  std::string fields;  // its stats, as fields of a JSON object
  StringId extra = StringId::kEmpty;
  bool is_known = true;  // the plane describes it

  std::string_view category;  // of HLO operations
  HloCategory hlo;
  std::int64_t bytes = -1;  // accessed
  std::optional<HloShape> shape;
};

/// Classifies each event kind of a plane once.
class EventKinds {
 public:
  /// Both must outlive it.
  EventKinds(const Plane& plane, StringTable& strings) : plane_(plane), strings_(strings) {}

  /// Valid until the next call.
  [[nodiscard]] const EventKindInfo& At(std::int64_t kind);

 private:
  [[nodiscard]] EventKindInfo Describe(std::int64_t kind) const;

  const Plane& plane_;
  StringTable& strings_;
  tsl::robin_map<std::int64_t, EventKindInfo> infos_;
};

struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
};

/// Returns whether a time is small enough to be added to others.
[[nodiscard]] bool IsPlausibleTime(std::int64_t time);

/// Returns the time of an event, `offset_ps` after `origin_ns`; nothing for impossible times. Both
/// ends are rounded, half up, so that events that touch in the file touch here.
[[nodiscard]] std::optional<Interval> IntervalOf(std::int64_t origin_ns, std::int64_t offset_ps,
                                                 std::int64_t duration_ps);

/// The start or the done of an asynchronous operation on a core.
struct AsyncHalf {
  bool is_start = false;
  std::string start_name;  // of the operation that issued it: "copy-start.2"
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t kind = 0;  // of its event
};

/// Work from the begin of its start to the end of its done, as the profiler's own line of
/// asynchronous operations has it.
struct AsyncWork {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t start_kind = 0;
};

struct AsyncPairs {
  std::vector<AsyncWork> works;  // in order of their ends
  std::int64_t num_unpaired = 0;
};

/// Joins the halves of one core. An operation is not issued again before it is done, so a start
/// belongs to the next done of its name.
[[nodiscard]] AsyncPairs PairAsync(std::vector<AsyncHalf> halves);

/// Returns the name of the start that a done waits for: the operand in its text ("%copy-done.2 =
/// f32[8] copy-done((f32[8]) %copy-start.2)"), else its own name with the other word.
[[nodiscard]] std::string StartOfDone(std::string_view name, std::string_view long_name);

}  // namespace orrery::ingest::xplane
