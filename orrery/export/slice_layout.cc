#include "orrery/export/slice_layout.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

namespace orrery::exporting {
namespace {

// The ends of the slices that are open on one lane, outermost first.
class OpenLane {
 public:
  // Closes what ended before `slice` begins, and returns whether it fits into what is still open.
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

// The usual case, and cheaper to find out than the layout by layers.
bool AllNest(std::span<const LayoutSlice> slices) {
  OpenLane lane;
  for (const LayoutSlice& slice : slices) {
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

// A moment at which a slice must not cut through another one.
struct Cut {
  std::int64_t at_ns;
  std::size_t slice;
};

std::vector<Cut> CutsOf(std::span<const LayoutSlice> slices, std::span<const std::size_t> chosen) {
  std::vector<Cut> cuts;
  for (const std::size_t i : chosen) {
    cuts.push_back({slices[i].begin_ns, i});
    cuts.push_back({slices[i].end_ns, i});
  }
  std::sort(cuts.begin(), cuts.end(), [](const Cut& lhs, const Cut& rhs) {
    return std::tie(lhs.at_ns, lhs.slice) < std::tie(rhs.at_ns, rhs.slice);
  });
  return cuts;
}

bool LiesInside(const LayoutSlice& inner, const LayoutSlice& outer) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

// Returns for each slice whether it crosses one of `base`, which nest. A slice crosses if one of
// its ends lies within a base slice that it is neither inside of nor around; of those around one
// moment the innermost decides.
std::vector<bool> FindCrossing(std::span<const LayoutSlice> slices,
                               std::span<const std::size_t> base,
                               std::span<const std::size_t> chosen) {
  std::vector<bool> crosses(slices.size(), false);
  std::vector<std::size_t> open;
  std::size_t next = 0;
  const auto close_until = [&](std::int64_t at_ns) {
    while (!open.empty() && slices[open.back()].end_ns <= at_ns) {
      open.pop_back();
    }
  };
  for (const Cut& cut : CutsOf(slices, chosen)) {
    for (; next < base.size() && slices[base[next]].begin_ns < cut.at_ns; ++next) {
      close_until(slices[base[next]].begin_ns);
      open.push_back(base[next]);
    }
    close_until(cut.at_ns);
    if (!open.empty() && !LiesInside(slices[cut.slice], slices[open.back()]) &&
        !LiesInside(slices[open.back()], slices[cut.slice])) {
      crosses[cut.slice] = true;
    }
  }
  return crosses;
}

// The layout while it grows, layer by layer.
class Layout {
 public:
  explicit Layout(std::span<const LayoutSlice> slices)
      : slices_(slices), lanes_(slices.size(), kUnplaced) {}

  void PlaceOnNewLanes(int layer) {
    Lanes lanes(next_);
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (slices_[i].layer == layer && lanes_[i] == kUnplaced) {
        lanes_[i] = slices_[i].attached ? lanes.Attach(slices_[i]) : lanes.Place(slices_[i]);
      }
    }
    next_ = lanes.end();
  }

  // Moves slices to lane 0 that cross nothing there, nor each other.
  void JoinFirstLane(int layer) {
    const std::vector<std::size_t> base = Select([&](std::size_t i) { return lanes_[i] == 0; });
    const std::vector<std::size_t> chosen =
        Select([&](std::size_t i) { return slices_[i].layer == layer; });
    const std::vector<bool> crosses = FindCrossing(slices_, base, chosen);
    OpenLane lane;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const bool is_candidate = slices_[i].layer == layer && !crosses[i];
      if (lanes_[i] != 0 && !is_candidate) {
        continue;
      }
      if (lane.Fits(slices_[i]) || lanes_[i] == 0) {
        lane.Add(slices_[i]);
        lanes_[i] = 0;
        next_ = std::max(next_, Lane{1});
      }
    }
  }

  std::vector<Lane> Take() { return std::move(lanes_); }

 private:
  static constexpr Lane kUnplaced = std::numeric_limits<Lane>::max();

  template <typename Predicate>
  std::vector<std::size_t> Select(Predicate&& predicate) const {
    std::vector<std::size_t> selected;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (predicate(i)) {
        selected.push_back(i);
      }
    }
    return selected;
  }

  std::span<const LayoutSlice> slices_;
  std::vector<Lane> lanes_;
  Lane next_ = 0;
};

}  // namespace

std::vector<Lane> LayOutSlices(std::span<const LayoutSlice> slices) {
  if (AllNest(slices)) {
    return std::vector<Lane>(slices.size(), 0);
  }
  Layout layout(slices);
  layout.PlaceOnNewLanes(0);
  for (int layer = 1; layer <= HighestLayer(slices); ++layer) {
    layout.JoinFirstLane(layer);
    layout.PlaceOnNewLanes(layer);
  }
  return layout.Take();
}

Lane CountLanes(std::span<const Lane> lanes) {
  const auto highest = std::max_element(lanes.begin(), lanes.end());
  return highest == lanes.end() ? Lane{1} : static_cast<Lane>(*highest + 1);
}

}  // namespace orrery::exporting
