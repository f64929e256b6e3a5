#include "orrery/compat/ccl_bench/step_metrics.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/compat/ccl_bench/chrome_slices.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/measured_tables.h"
#include "orrery/compat/ccl_bench/outcome.h"
#include "orrery/compat/ccl_bench/step_markers.h"
#include "orrery/base/interval_set.h"

namespace orrery::compat::ccl_bench {

using analyze::CardNumber;
using analyze::CardText;

namespace {

using trace::Trace;

// The dense peak in TFLOP/s of the chips that the suite knows.
std::optional<double> PeakTeraflops(const CompatRun& run) {
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

// Mean over the files that have a value, in seconds.
template <typename MicrosecondsOf>
std::optional<double> MeanSecondsOverFiles(const CompatRun& run, MicrosecondsOf us_of) {
  std::vector<double> values_us;
  for (const Trace& trace : run.set->ranks) {
    if (const std::optional<double> value_us = us_of(trace)) {
      values_us.push_back(*value_us);
    }
  }
  const auto mean_us = PlainMean(values_us);
  return mean_us ? std::optional(*mean_us / 1e6) : std::nullopt;
}

std::optional<double> WholeTraceOverIterations(const CompatRun& run) {
  const auto iterations = CardNumber(*run.set, "iteration");
  const auto wall_us = WallMicroseconds(run);
  return iterations && wall_us ? std::optional(Rounded(*wall_us / 1e6 / *iterations, 6))
                               : std::nullopt;
}

std::optional<double> StepSeconds(const CompatRun& run) {
  if (SourceOf(run) != Source::kXla) {
    return MeanSecondsOverFiles(
        run, [](const Trace& trace) { return MeanMicroseconds(InnerMarkedSteps(trace)); });
  }
  const auto marked = MeanSecondsOverFiles(
      run, [](const Trace& trace) { return MeanMicroseconds(InnerSteps(XlaEngineSteps(trace))); });
  return marked ? marked : WholeTraceOverIterations(run);
}

// The time that `mfu` divides by.
std::optional<double> BatchSeconds(const CompatRun& run) {
  if (const auto latency = AverageLatencySeconds(run)) {
    return latency;
  }
  return MeanSecondsOverFiles(
      run, [](const Trace& trace) { return MeanMicroseconds(InnerSteps(ProfilerSteps(trace))); });
}

std::optional<double> FlopsPerToken(const CompatRun& run) {
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

CompatResult MfuFromCard(const CompatRun& run) {
  const auto flops = FlopsPerToken(run);
  const auto batch = CardNumber(*run.set, "batch_size");
  const auto length = CardNumber(*run.set, "seq_len");
  const auto world = CardNumber(*run.set, "total_count");
  const auto peak = PeakTeraflops(run);
  const auto seconds = BatchSeconds(run);
  if (!flops || !batch || !length || !world || !peak || !seconds || *seconds <= 0) {
    return StandIn();
  }
  const double tokens_per_second = *batch * *length / *seconds;
  return Number(Rounded(*flops * tokens_per_second / (*world * *peak * 1e12) * 100.0, 4));
}

CompatResult MfuFromModelFlops(const CompatRun& run) {
  const auto peak = PeakTeraflops(run);
  const auto world = CardNumber(*run.set, "total_count");
  const FlopsOfRun flops = SumModelFlops(run);
  if (!peak || !world || flops.busy_ns <= 0) {
    return StandIn();
  }
  const double rate = flops.model_flops / (Microseconds(flops.busy_ns) / 1e6);
  return Number(rate / (*peak * 1e12 * *world) * 100.0);
}

// The engine's calls of one file, in order of time.
Steps ServingSteps(const CompatRun& run, const Trace& trace) {
  Steps steps = EngineSteps(trace);
  return steps.empty() && SourceOf(run) == Source::kXla ? XlaEngineSteps(trace) : steps;
}

bool IsInference(const CompatRun& run) {
  return CardText(*run.set, "phase") == "inference";
}

// Without the first and, where there are more than two, without the last.
std::optional<double> DecodeMicroseconds(const Steps& steps) {
  if (steps.size() < 2) {
    return std::nullopt;
  }
  const std::size_t dropped_at_end = steps.size() > 2 ? 1 : 0;
  return MeanMicroseconds(
      Steps(steps.begin() + 1, steps.end() - static_cast<long>(dropped_at_end)));
}

}  // namespace

CompatResult AvgStepTime(const CompatRun& run) {
  return NumberOrUnknown(StepSeconds(run));
}

CompatResult Mfu(const CompatRun& run) {
  return SourceOf(run) == Source::kXla ? MfuFromModelFlops(run) : MfuFromCard(run);
}

CompatResult Ttft(const CompatRun& run) {
  if (!IsInference(run)) {
    return StandIn();
  }
  return NumberOrUnknown(
      MeanSecondsOverFiles(run, [&](const Trace& trace) -> std::optional<double> {
        const Steps steps = ServingSteps(run, trace);
        return steps.empty() ? std::nullopt : MeanMicroseconds({steps.front()});
      }));
}

CompatResult Tpot(const CompatRun& run) {
  if (!IsInference(run) || CardNumber(*run.set, "output_len").value_or(0) <= 1) {
    return StandIn();
  }
  return NumberOrUnknown(MeanSecondsOverFiles(
      run, [&](const Trace& trace) { return DecodeMicroseconds(ServingSteps(run, trace)); }));
}

CompatResult GpuStepScore(const CompatRun& run) {
  const StepScoreSettings settings = FindStepScoreSettings(run);
  const double gpus = settings.gpus.value_or(static_cast<double>(run.set->ranks.size()));
  const auto seconds = StepSeconds(run);
  if (gpus <= 0 || !seconds || *seconds <= 0) {
    return StandIn();
  }
  return Number(settings.weight * (settings.reference_gpus / gpus) +
                (1 - settings.weight) * (settings.reference_seconds / *seconds));
}

}  // namespace orrery::compat::ccl_bench
