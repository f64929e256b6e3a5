#include "orrery/export/perfetto_tracks.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "orrery/export/slice_names.h"

namespace orrery::exporting::perfetto {
namespace {

using trace::Trace;
using trace::TrackKind;

bool IsOnDevice(const Trace& trace, RowId drawn_track) {
  return drawn_track < trace.tracks.size() && trace.tracks.kind[drawn_track] == TrackKind::kDevice;
}

// Identifies a thread or stream by the profiler's numbers, or by name where those are synthetic.
std::string IdentityOf(const Trace& trace, RowId drawn_track) {
  if (drawn_track >= DrawnTracks(trace).none) {
    return TrackTitle(trace, drawn_track);
  }
  const trace::Tracks::Row track = trace.tracks.At(drawn_track);
  if (track.kind == TrackKind::kDevice) {
    return fmt::format("device {} stream {}", track.device, track.thread);
  }
  return fmt::format("process {} {} thread {} {}", track.process,
                     track.process < 0 ? trace.Text(track.process_name) : "", track.thread,
                     track.thread < 0 ? trace.Text(track.name) : "");
}

}  // namespace

std::uint64_t TrackUuids::Of(std::string identity) {
  while (true) {
    const std::uint64_t uuid = XXH3_64bits(identity.data(), identity.size());
    // 0 is the trace itself.
    if (uuid != 0 && taken_.insert(uuid).second) {
      return uuid;
    }
    identity += '\'';
  }
}

RankTracks::RankTracks(const Trace& trace, const RankLayout& layout, std::int64_t rank,
                       std::uint64_t parent, std::int32_t order, TrackUuids& uuids,
                       Sequence& sequence)
    : trace_(trace),
      layout_(layout),
      rank_name_(fmt::format("rank {}", rank)),
      uuids_(uuids),
      sequence_(sequence),
      lanes_(layout.num_lanes.size()) {
  rank_track_ = uuids_.Of(rank_name_);
  sequence_.Describe({.uuid = rank_track_, .parent = parent, .name = rank_name_, .order = order});
  for (RowId track = 0; track < lanes_.size(); ++track) {
    if (!IsOnDevice(trace_, track) && layout_.IsUsed(track)) {
      DescribeLanes(track, rank_track_);
    }
  }
  for (RowId track = 0; track < trace_.tracks.size(); ++track) {
    if (IsOnDevice(trace_, track)) {
      DescribeLanes(track, Device(trace_.tracks.device[track]));
    }
  }
}

std::uint64_t RankTracks::Describe(const std::string& identity, std::uint64_t parent,
                                   std::string name) {
  const std::uint64_t uuid = uuids_.Of(rank_name_ + " / " + identity);
  sequence_.Describe(
      {.uuid = uuid, .parent = parent, .name = std::move(name), .order = next_order_++});
  return uuid;
}

void RankTracks::DescribeLanes(RowId drawn_track, std::uint64_t parent) {
  const std::string identity = IdentityOf(trace_, drawn_track);
  const std::string title = TrackTitle(trace_, drawn_track);
  for (exporting::Lane lane = 0; lane < layout_.num_lanes[drawn_track]; ++lane) {
    lanes_[drawn_track].push_back(
        Describe(fmt::format("{} / lane {}", identity, lane), parent, LaneTitle(title, lane)));
  }
}

std::uint64_t RankTracks::Device(std::int32_t device) {
  const auto known = devices_.find(device);
  if (known != devices_.end()) {
    return known->second;
  }
  const std::uint64_t uuid =
      Describe(fmt::format("device {}", device), rank_track_, fmt::format("GPU {}", device));
  devices_.emplace(device, uuid);
  return uuid;
}

std::uint64_t RankTracks::Counter(std::string_view name, std::int32_t device, bool counts_bytes) {
  auto key = std::pair(device, std::string(name));
  const auto known = counters_.find(key);
  if (known != counters_.end()) {
    return known->second;
  }
  const std::uint64_t parent = device >= 0 ? Device(device) : rank_track_;
  const std::uint64_t uuid =
      uuids_.Of(fmt::format("{} / device {} / counter {}", rank_name_, device, name));
  sequence_.Describe({.uuid = uuid,
                      .parent = parent,
                      .name = std::string(name),
                      .order = next_order_++,
                      .is_counter = true,
                      .counts_bytes = counts_bytes});
  counters_.emplace(std::move(key), uuid);
  return uuid;
}

}  // namespace orrery::exporting::perfetto
