#include "orrery/export/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <protozero/pbf_writer.hpp>

#include "orrery/export/perfetto_events.h"
#include "orrery/export/perfetto_fields.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/rank_layout.h"
#include "orrery/export/slice_names.h"

namespace orrery::exporting {
namespace {

using namespace perfetto;  // the messages and their fields

// The first sequence is for the whole set; each rank has two after it.
constexpr std::uint32_t kSetSequence = 1;

std::uint32_t SliceSequence(std::size_t rank_index) {
  return static_cast<std::uint32_t>(2 * rank_index) + kSetSequence + 1;
}

void AddClock(protozero::pbf_writer& clocks, std::uint32_t id, std::int64_t at_ns) {
  protozero::pbf_writer clock(clocks, snapshot::kClocks);
  clock.add_uint32(snapshot::kClockId, id);
  clock.add_uint64(snapshot::kClockTimestamp, static_cast<std::uint64_t>(at_ns));
}

// Declares timestamps to be wall-clock times, so that viewers can show dates.
void WriteClockSnapshot(std::int64_t at_ns, PacketFile& file) {
  std::string bytes;
  protozero::pbf_writer packet(bytes);
  packet.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(at_ns));
  packet.add_uint32(packet::kSequenceId, kSetSequence);
  {
    protozero::pbf_writer clocks(packet, packet::kClockSnapshot);
    AddClock(clocks, snapshot::kRealtime, at_ns);
    AddClock(clocks, snapshot::kBoottime, at_ns);
  }
  file.Add(bytes);
}

// A collective and the track it is drawn on.
struct DrawnCollective {
  const CollectiveSpan& span;
  CollectiveMetrics metrics;
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
             const CollectiveMetrics& metrics, Sequence& sequence) {
  sequence.Words("members", MemberList(set, span));
  sequence.Integer("last rank", RankOf(set, span.members[metrics.last_member]));
  sequence.Integer("wait sum (ns)", metrics.wait_sum_ns);
  sequence.Integer("transfer (ns)", metrics.transfer_ns);
  if (span.bytes >= 0) {
    sequence.Integer("bytes", span.bytes);
  }
  if (metrics.bus_bytes_per_second >= 0) {
    sequence.Number("busbw (GB/s)", metrics.bus_bytes_per_second / 1e9);
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

// Describes the tracks of all groups and returns the collectives on them.
std::vector<DrawnCollective> DescribeGroups(std::span<const CollectiveSpan> collectives,
                                            const std::vector<CollectiveRow>& rows,
                                            std::uint64_t parent, TrackUuids& uuids,
                                            Sequence& sequence) {
  std::vector<DrawnCollective> drawn;
  std::int32_t order = 1;
  for (const CollectiveRow& row : rows) {
    const auto tracks = DescribeGroup(row, parent, order, uuids, sequence);
    for (const CollectiveRow::Slice& slice : row.slices) {
      drawn.push_back({collectives[slice.span], slice.metrics, tracks[slice.lane]});
    }
  }
  return drawn;
}

void WriteBegin(const trace::TraceSet& set, const DrawnCollective& collective, std::int64_t zero_ns,
                Sequence& sequence) {
  sequence.Start(event::kSliceBegin, collective.track);
  sequence.Category("orrery_collective");
  sequence.Name(std::string_view(collective.span.name));
  AddArgs(set, collective.span, collective.metrics, sequence);
  sequence.Write(static_cast<std::uint64_t>(collective.metrics.begin_ns - zero_ns));
}

void WriteEnd(const DrawnCollective& collective, std::int64_t zero_ns, Sequence& sequence) {
  sequence.Start(event::kSliceEnd, collective.track);
  sequence.Write(static_cast<std::uint64_t>(collective.metrics.end_ns - zero_ns));
}

// Where the tracks of the collectives are, and the zero of timestamps.
struct CollectivesPlace {
  std::uint64_t parent = 0;
  std::int32_t order = 0;
  std::int64_t zero_ns = 0;
};

// Writes a track "collectives" with one track for each group and a slice for each collective,
// from the first arrival to the last end.
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
  WalkEdges(
      drawn.size(), [&](std::size_t i) -> const CollectiveMetrics& { return drawn[i].metrics; },
      [&](std::size_t i) { WriteBegin(set, drawn[i], place.zero_ns, sequence); },
      [&](std::size_t i) { WriteEnd(drawn[i], place.zero_ns, sequence); });
}

class SetWriter {
 public:
  SetWriter(const trace::TraceSet& set, std::int64_t zero_ns, PacketFile& file)
      : set_(set), zero_ns_(zero_ns), file_(file), sequence_(file, kSetSequence, no_strings_) {}

  // Several ranks share one parent track, because only a parent can keep its children in order.
  void DescribeRoot() {
    if (set_.ranks.size() > 1) {
      root_ = uuids_.Of("ranks");
      sequence_.Describe({.uuid = root_, .parent = 0, .name = "ranks"});
    }
  }

  void WriteRank(std::size_t index, std::span<const CollectiveWait> waits) {
    const trace::Trace& trace = set_.ranks[index];
    const RankLayout layout = LayOutRank(trace, waits);
    Sequence slices(file_, SliceSequence(index), trace.strings);
    Sequence points(file_, SliceSequence(index) + 1, trace.strings);
    RankTracks tracks(trace, layout, RankNumber(trace, index), root_,
                      static_cast<std::int32_t>(index + 1), uuids_, slices);
    const Rank rank{
        .trace = trace, .layout = layout, .tracks = tracks, .index = index, .zero_ns = zero_ns_};
    perfetto::WriteSlices(rank, slices);
    perfetto::WritePoints(rank, points);
  }

  void WriteCollectiveSlices(std::span<const CollectiveSpan> collectives) {
    WriteCollectives(set_, collectives,
                     {.parent = root_,
                      .order = static_cast<std::int32_t>(set_.ranks.size() + 1),
                      .zero_ns = zero_ns_},
                     uuids_, sequence_);
  }

 private:
  const trace::TraceSet& set_;
  std::int64_t zero_ns_;
  PacketFile& file_;
  StringTable no_strings_;
  Sequence sequence_;
  TrackUuids uuids_;
  std::uint64_t root_ = 0;
};

}  // namespace

Status WritePerfetto(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
                     ByteSink& sink) {
  PacketFile file(sink);
  // Timestamps are unsigned: times before zero are shifted by whole seconds.
  const std::int64_t earliest_ns = EarliestTime(set, collectives);
  const std::int64_t zero_ns = std::min<std::int64_t>(FloorToSecond(earliest_ns), 0);
  if (HasEpochTimes(set)) {
    WriteClockSnapshot(earliest_ns - zero_ns, file);
  }
  const auto waits = WaitsByRank(set.ranks.size(), collectives);
  SetWriter writer(set, zero_ns, file);
  writer.DescribeRoot();
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    writer.WriteRank(i, waits[i]);
  }
  writer.WriteCollectiveSlices(collectives);
  return file.Flush();
}

}  // namespace orrery::exporting
