#include "orrery/ingest/kineto/own_export.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

namespace dom = simdjson::dom;

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

std::optional<Lane> LaneOf(const dom::element& entry) {
  Lane lane;
  const bool is_complete = entry["pid"].get(lane.process) == simdjson::SUCCESS &&
                           entry["tid"].get(lane.thread) == simdjson::SUCCESS &&
                           entry["of"].get(lane.of_thread) == simdjson::SUCCESS;
  return is_complete ? std::optional(lane) : std::nullopt;
}

std::vector<Lane> ReadLanes(std::string_view metadata) {
  std::vector<Lane> lanes;
  dom::parser parser;
  dom::element root;
  dom::array ranks;
  if (parser.parse(metadata.data(), metadata.size()).get(root) != simdjson::SUCCESS ||
      root["ranks"].get(ranks) != simdjson::SUCCESS) {
    return lanes;
  }
  for (const dom::element rank : ranks) {
    dom::array entries;
    if (rank["lanes"].get(entries) == simdjson::SUCCESS) {
      for (const dom::element entry : entries) {
        if (const auto lane = LaneOf(entry)) {
          lanes.push_back(*lane);
        }
      }
    }
  }
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

}  // namespace

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

}  // namespace orrery::ingest::kineto
