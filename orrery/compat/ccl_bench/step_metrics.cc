#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/interval_set.h"
#include "orrery/compat/ccl_bench/chrome_slices.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/run_inputs.h"
#include "orrery/compat/ccl_bench/step_markers.h"

namespace orrery::compat::ccl_bench {

namespace {

using analyze::CardNumber, analyze::CardText;
using trace::Trace;

// The dense peak in TFLOP/s of the chips that the suite knows.
std::optional<double> PeakTeraflops(const Run& run) {
  using Entry = std::pair<std::string_view, double>;
  static constexpr auto kPeaks =
      std::to_array<Entry>({{"a100", 312}, {"h100", 989}, {"tpu_v6e", 918}});
  const auto chip = CardText(*run.set, "xpu_spec.model");
  for (const auto& [name, peak] : kPeaks) {
    if (chip && HasWord(*chip, {name})) {
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
  const StepScoreSettings settings = FindStepScoreSettings(run);
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
