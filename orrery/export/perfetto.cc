#include "orrery/export/perfetto.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <protozero/pbf_writer.hpp>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): the messages and their fields

constexpr std::uint32_t kSetSequence = 1;

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

class SetWriter {
 public:
  SetWriter(const trace::TraceSet& set, std::int64_t zero_ns, PacketFile& file)
      : set_(set), zero_ns_(zero_ns), file_(file), sequence_(file, kSetSequence, no_strings_) {
    // Several ranks share one parent track, because only a parent can keep its children in order.
    if (set_.ranks.size() > 1) {
      root_ = uuids_.Of("ranks");
      sequence_.Describe({.uuid = root_, .parent = 0, .name = "ranks"});
    }
  }

  void WriteRank(std::size_t index, std::span<const CollectiveWait> waits) {
    const trace::Trace& trace = set_.ranks[index];
    const RankLayout layout = LayOutRank(trace, waits);
    // The first sequence is for the whole set; each rank has two after it.
    const auto sequence_id = static_cast<std::uint32_t>(2 * index) + kSetSequence + 1;
    Sequence slices(file_, sequence_id, trace.strings);
    Sequence points(file_, sequence_id + 1, trace.strings);
    RankTracks tracks(trace, layout, trace::RankOf(set_, index),
                      {.parent = root_, .order = static_cast<std::int32_t>(index + 1)}, uuids_,
                      slices);
    const Rank rank{
        .trace = trace, .layout = layout, .tracks = tracks, .index = index, .zero_ns = zero_ns_};
    WriteSlices(rank, slices);
    WritePoints(rank, points);
  }

  // Writes a track "collectives" with one track for each group and a slice for each collective,
  // from the first arrival to the last end.
  void WriteCollectives(std::span<const CollectiveSpan> collectives) {
    const std::vector<CollectiveRow> rows = LayOutCollectives(collectives);
    if (rows.empty()) {
      return;
    }
    const std::uint64_t parent = uuids_.Of("collectives");
    sequence_.Describe({.uuid = parent,
                        .parent = root_,
                        .name = "collectives",
                        .order = static_cast<std::int32_t>(set_.ranks.size() + 1)});
    std::vector<const CollectiveRow::Slice*> slices;
    std::vector<std::uint64_t> track_of_slice;
    for (const CollectiveRow& row : rows) {
      const std::vector<std::uint64_t> tracks = DescribeGroup(row, parent);
      for (const CollectiveRow::Slice& slice : row.slices) {
        slices.push_back(&slice);
        track_of_slice.push_back(tracks[slice.lane]);
      }
    }
    WalkEdges(
        slices.size(),
        [&](std::size_t i) -> const CollectiveMetrics& { return slices[i]->metrics; },
        [&](std::size_t i) {
          sequence_.Start(event::kSliceBegin, track_of_slice[i]);
          sequence_.Category("orrery_collective");
          sequence_.Name(std::string_view(collectives[slices[i]->span].name));
          AddArgs(collectives[slices[i]->span], slices[i]->metrics);
          sequence_.Write(static_cast<std::uint64_t>(slices[i]->metrics.begin_ns - zero_ns_));
        },
        [&](std::size_t i) {
          sequence_.Start(event::kSliceEnd, track_of_slice[i]);
          sequence_.Write(static_cast<std::uint64_t>(slices[i]->metrics.end_ns - zero_ns_));
        });
  }

 private:
  // Describes the tracks of one group, one for each lane, and returns them.
  std::vector<std::uint64_t> DescribeGroup(const CollectiveRow& row, std::uint64_t parent) {
    std::vector<std::uint64_t> tracks;
    for (Lane lane = 0; lane < row.num_lanes; ++lane) {
      tracks.push_back(uuids_.Of(fmt::format("collectives / {} / lane {}", row.group, lane)));
      sequence_.Describe({.uuid = tracks.back(),
                          .parent = parent,
                          .name = LaneTitle("group " + row.group, lane),
                          .order = next_group_order_++});
    }
    return tracks;
  }

  void AddArgs(const CollectiveSpan& span, const CollectiveMetrics& metrics) {
    std::vector<std::int64_t> ranks;
    for (const CollectiveMember& member : span.members) {
      ranks.push_back(trace::RankOf(set_, member.rank_index));
    }
    sequence_.Words("members", fmt::format("[{}]", fmt::join(ranks, ", ")));
    sequence_.Integer("last rank", ranks[metrics.last_member]);
    sequence_.Integer("wait sum (ns)", metrics.wait_sum_ns);
    sequence_.Integer("transfer (ns)", metrics.transfer_ns);
    if (span.bytes >= 0) {
      sequence_.Integer("bytes", span.bytes);
    }
    if (metrics.bus_bytes_per_second >= 0) {
      sequence_.Number("busbw (GB/s)", metrics.bus_bytes_per_second / 1e9);
    }
  }

  const trace::TraceSet& set_;
  std::int64_t zero_ns_;
  PacketFile& file_;
  StringTable no_strings_;
  Sequence sequence_;
  TrackUuids uuids_;
  std::uint64_t root_ = 0;
  std::int32_t next_group_order_ = 1;
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
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    writer.WriteRank(i, waits[i]);
  }
  writer.WriteCollectives(collectives);
  return file.Flush();
}

}  // namespace orrery::exporting
