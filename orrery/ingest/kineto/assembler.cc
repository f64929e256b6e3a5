#include "orrery/ingest/kineto/assembler.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::kineto {
namespace {

// The bytes of a row, for finding equal rows; strings are those of the whole trace by then.
template <typename Table>
std::string KeyOf(const Table& table, RowId row) {
  std::string key;
  ForEachColumn(table, [&]<typename T>(const char*, const std::vector<T>& column) {
    const T value = column[row];
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    key.append(bytes, sizeof(T));
  });
  return key;
}

// Adds the rows of `from` that `into` does not have yet and returns where each of them is now.
template <typename Table>
std::vector<RowId> MergeDistinct(const Table& from, const std::vector<StringId>& strings,
                                 Table& into, tsl::robin_map<std::string, RowId>& known) {
  Table mapped;
  AppendRows(mapped, from, strings);
  std::vector<RowId> here;
  here.reserve(mapped.size());
  for (RowId row = 0; row < mapped.size(); ++row) {
    const auto [place, is_new] =
        known.try_emplace(KeyOf(mapped, row), static_cast<RowId>(into.size()));
    if (is_new) {
      into.Append(mapped.At(row));
    }
    here.push_back(place->second);
  }
  return here;
}

}  // namespace

void Features::Merge(const Features& other) {
  capital_categories |= other.capital_categories;
  async_flows |= other.async_flows;
  decimal_times |= other.decimal_times;
  group_sequence |= other.group_sequence;
  kineto_categories |= other.kineto_categories;
}

void Assembler::Add(const Chunk& chunk) {
  num_events += chunk.num_events;
  features.Merge(chunk.features);
  trace.problems.Merge(chunk.rows.problems);
  const std::vector<StringId> strings = trace.strings.Merge(chunk.rows.strings);
  const auto track_here = MergeDistinct(chunk.rows.tracks, strings, trace.tracks, tracks_);
  const auto shape_here =
      MergeDistinct(chunk.rows.launch_shapes, strings, trace.launch_shapes, shapes_);
  const auto group_here =
      MergeDistinct(chunk.rows.process_groups, strings, trace.process_groups, groups_);
  const std::size_t first_op = trace.host_ops.size();
  const std::size_t first_activity = trace.activities.size();
  const std::size_t first_collective = trace.collectives.size();

  const auto append = [&](auto& into, const auto& from) {
    const std::size_t first = into.size();
    AppendRows(into, from, strings);
    if constexpr (requires { into.track; }) {
      Renumber(into.track, track_here, first);
    }
  };
  append(trace.activities, chunk.rows.activities);
  append(trace.host_ops, chunk.rows.host_ops);
  append(trace.runtime_calls, chunk.rows.runtime_calls);
  append(trace.annotations, chunk.rows.annotations);
  append(trace.collectives, chunk.rows.collectives);
  append(trace.syncs, chunk.rows.syncs);
  append(trace.memory_events, chunk.rows.memory_events);
  append(trace.counters, chunk.rows.counters);
  append(trace.python_calls, chunk.rows.python_calls);
  append(trace.instants, chunk.rows.instants);
  append(trace.other_slices, chunk.rows.other_slices);

  std::vector<RowId> collective_here(chunk.rows.collectives.size());
  std::iota(collective_here.begin(), collective_here.end(), static_cast<RowId>(first_collective));
  Renumber(trace.activities.shape, shape_here, first_activity);
  Renumber(trace.collectives.group, group_here, first_collective);
  Renumber(trace.activities.collective, collective_here, first_activity);
  Renumber(trace.host_ops.collective, collective_here, first_op);

  const auto text = [&](StringId id) { return strings[static_cast<std::size_t>(id)]; };
  for (FlowEnd end : chunk.flow_ends) {
    end.track = track_here[end.track];
    end.category = text(end.category);
    end.name = text(end.name);
    flow_ends_.push_back(end);
  }
  for (TrackName name : chunk.track_names) {
    name.process_text = text(name.process_text);
    name.name = text(name.name);
    track_names_.push_back(name);
  }
}

void Assembler::NameTracks() {
  trace::Tracks& tracks = trace.tracks;
  const auto text_process = tracks.process_name;
  for (const TrackName& name : track_names_) {
    for (RowId row = 0; row < tracks.size(); ++row) {
      const bool same_process = tracks.process[row] == name.process &&
                                (name.process >= 0 || text_process[row] == name.process_text);
      if (same_process && name.is_thread && tracks.thread[row] == name.thread) {
        tracks.name[row] = name.name;
      } else if (same_process && !name.is_thread) {
        tracks.process_name[row] = name.name;
      }
    }
  }
}

std::vector<std::pair<FlowEnd, FlowEnd>> Assembler::PairFlows() {
  const auto key = [](const FlowEnd& end) {
    return std::tuple(end.category, end.id, !end.is_start);
  };
  std::ranges::stable_sort(flow_ends_, {}, key);
  std::vector<std::pair<FlowEnd, FlowEnd>> forward_backward;
  std::int64_t unpaired = 0;
  std::size_t at = 0;
  while (at < flow_ends_.size()) {
    const FlowEnd& start = flow_ends_[at++];
    if (!start.is_start || at == flow_ends_.size() || flow_ends_[at].is_start ||
        flow_ends_[at].id != start.id || flow_ends_[at].category != start.category) {
      ++unpaired;
      continue;
    }
    const FlowEnd& end = flow_ends_[at++];
    if (FindCategory(trace.Text(start.category)) == Category::kForwardBackwardFlow) {
      forward_backward.emplace_back(start, end);
      continue;
    }
    trace.flows.Append({.begin_ns = start.time_ns,
                        .begin_track = start.track,
                        .end_ns = end.time_ns,
                        .end_track = end.track,
                        .category = start.category,
                        .name = start.name,
                        .id = start.id});
  }
  trace.problems.Note("flow event without its other end", unpaired);
  flow_ends_.clear();
  return forward_backward;
}

}  // namespace orrery::ingest::kineto
