#include "orrery/trace/collective/collective_lanes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using enum CollectiveKind;

std::int64_t FirstKnown(std::int64_t preferred, std::int64_t otherwise) {
  return preferred >= 0 ? preferred : otherwise;
}

// The message size from what a rank puts in and takes out.
std::int64_t MessageSize(CollectiveKind kind, std::int64_t in, std::int64_t out) {
  switch (kind) {
    case kAllReduce:
    case kReduce:
    case kBroadcast:
    case kSend:
      return FirstKnown(in, out);
    case kRecv:
      return FirstKnown(out, in);
    case kAllGather:
      return out;
    case kReduceScatter:
      return in;
    default:
      return std::max(in, out);
  }
}

std::int64_t SumIfKnown(std::int64_t a, std::int64_t b) {
  return a >= 0 && b >= 0 ? a + b : -1;
}

constexpr std::uint32_t kNoGroup = 0xFFFFFFFF;

// Identifies a lane of one rank before other ranks are considered.
struct LocalKey {
  std::uint32_t group = kNoGroup;
  RowId group_row = kNoRow;  // this and the track only where the group has no identity
  RowId track = kNoRow;
  LaneUse use = LaneUse::kCollective;
  std::int32_t peer = -1;
  bool sends = false;

  auto operator<=>(const LocalKey&) const = default;
};

struct LocalLane {
  LocalKey key;
  std::int32_t group_size = -1;
  std::vector<CollectiveEvent> events = {};
};

struct RankLanes {
  std::uint32_t rank_index = 0;
  std::int32_t rank = 0;
  std::vector<LocalLane> lanes;  // in order of first use
};

class GroupTable {
 public:
  std::uint32_t Add(CollectiveGroup group) {
    const auto [found, is_new] =
        ids_.try_emplace(group.key, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) {
      groups_.push_back(std::move(group));
    }
    return found->second;
  }

  [[nodiscard]] const CollectiveGroup& At(std::uint32_t id) const { return groups_[id]; }

  [[nodiscard]] std::vector<CollectiveGroup> Take() { return std::move(groups_); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::vector<CollectiveGroup> groups_;
};

bool IsPointToPoint(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

LaneUse UseOf(const Trace& trace, RowId row) {
  const CollectiveKind kind = trace.collectives.kind[row];
  if (IsPointToPoint(kind) && trace.collectives.peer[row] >= 0) {
    return LaneUse::kPair;
  }
  const bool exchange = IsPointToPoint(kind) || kind == CollectiveKind::kSendRecv;
  return exchange ? LaneUse::kExchange : LaneUse::kCollective;
}

LocalKey KeyOfRow(const Trace& trace, RowId row, std::uint32_t group) {
  LocalKey key{.group = group, .use = UseOf(trace, row)};
  if (key.use == LaneUse::kPair) {
    key.peer = trace.collectives.peer[row];
    key.sends = trace.collectives.kind[row] == CollectiveKind::kSend;
  } else if (group == kNoGroup) {
    key.group_row = trace.collectives.group[row];
    key.track = trace.collectives.track[row];
  }
  return key;
}

std::vector<std::uint32_t> IdentifyGroups(const Trace& trace, bool communicators_shared,
                                          GroupTable& groups) {
  std::vector<std::uint32_t> ids(trace.process_groups.size(), kNoGroup);
  for (RowId row = 0; row < ids.size(); ++row) {
    if (auto group = IdentifyGroup(trace, row, communicators_shared)) {
      ids[row] = groups.Add(*std::move(group));
    }
  }
  return ids;
}

// The k-th send belongs to the k-th receive, so parts of a batch stay separate there.
void AppendRow(const Trace& trace, RowId row, RankRows& rows, LocalLane& lane) {
  if (lane.key.use != LaneUse::kPair && !lane.events.empty() &&
      IsPartOf(trace, row, lane.events.back())) {
    AddPart(trace, row, lane.events.back());
    rows.first_row_of_event[row] = lane.events.back().row;
    return;
  }
  lane.events.push_back(EventOfRow(trace, row));
  if (lane.key.use == LaneUse::kExchange) {
    lane.events.back().kind = CollectiveKind::kSendRecv;
  }
}

std::vector<LocalLane> SortRank(const Trace& trace, std::span<const std::uint32_t> group_ids,
                                RankRows& rows) {
  std::map<LocalKey, std::size_t> lane_of_key;
  std::vector<LocalLane> lanes;
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    if (rows.first_row_of_event[row] == kNoRow) {
      continue;
    }
    const RowId group_row = trace.collectives.group[row];
    const std::uint32_t group = group_row == kNoRow ? kNoGroup : group_ids[group_row];
    const LocalKey key = KeyOfRow(trace, row, group);
    const auto [found, is_new] = lane_of_key.try_emplace(key, lanes.size());
    if (is_new) {
      lanes.push_back({.key = key, .group_size = GroupSize(trace, group_row)});
    }
    AppendRow(trace, row, rows, lanes[found->second]);
  }
  return lanes;
}

// Streams of one size and use; the first, second, … of a rank belong to those of the others.
struct StreamClass {
  std::int32_t group_size = -1;
  LaneUse use = LaneUse::kCollective;

  auto operator<=>(const StreamClass&) const = default;
};

// Names groups after streams for lanes without a group: by number when all ranks use the
// same numbers, each once; else by order of first use.
class StreamNames {
 public:
  StreamNames(const TraceSet& set, const std::vector<RankLanes>& ranks) : set_(set) {
    for (const RankLanes& rank : ranks) {
      std::map<StreamClass, std::vector<std::int64_t>> numbers;
      for (const LocalLane& lane : rank.lanes) {
        if (lane.key.group == kNoGroup && lane.key.use != LaneUse::kPair) {
          numbers[{lane.group_size, lane.key.use}].push_back(NumberOf(rank, lane));
        }
      }
      for (auto& [stream_class, of_rank] : numbers) {
        Compare(stream_class, std::move(of_rank));
      }
    }
  }

  // Call once for each stream lane of a rank, in order of first use.
  CollectiveGroup Name(const RankLanes& rank, const LocalLane& lane) {
    const StreamClass stream_class{lane.group_size, lane.key.use};
    const std::int64_t ordinal = num_named_[{rank.rank_index, stream_class}]++;
    const std::string stream = same_numbers_.at(stream_class)
                                   ? fmt::format("stream {}", NumberOf(rank, lane))
                                   : fmt::format("stream in use as number {}", ordinal + 1);
    return {.key = fmt::format("unnamed group of {}, {}, {}", SizeText(lane.group_size),
                               lane.key.use == LaneUse::kExchange ? "exchanges" : "collectives",
                               stream),
            .num_ranks = lane.group_size};
  }

  static std::string SizeText(std::int32_t size) {
    return size < 0 ? "unknown size" : fmt::format("{} ranks", size);
  }

 private:
  [[nodiscard]] std::int64_t NumberOf(const RankLanes& rank, const LocalLane& lane) const {
    const RowId track = lane.key.track;
    return track == kNoRow ? -1 : set_.ranks[rank.rank_index].tracks.thread[track];
  }

  void Compare(const StreamClass& stream_class, std::vector<std::int64_t> numbers) {
    std::sort(numbers.begin(), numbers.end());
    const bool distinct = std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
    const auto [first, is_first] = numbers_.try_emplace(stream_class, numbers);
    bool& same = same_numbers_.try_emplace(stream_class, true).first->second;
    same = same && distinct && first->second == numbers;
  }

  const TraceSet& set_;
  std::map<StreamClass, std::vector<std::int64_t>> numbers_;
  std::map<StreamClass, bool> same_numbers_;
  std::map<std::pair<std::uint32_t, StreamClass>, std::int64_t> num_named_;
};

// `peer` is a global rank in some files and a place in the group in others. A peer outside the
// group, or the rank itself, shows that all ranks of the group use places.
class Peers {
 public:
  Peers(const std::vector<RankLanes>& ranks, const GroupTable& groups) : groups_(groups) {
    for (const RankLanes& rank : ranks) {
      for (const LocalLane& lane : rank.lanes) {
        if (lane.key.use == LaneUse::kPair && lane.key.group != kNoGroup) {
          bool& places = are_places_[lane.key.group];
          places = places || CannotBeRank(groups.At(lane.key.group), lane.key.peer, rank.rank);
        }
      }
    }
  }

  [[nodiscard]] std::int32_t GlobalRank(const LocalKey& key) const {
    if (key.group == kNoGroup || !are_places_.at(key.group)) {
      return key.peer;
    }
    const auto& members = groups_.At(key.group).members;
    const auto place = static_cast<std::size_t>(key.peer);
    return place < members.size() ? members[place] : key.peer;
  }

 private:
  static bool CannotBeRank(const CollectiveGroup& group, std::int32_t peer, std::int32_t rank) {
    const auto& members = group.members;
    return !members.empty() &&
           (peer == rank || std::find(members.begin(), members.end(), peer) == members.end());
  }

  const GroupTable& groups_;
  std::map<std::uint32_t, bool> are_places_;
};

struct LaneKey {
  std::uint32_t group = 0;
  LaneUse use = LaneUse::kCollective;
  std::int32_t source = -1;
  std::int32_t destination = -1;

  auto operator<=>(const LaneKey&) const = default;
};

CollectiveGroup UnnamedPairs(std::int32_t group_size) {
  return {.key = "unnamed group of " + StreamNames::SizeText(group_size), .num_ranks = group_size};
}

// The lane of all ranks that a lane of one rank is part of.
LaneKey SharedKey(const RankLanes& rank, const LocalLane& local, const Peers& peers,
                  StreamNames& names, GroupTable& groups) {
  const bool is_pair = local.key.use == LaneUse::kPair;
  LaneKey key{.group = local.key.group, .use = local.key.use};
  if (key.group == kNoGroup) {
    key.group = groups.Add(is_pair ? UnnamedPairs(local.group_size) : names.Name(rank, local));
  }
  if (is_pair) {
    const std::int32_t peer = peers.GlobalRank(local.key);
    key.source = local.key.sends ? rank.rank : peer;
    key.destination = local.key.sends ? peer : rank.rank;
  }
  return key;
}

std::vector<CollectiveLane> JoinRanks(const TraceSet& set, std::vector<RankLanes>& ranks,
                                      GroupTable& groups) {
  const Peers peers(ranks, groups);
  StreamNames names(set, ranks);
  std::map<LaneKey, CollectiveLane> table;
  for (RankLanes& rank : ranks) {
    for (LocalLane& local : rank.lanes) {
      const LaneKey key = SharedKey(rank, local, peers, names, groups);
      const bool is_sender = key.use == LaneUse::kPair && local.key.sends;
      CollectiveLane& lane = table[key];
      lane.group = key.group;
      lane.use = key.use;
      lane.group_known = local.key.group != kNoGroup;
      lane.members.insert(is_sender ? lane.members.begin() : lane.members.end(),
                          LaneMember{rank.rank_index, std::move(local.events)});
    }
  }
  std::vector<CollectiveLane> lanes;
  for (auto& [key, lane] : table) {
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace

CollectiveEvent EventOfRow(const Trace& trace, RowId row) {
  const Collectives& table = trace.collectives;
  CollectiveEvent event{.begin_ns = table.begin_ns[row],
                        .end_ns = table.begin_ns[row] + table.duration_ns[row],
                        .row = row,
                        .kind = table.kind[row],
                        .data_type = table.data_type[row],
                        .on_device = table.num_kernels[row] > 0};
  event.bytes = MessageSize(event.kind, table.in_bytes[row], table.out_bytes[row]);
  event.size = FirstKnown(event.bytes,
                          MessageSize(event.kind, table.in_elements[row], table.out_elements[row]));
  return event;
}

bool IsPartOf(const Trace& trace, RowId row, const CollectiveEvent& event) {
  const Collectives& table = trace.collectives;
  const std::int64_t begin_ns = table.begin_ns[row];
  if (table.num_kernels[row] <= 0 || !event.on_device || begin_ns >= event.end_ns) {
    return false;
  }
  const bool same_kernel = begin_ns == event.begin_ns &&
                           begin_ns + table.duration_ns[row] == event.end_ns &&
                           table.track[row] == table.track[event.row];
  const std::int64_t sequence = table.sequence[row];
  return same_kernel || (sequence >= 0 && sequence == table.sequence[event.row]);
}

void AddPart(const Trace& trace, RowId row, CollectiveEvent& event) {
  const CollectiveEvent part = EventOfRow(trace, row);
  event.end_ns = std::max(event.end_ns, part.end_ns);
  event.bytes = SumIfKnown(event.bytes, part.bytes);
  event.size = SumIfKnown(event.size, part.size);
}

RankRows SelectRows(const Trace& trace) {
  RankRows rows;
  const bool has_kernels = std::ranges::any_of(trace.collectives.num_kernels,
                                               [](std::int32_t count) { return count > 0; });
  std::vector<std::int32_t> size_of_group(trace.process_groups.size());
  for (RowId group = 0; group < size_of_group.size(); ++group) {
    size_of_group[group] = GroupSize(trace, group);
  }
  rows.first_row_of_event.assign(trace.collectives.size(), kNoRow);
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId group = trace.collectives.group[row];
    if (group != kNoRow && size_of_group[group] == 1) {
      ++rows.num_in_groups_of_one;
    } else if (has_kernels && trace.collectives.num_kernels[row] <= 0) {
      ++rows.num_without_kernels;
    } else {
      rows.first_row_of_event[row] = row;
    }
  }
  return rows;
}

bool HasCommonSize(CollectiveKind kind) {
  switch (kind) {
    case kAllReduce:
    case kAllGather:
    case kReduceScatter:
    case kBroadcast:
    case kReduce:
    case kSend:
    case kRecv:
      return true;
    default:
      return false;
  }
}

CollectiveLanes SortIntoLanes(const TraceSet& set) {
  CollectiveLanes result;
  result.ranks.resize(set.ranks.size());
  const bool communicators_shared = AreCommunicatorsShared(set);
  GroupTable groups;
  std::vector<RankLanes> ranks;
  for (const std::uint32_t place : PlacesInRankOrder(set)) {
    RankRows& rows = result.ranks[place];
    const Trace& trace = set.ranks[place];
    rows = SelectRows(trace);
    const auto group_ids = IdentifyGroups(trace, communicators_shared, groups);
    ranks.push_back({place, RankOf(set, place), SortRank(trace, group_ids, rows)});
  }
  result.lanes = JoinRanks(set, ranks, groups);
  result.groups = groups.Take();
  return result;
}

}  // namespace orrery::trace
