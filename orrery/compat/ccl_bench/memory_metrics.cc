#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::ActivityKind;
using trace::Trace;

struct NamedInterval {
  Interval time;
  StringId name = StringId::kEmpty;
};

bool IsMemoryToolCategory(std::string_view category) {
  return category.empty() || category == "Op" || category == "gpu_op" || category == "device_op";
}

// The input of the memory tools: kernels, and slices of unusual or no category.
std::vector<NamedInterval> MemoryToolSlices(const Trace& trace) {
  std::vector<NamedInterval> slices;
  for (const RowId row : KernelRows(trace)) {
    slices.push_back(
        {{trace.activities.begin_ns[row], EndNs(trace, row)}, trace.activities.name[row]});
  }
  ForEachSliceOf(trace.other_slices, [&](const Slice& slice) {
    if (IsMemoryToolCategory(trace.Text(slice.category))) {
      slices.push_back({slice.time, slice.name});
    }
  });
  return slices;
}

// Sums over files: time in which copies run alone, and the span around everything.
struct Transfer {
  std::int64_t alone_ns = 0;
  std::int64_t span_ns = 0;
};

Transfer TransferOfFile(const Trace& trace) {
  PerName is_copy(trace,
                  [](std::string_view name) { return MemoryClassOf(name) == MemoryClass::kCopy; });
  PerName is_compute(trace, kMemoryCompute);
  std::vector<Interval> copies;
  std::vector<Interval> compute;
  const std::vector<NamedInterval> slices = MemoryToolSlices(trace);
  for (const NamedInterval& slice : slices) {
    if (is_copy(slice.name)) {
      copies.push_back(slice.time);
    } else if (is_compute(slice.name)) {
      compute.push_back(slice.time);
    }
  }
  if (copies.empty()) {
    return {};
  }
  Interval span = slices.front().time;
  for (const NamedInterval& slice : slices) {
    span = Hull(span, slice.time);
  }
  const IntervalSet alone = Difference(IntervalSet::Of(copies), IntervalSet::Of(compute));
  return {.alone_ns = alone.length_ns(), .span_ns = span.length_ns()};
}

// nsys: memcpys of the copy engines against the kernels of all devices.
Transfer TransferOfRecording(const Run& run) {
  std::vector<Interval> copies;
  std::vector<Interval> kernels;
  for (const Trace& trace : run.set->ranks) {
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      const ActivityKind kind = trace.activities.kind[row];
      const Interval time{trace.activities.begin_ns[row], EndNs(trace, row)};
      if (kind == ActivityKind::kMemcpy) {
        copies.push_back(time);
      } else if (kind == ActivityKind::kKernel) {
        kernels.push_back(time);
      }
    }
  }
  const IntervalSet copied = IntervalSet::Of(copies);
  const IntervalSet busy = IntervalSet::Of(kernels);
  const IntervalSet all = Union(copied, busy);
  if (copied.empty()) {
    return {};
  }
  return {.alone_ns = Difference(copied, busy).length_ns(),
          .span_ns = all.intervals().back().end_ns - all.intervals().front().begin_ns};
}

// An XLA transfer from copy-start to copy-done.
struct Dma {
  Interval time;
  double bytes = 0;
};

std::vector<Dma> DmaTransfers(const Trace& trace) {
  constexpr std::string_view kStart = "copy-start";
  constexpr std::string_view kDone = "copy-done";
  PerName arguments_of(trace, &ReadXlaArguments);
  std::map<std::pair<RowId, std::string_view>, RowId> start_of_suffix;
  std::vector<Dma> transfers;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const std::string_view name = trace.Text(trace.activities.name[row]);
    const RowId track = trace.activities.track[row];
    if (name.starts_with(kStart)) {
      start_of_suffix[{track, name.substr(kStart.size())}] = row;
    } else if (name.starts_with(kDone)) {
      const auto start = start_of_suffix.find({track, name.substr(kDone.size())});
      if (start != start_of_suffix.end()) {
        transfers.push_back(
            {.time = {trace.activities.begin_ns[start->second], trace.activities.begin_ns[row]},
             .bytes = arguments_of(ExtraOf(trace, start->second)).accessed_bytes.value_or(0)});
        start_of_suffix.erase(start);
      }
    }
  }
  return transfers;
}

// Time in which only DMA runs, over the summed steps.
Transfer TransferOfXlaFile(const Trace& trace) {
  std::vector<Interval> transfers;
  for (const Dma& dma : DmaTransfers(trace)) {
    transfers.push_back(dma.time);
  }
  PerName is_compute(trace, kMemoryCompute);
  IntervalSet compute;
  for (const RowId row : KernelRows(trace)) {
    if (is_compute(trace.activities.name[row])) {
      compute.Append(trace.activities.begin_ns[row], EndNs(trace, row));
    }
  }
  std::int64_t steps_ns = 0;
  for (const std::int64_t duration_ns : trace.steps.duration_ns) {
    steps_ns += duration_ns;
  }
  return {.alone_ns = Difference(IntervalSet::Of(transfers), compute).length_ns(),
          .span_ns = transfers.empty() ? 0 : steps_ns};
}

struct Moved {
  double bytes = 0;
  double us = 0;

  void Add(double more_bytes, std::int64_t duration_ns) {
    if (more_bytes > 0) {
      bytes += more_bytes;
      us += Microseconds(duration_ns);
    }
  }
};

std::optional<double> BoundByName(const Run& run) {
  KernelSums sums;
  for (const Trace& trace : run.set->ranks) {
    PerName is_bound(trace, [](std::string_view name) {
      const MemoryClass found = MemoryClassOf(name);
      return found != MemoryClass::kCommunication && found != MemoryClass::kGemm &&
             found != MemoryClass::kOther;
    });
    for (const NamedInterval& slice : MemoryToolSlices(trace)) {
      sums.Add(Microseconds(slice.time.length_ns()), is_bound(slice.name));
    }
  }
  return sums.ChosenShare();
}

}  // namespace

MetricResult MemoryTransferOverhead(const Run& run) {
  const Source source = SourceOf(run);
  Transfer sum;
  if (source == Source::kNsys) {
    sum = TransferOfRecording(run);
  } else {
    for (const Trace& trace : run.set->ranks) {
      const Transfer own =
          source == Source::kXla ? TransferOfXlaFile(trace) : TransferOfFile(trace);
      sum.alone_ns += own.alone_ns;
      sum.span_ns += own.span_ns;
    }
  }
  const auto share = Share(Microseconds(sum.alone_ns), Microseconds(sum.span_ns));
  return share && source == Source::kJson ? Number(Rounded(*share, 4)) : NumberOrUnknown(share);
}

MetricResult AverageMemoryBandwidth(const Run& run) {
  const Source source = SourceOf(run);
  Moved moved;
  for (const Trace& trace : run.set->ranks) {
    if (source != Source::kXla) {
      PerName is_copy(trace, kCopyName);
      PerName arguments_of(trace, &ReadXlaArguments);
      for (RowId row = 0; row < trace.activities.size(); ++row) {
        const bool counts = source == Source::kNsys
                                ? trace.activities.kind[row] == ActivityKind::kMemcpy
                                : is_copy(trace.activities.name[row]);
        if (counts) {
          const auto bytes = static_cast<double>(trace.activities.bytes[row]);
          moved.Add(
              bytes >= 0 ? bytes : arguments_of(ExtraOf(trace, row)).accessed_bytes.value_or(0),
              trace.activities.duration_ns[row]);
        }
      }
      continue;
    }
    for (const Dma& dma : DmaTransfers(trace)) {
      moved.Add(dma.bytes, dma.time.length_ns());
    }
  }
  return moved.us > 0 ? Number(moved.bytes / (moved.us * 1e3)) : Placeholder();
}

MetricResult MemoryBoundFraction(const Run& run) {
  if (SourceOf(run) == Source::kNsys) {
    // With nsys, the suite takes kernels with few blocks for memory-bound.
    constexpr double kMultiprocessorsIfUnknown = 108;
    const double multiprocessors =
        FirstDeviceMultiprocessors(run).value_or(kMultiprocessorsIfUnknown);
    KernelSums sums;
    for (const Trace& trace : run.set->ranks) {
      for (const RowId row : KernelRows(trace)) {
        const auto blocks = BlocksOf(trace, row);
        sums.Add(Microseconds(trace.activities.duration_ns[row]),
                 blocks && *blocks / multiprocessors < 0.5);
      }
    }
    return NumberOrUnknown(sums.ChosenShare());
  }
  const auto share = BoundByName(run);
  return share ? Number(Rounded(*share, 4)) : Placeholder();
}

}  // namespace orrery::compat::ccl_bench
