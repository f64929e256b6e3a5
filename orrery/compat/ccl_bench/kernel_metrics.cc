#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/fields.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::Trace;

// From the first begin to the last end of the kernels of all files.
std::optional<Interval> KernelSpan(const Run& run) {
  std::optional<Interval> span;
  for (const Trace& trace : run.set->ranks) {
    const std::vector<RowId> rows = KernelRows(trace);
    if (rows.empty()) {
      continue;
    }
    const Interval own = SpanOf(trace, rows);
    span = span ? Hull(*span, own) : own;
  }
  return span;
}

// Sums of durations by the text that groups them, over all files.
class GroupSums {
 public:
  // The sum of a group; `key` identifies its text within the file.
  double& Of(const Trace& trace, std::size_t file, StringId key, std::string_view group) {
    if (file != file_) {
      file_ = file;
      sum_of_key_.assign(trace.strings.size(), nullptr);
    }
    double*& sum = sum_of_key_[static_cast<std::size_t>(key)];
    sum = sum == nullptr ? &sum_of_group_[std::string(group)] : sum;
    return *sum;
  }

  [[nodiscard]] std::pair<std::string_view, double> Largest() const {
    std::pair<std::string_view, double> largest{"", 0.0};
    for (const auto& [group, sum] : sum_of_group_) {
      largest = sum > largest.second ? std::pair<std::string_view, double>(group, sum) : largest;
    }
    return largest;
  }

 private:
  std::map<std::string, double> sum_of_group_;
  std::vector<double*> sum_of_key_;
  std::size_t file_ = static_cast<std::size_t>(-1);
};

// The union of the kernels of all files.
IntervalSet UniteAllFiles(const Run& run) {
  std::vector<Interval> all;
  for (const Trace& trace : run.set->ranks) {
    const IntervalSet own = UniteKernels(trace);
    all.insert(all.end(), own.intervals().begin(), own.intervals().end());
  }
  return IntervalSet::Of(all);
}

std::optional<double> BusyShare(const IntervalSet& busy, Interval span) {
  return Share(Microseconds(busy.length_ns()), Microseconds(span.length_ns()));
}

std::optional<double> WeightedCoverage(const Run& run) {
  double covered_us = 0;
  double all_us = 0;
  for (const Trace& trace : run.set->ranks) {
    // Returns the profiler's `blocks per SM` of each launch shape, where the file has it.
    std::vector<std::optional<double>> blocks;
    for (const StringId extra : trace.launch_shapes.extra) {
      blocks.push_back(analyze::JsonNumber(trace.Text(extra), "blocks per SM"));
    }
    for (const RowId row : KernelRows(trace)) {
      const RowId shape = trace.activities.shape[row];
      if (shape != kNoRow && blocks[shape]) {
        const double duration_us = Microseconds(trace.activities.duration_ns[row]);
        covered_us += std::min(*blocks[shape], 1.0) * duration_us;
        all_us += duration_us;
      }
    }
  }
  return Share(covered_us, all_us);
}

std::optional<double> UnweightedCoverage(const Run& run) {
  const auto multiprocessors = FirstDeviceMultiprocessors(run);
  std::vector<double> coverages;
  for (const Trace& trace : run.set->ranks) {
    for (const RowId row : KernelRows(trace)) {
      const auto blocks = BlocksOf(trace, row);
      if (blocks && multiprocessors) {
        coverages.push_back(std::min(*blocks / *multiprocessors, 1.0) * 100.0);
      }
    }
  }
  return SequentialMean(coverages);
}

}  // namespace

MetricResult TotalTraceTime(const Run& run) {
  const auto span = KernelSpan(run);
  if (!span) {
    return Placeholder();
  }
  // The suite mistakes the µs of XLA files for ns.
  const double units_per_second = SourceOf(run) == Source::kXla ? 1e9 : 1e6;
  return Number(Microseconds(span->length_ns()) / units_per_second);
}

MetricResult TotalKernelTime(const Run& run) {
  const double sum_us = SumKernels(run, NameTest{}).all_us;
  return sum_us > 0 ? Number(sum_us / 1e6) : Placeholder();
}

MetricResult MoeFraction(const Run& run) {
  const NameTest test = SourceOf(run) == Source::kNsys ? kNsysMoe : kMoe;
  return NumberOrUnknown(SumKernels(run, test).ChosenShare());
}

MetricResult DominantKernelConcentration(const Run& run) {
  const bool is_xla = SourceOf(run) == Source::kXla;
  GroupSums sums;
  double all_us = 0;
  for (std::size_t file = 0; file < run.set->ranks.size(); ++file) {
    const Trace& trace = run.set->ranks[file];
    PerName arguments_of(trace, &ReadXlaArguments);
    for (const RowId row : KernelRows(trace)) {
      const StringId key = is_xla ? ExtraOf(trace, row) : trace.activities.name[row];
      const std::string_view group = is_xla ? arguments_of(key).hlo_category : trace.Text(key);
      if (group.empty()) {
        continue;  // an operation of XLA without a category
      }
      const double duration_us = Microseconds(trace.activities.duration_ns[row]);
      sums.Of(trace, file, key, group) += duration_us;
      all_us += duration_us;
    }
  }
  const auto [name, largest_us] = sums.Largest();
  MetricResult result = NumberOrUnknown(Share(largest_us, all_us));
  if (!result.is_missing) {
    result.detail.Set("name", name);
  }
  return result;
}

MetricResult AggregateGpuUtilization(const Run& run) {
  if (SourceOf(run) == Source::kNsys) {
    const auto span = KernelSpan(run);
    return span ? NumberOrUnknown(BusyShare(UniteAllFiles(run), *span)) : Placeholder();
  }
  return NumberOrUnknown(MeanOverFiles(run, [](const Trace& trace) {
    return BusyShare(UniteKernels(trace), SpanOf(trace, KernelRows(trace)));
  }));
}

MetricResult MeanSmCoverage(const Run& run) {
  return NumberOrUnknown(SourceOf(run) == Source::kNsys ? UnweightedCoverage(run)
                                                        : WeightedCoverage(run));
}

MetricResult LoadImbalanceRatio(const Run& run) {
  std::vector<std::int64_t> busy_ns;
  for (const Trace& trace : run.set->ranks) {
    const IntervalSet busy = UniteKernels(trace);
    if (!busy.empty()) {
      busy_ns.push_back(busy.length_ns());
    }
  }
  if (busy_ns.empty()) {
    return Placeholder();
  }
  const auto [least, most] = std::ranges::minmax(busy_ns);
  return Number(Microseconds(most) / Microseconds(least));
}

MetricResult BreakDownSteps(const Run& run) {
  using Part = std::pair<std::string_view, NameTest>;
  static constexpr auto kParts =
      std::to_array<Part>({{"comm", kNsysComm},
                           {"attn", {"flash fmha attention attn mla"}},
                           {"moe_route", {"topk gating routing moe_align moe_sum count_and_sort"}},
                           {"moe_expert", {"moe expert grouped_gemm group_gemm"}}});
  if (SourceOf(run) != Source::kNsys) {
    return Fails("needs a recording of nsys");
  }
  std::array<double, kParts.size() + 1> sums_us{};
  for (const Trace& trace : run.set->ranks) {
    PerName part_of(trace, [](std::string_view name) {
      const auto is_it = [&](const Part& part) { return part.second(name); };
      return static_cast<std::size_t>(std::ranges::find_if(kParts, is_it) - kParts.begin());
    });
    for (const RowId row : KernelRows(trace)) {
      sums_us[part_of(trace.activities.name[row])] +=
          Microseconds(trace.activities.duration_ns[row]);
    }
  }
  const double all_us = SumKernels(run, NameTest{}).all_us;
  if (all_us <= 0) {
    return Fails("no kernels");
  }
  Value table = Value::List();
  for (std::size_t i = 0; i < sums_us.size(); ++i) {
    table.Add(Value::Object()
                  .Set("part", i < kParts.size() ? kParts[i].first : "other")
                  .Set("ms", sums_us[i] / 1000.0)
                  .Set("percent", sums_us[i] / all_us * 100.0));
  }
  MetricResult result = Number(std::ranges::max(sums_us) / all_us * 100.0);
  result.detail.Set("parts", std::move(table));
  return result;
}

MetricResult KernelComputeTimeGroup6(const Run& run) {
  if (SourceOf(run) != Source::kNsys) {
    return Fails("needs nsys_0.sqlite");
  }
  if (!FamilyOfGroup6(run)) {
    return {.reason = "ccl-bench knows three model families"};
  }
  const KernelSums sums = SumKernels(run, NameTest{.test = [](std::string_view name) {
                                       return !HasWord(name, "nccl cross_device_reduce");
                                     }});
  return Number(sums.chosen_us / 1e6);
}

}  // namespace orrery::compat::ccl_bench
