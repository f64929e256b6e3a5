#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/interval_set.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/step_markers.h"

namespace orrery::compat::ccl_bench {

namespace {

using trace::Trace;

// Sums of the kernels that overlap each step, whole durations. Kernels are in order of begin,
// so steps that ended before one begins are skipped for good.
std::vector<KernelSums> SumsOfSteps(const Trace& trace, Steps steps, NameTest chosen) {
  std::ranges::sort(steps, {}, &Interval::begin_ns);
  std::vector<KernelSums> sums(steps.size());
  NameMemo is_chosen(trace, chosen);
  std::size_t first = 0;
  for (const RowId row : KernelRows(trace)) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const double duration_us = Microseconds(trace.activities.duration_ns[row]);
    while (first < steps.size() && steps[first].end_ns <= begin_ns) {
      ++first;
    }
    for (std::size_t step = first; step < steps.size() && steps[step].begin_ns < EndNs(trace, row);
         ++step) {
      if (steps[step].end_ns > begin_ns) {
        sums[step].Add(duration_us, is_chosen(trace.activities.name[row]));
      }
    }
  }
  return sums;
}

std::optional<double> FractionOfFile(const Trace& trace) {
  const Steps steps = InnerSteps(ProfilerSteps(trace));
  if (steps.empty()) {
    return SumKernels(trace, &IsFractionComm).ChosenShare();
  }
  std::vector<double> shares;
  for (const KernelSums& sums : SumsOfSteps(trace, steps, &IsFractionComm)) {
    if (const auto share = sums.ChosenShare()) {
      shares.push_back(*share);
    }
  }
  return SequentialMean(shares);
}

// Everything on a device counts, so an operation counts again in the module around it.
std::vector<double> FractionsOfXlaDevices(const Trace& trace) {
  NameMemo is_comm(trace, &IsXlaOverlapComm);
  std::map<std::int32_t, KernelSums> sums_of_device;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const double duration_us = Microseconds(trace.activities.duration_ns[row]);
    const RowId track = trace.activities.track[row];
    KernelSums& sums = sums_of_device[track == kNoRow ? -1 : trace.tracks.device[track]];
    sums.Add(duration_us, is_comm(trace.activities.name[row]));
  }
  std::vector<double> shares;
  for (const auto& [device, sums] : sums_of_device) {
    if (const auto share = sums.ChosenShare()) {
      shares.push_back(*share);
    }
  }
  return shares;
}

// The union of communication per step; clipped only when the ends are dropped.
double CommMicrosecondsPerStep(const Trace& trace) {
  const Steps all = ProfilerSteps(trace);
  const Steps inner = InnerSteps(all);
  IntervalSet comm = UniteKernels(trace, &IsTimeComm).chosen;
  if (all.size() > inner.size()) {
    comm = Clipped(comm, {std::ranges::min(inner, {}, &Interval::begin_ns).begin_ns,
                          std::ranges::max(inner, {}, &Interval::end_ns).end_ns});
  }
  const auto steps = static_cast<double>(std::max<std::size_t>(inner.size(), 1));
  return Microseconds(comm.length_ns()) / steps;
}

struct Overlap {
  std::int64_t both_ns = 0;
  std::int64_t comm_ns = 0;

  [[nodiscard]] std::optional<double> Ratio() const {
    return comm_ns > 0 ? std::optional(Microseconds(both_ns) / Microseconds(comm_ns))
                       : std::nullopt;
  }
};

Overlap OverlapOf(const KernelUnions& unions) {
  return {.both_ns = OverlapNs(unions.chosen, unions.rest), .comm_ns = unions.chosen.length_ns()};
}

// Both unions are clipped to each step.
Overlap OverlapInSteps(const Trace& trace, const Steps& steps, NameTest chosen) {
  const KernelUnions unions = UniteKernels(trace, chosen);
  Overlap sum;
  for (const Interval& step : steps) {
    const Overlap inside = OverlapOf({Clipped(unions.chosen, step), Clipped(unions.rest, step)});
    sum.both_ns += inside.both_ns;
    sum.comm_ns += inside.comm_ns;
  }
  return sum;
}

Steps RecordedSteps(const Trace& trace) {
  Steps steps;
  for (RowId row = 0; row < trace.steps.size(); ++row) {
    steps.push_back(
        {trace.steps.begin_ns[row], trace.steps.begin_ns[row] + trace.steps.duration_ns[row]});
  }
  return steps;
}

Overlap StepOverlap(const Trace& trace, Source source) {
  switch (source) {
    case Source::kNsys:
      return OverlapOf(UniteKernels(trace, &IsNsysComm));
    case Source::kXla:
      return OverlapInSteps(trace, InnerSteps(RecordedSteps(trace)), &IsXlaOverlapComm);
    case Source::kJson:
      break;
  }
  return OverlapInSteps(trace, InnerMarkedSteps(trace), &IsOverlapComm);
}

}  // namespace

MetricResult CommunicationRatio(const Run& run) {
  const NameTest test = SourceOf(run) == Source::kNsys ? &IsNsysComm : &IsTimeComm;
  return NumberOrUnknown(SumKernels(run, test).ChosenShare());
}

MetricResult CommunicationFraction(const Run& run) {
  const Source source = SourceOf(run);
  if (source == Source::kNsys) {
    return NumberOrUnknown(SumKernels(run, &IsNsysComm).ChosenShare());
  }
  std::vector<double> shares;
  for (const Trace& trace : run.set->ranks) {
    if (source == Source::kXla) {
      std::ranges::copy(FractionsOfXlaDevices(trace), std::back_inserter(shares));
    } else if (const auto share = FractionOfFile(trace)) {
      shares.push_back(*share);
    }
  }
  return NumberOrUnknown(SequentialMean(shares));
}

MetricResult TotalCommunicationTime(const Run& run) {
  switch (SourceOf(run)) {
    case Source::kNsys: {
      const KernelSums sums = SumKernels(run, &IsNsysComm);
      return sums.all_us > 0 ? Number(sums.chosen_us / 1e6) : Placeholder();
    }
    case Source::kXla: {
      const auto seconds = CommSeconds(run);
      const auto iterations = analyze::CardNumber(*run.set, "iteration");
      return seconds && iterations ? Number(*seconds / *iterations) : Placeholder();
    }
    case Source::kJson:
      break;
  }
  const auto mean_us = MeanOverFiles(run, [](const Trace& trace) {
    return KernelRows(trace).empty() ? std::nullopt : std::optional(CommMicrosecondsPerStep(trace));
  });
  return mean_us ? Number(*mean_us / 1e6) : Placeholder();
}

MetricResult CommunicationOverlapRatio(const Run& run) {
  const bool is_nsys = SourceOf(run) == Source::kNsys;
  Overlap sum;
  std::vector<double> ratios;
  for (const Trace& trace : run.set->ranks) {
    const Overlap overlap = OverlapOf(UniteKernels(trace, is_nsys ? &IsNsysComm : &IsTimeComm));
    sum.both_ns += overlap.both_ns;
    sum.comm_ns += overlap.comm_ns;
    if (const auto ratio = overlap.Ratio()) {
      ratios.push_back(*ratio);
    }
  }
  return NumberOrUnknown(is_nsys ? sum.Ratio() : SequentialMean(ratios));
}

MetricResult ComputeCommOverlap(const Run& run) {
  const Source source = SourceOf(run);
  return NumberOrUnknown(MeanOverFiles(run, [&](const Trace& trace) -> std::optional<double> {
    const Overlap overlap = StepOverlap(trace, source);
    if (overlap.comm_ns <= 0) {
      return std::nullopt;
    }
    return 100.0 * Microseconds(overlap.both_ns) / Microseconds(overlap.comm_ns);
  }));
}

}  // namespace orrery::compat::ccl_bench
