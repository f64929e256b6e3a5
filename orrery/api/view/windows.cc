#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/view.h"
#include "orrery/api/view/byte_columns.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

// Answers about a window of time: launches, collectives, totals.

namespace orrery::api::view {
namespace {

constexpr std::int64_t kMostLaunches = 5'000;
constexpr std::int64_t kMostCollectives = 2'000;
constexpr std::size_t kMostKernels = 50;
constexpr std::size_t kMostRanks = 64;

/// An arrow from a call to its kernel.
struct Launch {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::uint32_t from_track = 0;
  std::uint32_t to_track = 0;
  RowId row = kNoRow;

  [[nodiscard]] std::int64_t delay_ns() const { return to_ns - from_ns; }
};

// Those whose kernel begins in the window.
std::vector<Launch> LaunchesIn(const ViewedRun& run, std::uint32_t trace_place, Interval window) {
  const trace::Trace& trace = run.set().ranks[trace_place];
  const TraceIndex& index = run.IndexOf(trace_place);
  const trace::Activities& activities = trace.activities;
  std::vector<Launch> launches;
  const auto first = std::ranges::lower_bound(activities.begin_ns, window.begin_ns);
  for (auto row = static_cast<RowId>(first - activities.begin_ns.begin());
       row < activities.size() && activities.begin_ns[row] < window.end_ns; ++row) {
    const RowId call = activities.launch[row];
    if (call == kNoRow || activities.track[row] == kNoRow) {
      continue;
    }
    const auto from = index.PlaceOf(SliceTable::kRuntimeCalls, trace.runtime_calls.track[call]);
    const auto to = index.PlaceOf(SliceTable::kActivities, activities.track[row]);
    if (from && to) {
      launches.push_back(
          {trace.runtime_calls.begin_ns[call], activities.begin_ns[row], *from, *to, row});
    }
  }
  return launches;
}

/// The place of a collective in a window.
struct CollectiveAt {
  std::size_t instance = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

std::vector<CollectiveAt> CollectivesIn(const trace::MatchedCollectives& matched, Interval window) {
  std::vector<CollectiveAt> found;
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    CollectiveAt at{instance, std::numeric_limits<std::int64_t>::max(),
                    std::numeric_limits<std::int64_t>::min()};
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      at.begin_ns = std::min(at.begin_ns, matched.members.begin_ns[member]);
      at.end_ns = std::max(at.end_ns, matched.members.end_ns[member]);
    }
    if (at.begin_ns < window.end_ns && at.end_ns > window.begin_ns) {
      found.push_back(at);
    }
  }
  return found;
}

std::vector<std::string> FlagsOf(const trace::MatchedCollectives& matched, std::size_t instance) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> kNames = {{
      {trace::match_flag::kKindMismatch, "kind mismatch"},
      {trace::match_flag::kSizeMismatch, "size mismatch"},
      {trace::match_flag::kTypeMismatch, "type mismatch"},
      {trace::match_flag::kSpreadTooLarge, "ends too far apart"},
      {trace::match_flag::kIncomplete, "members missing"},
      {trace::match_flag::kAmbiguous, "ambiguous"},
      {trace::match_flag::kHostTimes, "times of the host"},
  }};
  std::vector<std::string> flags;
  for (const auto& [flag, name] : kNames) {
    if (matched.Has(instance, flag)) {
      flags.emplace_back(name);
    }
  }
  return flags;
}

CollectiveInstance InstanceOf(const ViewedRun& run, const CollectiveAt& at) {
  const trace::MatchedCollectives& matched = run.view().matched;
  const std::uint32_t last = trace::LastMember(matched, at.instance);
  const std::uint32_t group = matched.instances.group[at.instance];
  CollectiveInstance own{
      .id = static_cast<std::int64_t>(at.instance),
      .kind = std::string(CollectiveKindName(matched.instances.kind[at.instance])),
      .group = group < matched.groups.size() ? matched.groups[group].key : std::string(),
      .bytes = matched.instances.bytes[at.instance],
      .begin_ns = at.begin_ns - run.begin_ns(),
      .arrival_ns = trace::LastArrivalNs(matched, at.instance) - run.begin_ns(),
      .end_ns = at.end_ns - run.begin_ns(),
      .last_rank = run.FirstRowOf(matched.members.rank_index[last]),
      .flags = FlagsOf(matched, at.instance)};
  for (const std::uint32_t member : matched.MembersOf(at.instance)) {
    own.ranks.push_back(run.FirstRowOf(matched.members.rank_index[member]));
    own.begins_ns.push_back(matched.members.begin_ns[member] - run.begin_ns());
    own.ends_ns.push_back(matched.members.end_ns[member] - run.begin_ns());
  }
  return own;
}

using ActivityTimes = std::array<std::int64_t, kNumActivities>;

struct KernelTotal {
  std::int64_t count = 0;
  std::int64_t ns = 0;
  Activity what = Activity::kCompute;
};

using KernelTotals = std::map<std::string_view, KernelTotal>;

// Of kernels that begin in the window, clipped to it.
void AddKernels(const ViewedRun& run, std::uint32_t trace_place, std::int64_t weight,
                Interval window, KernelTotals& totals) {
  const trace::Trace& trace = run.set().ranks[trace_place];
  const trace::Activities& activities = trace.activities;
  const auto first = std::ranges::lower_bound(activities.begin_ns, window.begin_ns);
  std::map<StringId, KernelTotal> of_name;
  for (auto row = static_cast<RowId>(first - activities.begin_ns.begin());
       row < activities.size() && activities.begin_ns[row] < window.end_ns; ++row) {
    KernelTotal& total = of_name[activities.name[row]];
    total.count += weight;
    total.ns +=
        weight * std::min(activities.duration_ns[row], window.end_ns - activities.begin_ns[row]);
    total.what = ActivityOf(run.view().classes[trace_place][row]);
  }
  for (const auto& [name, own] : of_name) {
    KernelTotal& total = totals[trace.Text(name)];
    total.count += own.count;
    total.ns += own.ns;
    total.what = own.what;
  }
}

std::vector<KernelOfRange> LargestOf(const KernelTotals& totals) {
  std::vector<std::pair<std::string_view, KernelTotal>> sorted(totals.begin(), totals.end());
  std::ranges::stable_sort(sorted, {}, [](const auto& item) { return -item.second.ns; });
  sorted.resize(std::min(sorted.size(), kMostKernels));
  std::vector<KernelOfRange> kernels;
  for (const auto& [name, total] : sorted) {
    kernels.push_back({std::string(name),
                       std::string(kActivityNames[static_cast<std::size_t>(total.what)].key),
                       total.count, total.ns});
  }
  return kernels;
}

// The ranks `first` to `first + count` in an order, as places of ViewedRun::ranks.
Result<std::vector<std::uint32_t>> RanksIn(const ViewedRun& run, const RangeRequest& request) {
  const auto num_ranks = static_cast<std::int64_t>(run.ranks().size());
  const std::int64_t count = request.count.value_or(num_ranks);
  ORRERY_TRY(const RankOrder order, OrderNamed(request.order));
  ORRERY_TRY_STATUS(CheckLimits("first", request.first, 0, num_ranks));
  ORRERY_TRY_STATUS(CheckLimits("count", count, 0, kMostTime));
  const auto first = run.Ordered(order).begin() + request.first;
  return std::vector<std::uint32_t>(first, first + std::min(count, num_ranks - request.first));
}

std::vector<std::int64_t> ListOf(const ActivityTimes& times) {
  return {times.begin(), times.end()};
}

}  // namespace

Result<Columns> ListLaunches(const View& view, const LaunchesRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const RankPlace rank, RankAt(*run, request.rank));
  ORRERY_TRY(const Interval window, WindowOf(*run, request.begin, request.end));
  ORRERY_TRY_STATUS(CheckLimits("most", request.most, 1, kMostLaunches));
  std::vector<Launch> launches = LaunchesIn(*run, rank.trace, window);
  const auto most = static_cast<std::size_t>(request.most);
  if (launches.size() > most) {
    std::ranges::stable_sort(launches, std::ranges::greater(), &Launch::delay_ns);
    launches.resize(most);
  }
  Columns columns;
  AppendNumber(columns.bytes, static_cast<std::uint32_t>(launches.size()));
  const auto append = [&](auto project) {
    for (const Launch& launch : launches) {
      AppendNumber(columns.bytes, project(launch));
    }
  };
  const auto after_begin = [&](std::int64_t time_ns) {
    return static_cast<double>(time_ns - run->begin_ns());
  };
  append([&](const Launch& launch) { return after_begin(launch.from_ns); });
  append([&](const Launch& launch) { return after_begin(launch.to_ns); });
  append([](const Launch& launch) { return launch.from_track; });
  append([](const Launch& launch) { return launch.to_track; });
  append([](const Launch& launch) { return launch.row; });
  return columns;
}

Result<Collectives> ListCollectives(const View& view, const CollectivesRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const Interval window, WindowOf(*run, request.begin, request.end));
  ORRERY_TRY_STATUS(CheckLimits("most", request.most, 1, kMostCollectives));
  std::vector<CollectiveAt> found = CollectivesIn(run->view().matched, window);
  Collectives collectives{.total = static_cast<std::int64_t>(found.size())};
  const auto most = static_cast<std::size_t>(request.most);
  if (found.size() > most) {
    std::ranges::stable_sort(found, std::ranges::greater(),
                             [](const CollectiveAt& at) { return at.end_ns - at.begin_ns; });
    found.resize(most);
  }
  for (const CollectiveAt& at : found) {
    collectives.instances.push_back(InstanceOf(*run, at));
  }
  return collectives;
}

Result<RangeTotals> SumRange(const View& view, const RangeRequest& request) {
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  ORRERY_TRY(const Interval window, WindowOf(*run, request.begin, request.end));
  ORRERY_TRY(std::vector<std::uint32_t> rows, RanksIn(*run, request));
  std::map<std::uint32_t, std::int64_t> count_of_trace;
  for (const std::uint32_t row : rows) {
    ++count_of_trace[run->ranks()[row].trace];
  }
  std::map<std::uint32_t, ActivityTimes> times_of_trace;
  ActivityTimes all{};
  KernelTotals kernels;
  for (const auto& [trace, count] : count_of_trace) {
    ActivityTimes& times = times_of_trace[trace];
    times.fill(0);
    AddTimes(run->ActivityOfTrace(trace).line(), window.begin_ns, window.end_ns, times);
    for (std::size_t i = 0; i < kNumActivities; ++i) {
      all[i] += count * times[i];
    }
    AddKernels(*run, trace, count, window, kernels);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [&](std::uint32_t row) {
    return times_of_trace[run->ranks()[row].trace][static_cast<std::size_t>(Activity::kWait)];
  });
  rows.resize(std::min(rows.size(), kMostRanks));
  RangeTotals totals{.classes = ListOf(all),
                     .kernels = LargestOf(kernels),
                     .num_kernels = static_cast<std::int64_t>(kernels.size())};
  for (const std::uint32_t row : rows) {
    const RankRow& rank = run->ranks()[row];
    totals.ranks.push_back(
        {row, fmt::format("rank {}", rank.rank), ListOf(times_of_trace[rank.trace])});
  }
  return totals;
}

}  // namespace orrery::api::view
