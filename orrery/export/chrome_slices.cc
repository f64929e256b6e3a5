#include "orrery/export/chrome_events.h"
#include "orrery/export/json_args.h"
#include "orrery/export/slice_args.h"
#include "orrery/export/slice_names.h"

namespace orrery::exporting {
namespace {

class SliceWriter {
 public:
  SliceWriter(const ChromeRank& rank, ChromeEvents& events)
      : rank_(rank), events_(events), names_(rank.trace) {}

  void Write(const PlacedSlice& slice) {
    JsonWriter& json = events_.Begin();
    json.Raw("\"ph\":\"X\",\"cat\":");
    json.String(names_.Category(slice));
    json.Raw(",\"name\":");
    WriteName(slice, json);
    json.Raw(",");
    json.Raw(rank_.rows.Thread(slice.track, slice.lane).place);
    events_.Time(slice.begin_ns);
    json.Raw(",\"dur\":");
    json.Microseconds(slice.end_ns - slice.begin_ns);
    json.Raw(",\"args\":{");
    JsonArgs args(json, rank_.strings, rank_.trace.strings);
    VisitSliceArgs(rank_.trace, names_, slice, args);
    json.Raw("}}");
  }

 private:
  void WriteName(const PlacedSlice& slice, JsonWriter& json) {
    if (slice.kind == SliceKind::kWait) {
      json.Raw("\"wait\"");
    } else {
      rank_.strings.Write(json, names_.Name(slice));
    }
  }

  const ChromeRank& rank_;
  ChromeEvents& events_;
  SliceNames names_;
};

}  // namespace

void WriteSlices(const ChromeRank& rank, ChromeEvents& events) {
  SliceWriter writer(rank, events);
  for (const std::vector<std::uint32_t>& slice_of_row : rank.layout.slice_of_row) {
    for (const std::uint32_t slice : slice_of_row) {
      if (slice != RankLayout::kNotDrawn) {
        writer.Write(rank.layout.slices[slice]);
      }
    }
  }
}

}  // namespace orrery::exporting
