#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json_value.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/pipeline.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using trace::Trace;

// A thread of the file that holds rows of another one.
struct Lane {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::int64_t of_thread = 0;
};

std::string_view OwnMetadata(const Trace& trace) {
  for (RowId row = 0; row < trace.metadata.size(); ++row) {
    if (trace.Text(trace.metadata.key[row]) == "orrery" && trace.metadata.is_json[row] != 0) {
      return trace.Text(trace.metadata.value[row]);
    }
  }
  return {};
}

std::vector<Lane> ReadLanes(std::string_view metadata) {
  std::vector<Lane> lanes;
  JsonText json;
  ForEachElement(Field(json.Parse(metadata), "ranks"), [&](const JsonElement& rank) {
    ForEachElement(Field(rank, "lanes"), [&](const JsonElement& entry) {
      const auto process = Integer(Field(entry, "pid"));
      const auto thread = Integer(Field(entry, "tid"));
      const auto of_thread = Integer(Field(entry, "of"));
      if (process && thread && of_thread) {
        lanes.push_back({.process = *process, .thread = *thread, .of_thread = *of_thread});
      }
    });
  });
  return lanes;
}

RowId FindTrack(const Trace& trace, trace::TrackKind kind, std::int64_t process,
                std::int64_t thread) {
  for (RowId row = 0; row < trace.tracks.size(); ++row) {
    if (trace.tracks.kind[row] == kind && trace.tracks.process[row] == process &&
        trace.tracks.thread[row] == thread) {
      return row;
    }
  }
  return kNoRow;
}

// Where the rows of each track belong. Rows on devices name their stream and are right already.
std::vector<RowId> HomeOfTracks(const Trace& trace, const std::vector<Lane>& lanes) {
  std::vector<RowId> home(trace.tracks.size());
  for (RowId row = 0; row < home.size(); ++row) {
    home[row] = row;
  }
  for (const Lane& lane : lanes) {
    const auto kind = trace::TrackKind::kHost;
    const RowId aside = FindTrack(trace, kind, lane.process, lane.thread);
    const RowId track = FindTrack(trace, kind, lane.process, lane.of_thread);
    // A lane of a lane would be a damaged file.
    if (aside != kNoRow && track != kNoRow && home[track] == track) {
      home[aside] = track;
    }
  }
  return home;
}

// Removes the tracks that lost their rows; `home` gets the new numbers.
void DropEmptiedTracks(Trace& trace, std::vector<RowId>& home) {
  std::vector<RowId> kept;
  std::vector<RowId> number(home.size(), kNoRow);
  for (RowId row = 0; row < home.size(); ++row) {
    if (home[row] == row) {
      number[row] = static_cast<RowId>(kept.size());
      kept.push_back(row);
    }
  }
  PermuteRows(trace.tracks, kept);
  for (RowId& track : home) {
    track = number[track];
  }
}

void MoveColumn(std::vector<RowId>& column, const std::vector<RowId>& home) {
  for (RowId& track : column) {
    track = track == kNoRow ? kNoRow : home[track];
  }
}

void MoveRows(Trace& trace, const std::vector<RowId>& home) {
  trace::ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.track; }) {
      MoveColumn(table.track, home);
    }
  });
  MoveColumn(trace.flows.begin_track, home);
  MoveColumn(trace.flows.end_track, home);
}

template <typename Table, typename IsDerived>
void Drop(Table& table, IsDerived&& is_derived) {
  std::vector<RowId> kept;
  for (RowId row = 0; row < table.size(); ++row) {
    if (!is_derived(row)) {
      kept.push_back(row);
    }
  }
  if (kept.size() < table.size()) {
    PermuteRows(table, kept);
  }
}

void DropDerivedRows(Trace& trace) {
  Drop(trace.other_slices, [&](RowId row) {
    return trace.Text(trace.other_slices.category[row]).starts_with("orrery_");
  });
  Drop(trace.counters, [&](RowId row) {
    return trace.Text(trace.counters.name[row]).starts_with("orrery memory of ");
  });
}

// Undoes what Orrery's own export adds to a file of the profiler: drops the rows that it derived
// (categories "orrery_…", curves of allocated memory), and puts rows that had to move aside to a
// thread of their own back to their track. Files of others are left alone.
//
// Returns where each track's rows are now, for links that the trace does not hold yet; empty when
// nothing moved.
std::vector<RowId> UndoExport(Trace& trace) {
  const std::string_view metadata = OwnMetadata(trace);
  if (metadata.empty()) {
    return {};
  }
  DropDerivedRows(trace);
  const std::vector<Lane> lanes = ReadLanes(metadata);
  if (lanes.empty()) {
    return {};
  }
  std::vector<RowId> home = HomeOfTracks(trace, lanes);
  DropEmptiedTracks(trace, home);
  MoveRows(trace, home);
  return home;
}

// Microseconds of this size count from 1970: the profiler's clock reads so since 2001.
constexpr std::int64_t kEarliestEpochNs = std::int64_t{1'000'000'000} * 1'000'000'000;

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  std::size_t at = head.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at = head.find_first_not_of(" \n\r\t", at);
  if (at == std::string_view::npos) {
    return false;
  }
  if (head[at] == '[') {
    at = head.find_first_not_of(" \n\r\t", at + 1);
    return at != std::string_view::npos && head[at] == '{' && Contains(head, "\"ph\"");
  }
  if (head[at] != '{' || Contains(head, "\"workload_graph\"")) {
    return false;
  }
  return Contains(head, "\"traceEvents\"") || Contains(head, "\"deviceProperties\"") ||
         Contains(head, "\"computeProperties\"") ||
         (Contains(head, "\"schemaVersion\"") && Contains(head, "\"distributedInfo\""));
}

std::string GenerationOf(const Features& features, bool has_base) {
  if (features.capital_categories) {
    return "2021";
  }
  if (features.async_flows) {
    return "2022";
  }
  if (features.group_sequence) {
    return "2026";
  }
  if (has_base) {
    return "2024-2025";
  }
  return features.decimal_times ? "early 2024" : "2023";
}

void Describe(trace::Trace& trace, const Features& features, bool has_base, bool is_xla) {
  if (is_xla && !features.kineto_categories) {
    trace.info.format = "XLA Chrome JSON";
    return;
  }
  const bool is_kineto =
      features.kineto_categories || has_base || !trace.devices.empty() || trace.info.rank >= 0;
  trace.info.format = is_kineto ? "Kineto JSON" : "Chrome JSON";
  if (is_kineto) {
    trace.info.format_version = GenerationOf(features, has_base);
  }
}

void SetTimes(trace::Trace& trace, std::optional<std::int64_t> base_ns) {
  ClipDurations(trace);
  if (base_ns) {
    ShiftTimes(trace, *base_ns);
  }
  const trace::Span span = trace::RecordedSpan(trace);
  trace.info.time_origin = base_ns || span.begin_ns >= kEarliestEpochNs
                               ? trace::TimeOrigin::kEpoch
                               : trace::TimeOrigin::kUnknown;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(auto source, file.OpenContent());
  Assembler assembler;
  ORRERY_TRY(const Frame frame,
             ReadEvents(std::move(source), {.threads = options.threads}, assembler));
  if (assembler.num_events() == 0 && !assembler.trace().problems.has_loss()) {
    assembler.trace().problems.Note("the list of events is empty");
  }
  auto arrows = assembler.PairFlows();
  assembler.NameTracks();
  trace::Trace trace = std::move(assembler.trace());
  const std::optional<std::int64_t> base_ns = ReadMetadata(frame.head, frame.tail, trace);
  const std::vector<RowId> home = UndoExport(trace);
  const bool is_xla = ClassifyXlaSlices(trace);
  Describe(trace, assembler.features(), base_ns.has_value(), is_xla);
  ClassifyCopies(trace);
  SetTimes(trace, base_ns);
  for (auto& [start, end] : arrows) {
    start.time_ns += base_ns.value_or(0);
    end.time_ns += base_ns.value_or(0);
    if (!home.empty()) {
      start.track = home[start.track];
      end.track = home[end.track];
    }
  }
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  LinkForwardBackward(trace, arrows);
  BuildCollectives(trace);
  trace.info.files = {file.path()};
  return ContentOf(std::move(trace));
}

}  // namespace

// Traces of the PyTorch profiler from 2021 to today, and other files of Chrome's JSON format.
constinit const Format kFormat{.name = "Kineto JSON", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::kineto
