#include "orrery/ingest/xplane/plane_rows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/hlo.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/xplane/kernel_details.h"
#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/stat.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::xplane {
namespace {

using trace::ActivityKind;

// Nanoseconds of this size count from 1970.
constexpr std::int64_t kEarliestEpochNs = std::int64_t{1'000'000'000} * 1'000'000'000;
constexpr std::string_view kAsyncLine = "Async XLA Ops";

enum class LinePlace {
  kHost,
  kStream,       // of a GPU
  kCore,         // operations of a TPU core, one after the other, loops and waits around them
  kAsync,        // asynchronous operations, over each other
  kDeviceRange,  // whole programs, waits, what the profiler derives from the others
};

LinePlace PlaceOf(bool is_device, std::string_view line) {
  return !is_device                 ? LinePlace::kHost
         : Contains(line, "Stream") ? LinePlace::kStream
         : line == kAsyncLine       ? LinePlace::kAsync
         : line == "XLA Ops"        ? LinePlace::kCore
                                    : LinePlace::kDeviceRange;
}

class PlaneRows {
 public:
  PlaneRows(const Plane& plane, Recording& recording)
      : plane_(plane),
        recording_(recording),
        trace_(recording.trace),
        device_(DeviceInXlaName(plane.name)),
        kinds_(plane, recording.trace.strings) {}

  void Run() {
    for (const std::string_view line : plane_.lines) {
      AddLine(line);
    }
    AddAsyncPairs();
    if (device_) {
      AddDevice(plane_, *device_, trace_);
    } else {
      AddMetadata(plane_, recording_);
    }
  }

 private:
  StringId Intern(std::string_view text) { return trace_.strings.Intern(CleanText(text)); }

  RowId AddTrack(std::string_view name, std::int64_t thread, bool has_epoch_times) {
    recording_.has_epoch_times.push_back(has_epoch_times);
    return trace_.tracks.Append(
        {.kind = device_ ? trace::TrackKind::kDevice : trace::TrackKind::kHost,
         .process = device_ ? *device_ : plane_.id,
         .thread = thread,
         .device = device_.value_or(-1),
         .process_name = Intern(plane_.name),
         .name = Intern(name)});
  }

  void AddLine(std::string_view message) {
    const Line line = ReadLine(message);
    if (line.is_damaged) {
      trace_.problems.Loss("damaged line; its complete events were read", 1,
                           fmt::format("{}, {}", CleanText(plane_.name), CleanText(line.name)));
    }
    const std::vector<std::string_view> events = EventsOf(message);
    if (events.empty()) {
      return;
    }
    const bool has_epoch_times = line.timestamp_ns >= kEarliestEpochNs;
    track_ = AddTrack(line.name, line.id, has_epoch_times);
    place_ = PlaceOf(device_.has_value(), line.name);
    has_async_line_ = has_async_line_ || place_ == LinePlace::kAsync;
    core_track_ = place_ == LinePlace::kCore ? track_ : core_track_;
    for (const std::string_view event : events) {
      AddEvent(line, event);
    }
  }

  void AddEvent(const Line& line, std::string_view message) {
    const bool is_valid = ReadEvent(message, event_);
    const auto interval = IntervalOf(line.timestamp_ns, event_.offset_ps, event_.duration_ps);
    if (!is_valid || event_.is_aggregate || !interval) {
      trace_.problems.Loss(!is_valid             ? "damaged event"
                           : event_.is_aggregate ? "event that counts occurrences and has no time"
                                                 : "event with an impossible time",
                           1, CleanText(line.name));
      return;
    }
    interval_ = *interval;
    if (interval_.duration_ns < 0) {
      trace_.problems.Note("negative duration, now 0");
      interval_.duration_ns = 0;
    }
    const EventKindInfo& kind = kinds_.At(event_.kind);
    if (!kind.is_known) {
      trace_.problems.Loss("event of a kind that the plane does not name", 1,
                           CleanText(plane_.name));
    }
    AddRow(kind);
  }

  void AddRow(const EventKindInfo& kind) {
    switch (place_) {
      case LinePlace::kHost:
        return AddHostRow(kind);
      case LinePlace::kStream:
        return AddStreamRow(kind);
      case LinePlace::kCore:
        return AddCoreRow(kind);
      case LinePlace::kAsync:
        return AddWork(kind, /*on_async_line=*/true);
      case LinePlace::kDeviceRange:
        return AddAnnotation(kind, trace::AnnotationKind::kDevice);
    }
  }

  // Stats of the event that have no column, then those of its kind.
  StringId Extra(const EventKindInfo& kind) {
    constexpr std::array<std::string_view, 4> kInColumns{"correlation_id", "kernel_details",
                                                         "device_offset_ps", "device_duration_ps"};
    JsonFields fields;
    for (const Stat& stat : event_.stats) {
      const std::string_view name = NameOf(stat, plane_.stat_names);
      if (std::ranges::find(kInColumns, name) == kInColumns.end()) {
        AddField(stat, plane_.stat_names, fields);
      }
    }
    if (fields.text().empty()) {
      return kind.extra;
    }
    return trace_.strings.Intern(
        kind.fields.empty() ? fields.text() : fmt::format("{},{}", fields.text(), kind.fields));
  }

  [[nodiscard]] const Stat* FindStat(std::string_view name) const {
    const auto found = std::ranges::find(
        event_.stats, name, [&](const Stat& stat) { return NameOf(stat, plane_.stat_names); });
    return found == event_.stats.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::int64_t Correlation() const {
    const Stat* const stat = FindStat("correlation_id");
    return stat == nullptr ? -1 : IntegerOf(*stat).value_or(-1);
  }

  void AddAnnotation(const EventKindInfo& kind, trace::AnnotationKind where) {
    trace_.annotations.Append({.begin_ns = interval_.begin_ns,
                               .duration_ns = interval_.duration_ns,
                               .name = kind.name,
                               .track = track_,
                               .kind = where,
                               .extra = Extra(kind)});
  }

  void AddHostRow(const EventKindInfo& kind) {
    const std::int64_t correlation = Correlation();
    if (correlation < 0) {
      return AddAnnotation(kind, trace::AnnotationKind::kHost);
    }
    const std::string_view name = kind.short_name;
    const bool is_driver =
        name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
    trace_.runtime_calls.Append(
        {.begin_ns = interval_.begin_ns,
         .duration_ns = interval_.duration_ns,
         .name = kind.name,
         .track = track_,
         .api = is_driver ? trace::ApiKind::kDriver : trace::ApiKind::kRuntime,
         .correlation = correlation,
         .extra = Extra(kind)});
  }

  // Adds an activity at the event's time; `row` says what it is.
  void AddActivity(const EventKindInfo& kind, trace::Activities::Row row) {
    AddActivity(kind, row, interval_, track_, Extra(kind));
  }

  void AddActivity(const EventKindInfo& kind, trace::Activities::Row row, const Interval& interval,
                   RowId track, StringId extra) {
    row.begin_ns = interval.begin_ns;
    row.duration_ns = interval.duration_ns;
    row.name = kind.name;
    row.track = track;
    row.extra = extra;
    trace_.activities.Append(row);
  }

  RowId AddCollective(const trace::Collectives::Row& collective) {
    recording_.collectives.push_back(collective);
    return static_cast<RowId>(recording_.collectives.size() - 1);
  }

  void AddStreamRow(const EventKindInfo& kind) {
    trace::Activities::Row row{.correlation = Correlation()};
    const Stat* const copy = FindStat("memcpy_details");
    if (copy != nullptr || kind.short_name.starts_with("Memcpy")) {
      row.kind = ActivityKind::kMemcpy;
      row.bytes = copy == nullptr ? -1 : CopiedBytes(TextOf(*copy, plane_.stat_names)).value_or(-1);
    } else if (kind.short_name.starts_with("Memset")) {
      row.kind = ActivityKind::kMemset;
    } else if (const auto call = trace::ClassifyCommunicationKernel(kind.short_name)) {
      row.collective = AddCollective({.kind = call->kind, .data_type = call->data_type});
    }
    row.shape = Shape();
    AddActivity(kind, row);
  }

  RowId Shape() {
    const Stat* const stat = FindStat("kernel_details");
    if (stat == nullptr) {
      return kNoRow;
    }
    const std::string_view details = TextOf(*stat, plane_.stat_names);
    return FindOrAdd(recording_.shape_of_details, static_cast<std::uint32_t>(Intern(details)), [&] {
      const auto shape = ParseKernelDetails(details, trace_.strings);
      return shape ? trace_.launch_shapes.Append(*shape) : kNoRow;
    });
  }

  void AddCoreRow(const EventKindInfo& kind) {
    if (kind.hlo.phase != HloCategory::Phase::kWhole) {
      KeepHalf(kind);
    }
    AddWork(kind, /*on_async_line=*/false);
  }

  // Adds an operation as an activity, or as a range if it is not work of its own.
  void AddWork(const EventKindInfo& kind, bool on_async_line) {
    if (const auto work = WorkOf(kind, on_async_line)) {
      AddActivity(kind, *work);
    } else {
      AddAnnotation(kind, trace::AnnotationKind::kDevice);
    }
  }

  std::optional<trace::Activities::Row> WorkOf(const EventKindInfo& kind, bool on_async_line) {
    const auto activity = ActivityKindOf(kind.hlo, on_async_line);
    if (!activity) {
      return std::nullopt;
    }
    trace::Activities::Row row{.kind = *activity};
    if (row.kind == ActivityKind::kMemcpy) {
      row.bytes = kind.bytes;
      row.copy_kind = HloCopyKind(kind.long_name.empty() ? kind.short_name : kind.long_name);
    } else if (kind.hlo.collective) {
      row.collective = AddCollective(CollectiveOf(kind));
    }
    return row;
  }

  // The shape of an operation is that of its result; all-reduce reads as much as it writes.
  static trace::Collectives::Row CollectiveOf(const EventKindInfo& kind) {
    trace::Collectives::Row row{.kind = *kind.hlo.collective};
    if (kind.shape) {
      row.data_type = kind.shape->data_type;
      row.out_elements = kind.shape->elements;
      row.in_elements = row.kind == CollectiveKind::kAllReduce ? row.out_elements : -1;
      row.out_bytes = SizeInBytes(row.out_elements, row.data_type);
      row.in_bytes = SizeInBytes(row.in_elements, row.data_type);
    }
    return row;
  }

  void KeepHalf(const EventKindInfo& kind) {
    const bool is_start = kind.hlo.phase == HloCategory::Phase::kStart;
    halves_.push_back({.is_start = is_start,
                       .start_name = is_start ? std::string(kind.short_name)
                                              : StartOfDone(kind.short_name, kind.long_name),
                       .begin_ns = interval_.begin_ns,
                       .end_ns = interval_.begin_ns + interval_.duration_ns,
                       .kind = event_.kind});
  }

  // The profiler fills its line of asynchronous operations for some devices only.
  void AddAsyncPairs() {
    if (halves_.empty() || has_async_line_) {
      return;
    }
    const AsyncPairs pairs = PairAsync(std::move(halves_));
    trace_.problems.Note("half of an asynchronous operation without its counterpart",
                         pairs.num_unpaired, CleanText(plane_.name));
    if (pairs.works.empty()) {
      return;
    }
    trace_.problems.Note("asynchronous operation reconstructed from its start and its done",
                         static_cast<std::int64_t>(pairs.works.size()), CleanText(plane_.name));
    const RowId track =
        AddTrack(kAsyncLine, UnusedThread(), recording_.has_epoch_times[core_track_]);
    for (const AsyncWork& work : pairs.works) {
      const EventKindInfo& kind = kinds_.At(work.start_kind);
      if (const auto row = WorkOf(kind, /*on_async_line=*/true)) {
        AddActivity(kind, *row,
                    {.begin_ns = work.begin_ns, .duration_ns = work.end_ns - work.begin_ns}, track,
                    kind.extra);
      }
    }
  }

  // The number of the empty line, or one that no line of the plane has.
  [[nodiscard]] std::int64_t UnusedThread() const {
    std::int64_t unused = 0;
    for (const std::string_view message : plane_.lines) {
      const Line line = ReadLine(message);
      if (line.name == kAsyncLine) {
        return line.id;
      }
      unused =
          std::max(unused, line.id < std::numeric_limits<std::int32_t>::max() ? line.id + 1 : 0);
    }
    return unused;
  }

  const Plane& plane_;
  Recording& recording_;
  trace::Trace& trace_;
  std::optional<std::int32_t> device_;
  EventKinds kinds_;

  // The current line and event.
  RowId track_ = kNoRow;
  LinePlace place_ = LinePlace::kHost;
  Event event_;
  Interval interval_;

  RowId core_track_ = kNoRow;
  bool has_async_line_ = false;
  std::vector<AsyncHalf> halves_;
};

}  // namespace

void AddPlane(const Plane& plane, Recording& recording) {
  PlaneRows(plane, recording).Run();
}

}  // namespace orrery::ingest::xplane
