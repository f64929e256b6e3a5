#include "orrery/export/perfetto.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "orrery/export/chrome_rows.h"
#include "orrery/export/perfetto_collectives.h"
#include "orrery/export/perfetto_fields.h"
#include "orrery/export/perfetto_rank.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/perfetto_tracks.h"
#include "orrery/export/rank_layout.h"
#include "orrery/export/recorded_time.h"

namespace orrery::exporting {
namespace {

using namespace perfetto;  // the messages and their fields

// The first sequence is for what belongs to no rank; ranks have two each behind it.
constexpr std::uint32_t kSetSequence = 1;

std::uint32_t SliceSequence(std::size_t rank_index) {
  return static_cast<std::uint32_t>(2 * rank_index) + kSetSequence + 1;
}

void AddClock(protozero::pbf_writer& clocks, std::uint32_t id, std::int64_t at_ns) {
  protozero::pbf_writer clock(clocks, snapshot::kClocks);
  clock.add_uint32(snapshot::kClockId, id);
  clock.add_uint64(snapshot::kClockTimestamp, static_cast<std::uint64_t>(at_ns));
}

// Says that time stamps are wall-clock times, so that viewers can show dates.
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
      : set_(set), zero_ns_(zero_ns), file_(file), sequence_(file, kSetSequence, no_strings_) {}

  // Several ranks hang on one track, because only a parent can keep its children in order.
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

bool HasWallClock(const trace::TraceSet& set) {
  return std::any_of(set.ranks.begin(), set.ranks.end(), [](const trace::Trace& trace) {
    return trace.info.time_origin == trace::TimeOrigin::kEpoch;
  });
}

}  // namespace

Status WritePerfetto(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
                     ByteSink& sink) {
  PacketFile file(sink);
  // Time stamps have no sign: times before zero move up by whole seconds.
  const std::int64_t earliest_ns = EarliestTime(set, collectives);
  const std::int64_t zero_ns = std::min<std::int64_t>(FloorToSecond(earliest_ns), 0);
  if (HasWallClock(set)) {
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
