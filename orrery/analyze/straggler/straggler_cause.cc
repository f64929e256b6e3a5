#include "orrery/analyze/straggler/straggler_cause.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/segment_use.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

/// The time of a host thread, in nanoseconds by the name of the innermost operator or call. The
/// empty name is time in which nothing recorded was open.
using HostTimes = std::unordered_map<std::string, std::int64_t>;

struct Slice {
  std::string_view name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// No host slice of interest is longer; looking back further would cost too much for too little.
constexpr std::int64_t kLookBackNs = 10'000'000'000;

template <typename TableType>
void AddSlices(const trace::Trace& trace, const TableType& table, RowId thread, Interval interval,
               std::vector<Slice>& slices) {
  const auto first = std::ranges::lower_bound(table.begin_ns, interval.begin_ns - kLookBackNs);
  for (auto row = static_cast<std::size_t>(first - table.begin_ns.begin());
       row < table.size() && table.begin_ns[row] < interval.end_ns; ++row) {
    const std::int64_t end_ns = table.begin_ns[row] + table.duration_ns[row];
    if (table.track[row] == thread && end_ns > interval.begin_ns) {
      slices.push_back({trace.Text(table.name[row]),
                        std::max(table.begin_ns[row], interval.begin_ns),
                        std::min(end_ns, interval.end_ns)});
    }
  }
}

// Returns the self times of operators and runtime calls on a thread inside an interval; they sum
// to its length.
HostTimes SelfTimes(const trace::Trace& trace, RowId thread, Interval interval) {
  std::vector<Slice> slices;
  AddSlices(trace, trace.host_ops, thread, interval, slices);
  AddSlices(trace, trace.runtime_calls, thread, interval, slices);
  std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  HostTimes times;
  std::vector<Slice> open;
  std::int64_t now_ns = interval.begin_ns;
  const auto advance = [&](std::int64_t to_ns) {
    while (!open.empty() && open.back().end_ns <= to_ns) {
      times[std::string(open.back().name)] +=
          std::max<std::int64_t>(0, open.back().end_ns - now_ns);
      now_ns = std::max(now_ns, open.back().end_ns);
      open.pop_back();
    }
    if (to_ns > now_ns) {
      times[std::string(open.empty() ? std::string_view() : open.back().name)] += to_ns - now_ns;
      now_ns = to_ns;
    }
  };
  for (const Slice& slice : slices) {
    advance(slice.begin_ns);
    open.push_back(slice);
  }
  advance(interval.end_ns);
  return times;
}

// Two collectives of one group, one after the other.
struct Neighbours {
  std::size_t before = 0;
  std::size_t after = 0;
};

std::vector<Neighbours> NeighboursOf(const RunView& run) {
  std::map<std::uint32_t, std::size_t> latest;
  std::vector<Neighbours> pairs;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (!run.Counts(instance) || run.matched.instances.num_members[instance] < 2) {
      continue;
    }
    const auto [entry, is_first] =
        latest.try_emplace(run.matched.instances.group[instance], instance);
    if (!is_first) {
      pairs.push_back({entry->second, instance});
      entry->second = instance;
    }
  }
  return pairs;
}

// The work of a rank between the two.
struct RankSegment {
  std::uint32_t rank_index = 0;
  std::int32_t rank = 0;
  Interval time;
};

// The activities of a device that begin inside an interval.
std::vector<RowId> ActivitiesIn(const RunView& run, const DeviceView& device, Interval time) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  auto row = std::ranges::lower_bound(device.activities, time.begin_ns, {},
                                      [&](RowId r) { return activities.begin_ns[r]; });
  std::vector<RowId> rows;
  for (; row != device.activities.end() && activities.begin_ns[*row] < time.end_ns; ++row) {
    if (run.ClassOf(device, *row) != trace::KernelClass::kCommunication) {
      rows.push_back(*row);
    }
  }
  return rows;
}

class ArrivalExplainer {
 public:
  explicit ArrivalExplainer(const RunView& run) : run_(run), splitters_(run.devices.size()) {
    for (std::size_t i = 0; i < run.devices.size(); ++i) {
      device_of_rank_.try_emplace(run.devices[i].rank_index, i);
    }
    ParallelFor(run.devices.size(), run.options.threads, [&](std::size_t i) {
      splitters_[i] = std::make_unique<SegmentSplitter>(run, run.devices[i]);
    });
  }

  [[nodiscard]] std::optional<LateArrival> Explain(const Neighbours& pair) const {
    const auto& members = run_.matched.members;
    std::map<std::uint32_t, std::int64_t> left_at;
    for (const std::uint32_t member : run_.matched.MembersOf(pair.before)) {
      left_at[members.rank_index[member]] = members.end_ns[member];
    }
    std::vector<RankSegment> segments;
    for (const std::uint32_t member : run_.matched.MembersOf(pair.after)) {
      const auto left = left_at.find(members.rank_index[member]);
      if (left != left_at.end()) {
        segments.push_back({.rank_index = left->first,
                            .rank = trace::RankOf(*run_.set, left->first),
                            .time = {left->second, members.begin_ns[member]}});
      }
    }
    const std::uint32_t last = run_.matched.members.rank_index[run_.waits.last_member[pair.after]];
    const auto late = std::ranges::find(segments, last, &RankSegment::rank_index);
    if (segments.size() < 2 || late == segments.end()) {
      return std::nullopt;
    }
    // The rank at the lower median of the lengths; the lower rank among equals.
    std::vector<const RankSegment*> sorted;
    for (const RankSegment& segment : segments) {
      sorted.push_back(&segment);
    }
    std::ranges::sort(sorted, {}, [](const RankSegment* segment) {
      return std::pair(segment->time.length_ns(), segment->rank);
    });
    const RankSegment& baseline = *sorted[(sorted.size() - 1) / 2];
    LateArrival arrival{.instance = pair.after,
                        .rank = late->rank,
                        .baseline_rank = baseline.rank,
                        .excess_ns = late->time.length_ns() - baseline.time.length_ns(),
                        .use = std::nullopt,
                        .culprit = {}};
    const SegmentSplitter* const late_splitter = SplitterOf(late->rank_index);
    const SegmentSplitter* const base_splitter = SplitterOf(baseline.rank_index);
    if (arrival.excess_ns > 0 && late_splitter != nullptr && base_splitter != nullptr) {
      Attribute(*late_splitter, *base_splitter, late->time, baseline.time, arrival);
    }
    return arrival;
  }

 private:
  [[nodiscard]] const SegmentSplitter* SplitterOf(std::uint32_t rank_index) const {
    const auto found = device_of_rank_.find(rank_index);
    return found == device_of_rank_.end() ? nullptr : splitters_[found->second].get();
  }

  void Attribute(const SegmentSplitter& late, const SegmentSplitter& base, Interval late_time,
                 Interval base_time, LateArrival& arrival) const {
    const SegmentTimes of_late = late.Split(late_time);
    const SegmentTimes of_base = base.Split(base_time);
    std::size_t largest = 0;
    for (std::size_t use = 1; use < of_late.size(); ++use) {
      if (of_late[use] - of_base[use] > of_late[largest] - of_base[largest]) {
        largest = use;
      }
    }
    arrival.use = static_cast<SegmentUse>(largest);
    arrival.use_excess_ns = of_late[largest] - of_base[largest];
    switch (*arrival.use) {
      case SegmentUse::kCompute:
      case SegmentUse::kMemory:
        arrival.culprit = SlowerKernel(late.device(), base.device(), late_time, base_time);
        break;
      case SegmentUse::kHostWait:
        arrival.culprit = SlowerHostWork(late, base, late_time, base_time);
        break;
      case SegmentUse::kOtherGroupWait:
        arrival.culprit = LateElsewhere(late.device(), late_time, arrival.instance);
        break;
      default:
        break;
    }
  }

  [[nodiscard]] std::uint64_t NameKey(std::string_view name) const {
    return std::hash<std::string_view>()(name);
  }

  // The kernel whose duration differs most, or one that only the late rank ran.
  [[nodiscard]] std::string SlowerKernel(const DeviceView& late, const DeviceView& base,
                                         Interval late_time, Interval base_time) const {
    const trace::Trace& late_trace = run_.TraceOf(late);
    const trace::Trace& base_trace = run_.TraceOf(base);
    const std::vector<RowId> late_rows = ActivitiesIn(run_, late, late_time);
    const std::vector<RowId> base_rows = ActivitiesIn(run_, base, base_time);
    std::vector<std::uint64_t> late_names;
    std::vector<std::uint64_t> base_names;
    for (const RowId row : late_rows) {
      late_names.push_back(NameKey(late_trace.Text(late_trace.activities.name[row])));
    }
    for (const RowId row : base_rows) {
      base_names.push_back(NameKey(base_trace.Text(base_trace.activities.name[row])));
    }
    std::vector<std::int64_t> excess_ns;
    for (const RowId row : late_rows) {
      excess_ns.push_back(late_trace.activities.duration_ns[row]);
    }
    constexpr std::size_t kMaxEdits = 2000;
    if (const auto common = LongestCommonSubsequence(late_names, base_names, kMaxEdits)) {
      for (const IndexPair& pair : *common) {
        excess_ns[pair.first] -= base_trace.activities.duration_ns[base_rows[pair.second]];
      }
    }
    const auto worst = std::ranges::max_element(excess_ns);
    if (worst == excess_ns.end() || *worst <= 0) {
      return "";
    }
    const RowId row = late_rows[static_cast<std::size_t>(worst - excess_ns.begin())];
    return std::string(late_trace.Text(late_trace.activities.name[row]));
  }

  // The host's time from the launch before the longest gap to the launch that ended it.
  struct HostInterval {
    RowId thread = kNoRow;
    Interval time;
  };

  [[nodiscard]] std::optional<HostInterval> HostIntervalBefore(const SegmentSplitter& splitter,
                                                               Interval segment) const {
    const IdleGap* const gap = splitter.LongestHostWait(segment);
    const trace::Trace& trace = run_.TraceOf(splitter.device());
    if (gap == nullptr || gap->ended_by == kNoRow) {
      return std::nullopt;
    }
    const RowId launch = trace.activities.launch[gap->ended_by];
    const RowId thread = trace.runtime_calls.track[launch];
    const std::int64_t end_ns = trace.runtime_calls.begin_ns[launch];
    // The launch of what ran before the gap, else the begin of the gap.
    std::int64_t begin_ns = gap->time.begin_ns;
    const auto& rows = splitter.device().activities;
    auto row = std::ranges::lower_bound(rows, gap->time.end_ns, {},
                                        [&](RowId r) { return trace.activities.begin_ns[r]; });
    if (row != rows.begin()) {
      const RowId before = trace.activities.launch[*std::prev(row)];
      if (before != kNoRow && trace.runtime_calls.track[before] == thread) {
        begin_ns = trace.runtime_calls.begin_ns[before] + trace.runtime_calls.duration_ns[before];
      }
    }
    return HostInterval{thread, {std::min(begin_ns, end_ns), end_ns}};
  }

  [[nodiscard]] std::string SlowerHostWork(const SegmentSplitter& late, const SegmentSplitter& base,
                                           Interval late_time, Interval base_time) const {
    const auto late_host = HostIntervalBefore(late, late_time);
    if (!late_host) {
      return "";
    }
    HostTimes times = SelfTimes(run_.TraceOf(late.device()), late_host->thread, late_host->time);
    if (const auto base_host = HostIntervalBefore(base, base_time)) {
      for (const auto& [name, ns] :
           SelfTimes(run_.TraceOf(base.device()), base_host->thread, base_host->time)) {
        times[name] -= ns;
      }
    }
    std::pair<std::int64_t, std::string> worst{0, ""};
    for (const auto& [name, ns] : times) {
      // Ties by name: the map has no order.
      if (ns > worst.first || (ns == worst.first && name < worst.second)) {
        worst = {ns, name};
      }
    }
    return worst.second;
  }

  // The other group's collective that the late rank waited in most, and who was last there.
  [[nodiscard]] std::string LateElsewhere(const DeviceView& late, Interval time,
                                          std::size_t instance) const {
    const std::vector<RowId>& members = run_.waits.member_of_row[late.rank_index];
    const trace::Collectives& table = run_.TraceOf(late).collectives;
    std::int64_t longest_ns = 0;
    std::string culprit;
    for (RowId row = 0; row < table.size(); ++row) {
      const std::int64_t begin_ns = table.begin_ns[row];
      if (members[row] == kNoRow || begin_ns < time.begin_ns || begin_ns >= time.end_ns) {
        continue;
      }
      const RowId other = run_.matched.ranks[late.rank_index].instance_of_row[row];
      if (other != instance && run_.waits.wait_ns[members[row]] > longest_ns) {
        longest_ns = run_.waits.wait_ns[members[row]];
        const std::uint32_t last = run_.waits.last_member[other];
        culprit = fmt::format("rank {} late at group {}",
                              trace::RankOf(*run_.set, run_.matched.members.rank_index[last]),
                              run_.matched.groups[run_.matched.instances.group[other]].key);
      }
    }
    return culprit;
  }

  const RunView& run_;
  std::map<std::uint32_t, std::size_t> device_of_rank_;
  std::vector<std::unique_ptr<SegmentSplitter>> splitters_;
};

}  // namespace

std::vector<LateArrival> ExplainArrivals(const RunView& run) {
  const std::vector<Neighbours> pairs = NeighboursOf(run);
  const ArrivalExplainer explainer(run);
  std::vector<std::optional<LateArrival>> found(pairs.size());
  ParallelFor(pairs.size(), run.options.threads,
              [&](std::size_t i) { found[i] = explainer.Explain(pairs[i]); });
  std::vector<LateArrival> arrivals;
  for (std::optional<LateArrival>& arrival : found) {
    if (arrival) {
      arrivals.push_back(*std::move(arrival));
    }
  }
  return arrivals;
}

std::vector<CauseTotal> TotalCauses(const std::vector<LateArrival>& arrivals, bool by_culprit) {
  std::map<std::tuple<std::int32_t, SegmentUse, std::string>, CauseTotal> sums;
  for (const LateArrival& arrival : arrivals) {
    if (arrival.use) {
      const std::string culprit = by_culprit ? arrival.culprit : std::string();
      CauseTotal& sum = sums[{arrival.rank, *arrival.use, culprit}];
      sum.rank = arrival.rank;
      sum.use = *arrival.use;
      sum.culprit = culprit;
      ++sum.count;
      sum.excess_ns += arrival.use_excess_ns;
    }
  }
  std::vector<CauseTotal> totals;
  for (auto& [key, sum] : sums) {
    totals.push_back(std::move(sum));
  }
  std::ranges::stable_sort(totals, std::greater<>(), &CauseTotal::excess_ns);
  return totals;
}

}  // namespace orrery::analyze
