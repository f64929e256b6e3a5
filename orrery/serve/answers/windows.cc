#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/answers/byte_columns.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity.h"
#include "orrery/serve/tiles/slice_tracks.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

// Answers about a window of time: launches, collectives, totals.

namespace orrery::serve {
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

Value FlagsOf(const trace::MatchedCollectives& matched, std::size_t instance) {
  constexpr std::array<std::pair<std::uint8_t, std::string_view>, 7> kNames = {{
      {trace::match_flag::kKindMismatch, "kind mismatch"},
      {trace::match_flag::kSizeMismatch, "size mismatch"},
      {trace::match_flag::kTypeMismatch, "type mismatch"},
      {trace::match_flag::kSpreadTooLarge, "ends too far apart"},
      {trace::match_flag::kIncomplete, "members missing"},
      {trace::match_flag::kAmbiguous, "ambiguous"},
      {trace::match_flag::kHostTimes, "times of the host"},
  }};
  Value flags = Value::List();
  for (const auto& [flag, name] : kNames) {
    if (matched.Has(instance, flag)) {
      flags.Add(name);
    }
  }
  return flags;
}

Value CollectiveValue(const ViewedRun& run, const CollectiveAt& at) {
  const trace::MatchedCollectives& matched = run.view().matched;
  Value ranks = Value::List();
  Value begins = Value::List();
  Value ends = Value::List();
  for (const std::uint32_t member : matched.MembersOf(at.instance)) {
    ranks.Add(run.FirstRowOf(matched.members.rank_index[member]));
    begins.Add(matched.members.begin_ns[member] - run.begin_ns());
    ends.Add(matched.members.end_ns[member] - run.begin_ns());
  }
  const std::uint32_t last = trace::LastMember(matched, at.instance);
  const std::uint32_t group = matched.instances.group[at.instance];
  return Value::Object()
      .Set("id", at.instance)
      .Set("kind", CollectiveKindName(matched.instances.kind[at.instance]))
      .Set("group", group < matched.groups.size() ? matched.groups[group].key : std::string())
      .Set("bytes", matched.instances.bytes[at.instance])
      .Set("begin_ns", at.begin_ns - run.begin_ns())
      .Set("arrival_ns", trace::LastArrivalNs(matched, at.instance) - run.begin_ns())
      .Set("end_ns", at.end_ns - run.begin_ns())
      .Set("last_rank", run.FirstRowOf(matched.members.rank_index[last]))
      .Set("ranks", std::move(ranks))
      .Set("begins_ns", std::move(begins))
      .Set("ends_ns", std::move(ends))
      .Set("flags", FlagsOf(matched, at.instance));
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

Value KernelRows(const KernelTotals& totals) {
  std::vector<std::pair<std::string_view, KernelTotal>> sorted(totals.begin(), totals.end());
  std::ranges::stable_sort(sorted, {}, [](const auto& item) { return -item.second.ns; });
  sorted.resize(std::min(sorted.size(), kMostKernels));
  return Value::ListOf(sorted, [](const auto& item) {
    return Value::Object()
        .Set("name", item.first)
        .Set("class", kActivityNames[static_cast<std::size_t>(item.second.what)].key)
        .Set("count", item.second.count)
        .Set("ns", item.second.ns);
  });
}

Value TimesValue(const ActivityTimes& times) {
  return Value::ListOf(times);
}

}  // namespace

Result<Response> AnswerLaunches(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const RankAt rank, RankOf(run, query));
  ORRERY_TRY(const Interval window, WindowOf(run, query));
  ORRERY_TRY(const std::int64_t most, query.Number("most", 1, kMostLaunches, 500));
  std::vector<Launch> launches = LaunchesIn(run, rank.trace, window);
  if (launches.size() > static_cast<std::size_t>(most)) {
    std::ranges::stable_sort(launches, std::ranges::greater(), &Launch::delay_ns);
    launches.resize(static_cast<std::size_t>(most));
  }
  Response response{.type = kBinaryType};
  AppendNumber(response.body, static_cast<std::uint32_t>(launches.size()));
  const auto append = [&](auto project) {
    for (const Launch& launch : launches) {
      AppendNumber(response.body, project(launch));
    }
  };
  append(
      [&](const Launch& launch) { return static_cast<double>(launch.from_ns - run.begin_ns()); });
  append([&](const Launch& launch) { return static_cast<double>(launch.to_ns - run.begin_ns()); });
  append([](const Launch& launch) { return launch.from_track; });
  append([](const Launch& launch) { return launch.to_track; });
  append([](const Launch& launch) { return launch.row; });
  return response;
}

Result<Response> AnswerCollectives(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const Interval window, WindowOf(run, query));
  ORRERY_TRY(const std::int64_t most, query.Number("most", 1, kMostCollectives, 400));
  std::vector<CollectiveAt> found = CollectivesIn(run.view().matched, window);
  const std::size_t total = found.size();
  if (total > static_cast<std::size_t>(most)) {
    std::ranges::stable_sort(found, std::ranges::greater(),
                             [](const CollectiveAt& at) { return at.end_ns - at.begin_ns; });
    found.resize(static_cast<std::size_t>(most));
  }
  return JsonResponse(Value::Object()
                          .Set("total", total)
                          .Set("instances", Value::ListOf(found, [&](const CollectiveAt& at) {
                                 return CollectiveValue(run, at);
                               })));
}

Result<Response> AnswerRange(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const Interval window, WindowOf(run, query));
  ORRERY_TRY(const std::vector<std::uint32_t> rows, RanksIn(run, query));
  std::map<std::uint32_t, std::int64_t> count_of_trace;
  for (const std::uint32_t row : rows) {
    ++count_of_trace[run.ranks()[row].trace];
  }
  std::map<std::uint32_t, ActivityTimes> times_of_trace;
  ActivityTimes all{};
  KernelTotals kernels;
  for (const auto& [trace, count] : count_of_trace) {
    ActivityTimes& times = times_of_trace[trace];
    times.fill(0);
    AddTimes(run.ActivityOfTrace(trace).line(), window.begin_ns, window.end_ns, times);
    for (std::size_t i = 0; i < kNumActivities; ++i) {
      all[i] += count * times[i];
    }
    AddKernels(run, trace, count, window, kernels);
  }
  std::vector<std::uint32_t> worst = rows;
  std::ranges::stable_sort(worst, std::ranges::greater(), [&](std::uint32_t row) {
    return times_of_trace[run.ranks()[row].trace][static_cast<std::size_t>(Activity::kWait)];
  });
  worst.resize(std::min(worst.size(), kMostRanks));
  return JsonResponse(Value::Object()
                          .Set("classes", TimesValue(all))
                          .Set("kernels", KernelRows(kernels))
                          .Set("num_kernels", kernels.size())
                          .Set("ranks", Value::ListOf(worst, [&](std::uint32_t row) {
                                 const RankRow& rank = run.ranks()[row];
                                 return Value::Object()
                                     .Set("rank", row)
                                     .Set("label", fmt::format("rank {}", rank.rank))
                                     .Set("classes", TimesValue(times_of_trace[rank.trace]));
                               })));
}

}  // namespace orrery::serve
