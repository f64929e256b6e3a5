#include "orrery/analyze/diff/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "orrery/analyze/diff/run_costs.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/parallel.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze::diff {
namespace {

// 115 is 15 % more than 100 also where the division says 15.000000000000002.
constexpr double kRounding = 1e-9;

constexpr std::array<std::string_view, 4> kVerdictNames{"–", "same", "better", "worse"};

MetricChange CompareMetric(const NamedMetric& named, const RunView& before, const RunView& after) {
  const MetricResult first = Evaluate(named, before);
  const MetricResult second = Evaluate(named, after);
  return {.name = std::string(named.name()),
          .unit = std::string(named.unit()),
          .better = named.metric->better,
          .before = first.value,
          .after = second.value,
          .reason_before = first.reason,
          .reason_after = second.reason};
}

std::string_view KindName(trace::DeviceKind kind) {
  switch (kind) {
    case trace::DeviceKind::kCpu:
      return "cpu";
    case trace::DeviceKind::kGpu:
      return "gpu";
    case trace::DeviceKind::kOther:
      break;
  }
  return "other";
}

void Raise(std::map<std::string, std::int64_t>& peaks, std::string_view device,
           std::string_view what, std::int64_t bytes) {
  if (bytes >= 0) {
    std::int64_t& peak = peaks[fmt::format("{} {}", device, what)];
    peak = std::max(peak, bytes);
  }
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<double> MetricChange::Percent() const {
  if (!before || !after) {
    return std::nullopt;
  }
  if (*before == *after) {
    return 0.0;
  }
  return *before == 0 ? std::nullopt : std::optional(100 * (*after - *before) / std::abs(*before));
}

Verdict MetricChange::GetVerdict() const {
  if (!IsEvaluated()) {
    return Verdict::kUnknown;
  }
  if (*before == *after) {
    return Verdict::kSame;
  }
  return (*after < *before) == (better == Better::kLower) ? Verdict::kBetter : Verdict::kWorse;
}

double MetricChange::WorsePercent() const {
  if (GetVerdict() != Verdict::kWorse) {
    return 0;
  }
  const auto percent = Percent();
  return percent ? std::abs(*percent) : std::numeric_limits<double>::infinity();
}

std::vector<MetricChange> CompareMetrics(const RunView& before, const RunView& after,
                                         const std::vector<NamedMetric>& metrics) {
  std::vector<MetricChange> changes(metrics.size());
  ParallelFor(metrics.size(), before.options.threads,
              [&](std::size_t i) { changes[i] = CompareMetric(metrics[i], before, after); });
  return changes;
}

std::vector<MetricChange> WorseThan(const std::vector<MetricChange>& changes,
                                    double limit_percent) {
  std::vector<MetricChange> worse;
  std::ranges::copy_if(changes, std::back_inserter(worse), [&](const MetricChange& change) {
    return change.WorsePercent() > limit_percent * (1 + kRounding);
  });
  std::ranges::stable_sort(worse, std::ranges::greater{}, &MetricChange::WorsePercent);
  return worse;
}

StepParts MeasureStepParts(const RunView& run) {
  Breakdown total;
  for (const DeviceView& device : run.devices) {
    total += device.total;
  }
  const double num_steps = NumDeviceSteps(run);
  const auto per_step = [&](std::int64_t ns) { return static_cast<double>(ns) / num_steps; };
  StepParts parts{.window_ns = per_step(total.window_ns),
                  .compute_ns = per_step(total.compute_ns),
                  .exposed_communication_ns = per_step(total.exposed_communication_ns),
                  .exposed_memory_ns = per_step(total.exposed_memory_ns),
                  .idle_ns = per_step(total.idle_ns),
                  .num_ranks = ChosenRanks(run).size()};
  const StepTime time = MeasureStepTime(run);
  for (const RankSteps& rank : time.ranks) {
    parts.num_steps = std::max(parts.num_steps, rank.seconds.size());
  }
  if (time.seconds && !time.is_estimated) {
    parts.marker_ns = *time.seconds * 1e9;
  }
  return parts;
}

std::vector<MemoryPeak> PeakMemory(const RunView& run) {
  std::map<std::string, std::int64_t> peaks;
  for (const std::uint32_t rank : ChosenRanks(run)) {
    const trace::MemoryEvents& events = run.set->ranks[rank].memory_events;
    for (RowId row = 0; row < events.size(); ++row) {
      const std::string_view device = KindName(events.device_kind[row]);
      Raise(peaks, device, "allocated", events.total_allocated_bytes[row]);
      Raise(peaks, device, "reserved", events.total_reserved_bytes[row]);
    }
  }
  std::vector<MemoryPeak> list;
  for (const auto& [name, bytes] : peaks) {
    list.push_back({.name = name, .bytes = bytes});
  }
  return list;
}

std::vector<MemoryChange> MatchMemory(const std::vector<MemoryPeak>& before,
                                      const std::vector<MemoryPeak>& after) {
  std::map<std::string, MemoryChange> changes;
  for (const MemoryPeak& peak : before) {
    changes[peak.name].before_bytes = peak.bytes;
  }
  for (const MemoryPeak& peak : after) {
    changes[peak.name].after_bytes = peak.bytes;
  }
  std::vector<MemoryChange> list;
  for (auto& [name, change] : changes) {
    change.name = name;
    if (change.before_bytes && change.after_bytes) {
      change.change = ChangeOf(static_cast<double>(*change.before_bytes),
                               static_cast<double>(*change.after_bytes));
    }
    list.push_back(change);
  }
  return list;
}

RunDiff Compare(const RunView& before, const RunView& after,
                const std::vector<NamedMetric>& metrics) {
  const std::vector<NamedCost> kernels_before = KernelCosts(before);
  const std::vector<NamedCost> kernels_after = KernelCosts(after);
  return {.step_before = MeasureStepParts(before),
          .step_after = MeasureStepParts(after),
          .metrics = CompareMetrics(before, after, metrics),
          .kernel_classes =
              MatchCosts(KernelClassCosts(kernels_before), KernelClassCosts(kernels_after)),
          .kernels = MatchCosts(kernels_before, kernels_after),
          .operators = MatchCosts(OperatorCosts(before), OperatorCosts(after)),
          .collectives = MatchCosts(CollectiveCosts(before), CollectiveCosts(after)),
          .copies = MatchCosts(CopyCosts(before), CopyCosts(after)),
          .memory = MatchMemory(PeakMemory(before), PeakMemory(after))};
}

}  // namespace orrery::analyze::diff
