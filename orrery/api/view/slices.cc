#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/api/view.h"
#include "orrery/api/view/byte_columns.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

constexpr std::uint16_t kNoName = 0xFFFF;
constexpr std::uint8_t kHostClass = 255;
// Narrower rectangles hold no letter.
constexpr std::uint32_t kLeastNamed = 6 * kPartsOfBin;
constexpr std::size_t kLongestName = 200;

/// The names that a tile shows.
class NameList {
 public:
  explicit NameList(const trace::Trace& trace) : trace_(trace) {}

  std::uint16_t Add(StringId name) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint16_t>(ends_.size()));
    if (is_new && ends_.size() == kNoName) {
      numbers_.erase(found);
      return kNoName;
    }
    if (is_new) {
      text_ += trace_.Text(name).substr(0, kLongestName);
      ends_.push_back(static_cast<std::uint32_t>(text_.size()));
    }
    return found->second;
  }

  [[nodiscard]] const std::vector<std::uint32_t>& ends() const { return ends_; }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const trace::Trace& trace_;
  std::map<StringId, std::uint16_t> numbers_;
  std::vector<std::uint32_t> ends_;
  std::string text_;
};

}  // namespace

Result<std::vector<Track>> ListTracks(const View& view, const TracksRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const RankPlace rank, RankAt(*run, request.rank));
  std::vector<Track> list;
  for (const SliceTrack& track : run->IndexOf(rank.trace).tracks()) {
    list.push_back({.track = static_cast<std::int64_t>(list.size()),
                    .group = track.group,
                    .name = track.name,
                    .kind = std::string(KindName(track.table)),
                    .depth = static_cast<std::int64_t>(track.depths.size()),
                    .count = static_cast<std::int64_t>(track.count)});
  }
  return list;
}

Result<Columns> MakeSliceTile(const View& view, const SlicesRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> viewed, view.state().RunAt(request.run));
  const ViewedRun& run = *viewed;
  ORRERY_TRY(const RankPlace rank, RankAt(run, request.rank));
  ORRERY_TRY(const TileAt at, TileOf(request.level, request.tile));
  ORRERY_TRY(const SliceTrack* const track, TrackAt(run, rank, request.track));
  const trace::Trace& trace = run.set().ranks[rank.trace];
  const SliceColumns columns = ColumnsOf(trace, track->table);
  const std::vector<TileSlice> slices = SlicesIn(*track, columns, at, run.begin_ns());
  NameList names(trace);
  std::vector<std::uint16_t> name;
  std::vector<std::uint8_t> what;
  for (const TileSlice& slice : slices) {
    name.push_back(slice.end - slice.begin >= kLeastNamed ? names.Add(columns.name[slice.row])
                                                          : kNoName);
    what.push_back(
        track->table == SliceTable::kActivities
            ? static_cast<std::uint8_t>(ActivityOf(run.view().classes[rank.trace][slice.row]))
            : kHostClass);
  }
  const auto column = [&](auto project) {
    std::vector<std::decay_t<decltype(std::invoke(project, slices.front()))>> values;
    values.reserve(slices.size());
    for (const TileSlice& slice : slices) {
      values.push_back(std::invoke(project, slice));
    }
    return values;
  };
  Columns tile;
  std::string& bytes = tile.bytes;
  AppendNumber(bytes, static_cast<std::uint32_t>(slices.size()));
  AppendNumber(bytes, static_cast<std::uint32_t>(names.ends().size()));
  AppendNumber(bytes, static_cast<std::uint32_t>(names.text().size()));
  AppendColumn(bytes, column(&TileSlice::begin));
  AppendColumn(bytes, column(&TileSlice::end));
  AppendColumn(bytes, column(&TileSlice::row));
  AppendColumn(bytes, column(&TileSlice::merged));
  AppendColumn(bytes, name);
  AppendColumn(bytes, column(&TileSlice::depth));
  AppendColumn(bytes, what);
  AppendColumn(bytes, names.ends());
  bytes += names.text();
  return tile;
}

}  // namespace orrery::api::view
