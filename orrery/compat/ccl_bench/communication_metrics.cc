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
#include "orrery/base/text/table.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {
namespace {

using analyze::CardNumber, analyze::CardText;
using trace::Trace;

// The reference point of `gpu_step_score`; the defaults are the suite's.
struct StepScoreSettings {
  double reference_gpus = 16;
  double reference_seconds = 0.44;
  double weight = 0.5;
  std::optional<double> gpus = {};  // from gpu_count.txt
};

void Take(const Table& table, std::string_view column, double& into) {
  if (table.num_rows() > 0) {
    into = table.Number(0, column).value_or(into);
  }
}

std::optional<double> AverageLatencySeconds(const Run& run) {
  const Table* table = FindTable(run, "latency benchmark");
  for (std::size_t row = 0; table != nullptr && row < table->num_rows(); ++row) {
    if (table->Text(row, "statistic") == "average") {
      return table->Number(row, "latency_s");
    }
  }
  return std::nullopt;
}

Steps InnerMarkedSteps(const Trace& trace) {
  Steps steps = ProfilerSteps(trace);
  return InnerSteps(steps.empty() ? EngineSteps(trace) : std::move(steps));
}

std::optional<double> MeanMicroseconds(const Steps& steps) {
  std::vector<double> durations_us;
  for (const Interval& step : steps) {
    durations_us.push_back(Microseconds(step.length_ns()));
  }
  return SequentialMean(durations_us);
}

// Sums of the kernels that overlap each step, whole durations. Kernels are in order of begin,
// so steps that ended before one begins are skipped for good.
std::vector<KernelSums> SumsOfSteps(const Trace& trace, Steps steps, NameTest chosen) {
  std::ranges::sort(steps, {}, &Interval::begin_ns);
  std::vector<KernelSums> sums(steps.size());
  PerName is_chosen(trace, chosen);
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
    return SumKernels(trace, kFractionComm).ChosenShare();
  }
  std::vector<double> shares;
  for (const KernelSums& sums : SumsOfSteps(trace, steps, kFractionComm)) {
    if (const auto share = sums.ChosenShare()) {
      shares.push_back(*share);
    }
  }
  return SequentialMean(shares);
}

// The union of communication per step; clipped only when the ends are dropped.
double CommMicrosecondsPerStep(const Trace& trace) {
  const Steps all = ProfilerSteps(trace);
  const Steps inner = InnerSteps(all);
  IntervalSet comm = UniteKernels(trace, kTimeComm).chosen;
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
      return OverlapOf(UniteKernels(trace, kNsysComm));
    case Source::kXla:
      return OverlapInSteps(trace, InnerSteps(RecordedSteps(trace)), kXlaOverlapComm);
    case Source::kJson:
      break;
  }
  return OverlapInSteps(trace, InnerMarkedSteps(trace), kOverlapComm);
}

// The dense peak in TFLOP/s of the chips that the suite knows.
std::optional<double> PeakTeraflops(const Run& run) {
  using Entry = std::pair<std::string_view, double>;
  static constexpr auto kPeaks =
      std::to_array<Entry>({{"a100", 312}, {"h100", 989}, {"tpu_v6e", 918}});
  const auto chip = CardText(*run.set, "xpu_spec.model");
  for (const auto& [name, peak] : kPeaks) {
    if (chip && HasWord(*chip, name)) {
      return peak;
    }
  }
  return std::nullopt;
}

template <typename MicrosecondsOf>
std::optional<double> MeanSecondsOverFiles(const Run& run, MicrosecondsOf us_of) {
  const auto mean_us = MeanOverFiles(run, us_of);
  return mean_us ? std::optional(*mean_us / 1e6) : std::nullopt;
}

std::optional<double> WholeTraceOverIterations(const Run& run) {
  const auto iterations = CardNumber(*run.set, "iteration");
  const auto wall_us = WallMicroseconds(run);
  return iterations && wall_us ? std::optional(Rounded(*wall_us / 1e6 / *iterations, 6))
                               : std::nullopt;
}

std::optional<double> StepSeconds(const Run& run) {
  if (SourceOf(run) != Source::kXla) {
    return MeanSecondsOverFiles(
        run, [](const Trace& trace) { return MeanMicroseconds(InnerMarkedSteps(trace)); });
  }
  const auto marked = MeanSecondsOverFiles(
      run, [](const Trace& trace) { return MeanMicroseconds(InnerSteps(XlaEngineSteps(trace))); });
  return marked ? marked : WholeTraceOverIterations(run);
}

// The time that `mfu` divides by.
std::optional<double> BatchSeconds(const Run& run) {
  if (const auto latency = AverageLatencySeconds(run)) {
    return latency;
  }
  return MeanSecondsOverFiles(
      run, [](const Trace& trace) { return MeanMicroseconds(InnerSteps(ProfilerSteps(trace))); });
}

std::optional<double> FlopsPerToken(const Run& run) {
  const auto field = [&](std::string_view name) { return CardNumber(*run.set, name); };
  const auto active = field("num_params_active");
  const auto params = active ? active : field("num_params");
  const auto layers = field("num_layers");
  const auto heads = field("num_heads");
  const auto head_dim = field("head_dim");
  const auto length = field("seq_len");
  if (!params || !layers || !heads || !head_dim || !length) {
    return std::nullopt;
  }
  const double dense = *params - field("num_params_embedding").value_or(0);
  const double attention = *layers * *head_dim * *heads * *length;
  const bool is_training = CardText(*run.set, "phase") == "training";
  return is_training ? 6 * dense + 12 * attention : 2 * dense + 4 * attention;
}

MetricResult MfuFromCard(const Run& run) {
  const auto flops = FlopsPerToken(run);
  const auto batch = CardNumber(*run.set, "batch_size");
  const auto length = CardNumber(*run.set, "seq_len");
  const auto world = CardNumber(*run.set, "total_count");
  const auto peak = PeakTeraflops(run);
  const auto seconds = BatchSeconds(run);
  if (!flops || !batch || !length || !world || !peak || !seconds || *seconds <= 0) {
    return Placeholder();
  }
  const double tokens_per_second = *batch * *length / *seconds;
  return Number(Rounded(*flops * tokens_per_second / (*world * *peak * 1e12) * 100.0, 4));
}

MetricResult MfuFromModelFlops(const Run& run) {
  const auto peak = PeakTeraflops(run);
  const auto world = CardNumber(*run.set, "total_count");
  const ModelFlops flops = SumModelFlops(run);
  if (!peak || !world || flops.busy_ns <= 0) {
    return Placeholder();
  }
  const double rate = flops.model_flops / (Microseconds(flops.busy_ns) / 1e6);
  return Number(rate / (*peak * 1e12 * *world) * 100.0);
}

// The engine steps of one file, in order of time.
Steps ServingSteps(const Run& run, const Trace& trace) {
  Steps steps = EngineSteps(trace);
  return steps.empty() && SourceOf(run) == Source::kXla ? XlaEngineSteps(trace) : steps;
}

bool IsInference(const Run& run) {
  return CardText(*run.set, "phase") == "inference";
}

// Without the first step and, of more than two, without the last.
std::optional<double> DecodeMicroseconds(const Steps& steps) {
  if (steps.size() < 2) {
    return std::nullopt;
  }
  const std::size_t dropped_at_end = steps.size() > 2 ? 1 : 0;
  return MeanMicroseconds(
      Steps(steps.begin() + 1, steps.end() - static_cast<long>(dropped_at_end)));
}

MetricResult OnlyRecord(const Run& run, std::string_view column) {
  const Table* table = FindTable(run, "serving benchmark");
  if (table == nullptr || table->num_rows() != 1) {
    return Fails("needs a bench_results.jsonl with one record");
  }
  const auto value = table->Number(0, column);
  return value ? Number(*value) : Fails("the record has no " + std::string(column));
}

}  // namespace

MetricResult CommunicationRatio(const Run& run) {
  const NameTest test = SourceOf(run) == Source::kNsys ? kNsysComm : kTimeComm;
  return NumberOrUnknown(SumKernels(run, test).ChosenShare());
}

MetricResult CommunicationFraction(const Run& run) {
  const Source source = SourceOf(run);
  if (source == Source::kNsys) {
    return NumberOrUnknown(SumKernels(run, kNsysComm).ChosenShare());
  }
  std::vector<double> shares;
  for (const Trace& trace : run.set->ranks) {
    if (source == Source::kXla) {
      // Everything on a device counts, so an operation counts again in the module around it.
      PerName is_comm(trace, kXlaOverlapComm);
      std::map<std::int32_t, KernelSums> sums_of_device;
      for (RowId row = 0; row < trace.activities.size(); ++row) {
        const double duration_us = Microseconds(trace.activities.duration_ns[row]);
        const RowId track = trace.activities.track[row];
        KernelSums& sums = sums_of_device[track == kNoRow ? -1 : trace.tracks.device[track]];
        sums.Add(duration_us, is_comm(trace.activities.name[row]));
      }
      for (const auto& [device, sums] : sums_of_device) {
        if (const auto share = sums.ChosenShare()) {
          shares.push_back(*share);
        }
      }
    } else if (const auto share = FractionOfFile(trace)) {
      shares.push_back(*share);
    }
  }
  return NumberOrUnknown(SequentialMean(shares));
}

MetricResult TotalCommunicationTime(const Run& run) {
  switch (SourceOf(run)) {
    case Source::kNsys: {
      const KernelSums sums = SumKernels(run, kNsysComm);
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
    const Overlap overlap = OverlapOf(UniteKernels(trace, is_nsys ? kNsysComm : kTimeComm));
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

MetricResult AvgStepTime(const Run& run) {
  return NumberOrUnknown(StepSeconds(run));
}

MetricResult Mfu(const Run& run) {
  return SourceOf(run) == Source::kXla ? MfuFromModelFlops(run) : MfuFromCard(run);
}

MetricResult Ttft(const Run& run) {
  if (!IsInference(run)) {
    return Placeholder();
  }
  return NumberOrUnknown(
      MeanSecondsOverFiles(run, [&](const Trace& trace) -> std::optional<double> {
        const Steps steps = ServingSteps(run, trace);
        return steps.empty() ? std::nullopt : MeanMicroseconds({steps.front()});
      }));
}

MetricResult Tpot(const Run& run) {
  if (!IsInference(run) || CardNumber(*run.set, "output_len").value_or(0) <= 1) {
    return Placeholder();
  }
  return NumberOrUnknown(MeanSecondsOverFiles(
      run, [&](const Trace& trace) { return DecodeMicroseconds(ServingSteps(run, trace)); }));
}

MetricResult GpuStepScore(const Run& run) {
  StepScoreSettings settings;
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format != "step score") {
      continue;
    }
    Take(*measurement.rows, "g0", settings.reference_gpus);
    Take(*measurement.rows, "t0_s", settings.reference_seconds);
    Take(*measurement.rows, "w", settings.weight);
    if (measurement.rows->num_rows() > 0 && !settings.gpus) {
      settings.gpus = measurement.rows->Number(0, "gpus");
    }
  }
  const double gpus = settings.gpus.value_or(static_cast<double>(run.set->ranks.size()));
  const auto seconds = StepSeconds(run);
  if (gpus <= 0 || !seconds || *seconds <= 0) {
    return Placeholder();
  }
  return Number(settings.weight * (settings.reference_gpus / gpus) +
                (1 - settings.weight) * (settings.reference_seconds / *seconds));
}

MetricResult ServingMedianTtft(const Run& run) {
  return OnlyRecord(run, "median_ttft_ms");
}

MetricResult ServingMedianTpot(const Run& run) {
  return OnlyRecord(run, "median_tpot_ms");
}

MetricResult ServingThroughput(const Run& /*run*/) {
  return Fails("its function is never assigned");
}

}  // namespace orrery::compat::ccl_bench
