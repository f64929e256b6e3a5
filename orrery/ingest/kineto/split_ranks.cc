#include "orrery/ingest/kineto/split_ranks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/row_numbers.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/own_export.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using trace::Trace;
using Json = std::optional<JsonElement>;

trace::TrackKind TrackKindNamed(std::string_view name) {
  return name == "host"     ? trace::TrackKind::kHost
         : name == "device" ? trace::TrackKind::kDevice
                            : trace::TrackKind::kOther;
}

class RankSplitter {
 public:
  explicit RankSplitter(const FileRank& file) : file_(file) {}

  std::vector<FileRank> Split(const Json& entries) {
    ForEachElement(entries, [&](const JsonElement& entry) { AddRank(entry); });
    FindTracks();
    SortRows();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Fill(rank);
    }
    return std::move(ranks_);
  }

 private:
  static constexpr std::uint32_t kNoRank = kNoRow;

  struct Place {
    std::uint32_t rank = kNoRank;
    RowId track = kNoRow;  // of the rank
  };

  void AddRank(const JsonElement& entry) {
    const auto number = static_cast<std::uint32_t>(ranks_.size());
    FileRank& rank = ranks_.emplace_back();
    ReadRank(entry, rank);
    ForEachElement(Field(entry, "pids"), [&](const JsonElement& pid) {
      rank_of_process_[Integer(pid).value_or(-1)] = number;
    });
    ForEachElement(Field(entry, "tracks"), [&](const JsonElement& track) {
      const RowId row = rank.trace.tracks.Append(
          {.kind = TrackKindNamed(TextOrEmpty(Field(track, "kind"))),
           .process = Integer(Field(track, "process")).value_or(-1),
           .thread = Integer(Field(track, "thread")).value_or(-1),
           .device = SmallInteger(Field(track, "device")),
           .process_name = rank.trace.strings.Intern(TextOrEmpty(Field(track, "process_name"))),
           .name = rank.trace.strings.Intern(TextOrEmpty(Field(track, "name")))});
      const std::int64_t process = Integer(Field(track, "pid")).value_or(-1);
      ForEachElement(Field(track, "tids"), [&](const JsonElement& thread) {
        place_of_thread_[{process, Integer(thread).value_or(-1)}] = {number, row};
      });
    });
    metadata_.push_back(entry);
  }

  // Threads that are no track of a rank hold what the rank has without a track.
  void FindTracks() {
    const trace::Tracks& tracks = file_.trace.tracks;
    for (RowId row = 0; row < tracks.size(); ++row) {
      const auto rank = rank_of_process_.find(tracks.process[row]);
      const auto known = place_of_thread_.find({tracks.process[row], tracks.thread[row]});
      places_.push_back(known != place_of_thread_.end()  ? known->second
                        : rank != rank_of_process_.end() ? Place{.rank = rank->second}
                                                         : Place{});
      home_.push_back(places_.back().track);
    }
  }

  void SortRows() {
    trace::ForEachTable(file_.trace, [&]<typename Table>(const char* name, const Table& table) {
      const auto sort = [&](const std::vector<RowId>& tracks) {
        std::vector<std::vector<RowId>>& rows = rows_[name];
        rows.resize(ranks_.size());
        for (RowId row = 0; row < tracks.size(); ++row) {
          if (places_[tracks[row]].rank != kNoRank) {
            rows[places_[tracks[row]].rank].push_back(row);
          }
        }
      };
      if constexpr (std::is_same_v<Table, trace::Flows>) {
        sort(table.begin_track);
      } else if constexpr (requires { table.track; } &&
                           !std::is_same_v<Table, trace::Collectives>) {
        sort(table.track);
      }
    });
  }

  template <typename Table>
  void Copy(const Table& from, std::span<const RowId> rows, Trace& rank, Table& into) {
    const auto copy = [&]<typename T>(const char*, std::vector<T>& target,
                                      const std::vector<T>& source) {
      for (const RowId row : rows) {
        if constexpr (std::is_same_v<T, StringId>) {
          target.push_back(rank.strings.Intern(file_.trace.Text(source[row])));
        } else {
          target.push_back(source[row]);
        }
      }
    };
    Table::VisitColumns(copy, into, from);
  }

  // Copies the rows that `links` name, in the order they name them; the links follow.
  template <typename Table>
  void CopyLinked(const Table& from, std::span<std::vector<RowId>* const> links, Trace& rank,
                  Table& into) {
    tsl::robin_map<RowId, RowId> new_row{{kNoRow, kNoRow}};
    std::vector<RowId> rows;
    for (std::vector<RowId>* column : links) {
      for (RowId& row : *column) {
        const auto [place, is_new] = new_row.try_emplace(row, static_cast<RowId>(rows.size()));
        if (is_new) {
          rows.push_back(row);
        }
        row = place->second;
      }
    }
    Copy(from, rows, rank, into);
  }

  void Fill(std::uint32_t number) {
    FileRank& rank = ranks_[number];
    Trace& trace = rank.trace;
    const auto copy = [&]<typename Table>(const char* name, Table& into, const Table& from) {
      if (const auto found = rows_.find(name); found != rows_.end()) {
        Copy(from, found->second[number], trace, into);
      }
    };
#define ORRERY_COPY(Table, name) copy(#name, trace.name, file_.trace.name);
    ORRERY_TRACE_TABLES(ORRERY_COPY)
#undef ORRERY_COPY
    for (const auto& [start, end] : file_.arrows) {
      if (places_[start.track].rank == number && places_[end.track].rank == number) {
        rank.arrows.emplace_back(start, end);
      }
    }
    // Only a damaged file has arrows between ranks.
    for (RowId& track : trace.flows.end_track) {
      track = places_[track].rank == number ? track : kNoRow;
    }
    MoveToTracks(rank, home_);
    CopyLinked(file_.trace.launch_shapes, std::array{&trace.activities.shape}, trace,
               trace.launch_shapes);
    CopyLinked(file_.trace.collectives,
               std::array{&trace.activities.collective, &trace.host_ops.collective}, trace,
               trace.collectives);
    CopyLinked(file_.trace.process_groups, std::array{&trace.collectives.group}, trace,
               trace.process_groups);
    FindCounterDevices(trace);
    ReadRankMetadata(metadata_[number], trace);
    SortGroups(metadata_[number], trace);
  }

  // Groups as the rank had them, not as its collectives come.
  static void SortGroups(const JsonElement& entry, Trace& trace) {
    trace::ProcessGroups& groups = trace.process_groups;
    std::map<std::pair<std::string, std::string>, std::size_t> order;
    ForEachElement(Field(entry, "groups"), [&](const JsonElement& group) {
      order.try_emplace({TextOrEmpty(ElementAt(group, 0)), TextOrEmpty(ElementAt(group, 1))},
                        order.size());
    });
    std::vector<RowId> rows(groups.size());
    std::iota(rows.begin(), rows.end(), RowId{0});
    std::ranges::stable_sort(rows, {}, [&](RowId row) {
      const auto found = order.find(
          {std::string(trace.Text(groups.name[row])), std::string(trace.Text(groups.ranks[row]))});
      return found == order.end() ? order.size() : found->second;
    });
    Renumber(trace.collectives.group, KeepRows(groups, rows));
  }

  // Several ranks cannot use Kineto's processes of counters: the device is in the name.
  static void FindCounterDevices(Trace& trace) {
    constexpr std::string_view kPrefix = "GPU ";
    for (RowId row = 0; row < trace.counters.size(); ++row) {
      const std::string_view name = trace.Text(trace.counters.name[row]);
      const std::size_t end = name.find(' ', kPrefix.size());
      if (!name.starts_with(kPrefix) || end == std::string_view::npos) {
        continue;
      }
      if (const auto device = ParseInteger(name.substr(kPrefix.size(), end - kPrefix.size()))) {
        trace.counters.device[row] = static_cast<std::int32_t>(*device);
        trace.counters.name[row] = trace.strings.Intern(std::string(name.substr(end + 1)));
      }
    }
  }

  const FileRank& file_;
  std::vector<FileRank> ranks_;
  std::vector<JsonElement> metadata_;
  std::map<std::int64_t, std::uint32_t> rank_of_process_;
  std::map<std::pair<std::int64_t, std::int64_t>, Place> place_of_thread_;
  std::vector<Place> places_;  // of the file's tracks
  std::vector<RowId> home_;    // their row in the rank's tracks
  std::map<std::string_view, std::vector<std::vector<RowId>>> rows_;  // by table, then rank
};

}  // namespace

std::vector<FileRank> SplitRanks(const FileRank& file, const Json& entries) {
  return RankSplitter(file).Split(entries);
}

}  // namespace orrery::ingest::kineto
