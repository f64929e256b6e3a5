#include "orrery/analyze/graph/rendezvous.h"

#include <algorithm>
#include <limits>

#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

// A collective that shares its kernel with others is not named by the kernel: found by its time.
NodeId StartAt(const RankPart& part, RowId track, std::int64_t begin_ns) {
  const auto lane = std::ranges::find(part.streams, track, &Lane::track);
  if (lane == part.streams.end() || track == kNoRow) {
    return kNoNode;
  }
  NodeId low = 0;
  NodeId high = (lane->end - lane->first) / 2;
  while (low < high) {
    const NodeId middle = low + (high - low) / 2;
    if (part.time_ns[lane->first + 2 * middle] < begin_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const NodeId start = lane->first + 2 * low;
  return start < lane->end && part.time_ns[start] == begin_ns ? start : kNoNode;
}

RendezvousMember MemberIn(const RankPart& part, std::uint32_t place, RowId collective) {
  NodeId first = part.first_of_collective.Find(collective);
  NodeId last = part.last_of_collective.Find(collective);
  if (first == kNoNode && part.trace->collectives.num_kernels[collective] > 0) {
    first = StartAt(part, part.trace->collectives.track[collective],
                    part.trace->collectives.begin_ns[collective]);
    last = first;
  }
  return first == kNoNode ? RendezvousMember{}
                          : RendezvousMember{.place = place, .start = first, .end = last + 1};
}

// Collects the members of one matched instance that are in the graph.
class RendezvousFinder {
 public:
  RendezvousFinder(const RunView& run, std::vector<RankPart>& parts,
                   const std::vector<std::uint32_t>& place_of_rank)
      : matched_(run.matched), parts_(parts), place_of_rank_(place_of_rank) {}

  void Consider(std::uint32_t instance) {
    if (matched_.Has(instance, trace::match_flag::kHostTimes)) {
      return;
    }
    CollectMembers(instance);
    if (matched_.Has(instance, trace::match_flag::kUnreliable)) {
      rendezvous_.counts.unreliable_matches += members_.empty() ? 0 : 1;
    } else if (members_.size() >= 2) {
      AddRendezvous(instance);
    }
  }

  [[nodiscard]] Rendezvous Finish() && { return std::move(rendezvous_); }

 private:
  void CollectMembers(std::uint32_t instance) {
    members_.clear();
    latest_absent_ns_ = std::numeric_limits<std::int64_t>::min();
    for (const std::uint32_t member : matched_.MembersOf(instance)) {
      const std::uint32_t place = place_of_rank_[matched_.members.rank_index[member]];
      const RendezvousMember found =
          MemberIn(parts_[place], place, matched_.members.collective[member]);
      if (found.start != kNoNode) {
        members_.push_back(found);
      } else {
        latest_absent_ns_ = std::max(latest_absent_ns_, matched_.members.begin_ns[member]);
      }
    }
  }

  [[nodiscard]] std::int64_t TimeOf(std::uint32_t place, NodeId node) const {
    return parts_[place].time_ns[node];
  }

  // A member outside the graph may have arrived last, but not after another one ended.
  [[nodiscard]] std::int64_t MeetingTime() const {
    std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
    for (const RendezvousMember& member : members_) {
      latest_ns = std::max(latest_ns, TimeOf(member.place, member.start));
      first_end_ns = std::min(first_end_ns, TimeOf(member.place, member.end));
    }
    return latest_absent_ns_ <= first_end_ns ? std::max(latest_ns, latest_absent_ns_) : latest_ns;
  }

  void AddRendezvous(std::uint32_t instance) {
    const std::int64_t time_ns = MeetingTime();
    const bool synchronises = trace::IsSynchronising(matched_.instances.kind[instance]);
    for (RendezvousMember& member : members_) {
      ++rendezvous_.counts.checked_edges;
      if (TimeOf(member.place, member.end) >= time_ns) {
        parts_[member.place].meets[member.end] = true;
      } else {
        rendezvous_.counts.dropped_edges += synchronises ? 1 : 0;
        member.end = kNoNode;
      }
      rendezvous_.members.push_back(member);
    }
    rendezvous_.instance.push_back(instance);
    rendezvous_.time_ns.push_back(time_ns);
    rendezvous_.first_member.push_back(static_cast<std::uint32_t>(rendezvous_.members.size()));
  }

  const trace::MatchedCollectives& matched_;
  std::vector<RankPart>& parts_;
  const std::vector<std::uint32_t>& place_of_rank_;
  std::vector<RendezvousMember> members_;
  std::int64_t latest_absent_ns_ = 0;
  Rendezvous rendezvous_;
};

}  // namespace

void IndexCollectives(RankPart& part) {
  part.first_of_collective = RowMap(0, part.trace->collectives.size());
  part.last_of_collective = RowMap(0, part.trace->collectives.size());
  for (const Lane& lane : part.streams) {
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      const RowId collective = part.trace->activities.collective[part.row[start]];
      if (collective == kNoRow) {
        continue;
      }
      const NodeId first = part.first_of_collective.Find(collective);
      if (first == kNoNode || part.time_ns[start] < part.time_ns[first]) {
        part.first_of_collective.Set(collective, start);
      }
      const NodeId last = part.last_of_collective.Find(collective);
      if (last == kNoNode || part.time_ns[start + 1] > part.time_ns[last + 1]) {
        part.last_of_collective.Set(collective, start);
      }
    }
  }
}

Rendezvous FindRendezvous(const RunView& run, std::vector<RankPart>& parts,
                          const std::vector<std::uint32_t>& place_of_rank) {
  RendezvousFinder finder(run, parts, place_of_rank);
  for (std::uint32_t instance = 0; instance < run.matched.size(); ++instance) {
    finder.Consider(instance);
  }
  return std::move(finder).Finish();
}

}  // namespace orrery::analyze
