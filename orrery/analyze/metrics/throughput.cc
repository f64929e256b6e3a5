#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::throughput {
namespace {

MetricResult IterationWallClockTime(const RunView& run) {
  const StepTime step_time = MeasureStepTime(run);
  if (!step_time.seconds) {
    return NotAvailable(kNoStepsReason);
  }
  MetricResult result{.value = step_time.seconds};
  if (step_time.is_estimated) {
    result.detail.Set("estimated", true);
    result.detail.Set("source", "recorded span / the card's iteration");
    return result;
  }
  std::vector<double> all;
  Value rows = Value::List();
  for (const RankSteps& rank : step_time.ranks) {
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(rank.rank))
                 .Set("steps", rank.seconds.size())
                 .Set("mean_s", Mean(rank.seconds)));
    all.insert(all.end(), rank.seconds.begin(), rank.seconds.end());
  }
  result.detail.Set("min_s", *std::ranges::min_element(all));
  result.detail.Set("p50_s", Quantile(all, 0.5));
  result.detail.Set("p90_s", Quantile(all, 0.9));
  result.detail.Set("p99_s", Quantile(all, 0.99));
  result.detail.Set("max_s", *std::ranges::max_element(all));
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

MetricResult TotalTraceTime(const RunView& run) {
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  MetricResult result{.value = Seconds(whole.length_ns())};
  result.detail.Set("source", is_device_time ? "device activities" : "host events");
  return result;
}

MetricResult WithSource(double value, std::string_view source) {
  MetricResult result{.value = value};
  result.detail.Set("source", source);
  return result;
}

MetricResult TokensPerSecondOfCard(const RunView& run) {
  const StepTime step_time = MeasureStepTime(run);
  if (!step_time.seconds) {
    return NotAvailable(kNoStepsReason);
  }
  for (const std::string_view field : {"batch_size", "seq_len"}) {
    if (!CardNumber(*run.set, field)) {
      return NotAvailable(WhyNoCardValue(*run.set, field));
    }
  }
  return WithSource(
      *CardNumber(*run.set, "batch_size") * *CardNumber(*run.set, "seq_len") / *step_time.seconds,
      "batch_size * seq_len of the card / step time");
}

// From the best source: a serving result, engine steps, or the card's batch and the step time.
MetricResult ThroughputTokensSec(const RunView& run) {
  const Table* const serving = FindTable(run, "serving benchmark");
  if (serving != nullptr && serving->num_rows() > 0) {
    const auto tokens = serving->Number(0, "total_output_tokens");
    const auto seconds = serving->Number(0, "duration_s");
    if (tokens && seconds && *seconds > 0) {
      return WithSource(*tokens / *seconds, "output tokens / duration of the serving result");
    }
  }
  std::int64_t tokens = 0;
  std::int64_t ns = 0;
  for (const trace::Trace& trace : run.set->ranks) {
    for (const RowId step : SelectedSteps(trace, run.options)) {
      if (const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]))) {
        tokens += engine->context_tokens + engine->generated_tokens;
        ns += trace.steps.duration_ns[step];
      }
    }
  }
  return tokens > 0 && ns > 0
             ? WithSource(static_cast<double>(tokens) * 1e9 / static_cast<double>(ns),
                          "tokens that the engine steps name / their durations")
             : TokensPerSecondOfCard(run);
}

/// The model of the workload card, as far as FLOPs need it.
struct ModelShape {
  double params = 0;  // active ones, without the embedding
  double layers = 0;
  double heads = 0;
  double head_dim = 0;

  /// FLOPs of one token with forward and backward pass at a sequence of `length`.
  [[nodiscard]] double TrainingFlopsPerToken(double length) const {
    return 6 * params + 12 * layers * heads * head_dim * length;
  }

  /// FLOPs of one token of a forward pass that attends to `length` tokens.
  [[nodiscard]] double ForwardFlopsPerToken(double length) const {
    return 2 * params + 4 * layers * heads * head_dim * length;
  }
};

// Returns true if the card says that the workload is inference.
bool IsInference(const trace::TraceSet& set) {
  const auto phase = CardText(set, "phase");
  return phase == "inference" || phase == "serving";
}

// Reads the shape from the card, or returns what is missing in words that follow "n/a: ".
std::optional<ModelShape> ReadModelShape(const trace::TraceSet& set, std::string& reason) {
  for (const std::string_view field : {"num_params", "num_layers", "num_heads", "head_dim"}) {
    if (!CardNumber(set, field)) {
      reason = WhyNoCardValue(set, field);
      return std::nullopt;
    }
  }
  const double all = *CardNumber(set, "num_params");
  const double active = CardNumber(set, "num_params_active").value_or(all);
  return ModelShape{.params = active - CardNumber(set, "num_params_embedding").value_or(0),
                    .layers = *CardNumber(set, "num_layers"),
                    .heads = *CardNumber(set, "num_heads"),
                    .head_dim = *CardNumber(set, "head_dim")};
}

struct Work {
  double flops = 0;
  double seconds = 0;
  std::string_view source;
};

std::optional<Work> TrainingWork(const RunView& run, const ModelShape& model, std::string& reason) {
  const auto step = MeasureStepTime(run);
  for (const std::string_view field : {"batch_size", "seq_len"}) {
    if (!CardNumber(*run.set, field)) {
      reason = WhyNoCardValue(*run.set, field);
      return std::nullopt;
    }
  }
  if (!step.seconds) {
    reason = kNoStepsReason;
    return std::nullopt;
  }
  const double length = *CardNumber(*run.set, "seq_len");
  const double tokens = *CardNumber(*run.set, "batch_size") * length;
  return Work{tokens * model.TrainingFlopsPerToken(length), *step.seconds, "step time"};
}

// A batch of requests: all prompt tokens at the prompt's length, then each output token at the
// length that it sees.
double BatchFlops(const ModelShape& model, double batch, double input, double output) {
  double flops = input * model.ForwardFlopsPerToken(input);
  flops += output * model.ForwardFlopsPerToken(input + (output - 1) / 2);
  return batch * flops;
}

std::optional<Work> InferenceWork(const RunView& run, const ModelShape& model,
                                  std::string& reason) {
  const Table* const latency = FindTable(run, "latency benchmark");
  const auto seconds = latency != nullptr && latency->num_rows() > 0
                           ? latency->Number(0, "avg_latency_s")
                           : std::nullopt;
  if (!seconds) {
    reason = "no latency of a batch (a *.latency.json beside the trace)";
    return std::nullopt;
  }
  for (const std::string_view field : {"batch_size", "input_len", "output_len"}) {
    if (!CardNumber(*run.set, field)) {
      reason = WhyNoCardValue(*run.set, field);
      return std::nullopt;
    }
  }
  return Work{BatchFlops(model, *CardNumber(*run.set, "batch_size"),
                         *CardNumber(*run.set, "input_len"), *CardNumber(*run.set, "output_len")),
              *seconds, "latency of the batch"};
}

MetricResult Mfu(const RunView& run) {
  std::string reason;
  const auto model = ReadModelShape(*run.set, reason);
  const auto work = !model                  ? std::nullopt
                    : IsInference(*run.set) ? InferenceWork(run, *model, reason)
                                            : TrainingWork(run, *model, reason);
  if (!work) {
    return NotAvailable(reason);
  }
  const auto devices = CardNumber(*run.set, "total_count");
  if (!devices) {
    return NotAvailable(WhyNoCardValue(*run.set, "total_count"));
  }
  const std::string precision(CardText(*run.set, "precision").value_or("bf16"));
  const hardware::Gpu* const chip = ChipOf(run);
  const auto peak = chip == nullptr ? std::nullopt : chip->PeakFlops(precision);
  if (!peak) {
    return NotAvailable(fmt::format("no peak rate for {} at {} in the hardware catalogue",
                                    chip == nullptr ? "the device" : chip->name, precision));
  }
  const double percent = 100 * work->flops / (work->seconds * *devices * *peak);
  if (!(percent <= 100)) {
    return NotAvailable(
        fmt::format("{:.3g} FLOPs in {:.3g} s would be {:.3g} % of what {:g} {} can do; check "
                    "batch_size, seq_len, num_params, precision and total_count of the card",
                    work->flops, work->seconds, percent, *devices, chip->name));
  }
  MetricResult result{.value = percent};
  result.detail.Set("flops", work->flops)
      .Set("seconds", work->seconds)
      .Set("source", work->source)
      .Set("devices", *devices)
      .Set("chip", chip->name)
      .Set("precision", precision)
      .Set("peak_flops_per_device", *peak);
  if (!CardText(*run.set, "precision")) {
    result.detail.Set("estimated", true);
    result.detail.Set("note", "the card does not say the precision; bf16 is assumed");
  }
  return result;
}

MetricResult FlopsPerTokenUsed(const RunView& run) {
  std::string reason;
  const auto model = ReadModelShape(*run.set, reason);
  if (!model) {
    return NotAvailable(reason);
  }
  const auto length = CardNumber(*run.set, "seq_len");
  if (!length) {
    return NotAvailable(WhyNoCardValue(*run.set, "seq_len"));
  }
  return {.value = IsInference(*run.set) ? model->ForwardFlopsPerToken(*length)
                                         : model->TrainingFlopsPerToken(*length)};
}

MetricResult EstimatedTotalTokens(const RunView& run) {
  for (const std::string_view field : {"batch_size", "seq_len"}) {
    if (!CardNumber(*run.set, field)) {
      return NotAvailable(WhyNoCardValue(*run.set, field));
    }
  }
  return {.value = *CardNumber(*run.set, "batch_size") * *CardNumber(*run.set, "seq_len") *
                   static_cast<double>(NumSteps(run))};
}

// The first engine step with a prompt; without such names, the first step.
std::optional<double> FirstPrefillSeconds(const trace::Trace& trace) {
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]));
    if (!engine || engine->num_prompts > 0) {
      return static_cast<double>(trace.steps.duration_ns[step]) / 1e9;
    }
  }
  return std::nullopt;
}

// A latency of the serving result in seconds; no value where there is none.
MetricResult FromServingResult(const RunView& run, std::string_view column) {
  const Table* const serving = FindTable(run, "serving benchmark");
  const auto median_ms =
      serving != nullptr && serving->num_rows() > 0 ? serving->Number(0, column) : std::nullopt;
  return median_ms ? WithSource(*median_ms / 1e3, "median over requests of the serving result")
                   : MetricResult{};
}

MetricResult Ttft(const RunView& run) {
  if (MetricResult result = FromServingResult(run, "median_ttft_ms"); result.is_ok()) {
    return result;
  }
  std::vector<double> seconds;
  for (const trace::Trace& trace : run.set->ranks) {
    if (const auto first = FirstPrefillSeconds(trace)) {
      seconds.push_back(*first);
    }
  }
  if (seconds.empty()) {
    return NotAvailable(kNoStepsReason);
  }
  MetricResult result{.value = Mean(seconds)};
  result.detail.Set("estimated", true);
  result.detail.Set("source", "first engine step with a prompt, mean over ranks");
  return result;
}

// Steps that only generate; without such names, all but the first and the last.
std::vector<double> DecodeSeconds(const trace::Trace& trace) {
  std::vector<double> known;
  std::vector<double> all;
  bool names_tell = false;
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const double seconds = static_cast<double>(trace.steps.duration_ns[step]) / 1e9;
    const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]));
    names_tell |= engine && engine->generated_tokens > 0;
    if (engine && engine->num_prompts == 0) {
      known.push_back(seconds);
    }
    all.push_back(seconds);
  }
  if (names_tell) {
    return known;
  }
  if (all.size() > 2) {
    return {all.begin() + 1, all.end() - 1};
  }
  return {all.begin() + std::min<std::ptrdiff_t>(1, std::ssize(all)), all.end()};
}

MetricResult Tpot(const RunView& run) {
  if (MetricResult result = FromServingResult(run, "median_tpot_ms"); result.is_ok()) {
    return result;
  }
  if (const auto length = CardInteger(*run.set, "output_len"); length && *length <= 1) {
    return NotAvailable("the workload card has no usable output_len above 1");
  }
  std::vector<double> means;
  for (const trace::Trace& trace : run.set->ranks) {
    const std::vector<double> seconds = DecodeSeconds(trace);
    if (!seconds.empty()) {
      means.push_back(Mean(seconds));
    }
  }
  if (means.empty()) {
    return NotAvailable("no decode steps among the markers");
  }
  MetricResult result{.value = Mean(means)};
  result.detail.Set("estimated", true);
  result.detail.Set("source", "mean duration of pure decode steps, mean over ranks");
  return result;
}

MetricResult Compute(const RunView& run) {
  // The reference and the number of GPUs are files of their own.
  const auto get = [&](std::string_view column) {
    std::optional<double> found;
    for (const Measurement& table : run.measurements) {
      const bool has_parameters = table.format == "step score" && table.rows->num_rows() > 0;
      found = found || !has_parameters ? found : table.rows->Number(0, column);
    }
    return found;
  };
  const auto gpus = get("g0");
  const auto seconds = get("t0_s");
  const auto weight = get("w");
  if (!gpus || !seconds || !weight) {
    return NotAvailable("no reference (gpu_step_score_config.yaml with G0, T0 and w)");
  }
  const StepTime step = MeasureStepTime(run);
  if (!step.seconds) {
    return NotAvailable(kNoStepsReason);
  }
  const std::optional<double> counted = get("gpus");
  const double used = counted ? *counted
                              : CardNumber(*run.set, "total_count")
                                    .value_or(static_cast<double>(run.set->ranks.size()));
  MetricResult result{.value = *weight * *gpus / used + (1 - *weight) * *seconds / *step.seconds};
  result.detail.Set("gpus", used).Set("step_s", *step.seconds);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"iteration_wall_clock_time",
       "The step time: mean duration of the step markers, then mean over ranks", "s",
       &IterationWallClockTime, Better::kLower, "", Alias("avg_step_time")},
      {"total_trace_time",
       "The recorded span: first begin to last end of GPU work (of host events without any)", "s",
       &TotalTraceTime, Better::kNeither, "events",
       Alias("wall_time_s", "ccl-bench mixes host and device events")},
      {"throughput_tokens_sec",
       "Tokens per second",
       "tokens/s",
       &ThroughputTokensSec,
       Better::kHigher,
       "",
       {{.name = "throughput", .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
        {.name = "estimated_throughput_tokens_per_s",
         .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
        {.name = "throughput_group_6"}}},
      {"mfu", "Model FLOP utilisation: FLOPs the model needs / what the devices could do", "%",
       &Mfu, Better::kHigher, "card num_params, card num_layers, card num_heads, card head_dim"},
      {"flops_per_token_used", "FLOPs that mfu charges for a token", "FLOP", &FlopsPerTokenUsed,
       Better::kNeither,
       "card num_params, card num_layers, card num_heads, card head_dim, card seq_len"},
      {"estimated_total_tokens", "Tokens of the selected steps", "tokens", &EstimatedTotalTokens,
       Better::kNeither, "card batch_size, card seq_len"},
      {"ttft", "Time to first token", "s", &Ttft, Better::kLower, "inference",
       Alias("ttft_group_6", "", 1e3, "ms")},
      {"tpot", "Time per output token", "s", &Tpot, Better::kLower, "inference",
       Alias("tpot_group_6", "", 1e3, "ms")},
      {"gpu_step_score", "Weighted ratio of GPUs and step time to a reference", "", &Compute,
       Better::kHigher, ""}};
}

}  // namespace orrery::analyze::throughput
