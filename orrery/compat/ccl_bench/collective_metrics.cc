#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/text.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {
namespace {
using trace::Trace;

// A communication kernel with its input size.
struct SizedKernel {
  CollectiveKind kind = CollectiveKind::kUnknown;
  double in_bytes = 0;  // 0 for an unknown type
  double group_size = 0;
  double us = 0;
};

CollectiveKind KindOf(const Trace& trace, RowId kernel, RowId collective) {
  const CollectiveKind recorded = trace.collectives.kind[collective];
  if (recorded != CollectiveKind::kUnknown) {
    return recorded;
  }
  const auto by_name =
      trace::ClassifyCommunicationKernel(trace.Text(trace.activities.name[kernel]));
  return by_name ? by_name->kind : CollectiveKind::kUnknown;
}

// Arguments of kernels have both sizes; sizes that a reader derives from the shapes of the call,
// which the suite ignores, are input sizes only.
bool HasSizeArguments(const Trace& trace, RowId collective) {
  return trace.collectives.in_elements[collective] >= 0 &&
         trace.collectives.out_elements[collective] >= 0;
}

std::vector<SizedKernel> SizedKernels(const Trace& trace) {
  std::vector<SizedKernel> kernels;
  for (const RowId row : KernelRows(trace)) {
    const RowId collective = trace.activities.collective[row];
    if (collective == kNoRow || !HasSizeArguments(trace, collective)) {
      continue;
    }
    const RowId group = trace.collectives.group[collective];
    const std::int64_t in_bytes = trace.collectives.in_bytes[collective];
    kernels.push_back(
        {.kind = KindOf(trace, row, collective),
         .in_bytes = static_cast<double>(std::max<std::int64_t>(in_bytes, 0)),
         .group_size =
             group == kNoRow ? 0.0 : static_cast<double>(trace.process_groups.num_ranks[group]),
         .us = Microseconds(trace.activities.duration_ns[row])});
  }
  return kernels;
}

bool IsXlaCategory(std::string_view category, CollectiveKind kind) {
  using Spelling = std::pair<CollectiveKind, std::string_view>;
  static constexpr auto kSpellings =
      std::to_array<Spelling>({{CollectiveKind::kAllReduce, "all-reduce"},
                               {CollectiveKind::kAllGather, "all-gather"},
                               {CollectiveKind::kReduceScatter, "reduce-scatter"},
                               {CollectiveKind::kAllToAll, "all-to-all"}});
  const auto* const found = std::ranges::find(kSpellings, kind, &Spelling::first);
  return found == kSpellings.end() ? !CollectiveLabel(category).empty()
                                   : Contains(category, found->second);
}

// The smallest and largest NCCL time of a file.
struct Extremes {
  double least_us = 0;
  double most_us = 0;
};

// A waiting rank counts as slow: a defect of the suite.
std::optional<Extremes> NcclExtremes(const Run& run) {
  std::vector<double> sums_us;
  for (const Trace& trace : run.set->ranks) {
    sums_us.push_back(SumKernels(trace, kNewNcclKernel).chosen_us);
  }
  if (sums_us.empty() || std::ranges::max(sums_us) <= 0) {
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax(sums_us);
  return Extremes{.least_us = least, .most_us = most};
}

enum Traffic : std::size_t { kTensor, kData, kPipeline, kOtherTraffic, kAllReduce, kNone };

constexpr std::size_t kNumTraffics = kAllReduce;
constexpr std::array<std::string_view, kNumTraffics> kTrafficNames{"tp", "dp", "pp", "other"};

// The traffic by kernel name; whether an all-reduce is dp or tp depends on when it runs.
Traffic TrafficOf(std::string_view name) {
  using Rule = std::pair<std::string_view, Traffic>;
  static constexpr auto kRules = std::to_array<Rule>({{"allreduce", kAllReduce},
                                                      {"broadcast", kTensor},
                                                      {"allgather", kData},
                                                      {"reducescatter", kData},
                                                      {"send", kPipeline},
                                                      {"recv", kPipeline}});
  if (!HasWord(name, "nccl")) {
    return kNone;
  }
  for (const auto& [word, traffic] : kRules) {
    if (HasWord(name, word)) {
      return traffic;
    }
  }
  return kOtherTraffic;
}

// Redistribution of gradients, by host operators.
struct Redistribution {
  IntervalSet time;
  std::int64_t count = 0;
};

using TrafficSeconds = std::array<double, kNumTraffics>;

TrafficSeconds TrafficOfFile(const Trace& trace) {
  PerName is_redistribution(trace,
                            [](std::string_view name) { return name == "RedistributeBackward"; });
  Redistribution redistribution;
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    if (is_redistribution(trace.host_ops.name[row])) {
      const std::int64_t begin_ns = trace.host_ops.begin_ns[row];
      redistribution.time.Append(begin_ns, begin_ns + trace.host_ops.duration_ns[row]);
      ++redistribution.count;
    }
  }
  PerName traffic_of(trace, &TrafficOf);
  TrafficSeconds sums_us{};
  for (const RowId row : KernelRows(trace)) {
    Traffic traffic = traffic_of(trace.activities.name[row]);
    if (traffic == kAllReduce) {
      const std::int64_t begin_ns = trace.activities.begin_ns[row];
      const bool is_inside = redistribution.time.LengthWithin(begin_ns, begin_ns + 1) > 0;
      traffic = is_inside ? kData : kTensor;
    }
    if (traffic != kNone) {
      sums_us[traffic] += Microseconds(trace.activities.duration_ns[row]);
    }
  }
  const auto iterations = static_cast<double>(std::max<std::int64_t>(redistribution.count, 1));
  for (double& sum : sums_us) {
    sum = sum / iterations / 1e6;
  }
  return sums_us;
}

}  // namespace

MetricResult BandwidthOfKind(const Run& run, CollectiveKind kind) {
  for (const Trace& trace : run.set->ranks) {
    constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
    std::vector<double> rates;
    for (const SizedKernel& kernel : SizedKernels(trace)) {
      if (kernel.kind == kind && kernel.us > 0 && kernel.group_size > 0) {
        const double share = (kernel.group_size - 1) / kernel.group_size;
        rates.push_back(kernel.in_bytes / kGibibyte *
                        (kind == CollectiveKind::kAllReduce ? 2 * share : share) /
                        (kernel.us / 1e6));
      }
    }
    if (!rates.empty()) {
      return Number(Median(rates));
    }
  }
  return NotANumber();
}

// Without sizes in the file the suite returns 0, not "unknown".
MetricResult VolumeOfKind(const Run& run, CollectiveKind kind) {
  if (run.set->ranks.empty()) {
    return Placeholder();
  }
  const Trace& trace = run.set->ranks.front();
  if (SourceOf(run) == Source::kXla) {
    double bytes = 0;
    PerName arguments_of(trace, &ReadXlaArguments);
    for (const RowId row : KernelRows(trace)) {
      const XlaArguments& arguments = arguments_of(ExtraOf(trace, row));
      if (!arguments.hlo_category.empty() && IsXlaCategory(arguments.hlo_category, kind)) {
        bytes += arguments.accessed_bytes.value_or(0);
      }
    }
    return bytes > 0 ? Number(bytes / 1e9) : Placeholder(0.0);
  }
  const std::vector<SizedKernel> kernels = SizedKernels(trace);
  double bytes = 0;
  for (const SizedKernel& kernel : kernels) {
    const bool counts = kind == CollectiveKind::kUnknown || kernel.kind == kind;
    bytes += counts ? kernel.in_bytes : 0;
  }
  return kernels.empty() ? Placeholder(0.0) : Number(bytes / 1e9);
}

MetricResult BandwidthUtilization(const Run& run) {
  constexpr double kLinkBytesPerSecond = 100e9;
  if (run.set->ranks.empty()) {
    return Fails("no file");
  }
  std::vector<double> ratios;
  for (const SizedKernel& kernel : SizedKernels(run.set->ranks.front())) {
    if (kernel.kind == CollectiveKind::kAllReduce && kernel.us > 0 && kernel.group_size > 0) {
      const double expected_s =
          kernel.in_bytes / kernel.group_size * (kernel.group_size - 1) / kLinkBytesPerSecond;
      ratios.push_back(expected_s / (kernel.us / 1e6));
    }
  }
  const auto mean = SequentialMean(ratios);
  return mean ? Number(*mean) : Fails("mean of no all-reduces");
}

MetricResult CollCallNum(const Run& run) {
  if (run.set->ranks.empty()) {
    return Placeholder(0.0);
  }
  const Trace& trace = run.set->ranks.front();
  PerName is_collective(trace, &IsNewNcclCollective);
  return Number(static_cast<double>(std::ranges::count_if(
      KernelRows(trace), [&](RowId row) { return is_collective(trace.activities.name[row]); })));
}

MetricResult CommunicationOverhead(const Run& run) {
  if (run.set->ranks.empty()) {
    return Fails("no file");
  }
  const KernelSums sums = SumKernels(run.set->ranks.front(), {.test = &IsNewNcclCollective});
  return sums.all_us > 0 ? Number(sums.chosen_us / sums.all_us) : Fails("division by zero");
}

MetricResult Straggler(const Run& run) {
  const auto extremes = NcclExtremes(run);
  return extremes ? Number((extremes->most_us - extremes->least_us) / extremes->most_us)
                  : Placeholder(0.0);
}

MetricResult StragglerMetrics(const Run& run) {
  MetricResult result = Straggler(run);
  const auto extremes = NcclExtremes(run);
  const bool has_ratio = extremes && extremes->least_us > 0;
  result.detail.Set("max_over_min", has_ratio ? extremes->most_us / extremes->least_us : 0.0);
  return result;
}

MetricResult TrafficWindow(const Run& run) {
  if (run.set->ranks.empty()) {
    return Fails("no file");
  }
  TrafficSeconds mean{};
  for (const Trace& trace : run.set->ranks) {
    const TrafficSeconds own = TrafficOfFile(trace);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += own[i] / static_cast<double>(run.set->ranks.size());
    }
  }
  MetricResult result = Number(Rounded(std::accumulate(mean.begin(), mean.end(), 0.0), 6));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    result.detail.Set(kTrafficNames[i], Rounded(mean[i], 6));
  }
  return result;
}

}  // namespace orrery::compat::ccl_bench
