#include "orrery/compat/ccl_bench/communication_metrics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/compat/ccl_bench/chrome_metrics.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/outcome.h"
#include "orrery/compat/ccl_bench/step_markers.h"
#include "orrery/base/interval_set.h"

namespace orrery::compat::ccl_bench {

using analyze::CardNumber;

namespace {

using trace::Trace;

std::optional<double> ShareOf(const KernelSums& sums) {
  return Share(sums.chosen_us, sums.all_us);
}

// Sums of the kernels that overlap each step, whole durations. Kernels come in order of time, so
// the steps that ended before one begins are done with.
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
        sums[step].all_us += duration_us;
        sums[step].chosen_us += is_chosen(trace.activities.name[row]) ? duration_us : 0;
      }
    }
  }
  return sums;
}

std::optional<double> FractionOfFile(const Trace& trace) {
  const Steps steps = InnerSteps(ProfilerSteps(trace));
  if (steps.empty()) {
    return ShareOf(SumKernels(trace, &IsFractionComm));
  }
  std::vector<double> shares;
  for (const KernelSums& sums : SumsOfSteps(trace, steps, &IsFractionComm)) {
    if (const auto share = ShareOf(sums)) {
      shares.push_back(*share);
    }
  }
  return PlainMean(shares);
}

// Everything on a device counts, so an operation counts again in the module around it.
std::vector<double> FractionsOfXlaDevices(const Trace& trace) {
  NameMemo is_comm(trace, &IsXlaOverlapComm);
  std::map<std::int32_t, KernelSums> sums_of_device;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const double duration_us = Microseconds(trace.activities.duration_ns[row]);
    const RowId track = trace.activities.track[row];
    KernelSums& sums = sums_of_device[track == kNoRow ? -1 : trace.tracks.device[track]];
    sums.all_us += duration_us;
    sums.chosen_us += is_comm(trace.activities.name[row]) ? duration_us : 0;
  }
  std::vector<double> shares;
  for (const auto& [device, sums] : sums_of_device) {
    if (const auto share = ShareOf(sums)) {
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

// Steps of the suite, else of any marker for XLA; each clips both unions.
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

CompatResult CommunicationRatio(const CompatRun& run) {
  const NameTest test = SourceOf(run) == Source::kNsys ? &IsNsysComm : &IsTimeComm;
  return NumberOrUnknown(ShareOf(SumKernels(run, test)));
}

CompatResult CommunicationFraction(const CompatRun& run) {
  const Source source = SourceOf(run);
  if (source == Source::kNsys) {
    return NumberOrUnknown(ShareOf(SumKernels(run, &IsNsysComm)));
  }
  std::vector<double> shares;
  for (const Trace& trace : run.set->ranks) {
    if (source == Source::kXla) {
      std::ranges::copy(FractionsOfXlaDevices(trace), std::back_inserter(shares));
    } else if (const auto share = FractionOfFile(trace)) {
      shares.push_back(*share);
    }
  }
  return NumberOrUnknown(PlainMean(shares));
}

CompatResult TotalCommunicationTime(const CompatRun& run) {
  switch (SourceOf(run)) {
    case Source::kNsys: {
      const KernelSums sums = SumKernels(run, &IsNsysComm);
      return sums.all_us > 0 ? Number(sums.chosen_us / 1e6) : StandIn();
    }
    case Source::kXla: {
      const auto seconds = CommSeconds(run);
      const auto iterations = CardNumber(*run.set, "iteration");
      return seconds && iterations ? Number(*seconds / *iterations) : StandIn();
    }
    case Source::kJson:
      break;
  }
  std::vector<double> times_us;
  for (const Trace& trace : run.set->ranks) {
    if (!KernelRows(trace).empty()) {
      times_us.push_back(CommMicrosecondsPerStep(trace));
    }
  }
  const auto mean_us = PlainMean(times_us);
  return mean_us ? Number(*mean_us / 1e6) : StandIn();
}

CompatResult CommunicationOverlapRatio(const CompatRun& run) {
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
  return NumberOrUnknown(is_nsys ? sum.Ratio() : PlainMean(ratios));
}

CompatResult ComputeCommOverlap(const CompatRun& run) {
  const Source source = SourceOf(run);
  std::vector<double> percents;
  for (const Trace& trace : run.set->ranks) {
    const Overlap overlap = StepOverlap(trace, source);
    if (overlap.comm_ns > 0) {
      percents.push_back(100.0 * Microseconds(overlap.both_ns) / Microseconds(overlap.comm_ns));
    }
  }
  return NumberOrUnknown(PlainMean(percents));
}

}  // namespace orrery::compat::ccl_bench
