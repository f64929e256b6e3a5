#include "orrery/ingest/orrs/assemble.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/codes.h"  // IWYU pragma: keep (enumerators through an alias)
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;

std::string_view ActionName(std::uint64_t action) {
  constexpr std::string_view kNames[] = {
      "prefetch",    "advise",    "migration to device", "migration to host", "device faults",
      "host faults", "thrashing", "throttling",          "remote map"};
  return action < std::size(kNames) ? kNames[action] : "other";
}

// The latest time of these records.
template <typename... Records>
std::int64_t LastTime(Recording& recording) {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  const auto include = [&](const auto& records) {
    for (const auto& record : records) {
      last_ns = std::max(last_ns, record.time_ns);
    }
  };
  (include(recording.All<Records>()), ...);
  return last_ns;
}

// Appends what the host did: operators (their `external_id` is the number of their event),
// regions, steps, calls, waits, and marks for what has no table of its own.
class HostRows {
 public:
  explicit HostRows(Recording& recording)
      : recording_(recording),
        trace_(*recording.trace),
        end_ns_(LastTime<stream::OperatorBegin, stream::OperatorEnd, stream::RegionBegin,
                         stream::RegionEnd, stream::Step, stream::Launch, stream::Synchronization,
                         stream::Free>(recording)) {}

  void AppendAll() {
    AppendPairs<stream::OperatorBegin, stream::OperatorEnd>("operator");
    AppendPairs<stream::RegionBegin, stream::RegionEnd>("region");
    AppendSteps();
    const auto append = [this](const auto& records) {
      for (const auto& record : records) {
        Append(record);
      }
    };
    append(recording_.All<stream::ApiCall>());
    append(recording_.All<stream::Synchronization>());
    append(recording_.All<stream::ManagedMemory>());
    append(recording_.All<stream::OutOfMemory>());
    append(recording_.All<stream::ContextChange>());
    append(recording_.All<stream::StreamChange>());
    for (const stream::SourceLine& line : recording_.All<stream::SourceLine>()) {
      trace_.metadata.Append(
          {.key = Intern(fmt::format("function {} at {}", line.function, line.pc)),
           .value = Intern(
               fmt::format("{}:{}", trace_.Text(recording_.names.Text(line.file)), line.line))});
    }
  }

 private:
  // Ends name their begin; what was never ended lasts until the end of the recording.
  template <typename Begin, typename End>
  void AppendPairs(std::string_view what) {
    tsl::robin_map<std::uint64_t, std::int64_t> end_of_begin;
    for (const End& end : recording_.All<End>()) {
      end_of_begin[end.begin] = end.time_ns;
    }
    std::int64_t num_open = 0;
    for (const Begin& begin : recording_.All<Begin>()) {
      const auto end = end_of_begin.find(begin.sequence);
      const bool is_open = end == end_of_begin.end();
      Append(begin, Elapsed(begin.time_ns, is_open ? end_ns_ : end->second));
      num_open += is_open ? 1 : 0;
      if (!is_open) {
        end_of_begin.erase(begin.sequence);
      }
    }
    trace_.problems.Note(fmt::format("{} that was open when the recording ended", what), num_open);
    trace_.problems.Note(fmt::format("{} that ends without a begin in the stream", what),
                         static_cast<std::int64_t>(end_of_begin.size()));
  }

  void Append(const stream::OperatorBegin& begin, std::int64_t duration_ns) {
    trace_.host_ops.Append(
        {.begin_ns = begin.time_ns,
         .duration_ns = duration_ns,
         .name = recording_.names.Text(begin.name),
         .track = recording_.HostTrack(begin.thread),
         .external_id = Signed(begin.sequence),
         .sequence = begin.sequence_number,
         .forward_thread = begin.forward_thread == 0 ? -1 : Signed(begin.forward_thread),
         .input_dims = recording_.names.Text(begin.input_shapes),
         .call_stack = recording_.names.Stack(begin.stack)});
  }

  void Append(const stream::RegionBegin& begin, std::int64_t duration_ns) {
    AppendAnnotation(begin, recording_.names.Text(begin.name), duration_ns);
  }

  void AppendAnnotation(const auto& event, StringId name, std::int64_t duration_ns) {
    trace_.annotations.Append({.begin_ns = event.time_ns,
                               .duration_ns = duration_ns,
                               .name = name,
                               .track = recording_.HostTrack(event.thread)});
  }

  // A step lasts until the next one of its thread.
  void AppendSteps() {
    std::vector<stream::Step> steps = recording_.All<stream::Step>();
    std::ranges::sort(steps, {}, &stream::Step::sequence);
    for (auto step = steps.begin(); step != steps.end(); ++step) {
      const auto next =
          std::ranges::find(step + 1, steps.end(), step->thread, &stream::Step::thread);
      AppendAnnotation(*step, Intern(fmt::format("step {}", step->number)),
                       Elapsed(step->time_ns, next == steps.end() ? end_ns_ : next->time_ns));
    }
  }

  void Append(const stream::ApiCall& call) {
    trace_.runtime_calls.Append(
        {.begin_ns = call.time_ns,
         .duration_ns = std::max<std::int64_t>(call.duration_ns, 0),
         .name = recording_.names.Text(call.name),
         .track = recording_.HostTrack(call.thread),
         .api = call.api == codes::kDriverApi ? trace::ApiKind::kDriver : trace::ApiKind::kRuntime,
         .correlation = call.correlation == 0 ? -1 : Signed(call.correlation),
         .return_value = static_cast<std::int32_t>(call.result)});
  }

  void Append(const stream::Synchronization& sync) {
    static_assert(static_cast<std::uint64_t>(trace::SyncKind::kEventRecord) == codes::kEventRecord);
    const auto kind = sync.kind <= codes::kEventRecord ? static_cast<trace::SyncKind>(sync.kind)
                                                       : trace::SyncKind::kUnknown;
    trace_.syncs.Append({.begin_ns = sync.time_ns,
                         .duration_ns = std::max<std::int64_t>(sync.duration_ns, 0),
                         .name = Intern(SyncName(kind)),
                         .track = recording_.HostTrack(sync.thread),
                         .kind = kind,
                         .device = Small(sync.device),
                         .stream = Signed(sync.stream),
                         .correlation = sync.correlation == 0 ? -1 : Signed(sync.correlation),
                         .event_id = sync.event == 0 ? -1 : Signed(sync.event)});
  }

  void Append(const stream::ManagedMemory& managed) {
    AppendInstant(
        managed, ActionName(managed.action), "managed memory",
        fmt::format(
            R"("address":{},"bytes":{},"device":{},"stream":{},"count":{},"duration_ns":{})",
            managed.address, managed.bytes, managed.device, managed.stream, managed.count,
            managed.duration_ns));
  }

  void Append(const stream::OutOfMemory& event) {
    AppendInstant(event, "out of memory", "memory",
                  fmt::format(R"("bytes":{},"device":{},"free_bytes":{})", event.bytes,
                              event.device, event.free_bytes));
  }

  void Append(const stream::ContextChange& change) {
    AppendInstant(change, change.is_end != 0 ? "context destroyed" : "context created", "context",
                  fmt::format(R"("context":{},"device":{})", change.context, change.device));
  }

  void Append(const stream::StreamChange& change) {
    AppendInstant(change, change.is_end != 0 ? "stream destroyed" : "stream created", "stream",
                  fmt::format(R"("context":{},"device":{},"stream":{})", change.context,
                              change.device, change.stream));
  }

  void AppendInstant(const auto& event, std::string_view name, std::string_view category,
                     std::string_view extra) {
    trace_.instants.Append({.begin_ns = event.time_ns,
                            .name = Intern(name),
                            .category = Intern(category),
                            .track = recording_.HostTrack(event.thread),
                            .extra = Intern(extra)});
  }

  StringId Intern(std::string_view text) { return trace_.strings.Intern(text); }

  Recording& recording_;
  trace::Trace& trace_;
  std::int64_t end_ns_;
};

}  // namespace

void DescribeFile(const std::string& path, std::uint16_t minor_version, trace::TraceInfo& info) {
  info.format = "Orrery event stream";
  info.format_version = fmt::format("{}.{}", stream::kMajorVersion, minor_version);
  info.files = {path};
}

void NoteLosses(const stream::StreamLosses& losses, const std::string& damage,
                trace::ProblemLog& problems) {
  const std::string place = fmt::format("byte {}", losses.first_damage);
  if (losses.is_torn) {
    problems.Loss("recording truncated inside its last chunk", 1, place);
  }
  problems.Loss("record in a chunk that is damaged", Signed(losses.num_lost_records), place);
  problems.Loss("byte outside intact chunks", Signed(losses.num_skipped_bytes), place);
  problems.Loss("chunk of a type that a newer Orrery writes, skipped",
                Signed(losses.num_unknown_chunks),
                fmt::format("type {}", losses.first_unknown_type));
  if (!damage.empty()) {
    problems.Loss("file that ends early", 1, damage);
  }
}

void Assemble(Recording& recording, Replay& replay, const ReadOptions& options) {
  trace::Trace& trace = *recording.trace;
  HostRows(recording).AppendAll();
  const DeviceRows device_rows = AppendDeviceRows(recording);
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkMemory(recording, replay, device_rows);
  trace.problems.Loss("string that is referenced but not in the stream",
                      recording.names.num_missing());
}

}  // namespace orrery::ingest::orrs
