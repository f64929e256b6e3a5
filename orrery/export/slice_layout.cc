#include "orrery/export/slice_layout.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace orrery::exporting {
namespace {

// The ends of the slices that are open on one lane, outermost first.
class OpenLane {
 public:
  // Closes what ended before `slice` begins, and tells whether it fits into what is still open.
  bool Fits(const LayoutSlice& slice) {
    while (!open_ends_.empty() && open_ends_.back() <= slice.begin_ns) {
      open_ends_.pop_back();
    }
    return open_ends_.empty() || slice.end_ns <= open_ends_.back();
  }

  void Add(const LayoutSlice& slice) { open_ends_.push_back(slice.end_ns); }

 private:
  std::vector<std::int64_t> open_ends_;
};

// The lanes of one layer, numbered from `first`.
class Lanes {
 public:
  explicit Lanes(Lane first) : first_(first) {}

  Lane Place(const LayoutSlice& slice) {
    const auto fitting = std::find_if(lanes_.begin(), lanes_.end(),
                                      [&](OpenLane& lane) { return lane.Fits(slice); });
    last_ = static_cast<std::size_t>(fitting - lanes_.begin());
    // Past the last number there is one lane for all the rest, however they overlap.
    if (last_ == lanes_.size() && !full()) {
      lanes_.emplace_back();
    }
    last_ = std::min(last_, lanes_.size() - 1);
    lanes_[last_].Add(slice);
    return lane();
  }

  // Puts the slice on the lane of the one before it.
  Lane Attach(const LayoutSlice& slice) {
    lanes_[last_].Add(slice);
    return lane();
  }

  [[nodiscard]] Lane end() const { return static_cast<Lane>(first_ + lanes_.size()); }

 private:
  [[nodiscard]] bool full() const { return end() == std::numeric_limits<Lane>::max(); }

  [[nodiscard]] Lane lane() const { return static_cast<Lane>(first_ + last_); }

  Lane first_;
  std::vector<OpenLane> lanes_;
  std::size_t last_ = 0;
};

// Tells whether all slices up to `highest_layer` nest on one lane.
bool NestTogether(std::span<const LayoutSlice> slices, int highest_layer) {
  OpenLane lane;
  for (const LayoutSlice& slice : slices) {
    if (slice.layer > highest_layer) {
      continue;
    }
    if (!lane.Fits(slice)) {
      return false;
    }
    lane.Add(slice);
  }
  return true;
}

int HighestLayer(std::span<const LayoutSlice> slices) {
  int highest = -1;
  for (const LayoutSlice& slice : slices) {
    highest = std::max<int>(highest, slice.layer);
  }
  return highest;
}

void LayOutLayer(std::span<const LayoutSlice> slices, int layer, Lanes& lanes,
                 std::vector<Lane>& result) {
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].layer == layer) {
      result[i] = slices[i].attached ? lanes.Attach(slices[i]) : lanes.Place(slices[i]);
    }
  }
}

}  // namespace

std::vector<Lane> LayOutSlices(std::span<const LayoutSlice> slices) {
  std::vector<Lane> result(slices.size(), 0);
  const int highest = HighestLayer(slices);
  int layer = 0;
  while (layer <= highest && NestTogether(slices, layer)) {
    ++layer;
  }
  for (Lane next = layer > 0 ? 1 : 0; layer <= highest; ++layer) {
    Lanes lanes(next);
    LayOutLayer(slices, layer, lanes, result);
    next = lanes.end();
  }
  return result;
}

Lane CountLanes(std::span<const Lane> lanes) {
  const auto highest = std::max_element(lanes.begin(), lanes.end());
  return highest == lanes.end() ? Lane{1} : static_cast<Lane>(*highest + 1);
}

}  // namespace orrery::exporting
