#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_tokens.h"

namespace orrery::ingest::kineto {

/// Turns events into rows of a chunk. The texts of the events must stay valid until the builder is
/// gone.
class RowBuilder {
 public:
  explicit RowBuilder(Chunk& chunk) : chunk_(chunk) {}

  /// Adds the rows of one event. `event.extra` gets the arguments that its table has no column
  /// for.
  void Add(EventTokens& event);

 private:
  struct Times {
    std::int64_t begin_ns = 0;
    std::int64_t duration_ns = 0;
  };

  struct KnownTrack {
    trace::TrackKind kind;
    std::string_view process;
    std::string_view thread;
    RowId row;
  };

  void AddSlice(EventTokens& event);
  void AddHostOp(EventTokens& event, Times times);
  void AddAnnotation(EventTokens& event, Times times, trace::AnnotationKind kind);
  void AddActivity(EventTokens& event, Times times, trace::ActivityKind kind);
  void AddCall(EventTokens& event, Times times, trace::ApiKind api);
  void AddSync(EventTokens& event, Times times, bool is_record);
  void AddPythonCall(EventTokens& event, Times times);
  void AddOther(EventTokens& event, Times times);
  void AddInstant(EventTokens& event);
  void AddMemoryEvent(EventTokens& event, std::int64_t time_ns);
  void AddCounters(EventTokens& event);
  void AddFlowEnd(EventTokens& event);
  void AddTrackName(EventTokens& event);

  RowId AddCollective(const EventTokens& event);
  RowId AddProcessGroup(const EventTokens& event);
  RowId LaunchShape(EventTokens& event);

  std::optional<std::int64_t> TimeOf(const EventTokens& event);
  std::optional<Times> TimesOf(const EventTokens& event);

  RowId Track(trace::TrackKind kind, std::string_view process, std::string_view thread);
  RowId DeviceTrack(const EventTokens& event);

  RowId HostTrack(const EventTokens& event) {
    return Track(trace::TrackKind::kHost, event.process, event.thread);
  }

  std::int64_t Integer(const EventTokens& event, ArgKey key, std::int64_t otherwise);
  StringId Text(std::string_view token);

  StringId Json(std::string_view token) { return chunk_.rows.strings.Intern(token); }

  // Moves arguments whose keys are known but have no column in the event's table to the extras,
  // and returns them all.
  StringId Extra(EventTokens& event, std::uint64_t used);

  Chunk& chunk_;
  std::vector<KnownTrack> tracks_;
  tsl::robin_map<std::string, RowId> shapes_;
  tsl::robin_map<std::string, RowId> groups_;
  std::string unescaped_;
};

}  // namespace orrery::ingest::kineto
