#include "orrery/ingest/join_parts.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "orrery/base/columns.h"
#include "orrery/ingest/rank_names.h"

namespace orrery::ingest {
namespace {

// New rows [first_row, …) of a column name rows of the part: they become rows of the whole.
void Resolve(std::vector<RowId>& column, std::size_t first_row, std::span<const RowId> row_of) {
  for (std::size_t row = first_row; row < column.size(); ++row) {
    column[row] = column[row] == kNoRow ? kNoRow : row_of[column[row]];
  }
}

std::vector<RowId> RowsFrom(std::size_t first_row, std::size_t count) {
  std::vector<RowId> rows(count);
  std::iota(rows.begin(), rows.end(), static_cast<RowId>(first_row));
  return rows;
}

// A stream that both know is one track.
std::vector<RowId> JoinTracks(trace::Trace& into, const trace::Trace& part,
                              std::span<const StringId> strings) {
  const auto key = [](const trace::Tracks& tracks, RowId row) {
    return std::tuple(tracks.kind[row], tracks.process[row], tracks.thread[row],
                      tracks.device[row]);
  };
  std::map<decltype(key(into.tracks, 0)), RowId> known;
  for (RowId row = 0; row < into.tracks.size(); ++row) {
    known.try_emplace(key(into.tracks, row), row);
  }
  std::vector<RowId> row_of_track;
  for (RowId row = 0; row < part.tracks.size(); ++row) {
    const auto [found, is_new] = known.try_emplace(key(part.tracks, row), kNoRow);
    if (is_new) {
      trace::Tracks::Row track = part.tracks.At(row);
      track.name = strings[static_cast<std::size_t>(track.name)];
      track.process_name = strings[static_cast<std::size_t>(track.process_name)];
      found->second = into.tracks.Append(track);
    }
    row_of_track.push_back(found->second);
  }
  return row_of_track;
}

// Appends the rows of a part. Links that are not set before FinishTrace stay unset.
void AppendPart(trace::Trace& into, const trace::Trace& part) {
  const std::vector<StringId> strings = into.strings.Merge(part.strings);
  const std::vector<RowId> tracks = JoinTracks(into, part, strings);
  const std::vector<RowId> shapes = RowsFrom(into.launch_shapes.size(), part.launch_shapes.size());
  const std::size_t num_objects = into.memory_objects.size();
  const auto append = [&](auto& table, const auto& from) {
    const std::size_t before = table.size();
    AppendRows(table, from, strings);
    if constexpr (requires { table.track; }) {
      Resolve(table.track, before, tracks);
    }
    if constexpr (requires { table.shape; }) {
      Resolve(table.shape, before, shapes);
    }
  };
  append(into.metadata, part.metadata);
  append(into.devices, part.devices);
  append(into.launch_shapes, part.launch_shapes);
  append(into.activities, part.activities);
  append(into.runtime_calls, part.runtime_calls);
  append(into.annotations, part.annotations);
  append(into.memory_events, part.memory_events);
  append(into.instants, part.instants);
  append(into.memory_objects, part.memory_objects);
  Resolve(into.memory_objects.parent, num_objects,
          RowsFrom(num_objects, part.memory_objects.size()));
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
