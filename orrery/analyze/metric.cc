#include "orrery/analyze/metric.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {
using trace::Trace;

template <typename Test>
bool AnyRank(const RunView& run, Test&& test) {
  return std::ranges::any_of(run.set->ranks, test);
}

template <typename Test>
bool AnyCollective(const RunView& run, Test&& test) {
  return AnyRank(run, [&](const Trace& trace) {
    for (RowId row = 0; row < trace.collectives.size(); ++row) {
      if (test(trace, row)) {
        return true;
      }
    }
    return false;
  });
}

bool HasCounter(const RunView& run, std::string_view word) {
  return AnyRank(run, [&](const Trace& trace) {
    return std::ranges::any_of(trace.counters.name,
                               [&](StringId name) { return Contains(trace.Text(name), word); });
  });
}

bool HasTable(const RunView& run, std::string_view format) {
  return std::ranges::find(run.measurements, format, &Measurement::format) !=
         run.measurements.end();
}

bool HasWallClock(const RunView& run) {
  return AnyRank(
      run, [](const Trace& trace) { return trace.info.time_origin == trace::TimeOrigin::kEpoch; });
}

bool HasEngineSteps(const RunView& run) {
  return AnyRank(run, [](const Trace& trace) {
    return std::ranges::any_of(trace.steps.name, [&](StringId name) {
      const std::string_view text = trace.Text(name);
      return text.starts_with("execute_") || text.ends_with("run_batch");
    });
  });
}

bool HasCopies(const Trace& trace) {
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (trace.activities.kind[row] == trace::ActivityKind::kMemcpy &&
        trace.activities.bytes[row] > 0 && trace.activities.duration_ns[row] > 0) {
      return true;
    }
  }
  return false;
}

bool HasLaunchGeometry(const Trace& trace) {
  const auto is_positive = [](int n) { return n > 0; };
  return std::ranges::any_of(trace.devices.multiprocessors, is_positive) &&
         std::ranges::any_of(trace.launch_shapes.grid_x, is_positive);
}

bool IsInferenceRun(const RunView& run) {
  const auto phase = CardText(*run.set, "phase");
  return phase == "inference" || phase == "serving" || HasEngineSteps(run) ||
         HasTable(run, "serving benchmark");
}

struct NeedRule {
  std::string_view text;
  bool (*is_met)(const RunView& run);
  std::string_view reason = {};  // when it is not met; empty: depends on the run
};

constexpr std::array<NeedRule, 15> kNeeds{{
    {"events",
     [](const RunView& run) {
       return AnyRank(
           run, [](const Trace& trace) { return trace::RecordedSpan(trace).duration_ns() > 0; });
     },
     "the run holds no timed events"},
    {"GPU activity",
     [](const RunView& run) {
       return std::ranges::any_of(
           run.devices, [](const DeviceView& device) { return device.total.window_ns > 0; });
     },
     kNoGpuReason},
    {"steps",
     [](const RunView& run) {
       return AnyRank(run, [](const Trace& trace) { return !trace.steps.empty(); });
     },
     kNoStepsReason},
    {"communication kernels",
     [](const RunView& run) {
       return std::ranges::any_of(
           run.devices, [](const DeviceView& device) { return !device.communication.empty(); });
     },
     kNoCommunicationReason},
    {"message sizes",
     [](const RunView& run) {
       return AnyCollective(run, [](const Trace& trace, RowId row) {
         return trace::EventOfRow(trace, row).bytes >= 0;
       });
     },
     kNoSizesReason},
    {"2 ranks", [](const RunView& run) { return run.set->ranks.size() >= 2; }},
    {"matched collectives", [](const RunView& run) { return run.matched.size() > 0; },
     kNoMatchReason},
    {"pipeline parallelism", [](const RunView& run) { return HasPipeline(run); },
     "no pipeline parallelism (pp = 1)"},
    {"send/receive",
     [](const RunView& run) {
       return std::ranges::any_of(run.matched.instances.kind, [](CollectiveKind kind) {
         return kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
       });
     },
     "no matched send/receive"},
    {"inference", [](const RunView& run) { return IsInferenceRun(run); }},
    {"launch geometry", [](const RunView& run) { return AnyRank(run, HasLaunchGeometry); },
     kNoGeometryReason},
    {"copies", [](const RunView& run) { return AnyRank(run, HasCopies); }, "no copies"},
    {"SM counters", [](const RunView& run) { return HasCounter(run, "SMs Active"); },
     "no SM activity counters; mean_sm_coverage estimates it from launch geometry"},
    {"link counters",
     [](const RunView& run) { return HasTable(run, "NVF1") || HasCounter(run, "NVLink"); },
     "no NVLink or PCIe counters (NVF1 file or nsys GPU metrics)"},
    {"a common clock",
     [](const RunView& run) { return !HasTable(run, "NVF1") || HasWallClock(run); },
     "the counter file and the trace share no clock"},
}};

std::string ReasonOf(const NeedRule& rule, const RunView& run) {
  if (!rule.reason.empty()) {
    return std::string(rule.reason);
  }
  if (rule.text == "2 ranks") {
    return fmt::format("needs 2 ranks or more, found {}", run.set->ranks.size());
  }
  const auto phase = CardText(*run.set, "phase");
  return phase ? fmt::format("the workload is {}, not inference", *phase)
               : "no engine steps, serving results or card that says inference";
}

// Send, receive and their fused form count as one.
bool HasCollective(const RunView& run, std::string_view kind_name) {
  return AnyCollective(run, [&](const Trace& trace, RowId row) {
    const CollectiveKind kind = trace.collectives.kind[row];
    return CollectiveKindName(kind) == kind_name ||
           (kind_name == CollectiveKindName(CollectiveKind::kSendRecv) &&
            IsKind(kind, CollectiveKind::kSendRecv));
  });
}

std::optional<double> ScaledRatio(std::int64_t part, std::int64_t whole, double scale) {
  return whole == 0 ? std::nullopt
                    : std::optional(scale * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

std::optional<std::string> WhyUnmet(std::string_view need, const RunView& run) {
  constexpr std::string_view kCard = "card ";
  if (need.starts_with(kCard)) {
    const std::string_view field = need.substr(kCard.size());
    return CardText(*run.set, field) ? std::nullopt
                                     : std::optional(WhyNoCardValue(*run.set, field));
  }
  const auto* const rule = std::ranges::find(kNeeds, need, &NeedRule::text);
  if (rule != kNeeds.end()) {
    return rule->is_met(run) ? std::nullopt : std::optional(ReasonOf(*rule, run));
  }
  return HasCollective(run, need) ? std::nullopt
                                  : std::optional(fmt::format("no {} in the selected steps", need));
}

std::optional<NamedMetric> FindMetric(std::string_view name) {
  for (const Metric& metric : AllMetrics()) {
    if (SameIgnoringCase(metric.name, name)) {
      return NamedMetric{.metric = &metric};
    }
  }
  for (const Metric& metric : AllMetrics()) {
    for (const MetricAlias& alias : metric.aliases) {
      if (SameIgnoringCase(alias.name, name)) {
        return NamedMetric{.metric = &metric, .alias = &alias};
      }
    }
  }
  return std::nullopt;
}

MetricResult Evaluate(const NamedMetric& named, const RunView& run) {
  for (std::string_view needs = named.metric->needs; !needs.empty();) {
    const std::size_t end = std::min(needs.find(", "), needs.size());
    if (auto reason = WhyUnmet(needs.substr(0, end), run)) {
      return NotAvailable(*std::move(reason));
    }
    needs.remove_prefix(std::min(end + 2, needs.size()));
  }
  MetricResult result = named.metric->compute(run);
  if (named.alias != nullptr && result.is_ok()) {
    *result.value *= named.alias->scale;
    if (!named.alias->difference.empty()) {
      result.detail.Set("definition", named.alias->difference);
    }
  }
  return result;
}

std::optional<double> Percent(std::int64_t part, std::int64_t whole) {
  return ScaledRatio(part, whole, 100.0);
}

double Seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

Value DeviceRow(const DeviceView& device) {
  return Value::Object().Set("rank", device.rank).Set("device", device.device);
}

MetricResult MeanOverDevices(
    const RunView& run, const std::function<std::optional<double>(const DeviceView&)>& value_of) {
  MetricResult result;
  std::vector<double> values;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const std::optional<double> value = value_of(device);
    rows.Add(DeviceRow(device).Set("value", OrNull(value)));
    if (value) {
      values.push_back(*value);
    }
  }
  if (values.empty()) {
    return NotAvailable(kNoGpuReason);
  }
  result.value = Mean(values);
  NoteScope(run, result.detail);
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

MetricResult MeanRatio(const RunView& run, const BreakdownTime& part, const BreakdownTime& whole,
                       double scale) {
  return MeanOverDevices(run, [&](const DeviceView& device) {
    return ScaledRatio(part(device.total), whole(device.total), scale);
  });
}

MetricResult MeanSecondsPerStep(const RunView& run, const BreakdownTime& time) {
  return MeanOverDevices(run, [&](const DeviceView& device) {
    return Seconds(time(device.total)) / static_cast<double>(NumSteps(device));
  });
}

void NoteScope(const RunView& run, Value& detail) {
  std::set<std::int32_t> ranks;
  std::size_t steps = 0;
  bool has_markers = false;
  for (const DeviceView& device : run.devices) {
    ranks.insert(device.rank);
    steps = std::max(steps, device.windows.size());
    for (const Window& window : device.windows) {
      has_markers |= window.step != kNoRow;
    }
  }
  detail.Set("ranks_used", ranks.size());
  detail.Set("steps_used", has_markers ? Value(steps) : Value("none"));
}

}  // namespace orrery::analyze
