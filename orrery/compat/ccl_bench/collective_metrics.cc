#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/statistics.h"
#include "orrery/base/text.h"
#include "orrery/compat/ccl_bench/chrome_slices.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::CollectiveKind;
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

double BusFactor(CollectiveKind kind, double group_size) {
  const double share = (group_size - 1) / group_size;
  return kind == CollectiveKind::kAllReduce ? 2 * share : share;
}

std::vector<double> GibibytesPerSecond(const Trace& trace, CollectiveKind kind) {
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  std::vector<double> rates;
  for (const SizedKernel& kernel : SizedKernels(trace)) {
    if (kernel.kind == kind && kernel.us > 0 && kernel.group_size > 0) {
      rates.push_back(kernel.in_bytes / kGibibyte * BusFactor(kind, kernel.group_size) /
                      (kernel.us / 1e6));
    }
  }
  return rates;
}

bool IsXlaCategory(std::string_view category, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return Contains(category, "all-reduce");
    case CollectiveKind::kAllGather:
      return Contains(category, "all-gather");
    case CollectiveKind::kReduceScatter:
      return Contains(category, "reduce-scatter");
    case CollectiveKind::kAllToAll:
      return Contains(category, "all-to-all");
    case CollectiveKind::kUnknown:
      return !CollectiveLabel(category).empty();
    default:
      return false;
  }
}

MetricResult XlaVolume(const Trace& trace, CollectiveKind kind) {
  double bytes = 0;
  XlaArgumentsMemo arguments_of(trace);
  for (const RowId row : KernelRows(trace)) {
    const XlaArguments& arguments = arguments_of(ExtraOf(trace, row));
    if (!arguments.hlo_category.empty() && IsXlaCategory(arguments.hlo_category, kind)) {
      bytes += arguments.accessed_bytes.value_or(0);
    }
  }
  return bytes > 0 ? Number(bytes / 1e9) : Placeholder(0.0);
}

}  // namespace

MetricResult BandwidthOfKind(const Run& run, CollectiveKind kind) {
  for (const Trace& trace : run.set->ranks) {
    const std::vector<double> rates = GibibytesPerSecond(trace, kind);
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
    return XlaVolume(trace, kind);
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

}  // namespace orrery::compat::ccl_bench
