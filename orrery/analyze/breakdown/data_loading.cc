#include "orrery/analyze/breakdown/data_loading.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using trace::Trace;

// PyTorch's "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" and Lightning's
// "[pl][profile][_TrainingEpochLoop].train_dataloader_next".
bool IsLoaderCall(std::string_view name) {
  return name.starts_with("enumerate(DataLoader)#") || name.ends_with("train_dataloader_next");
}

// By string, so that names of rows are compared once.
std::vector<bool> LoaderNames(const Trace& trace) {
  std::vector<bool> is_loader(trace.strings.size());
  for (std::size_t id = 0; id < is_loader.size(); ++id) {
    is_loader[id] = IsLoaderCall(trace.strings.View(static_cast<StringId>(id)));
  }
  return is_loader;
}

template <typename Table>
void AddCalls(const Table& table, const std::vector<bool>& is_loader,
              std::vector<Interval>& calls) {
  for (RowId row = 0; row < table.size(); ++row) {
    if (is_loader[static_cast<std::size_t>(table.name[row])]) {
      calls.push_back({table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]});
    }
  }
}

// Older profilers record the call as an operator, newer ones as an annotation.
std::vector<Interval> LoaderCalls(const Trace& trace) {
  const std::vector<bool> is_loader = LoaderNames(trace);
  std::vector<Interval> calls;
  if (std::ranges::find(is_loader, true) == is_loader.end()) {
    return calls;
  }
  AddCalls(trace.host_ops, is_loader, calls);
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    if (trace.annotations.kind[row] == trace::AnnotationKind::kHost &&
        is_loader[static_cast<std::size_t>(trace.annotations.name[row])]) {
      calls.push_back({trace.annotations.begin_ns[row],
                       trace.annotations.begin_ns[row] + trace.annotations.duration_ns[row]});
    }
  }
  return calls;
}

IntervalSet BusyTime(const Trace& trace) {
  std::vector<Interval> busy;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    busy.push_back({begin_ns, begin_ns + trace.activities.duration_ns[row]});
  }
  return IntervalSet::Of(busy);
}

std::vector<RowId> StepsOf(const Trace& trace, const AnalyzeOptions& options) {
  if (options.steps) {
    return SelectedSteps(trace, options);
  }
  std::vector<RowId> all(trace.steps.size());
  std::iota(all.begin(), all.end(), RowId{0});
  return all;
}

IntervalSet WindowsOf(const Trace& trace, const std::vector<RowId>& steps,
                      const std::vector<Interval>& calls, const IntervalSet& busy) {
  std::vector<Interval> windows;
  for (const RowId step : steps) {
    const std::int64_t begin_ns = trace.steps.begin_ns[step];
    windows.push_back({begin_ns, begin_ns + trace.steps.duration_ns[step]});
  }
  if (windows.empty() && trace.steps.empty()) {
    Interval whole = calls.front();
    for (const Interval& call : calls) {
      whole = {std::min(whole.begin_ns, call.begin_ns), std::max(whole.end_ns, call.end_ns)};
    }
    if (!busy.empty()) {
      whole.begin_ns = std::min(whole.begin_ns, busy.intervals().front().begin_ns);
      whole.end_ns = std::max(whole.end_ns, busy.intervals().back().end_ns);
    }
    windows.push_back(whole);
  }
  return IntervalSet::Of(windows);
}

}  // namespace

std::vector<DataLoading> DataLoadingOf(const RunView& run) {
  std::vector<DataLoading> of_ranks;
  for (const std::uint32_t place : ChosenRanks(run)) {
    const Trace& trace = run.set->ranks[place];
    const std::vector<Interval> calls = LoaderCalls(trace);
    if (calls.empty()) {
      continue;
    }
    const IntervalSet busy = BusyTime(trace);
    const std::vector<RowId> steps = StepsOf(trace, run.options);
    const IntervalSet windows = WindowsOf(trace, steps, calls, busy);
    const IntervalSet loading = Intersection(IntervalSet::Of(calls), windows);
    of_ranks.push_back({.rank = trace::RankOf(*run.set, place),
                        .num_steps = static_cast<std::int64_t>(steps.size()),
                        .total_ns = windows.length_ns(),
                        .loading_ns = loading.length_ns(),
                        .idle_ns = loading.length_ns() - OverlapNs(loading, busy)});
  }
  return of_ranks;
}

}  // namespace orrery::analyze
