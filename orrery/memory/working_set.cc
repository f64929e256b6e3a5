#include "orrery/memory/working_set.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "orrery/base/statistics.h"
#include "orrery/memory/kernel_name.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory {
namespace {

using trace::Coverage;

constexpr std::array<std::string_view, kNumWorkingSetLevels> kLevelNames{
    "allocation", "object", "page", "sector", "byte", "reach (upper bound)"};

// The upper bound counts whatever is known by argument; all else only what was seen exactly.
bool CountsAt(const UsedMemory& used, std::size_t level) {
  const bool is_bound = static_cast<WorkingSetLevel>(level) == WorkingSetLevel::kReach;
  return used.level_bytes[level] >= 0 && (is_bound || used.coverage == Coverage::kExact);
}

std::vector<double> ValuesAt(std::span<const UsedMemory* const> used, WorkingSetLevel level) {
  std::vector<double> values;
  for (const UsedMemory* const one : used) {
    if (CountsAt(*one, static_cast<std::size_t>(level))) {
      values.push_back(static_cast<double>(one->At(level)));
    }
  }
  return values;
}

std::vector<const UsedMemory*> KernelsOf(std::span<const UsedMemory> used) {
  std::vector<const UsedMemory*> kernels;
  for (const UsedMemory& one : used) {
    if (one.is_kernel) {
      kernels.push_back(&one);
    }
  }
  return kernels;
}

std::optional<double> Ratio(double whole, double part) {
  return part > 0 ? std::optional(whole / part) : std::nullopt;
}

void SummarizeFootprint(std::span<const UsedMemory* const> kernels, WorkingSetSummary& summary) {
  std::vector<double> totals;
  std::array<std::vector<double>, kNumFootprintClasses> by_class;
  for (const UsedMemory* const kernel : kernels) {
    totals.push_back(static_cast<double>(kernel->footprint.total_bytes));
    for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
      by_class[i].push_back(static_cast<double>(kernel->footprint.class_bytes[i]));
    }
  }
  summary.footprint = SpreadOf(totals);
  for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
    summary.class_footprint[i] = SpreadOf(by_class[i]);
  }
}

using UsedByName = std::map<std::string, std::vector<const UsedMemory*>>;

WorkingSetGroup GroupOf(const std::string& name, const std::vector<const UsedMemory*>& used) {
  WorkingSetGroup group{.name = name, .num_launches = static_cast<std::int64_t>(used.size())};
  for (const UsedMemory* const one : used) {
    if (one->coverage == Coverage::kExact) {
      ++group.num_exact;
      group.read_bytes += one->read_bytes;
      group.write_bytes += one->write_bytes;
    }
  }
  group.object_bytes = SpreadOf(ValuesAt(used, WorkingSetLevel::kObject));
  group.page_bytes = SpreadOf(ValuesAt(used, WorkingSetLevel::kPage));
  group.reach_bytes = SpreadOf(ValuesAt(used, WorkingSetLevel::kReach));
  return group;
}

std::vector<WorkingSetGroup> Sorted(const UsedByName& by_name) {
  std::vector<WorkingSetGroup> groups;
  for (const auto& [name, used] : by_name) {
    groups.push_back(GroupOf(name, used));
  }
  std::ranges::sort(groups, [](const WorkingSetGroup& a, const WorkingSetGroup& b) {
    return std::tie(b.object_bytes.largest, b.reach_bytes.largest, a.name) <
           std::tie(a.object_bytes.largest, a.reach_bytes.largest, b.name);
  });
  return groups;
}

}  // namespace

std::string_view WorkingSetLevelName(WorkingSetLevel level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

BytesSpread SpreadOf(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  const auto [smallest, largest] = std::ranges::minmax(values);
  return {.count = static_cast<std::int64_t>(values.size()),
          .smallest = smallest,
          .mean = Mean(values),
          .median = Median(values),
          .p90 = Quantile(values, 0.9),
          .largest = largest};
}

std::optional<double> WorkingSetSummary::MeanByLargest(WorkingSetLevel level) const {
  return Ratio(footprint.mean, At(level).largest);
}

std::optional<double> WorkingSetSummary::MeanByMean(WorkingSetLevel level) const {
  return Ratio(footprint.mean, At(level).mean);
}

WorkingSetSummary SummarizeWorkingSet(std::span<const UsedMemory> used) {
  const std::vector<const UsedMemory*> kernels = KernelsOf(used);
  WorkingSetSummary summary{.num_kernels = static_cast<std::int64_t>(kernels.size())};
  SummarizeFootprint(kernels, summary);
  for (std::size_t level = 0; level < kNumWorkingSetLevels; ++level) {
    summary.levels[level] = SpreadOf(ValuesAt(kernels, static_cast<WorkingSetLevel>(level)));
  }
  for (const UsedMemory* const kernel : kernels) {
    if (kernel->coverage == Coverage::kExact) {
      summary.read_bytes += kernel->read_bytes;
      summary.write_bytes += kernel->write_bytes;
      summary.unowned_bytes += kernel->unowned_bytes;
    }
  }
  return summary;
}

std::vector<WorkingSetGroup> GroupByKernel(const trace::Trace& trace,
                                           std::span<const UsedMemory> used) {
  const RecordedWork work(trace);
  UsedByName by_name;
  for (const UsedMemory& one : used) {
    const std::string_view name = work.NameOf(work.At(one.item));
    by_name[one.is_kernel ? ShortKernelName(name) : std::string(name)].push_back(&one);
  }
  return Sorted(by_name);
}

std::vector<WorkingSetGroup> GroupByOperator(const trace::Trace& trace,
                                             std::span<const UsedMemory> used) {
  const RecordedWork work(trace);
  UsedByName by_name;
  for (const UsedMemory& one : used) {
    const std::string_view name = work.OperatorOf(work.At(one.item));
    by_name[std::string(name.empty() ? "no operator" : name)].push_back(&one);
  }
  return Sorted(by_name);
}

}  // namespace orrery::memory
