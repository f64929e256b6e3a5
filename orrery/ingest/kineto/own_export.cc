#include "orrery/ingest/kineto/own_export.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/kineto/split_ranks.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest::kineto {
namespace {

using trace::Trace;
using Json = std::optional<JsonElement>;

// A thread of the file that holds rows of another one.
struct Lane {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::int64_t of_thread = 0;
};

std::vector<Lane> ReadLanes(const Json& rank) {
  std::vector<Lane> lanes;
  ForEachElement(Field(rank, "lanes"), [&](const JsonElement& entry) {
    const auto process = Integer(Field(entry, "pid"));
    const auto thread = Integer(Field(entry, "tid"));
    const auto of_thread = Integer(Field(entry, "of"));
    if (process && thread && of_thread) {
      lanes.push_back({.process = *process, .thread = *thread, .of_thread = *of_thread});
    }
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

// Returns the track to which the rows of each track belong. Rows on devices name their stream and
// are right already.
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

void UndoLanes(const Json& entry, FileRank& rank) {
  const std::vector<Lane> lanes = ReadLanes(entry);
  if (lanes.empty()) {
    return;
  }
  std::vector<RowId> home = HomeOfTracks(rank.trace, lanes);
  std::vector<RowId> kept;
  for (RowId row = 0; row < home.size(); ++row) {
    if (home[row] == row) {
      kept.push_back(row);
    }
  }
  Renumber(home, KeepRows(rank.trace.tracks, kept));
  MoveToTracks(rank, home);
}

trace::ProblemLog ReadProblems(const Json& object) {
  trace::ProblemLog problems;
  ForEachElement(Field(object, "problems"), [&](const JsonElement& entry) {
    bool is_loss = false;
    [[maybe_unused]] const auto missing = entry["lost"].get(is_loss);
    problems.Add(TextOrEmpty(Field(entry, "what")), Integer(Field(entry, "count")).value_or(1),
                 TextOrEmpty(Field(entry, "first")),
                 is_loss ? trace::Severity::kLoss : trace::Severity::kNote);
  });
  return problems;
}

std::optional<trace::WorkloadCard> ReadCard(const Json& entry) {
  simdjson::dom::object values;
  const Json found = Field(entry, "values");
  if (!found || found->get(values)) {
    return std::nullopt;
  }
  trace::WorkloadCard card{.file = TextOrEmpty(Field(entry, "file")), .values = {}};
  for (const auto value : values) {
    card.values[std::string(value.key)] = TextOrEmpty(value.value);
  }
  return card;
}

// The member that Orrery's export writes; empty in files of others.
std::string_view OwnMember(const Trace& trace) {
  const StringId key = trace.strings.Find("orrery");
  for (RowId row = 0; key != StringId::kEmpty && row < trace.metadata.size(); ++row) {
    if (trace.metadata.key[row] == key && trace.metadata.is_json[row] != 0) {
      return trace.Text(trace.metadata.value[row]);
    }
  }
  return {};
}

}  // namespace

void MoveToTracks(FileRank& rank, std::span<const RowId> home) {
  trace::ForEachTable(rank.trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.track; }) {
      Renumber(table.track, home);
    }
  });
  Renumber(rank.trace.flows.begin_track, home);
  Renumber(rank.trace.flows.end_track, home);
  for (auto& [start, end] : rank.arrows) {
    start.track = home[start.track];
    end.track = home[end.track];
  }
}

void ReadRank(const JsonElement& entry, FileRank& rank) {
  const std::string origin = TextOrEmpty(Field(entry, "times_since"));
  rank.info = {.rank = SmallInteger(Field(entry, "rank")),
               .world_size = SmallInteger(Field(entry, "world_size")),
               .format = TextOrEmpty(Field(entry, "format")),
               .format_version = TextOrEmpty(Field(entry, "format_version")),
               .producer = TextOrEmpty(Field(entry, "producer")),
               .host_name = TextOrEmpty(Field(entry, "host_name")),
               .backend = {},
               .time_origin = origin == "1970" ? trace::TimeOrigin::kEpoch
                              : origin == "start of the recording"
                                  ? trace::TimeOrigin::kRecordingStart
                                  : trace::TimeOrigin::kUnknown,
               .files = {}};
  rank.problems = ReadProblems(entry);
  // Within bounds that no product of them leaves 64 bits.
  const auto bounded = [clock = Field(entry, "clock")](std::string_view key, std::int64_t most) {
    const std::int64_t value = Integer(Field(clock, key)).value_or(0);
    return -most <= value && value <= most ? value : 0;
  };
  rank.clock.offset_ns = bounded("offset_ns", std::int64_t{1} << 60);
  rank.clock.drift_ps_per_s = bounded("drift_ps_per_s", 1'000'000'000);
  rank.clock.drift_origin_ns = bounded("drift_origin_ns", std::int64_t{1} << 61);
}

Result<FileRanks> UndoExport(FileRank file, bool has_several_ranks) {
  FileRanks result;
  JsonText json;
  const Json own = json.Parse(OwnMember(file.trace));
  if (has_several_ranks != (ArraySize(Field(own, "ranks")) > 1)) {
    return Fail(Error::Kind::kInvalidInput,
                "holds several ranks, and its end does not say which processes are whose (cut off, "
                "or written by an older Orrery): convert the recording again");
  }
  if (own) {
    DropRows(file.trace, file.trace.other_slices, &trace::OtherSlices::category, "orrery_");
    DropRows(file.trace, file.trace.counters, &trace::Counters::name, "orrery memory of ");
    result.card = ReadCard(Field(own, "card"));
    result.problems = ReadProblems(own);
  }
  if (has_several_ranks) {
    result.problems.Merge(file.trace.problems);
    result.ranks = SplitRanks(file, Field(own, "ranks"));
    return result;
  }
  if (const Json entry = ElementAt(Field(own, "ranks"), 0)) {
    UndoLanes(entry, file);
    // A rank that the content did not say was written as the first.
    const std::int32_t said = file.trace.info.rank;
    ReadRank(*entry, file);
    file.info->rank = said;
  }
  result.ranks.push_back(std::move(file));
  return result;
}

void UndoAlignment(FileRank& rank) {
  if (rank.clock == trace::RankClock{}) {
    return;
  }
  // Drifts are below 10⁻³, so that few rounds end at the time itself.
  const auto recorded = [&](std::int64_t time_ns) {
    std::int64_t at_ns = time_ns + rank.clock.offset_ns;
    for (int round = 0; round < 4; ++round) {
      at_ns += time_ns - trace::CorrectedTime(rank.clock, at_ns);
    }
    return at_ns;
  };
  trace::MoveTimes(rank.trace, recorded);
  for (auto& [start, end] : rank.arrows) {
    start.time_ns = recorded(start.time_ns);
    end.time_ns = recorded(end.time_ns);
  }
}

}  // namespace orrery::ingest::kineto
