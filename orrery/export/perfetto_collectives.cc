#include "orrery/export/perfetto_collectives.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/export/chrome_rows.h"
#include "orrery/export/collective_rows.h"
#include "orrery/export/slice_edges.h"

namespace orrery::exporting::perfetto {
namespace {

// A collective and the track it is drawn on.
struct DrawnCollective {
  const CollectiveSpan& span;
  CollectiveFigures figures;
  std::uint64_t track;
};

std::int64_t RankOf(const trace::TraceSet& set, const CollectiveMember& member) {
  return RankNumber(set.ranks[member.rank_index], member.rank_index);
}

std::string MemberList(const trace::TraceSet& set, const CollectiveSpan& span) {
  std::vector<std::int64_t> ranks;
  for (const CollectiveMember& member : span.members) {
    ranks.push_back(RankOf(set, member));
  }
  return fmt::format("[{}]", fmt::join(ranks, ", "));
}

void AddArgs(const trace::TraceSet& set, const CollectiveSpan& span,
             const CollectiveFigures& figures, Sequence& sequence) {
  sequence.Words("members", MemberList(set, span));
  sequence.Integer("last rank", RankOf(set, span.members[figures.last_member]));
  sequence.Integer("wait sum (ns)", figures.wait_sum_ns);
  sequence.Integer("transfer (ns)", figures.transfer_ns);
  if (span.bytes >= 0) {
    sequence.Integer("bytes", span.bytes);
  }
  if (figures.bus_bytes_per_second >= 0) {
    sequence.Number("busbw (GB/s)", figures.bus_bytes_per_second / 1e9);
  }
}

// Describes the tracks of one group, one for each lane, and returns them.
std::vector<std::uint64_t> DescribeGroup(const CollectiveRow& row, std::uint64_t parent,
                                         std::int32_t& order, TrackUuids& uuids,
                                         Sequence& sequence) {
  std::vector<std::uint64_t> tracks;
  for (Lane lane = 0; lane < row.num_lanes; ++lane) {
    tracks.push_back(uuids.Of(fmt::format("collectives / {} / lane {}", row.group, lane)));
    sequence.Describe({.uuid = tracks.back(),
                       .parent = parent,
                       .name = LaneTitle("group " + row.group, lane),
                       .order = order++});
  }
  return tracks;
}

// Describes the tracks of all groups and returns the collectives on them, in order of time.
std::vector<DrawnCollective> DescribeGroups(std::span<const CollectiveSpan> collectives,
                                            const std::vector<CollectiveRow>& rows,
                                            std::uint64_t parent, TrackUuids& uuids,
                                            Sequence& sequence) {
  std::vector<DrawnCollective> drawn;
  std::int32_t order = 1;
  for (const CollectiveRow& row : rows) {
    const auto tracks = DescribeGroup(row, parent, order, uuids, sequence);
    for (const CollectiveRow::Slice& slice : row.slices) {
      drawn.push_back({collectives[slice.span], slice.figures, tracks[slice.lane]});
    }
  }
  return drawn;
}

// Ties longer first, then in the order of their tracks.
std::vector<std::size_t> InTimeOrder(const std::vector<DrawnCollective>& drawn) {
  std::vector<std::size_t> order(drawn.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    const CollectiveFigures& a = drawn[lhs].figures;
    const CollectiveFigures& b = drawn[rhs].figures;
    return std::tie(a.begin_ns, b.end_ns, lhs) < std::tie(b.begin_ns, a.end_ns, rhs);
  });
  return order;
}

void WriteBegin(const trace::TraceSet& set, const DrawnCollective& collective, std::int64_t zero_ns,
                Sequence& sequence) {
  sequence.Start(event::kSliceBegin, collective.track);
  sequence.Category("orrery_collective");
  sequence.Name(std::string_view(collective.span.name));
  AddArgs(set, collective.span, collective.figures, sequence);
  sequence.Write(static_cast<std::uint64_t>(collective.figures.begin_ns - zero_ns));
}

void WriteEnd(const DrawnCollective& collective, std::int64_t zero_ns, Sequence& sequence) {
  sequence.Start(event::kSliceEnd, collective.track);
  sequence.Write(static_cast<std::uint64_t>(collective.figures.end_ns - zero_ns));
}

}  // namespace

void WriteCollectives(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
                      const CollectivesPlace& place, TrackUuids& uuids, Sequence& sequence) {
  const std::vector<CollectiveRow> rows = LayOutCollectives(collectives);
  if (rows.empty()) {
    return;
  }
  const std::uint64_t root = uuids.Of("collectives");
  sequence.Describe(
      {.uuid = root, .parent = place.parent, .name = "collectives", .order = place.order});
  const auto drawn = DescribeGroups(collectives, rows, root, uuids, sequence);
  const std::vector<std::size_t> order = InTimeOrder(drawn);
  std::vector<TimedSlice> times;
  for (const std::size_t i : order) {
    times.push_back({drawn[i].figures.begin_ns, drawn[i].figures.end_ns});
  }
  WalkEdges(
      times, [&](std::size_t i) { WriteBegin(set, drawn[order[i]], place.zero_ns, sequence); },
      [&](std::size_t i) { WriteEnd(drawn[order[i]], place.zero_ns, sequence); });
}

}  // namespace orrery::exporting::perfetto
