#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/json_value.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_stream.h"
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

RowId FindHostTrack(const Trace& trace, std::int64_t process, std::int64_t thread) {
  for (RowId row = 0; row < trace.tracks.size(); ++row) {
    if (trace.tracks.kind[row] == trace::TrackKind::kHost && trace.tracks.process[row] == process &&
        trace.tracks.thread[row] == thread) {
      return row;
    }
  }
  return kNoRow;
}

// Where the rows of each track belong. Rows on devices name their stream and are right already.
std::vector<RowId> HomeOfTracks(const Trace& trace, const std::vector<Lane>& lanes) {
  std::vector<RowId> home(trace.tracks.size());
  std::iota(home.begin(), home.end(), RowId{0});
  for (const Lane& lane : lanes) {
    const RowId aside = FindHostTrack(trace, lane.process, lane.thread);
    const RowId track = FindHostTrack(trace, lane.process, lane.of_thread);
    // A lane of a lane would be a damaged file.
    if (aside != kNoRow && track != kNoRow && home[track] == track) {
      home[aside] = track;
    }
  }
  return home;
}

// Drops the rows whose text in `column` begins with `prefix`.
template <typename Table>
void DropRows(const Trace& trace, Table& table, std::vector<StringId> Table::* column,
              std::string_view prefix) {
  std::vector<RowId> kept;
  for (RowId row = 0; row < table.size(); ++row) {
    if (!trace.Text((table.*column)[row]).starts_with(prefix)) {
      kept.push_back(row);
    }
  }
  if (kept.size() < table.size()) {
    PermuteRows(table, kept);
  }
}

// Undoes what Orrery's own export adds to a file of the profiler: drops the rows that it derived
// (categories "orrery_…", curves of allocated memory), and puts rows that had to move aside to a
// thread of their own back to their track. Files of others are left alone.
//
// Returns where each track's rows are now, for links that the trace does not hold yet; empty when
// nothing moved.
std::vector<RowId> UndoExport(Trace& trace) {
  const StringId key = trace.strings.Find("orrery");
  const auto& metadata = trace.metadata;
  RowId own = 0;
  while (own < metadata.size() && (metadata.key[own] != key || metadata.is_json[own] == 0)) {
    ++own;
  }
  if (own == metadata.size() || key == StringId::kEmpty) {
    return {};
  }
  DropRows(trace, trace.other_slices, &trace::OtherSlices::category, "orrery_");
  DropRows(trace, trace.counters, &trace::Counters::name, "orrery memory of ");
  const std::vector<Lane> lanes = ReadLanes(trace.Text(metadata.value[own]));
  if (lanes.empty()) {
    return {};
  }
  std::vector<RowId> home = HomeOfTracks(trace, lanes);
  std::vector<RowId> kept;
  for (RowId row = 0; row < home.size(); ++row) {
    if (home[row] == row) {
      kept.push_back(row);
    }
  }
  Renumber(home, KeepRows(trace.tracks, kept));
  trace::ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.track; }) {
      Renumber(table.track, home);
    }
  });
  Renumber(trace.flows.begin_track, home);
  Renumber(trace.flows.end_track, home);
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
  return features.capital_categories ? "2021"
         : features.async_flows      ? "2022"
         : features.group_sequence   ? "2026"
         : has_base                  ? "2024-2025"
         : features.decimal_times    ? "early 2024"
                                     : "2023";
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
  if (assembler.num_events == 0 && !assembler.trace.problems.has_loss()) {
    assembler.trace.problems.Note("the list of events is empty");
  }
  auto arrows = assembler.PairFlows();
  assembler.NameTracks();
  trace::Trace trace = std::move(assembler.trace);
  const std::optional<std::int64_t> base_ns = ReadMetadata(frame.head, frame.tail, trace);
  const std::vector<RowId> home = UndoExport(trace);
  const bool is_xla = ClassifyXlaSlices(trace);
  Describe(trace, assembler.features, base_ns.has_value(), is_xla);
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
