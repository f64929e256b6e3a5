#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting::perfetto {

/// Assigns the ids of tracks: a hash of their identity ("rank 3 / device 0"), so that the same
/// trace gives the same ids. Equal identities and hash collisions get different ids.
class TrackUuids {
 public:
  std::uint64_t Of(std::string identity);

 private:
  std::set<std::uint64_t> taken_;
};

/// The tracks of one rank: the rank, below it host threads and devices, below those streams and
/// counters.
class RankTracks {
 public:
  /// Describes the tree in `sequence`. `parent` is the track above the rank, or 0; `order` is its
  /// place there.
  RankTracks(const trace::Trace& trace, const RankLayout& layout, std::int64_t rank,
             std::uint64_t parent, std::int32_t order, TrackUuids& uuids, Sequence& sequence);

  /// The track of a lane; see DrawnTracks.
  [[nodiscard]] std::uint64_t Lane(RowId drawn_track, exporting::Lane lane = 0) const {
    return lanes_[drawn_track][lane];
  }

  /// The track of a counter, described on first use: below the device, or the rank where `device`
  /// is below zero.
  std::uint64_t Counter(std::string_view name, std::int32_t device, bool counts_bytes);

 private:
  std::uint64_t Describe(const std::string& identity, std::uint64_t parent, std::string name);
  std::uint64_t Device(std::int32_t device);
  void DescribeLanes(RowId drawn_track, std::uint64_t parent);

  const trace::Trace& trace_;
  const RankLayout& layout_;
  std::string rank_name_;
  TrackUuids& uuids_;
  Sequence& sequence_;
  std::uint64_t rank_track_ = 0;
  std::int32_t next_order_ = 1;
  std::vector<std::vector<std::uint64_t>> lanes_;  // by drawn track, then lane
  std::map<std::int32_t, std::uint64_t> devices_;
  std::map<std::pair<std::int32_t, std::string>, std::uint64_t> counters_;
};

}  // namespace orrery::exporting::perfetto
