#include "orrery/ingest/join_parts.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "orrery/ingest/rank_names.h"
#include "orrery/trace/columns.h"

namespace orrery::ingest {
namespace {

using trace::kNoRow;
using trace::RowId;

void Shift(std::vector<RowId>& column, std::size_t first_row, std::size_t by) {
  for (std::size_t row = first_row; row < column.size(); ++row) {
    column[row] = column[row] == kNoRow ? kNoRow : column[row] + static_cast<RowId>(by);
  }
}

// Appends the rows of a part. Links that are not set before FinishTrace stay unset.
void AppendPart(trace::Trace& into, const trace::Trace& part) {
  const std::vector<StringId> strings = into.strings.Merge(part.strings);
  const std::size_t num_tracks = into.tracks.size();
  const std::size_t num_shapes = into.launch_shapes.size();
  const auto append = [&](auto& table, const auto& from) {
    const std::size_t before = table.size();
    trace::AppendRows(table, from, strings);
    if constexpr (requires { table.track; }) {
      Shift(table.track, before, num_tracks);
    }
    if constexpr (requires { table.shape; }) {
      Shift(table.shape, before, num_shapes);
    }
    return before;
  };
  append(into.metadata, part.metadata);
  append(into.devices, part.devices);
  append(into.activities, part.activities);
  append(into.runtime_calls, part.runtime_calls);
  append(into.annotations, part.annotations);
  append(into.memory_events, part.memory_events);
  append(into.instants, part.instants);
  append(into.tracks, part.tracks);
  append(into.launch_shapes, part.launch_shapes);
  const std::size_t num_objects = append(into.memory_objects, part.memory_objects);
  Shift(into.memory_objects.parent, num_objects, num_objects);
  into.problems.Merge(part.problems, part.info.files.empty() ? "" : part.info.files.front());
  into.info.files.insert(into.info.files.end(), part.info.files.begin(), part.info.files.end());
}

}  // namespace

void PartJoiner::Add(FileContent content) {
  for (trace::Trace& trace : content.traces) {
    const auto [known, is_new] = recording_of_name_.try_emplace(content.part->recording);
    if (is_new) {
      known->second = {.trace = std::move(trace), .part = *content.part};
    } else {
      AppendPart(known->second.trace, trace);
    }
  }
}

std::vector<trace::Trace> PartJoiner::Take(const ReadOptions& options) {
  std::vector<trace::Trace> traces;
  for (auto& [name, recording] : recording_of_name_) {
    recording.part.complete(recording.trace, options);
    traces.push_back(std::move(recording.trace));
  }
  std::int32_t next = 0;
  for (trace::Trace& trace : traces) {
    const auto in_name = RankInFileName(trace.info.files.front());
    trace.info.rank = in_name.value_or(next++);
  }
  return traces;
}

}  // namespace orrery::ingest
