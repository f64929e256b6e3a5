#include "orrery/analyze/diff/diff.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "orrery/analyze/diff/run_costs.h"
#include "orrery/analyze/step_time.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze::diff {
namespace {

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
