#include "orrery/compat/ccl_bench/collective_metrics.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/compat/ccl_bench/chrome_slices.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/outcome.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::CollectiveKind;
using trace::Trace;

// A communication kernel with the size that the rank put in.
struct SizedKernel {
  CollectiveKind kind = CollectiveKind::kUnknown;
  double in_bytes = 0;  // an unknown type counts nothing
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

// Arguments of kernels give both sizes. What a reader works out from the shapes of the call, which
// the suite does not look at, is the size that goes in alone.
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
         .group_size = group == kNoRow
                           ? 0.0
                           : static_cast<double>(trace.process_groups.num_ranks[group]),
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

CompatResult Bandwidth(const CompatRun& run, CollectiveKind kind) {
  for (const Trace& trace : run.set->ranks) {
    const std::vector<double> rates = GibibytesPerSecond(trace, kind);
    if (!rates.empty()) {
      return Number(Median(rates));
    }
  }
  return NotANumber();
}

// The words of hlo_category for a kind.
bool IsXlaCategory(std::string_view category, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return category.find("all-reduce") != std::string_view::npos;
    case CollectiveKind::kAllGather:
      return category.find("all-gather") != std::string_view::npos;
    case CollectiveKind::kReduceScatter:
      return category.find("reduce-scatter") != std::string_view::npos;
    case CollectiveKind::kAllToAll:
      return category.find("all-to-all") != std::string_view::npos;
    case CollectiveKind::kUnknown:
      return !CollectiveLabel(category).empty();
    default:
      return false;
  }
}

CompatResult XlaVolume(const Trace& trace, CollectiveKind kind) {
  double bytes = 0;
  FactsMemo facts_of(trace);
  for (const RowId row : KernelRows(trace)) {
    const SliceFacts& facts = facts_of(ExtraOf(trace, row));
    if (!facts.hlo_category.empty() && IsXlaCategory(facts.hlo_category, kind)) {
      bytes += facts.accessed_bytes.value_or(0);
    }
  }
  return bytes > 0 ? Number(bytes / 1e9) : StandIn(0.0);
}

// Without sizes in the file the suite says 0, not "unknown".
CompatResult Volume(const CompatRun& run, CollectiveKind kind) {
  if (run.set->ranks.empty()) {
    return StandIn();
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
  return kernels.empty() ? StandIn(0.0) : Number(bytes / 1e9);
}

}  // namespace

template <CollectiveKind kind>
CompatResult BandwidthOfKind(const CompatRun& run) {
  return Bandwidth(run, kind);
}

template CompatResult BandwidthOfKind<CollectiveKind::kAllGather>(const CompatRun&);
template CompatResult BandwidthOfKind<CollectiveKind::kAllReduce>(const CompatRun&);
template CompatResult BandwidthOfKind<CollectiveKind::kAllToAll>(const CompatRun&);
template CompatResult BandwidthOfKind<CollectiveKind::kReduceScatter>(const CompatRun&);

template <CollectiveKind kind>
CompatResult VolumeOfKind(const CompatRun& run) {
  return Volume(run, kind);
}

template CompatResult VolumeOfKind<CollectiveKind::kAllReduce>(const CompatRun&);
template CompatResult VolumeOfKind<CollectiveKind::kAllGather>(const CompatRun&);
template CompatResult VolumeOfKind<CollectiveKind::kReduceScatter>(const CompatRun&);
template CompatResult VolumeOfKind<CollectiveKind::kAllToAll>(const CompatRun&);
template CompatResult VolumeOfKind<CollectiveKind::kUnknown>(const CompatRun&);

CompatResult BandwidthUtilization(const CompatRun& run) {
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
  const auto mean = PlainMean(ratios);
  return mean ? Number(*mean) : Fails("mean of no all-reduces");
}

}  // namespace orrery::compat::ccl_bench
