#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/answers/byte_columns.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity.h"
#include "orrery/serve/tiles/activity_mipmap.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/trace.h"

namespace orrery::serve {
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

Result<const SliceTrack*> TrackOf(const ViewedRun& run, std::uint32_t trace, const Query& query) {
  const std::vector<SliceTrack>& tracks = run.IndexOf(trace).tracks();
  ORRERY_TRY(const std::int64_t track,
             query.Number("track", 0, static_cast<std::int64_t>(tracks.size()) - 1));
  return &tracks[static_cast<std::size_t>(track)];
}

}  // namespace

Result<Response> AnswerTracks(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const RankAt rank, RankOf(run, query));
  Value list = Value::List();
  const std::vector<SliceTrack>& tracks = run.IndexOf(rank.trace).tracks();
  for (std::size_t place = 0; place < tracks.size(); ++place) {
    list.Add(Value::Object()
                 .Set("track", place)
                 .Set("group", tracks[place].group)
                 .Set("name", tracks[place].name)
                 .Set("kind", KindName(tracks[place].table))
                 .Set("depth", tracks[place].depths.size())
                 .Set("count", tracks[place].count));
  }
  return JsonResponse(list);
}

Result<Response> AnswerSlices(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const RankAt rank, RankOf(run, query));
  ORRERY_TRY(const TileAt at, TileOf(query));
  ORRERY_TRY(const SliceTrack* const track, TrackOf(run, rank.trace, query));
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
  Response response{.type = kBinaryType};
  std::string& bytes = response.body;
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
  return response;
}

}  // namespace orrery::serve
