#include "orrery/export/collective_spans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {
using trace::MatchedCollectives;
using trace::Trace;
using trace::TraceSet;

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
  return slices.empty() ? -1 : std::ranges::max(slices, {}, &LayoutSlice::layer).layer;
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
  std::ranges::sort(cuts, {}, [](const Cut& cut) { return std::pair(cut.at_ns, cut.slice); });
  return cuts;
}

bool LiesInside(const LayoutSlice& inner, const LayoutSlice& outer) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

// Returns for each slice whether it crosses one of `base`, which nest. A slice crosses if one of
// its ends lies within a base slice that it is neither inside nor around; of those around one
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

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000;

double BusBandwidth(const CollectiveSpan& span, std::int64_t transfer_ns) {
  if (span.bytes < 0 || span.bus_factor <= 0 || transfer_ns <= 0) {
    return -1;
  }
  return static_cast<double>(span.bytes) * span.bus_factor * 1e9 / static_cast<double>(transfer_ns);
}

// Bytes on the bus for each byte of the message, as nccl-tests defines it.
double BusFactor(CollectiveKind kind, double num_ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (num_ranks - 1) / num_ranks;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return (num_ranks - 1) / num_ranks;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kSendRecv:
      return 1;
    case CollectiveKind::kBarrier:
    case CollectiveKind::kUnknown:
      break;
  }
  return 0;
}

// The description of the group where it has one, and the key, since descriptions repeat.
std::string GroupTitle(const TraceSet& set, const CollectiveSpan& span, const std::string& key) {
  if (span.members.empty()) {
    return key;
  }
  const CollectiveMember& member = span.members.front();
  const Trace& trace = set.ranks[member.rank_index];
  const RowId group = trace.collectives.group[member.collective];
  const std::string_view description =
      group == kNoRow ? std::string_view() : trace.Text(trace.process_groups.description[group]);
  return description.empty() ? key : std::string(description) + " " + key;
}

bool AllOverlap(const MatchedCollectives& matched, std::size_t instance) {
  const std::int64_t last_arrival_ns = trace::LastArrivalNs(matched, instance);
  return std::ranges::all_of(matched.MembersOf(instance), [&](std::uint32_t member) {
    return matched.members.end_ns[member] > last_arrival_ns;
  });
}

bool HasWaits(const MatchedCollectives& matched, std::size_t instance) {
  const CollectiveKind kind = matched.instances.kind[instance];
  const bool is_pair = kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
  return !matched.Has(instance, trace::match_flag::kUnreliable) &&
         (trace::IsSynchronising(kind) || (is_pair && AllOverlap(matched, instance)));
}

std::vector<CollectiveMember> MembersOf(const MatchedCollectives& matched, std::size_t instance) {
  std::vector<CollectiveMember> members;
  const bool has_waits = HasWaits(matched, instance);
  for (const std::uint32_t row : matched.MembersOf(instance)) {
    members.push_back({.rank_index = matched.members.rank_index[row],
                       .collective = matched.members.collective[row],
                       .begin_ns = matched.members.begin_ns[row],
                       .end_ns = matched.members.end_ns[row],
                       .wait_ns = has_waits ? trace::WaitNs(matched, instance, row) : 0});
  }
  return members;
}

CollectiveSpan SpanOf(const TraceSet& set, const MatchedCollectives& matched,
                      std::size_t instance) {
  const CollectiveKind kind = matched.instances.kind[instance];
  const bool is_reliable = !matched.Has(instance, trace::match_flag::kUnreliable);
  CollectiveSpan span;
  span.members = MembersOf(matched, instance);
  span.group = GroupTitle(set, span, matched.groups[matched.instances.group[instance]].key);
  span.name = CollectiveKindName(kind);
  span.bytes = matched.instances.bytes[instance];
  const std::int32_t stated = matched.groups[matched.instances.group[instance]].num_ranks;
  const double num_ranks = stated > 0 ? stated : matched.instances.num_members[instance];
  span.bus_factor = is_reliable ? BusFactor(kind, num_ranks) : 0;
  return span;
}

void LayOutRow(CollectiveRow& row) {
  std::ranges::sort(row.slices, {}, [](const CollectiveRow::Slice& slice) {
    return std::tuple(slice.metrics.begin_ns, -slice.metrics.end_ns, slice.span);
  });
  std::vector<LayoutSlice> shapes;
  for (const CollectiveRow::Slice& slice : row.slices) {
    shapes.push_back({slice.metrics.begin_ns, slice.metrics.end_ns});
  }
  const std::vector<Lane> lanes = LayOutSlices(shapes);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    row.slices[i].lane = lanes[i];
  }
  row.num_lanes = CountLanes(lanes);
}

std::int64_t EarliestTimeOf(const Trace& trace) {
  std::int64_t earliest = kNoTime;
  const auto add = [&](const std::vector<std::int64_t>& times) {
    earliest = times.empty() ? earliest : std::min(earliest, std::ranges::min(times));
  };
  add(trace.flows.end_ns);
  trace::ForEachTable(trace, [&]<typename Table>(const char*, const Table& table) {
    constexpr bool kIsDrawn =
        !std::is_same_v<Table, trace::GraphNodes> && !std::is_same_v<Table, trace::Collectives>;
    if constexpr (kIsDrawn && requires { table.begin_ns; }) {
      add(table.begin_ns);
    }
  });
  return earliest;
}

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

CollectiveMetrics MetricsOf(const CollectiveSpan& span) {
  ORRERY_CHECK(!span.members.empty(), "a collective has members");
  CollectiveMetrics metrics;
  const CollectiveMember& first = span.members.front();
  metrics.begin_ns = first.begin_ns;
  metrics.end_ns = first.end_ns;
  metrics.transfer_ns = first.end_ns - first.begin_ns;
  for (const CollectiveMember& member : span.members) {
    metrics.begin_ns = std::min(metrics.begin_ns, member.begin_ns);
    metrics.end_ns = std::max(metrics.end_ns, member.end_ns);
    metrics.transfer_ns = std::min(metrics.transfer_ns, member.end_ns - member.begin_ns);
    metrics.wait_sum_ns += member.wait_ns;
  }
  const auto last = std::ranges::max_element(span.members, {}, &CollectiveMember::begin_ns);
  metrics.last_member = static_cast<std::size_t>(last - span.members.begin());
  metrics.bus_bytes_per_second = BusBandwidth(span, metrics.transfer_ns);
  return metrics;
}

std::vector<CollectiveSpan> SpansOf(const TraceSet& set, const MatchedCollectives& matched) {
  std::vector<CollectiveSpan> spans;
  spans.reserve(matched.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    spans.push_back(SpanOf(set, matched, instance));
  }
  return spans;
}

std::vector<CollectiveRow> LayOutCollectives(std::span<const CollectiveSpan> collectives) {
  std::vector<CollectiveRow> rows;
  std::map<std::string_view, std::size_t> row_of_group;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (collectives[i].members.empty()) {
      continue;
    }
    const auto [found, is_new] = row_of_group.try_emplace(collectives[i].group, rows.size());
    if (is_new) {
      rows.push_back({.group = collectives[i].group, .slices = {}});
    }
    rows[found->second].slices.push_back({.span = i, .metrics = MetricsOf(collectives[i])});
  }
  std::ranges::for_each(rows, LayOutRow);
  return rows;
}

bool HasEpochTimes(const TraceSet& set) {
  return std::ranges::any_of(set.ranks, [](const Trace& trace) {
    return trace.info.time_origin == trace::TimeOrigin::kEpoch;
  });
}

std::int64_t EarliestTime(const TraceSet& set, std::span<const CollectiveSpan> collectives) {
  std::int64_t earliest = kNoTime;
  for (const Trace& trace : set.ranks) {
    earliest = std::min(earliest, EarliestTimeOf(trace));
  }
  for (const CollectiveSpan& span : collectives) {
    for (const CollectiveMember& member : span.members) {
      earliest = std::min(earliest, member.begin_ns);
    }
  }
  return earliest == kNoTime ? 0 : earliest;
}

std::int64_t FloorToSecond(std::int64_t at_ns) {
  const std::int64_t into_second = ((at_ns % kSecond) + kSecond) % kSecond;
  return at_ns - into_second;
}

}  // namespace orrery::exporting
