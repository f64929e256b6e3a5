#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/interval_set.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::Trace;

// The smallest and largest NCCL time of a file.
struct Extremes {
  double least_us = 0;
  double most_us = 0;
};

// A waiting rank counts as slow: a defect of the suite.
std::optional<Extremes> NcclExtremes(const Run& run) {
  std::vector<double> sums_us;
  for (const Trace& trace : run.set->ranks) {
    sums_us.push_back(SumKernels(trace, &IsNewNcclKernel).chosen_us);
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
  if (!HasWord(name, {"nccl"})) {
    return kNone;
  }
  for (const auto& [word, traffic] : kRules) {
    if (HasWord(name, {word})) {
      return traffic;
    }
  }
  return kOtherTraffic;
}

bool IsRedistributeBackward(std::string_view name) {
  return name == "RedistributeBackward";
}

// Redistribution of gradients, by host operators.
struct Redistribution {
  IntervalSet time;
  std::int64_t count = 0;
};

Redistribution RedistributionOf(const Trace& trace) {
  NameMemo is_redistribution(trace, &IsRedistributeBackward);
  Redistribution found;
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    if (is_redistribution(trace.host_ops.name[row])) {
      const std::int64_t begin_ns = trace.host_ops.begin_ns[row];
      found.time.Append(begin_ns, begin_ns + trace.host_ops.duration_ns[row]);
      ++found.count;
    }
  }
  return found;
}

using TrafficSeconds = std::array<double, kNumTraffics>;

TrafficSeconds TrafficOfFile(const Trace& trace) {
  const Redistribution redistribution = RedistributionOf(trace);
  std::unordered_map<StringId, Traffic> traffic_of_name;
  TrafficSeconds sums_us{};
  for (const RowId row : KernelRows(trace)) {
    const StringId name = trace.activities.name[row];
    const auto [known, is_new] = traffic_of_name.try_emplace(name, kNone);
    known->second = is_new ? TrafficOf(trace.Text(name)) : known->second;
    Traffic traffic = known->second;
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

MetricResult CollCallNum(const Run& run) {
  if (run.set->ranks.empty()) {
    return Placeholder(0.0);
  }
  const Trace& trace = run.set->ranks.front();
  NameMemo is_collective(trace, &IsNewNcclCollective);
  return Number(static_cast<double>(std::ranges::count_if(
      KernelRows(trace), [&](RowId row) { return is_collective(trace.activities.name[row]); })));
}

MetricResult CommunicationOverhead(const Run& run) {
  if (run.set->ranks.empty()) {
    return Fails("no file");
  }
  const KernelSums sums = SumKernels(run.set->ranks.front(), &IsNewNcclCollective);
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
