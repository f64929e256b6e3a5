#include "orrery/analyze/step_time.h"

#include <algorithm>
#include <limits>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze {
namespace {

void Extend(Interval& whole, std::int64_t begin_ns, std::int64_t end_ns) {
  whole.begin_ns = std::min(whole.begin_ns, begin_ns);
  whole.end_ns = std::max(whole.end_ns, end_ns);
}

std::vector<RankSteps> StepsOfRanks(const RunView& run) {
  std::vector<RankSteps> ranks;
  for (const std::uint32_t place : ChosenRanks(run)) {
    const trace::Trace& trace = run.set->ranks[place];
    RankSteps steps{.rank = trace::RankOf(*run.set, place)};
    for (const RowId step : SelectedSteps(trace, run.options)) {
      steps.seconds.push_back(static_cast<double>(trace.steps.duration_ns[step]) / 1e9);
    }
    if (!steps.seconds.empty()) {
      ranks.push_back(std::move(steps));
    }
  }
  return ranks;
}

}  // namespace

Interval RecordedTime(const RunView& run, bool& is_device_time) {
  Interval whole{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (const DeviceView& device : run.devices) {
    const trace::Activities& activities = run.TraceOf(device).activities;
    for (const RowId row : device.activities) {
      Extend(whole, activities.begin_ns[row],
             activities.begin_ns[row] + activities.duration_ns[row]);
    }
  }
  is_device_time = whole.begin_ns < whole.end_ns;
  if (!is_device_time) {
    for (const trace::Trace& trace : run.set->ranks) {
      const trace::Span span = trace::RecordedSpan(trace);
      Extend(whole, span.begin_ns, span.end_ns);
    }
  }
  return whole.begin_ns < whole.end_ns ? whole : Interval{};
}

StepTime MeasureStepTime(const RunView& run) {
  StepTime time{.ranks = StepsOfRanks(run)};
  std::vector<double> means;
  for (const RankSteps& rank : time.ranks) {
    means.push_back(Mean(rank.seconds));
  }
  if (!means.empty()) {
    time.seconds = Mean(means);
    return time;
  }
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  const auto iterations = CardInteger(*run.set, "iteration");
  if (iterations && whole.length_ns() > 0) {
    time.seconds = static_cast<double>(whole.length_ns()) / 1e9 / static_cast<double>(*iterations);
    time.is_estimated = true;
  }
  return time;
}

}  // namespace orrery::analyze
