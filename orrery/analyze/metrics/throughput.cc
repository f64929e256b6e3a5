#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/statistics.h"
#include "orrery/hardware/gpu.h"
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
    result.detail.Set("source", "length of the recording / the card's iteration");
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

MetricResult ThroughputTokensSec(const RunView& run) {
  const TokenRate rate = MeasureTokenRate(run);
  if (!rate.tokens_per_second) {
    return NotAvailable(rate.reason);
  }
  MetricResult result{.value = rate.tokens_per_second};
  result.detail.Set("source", rate.source);
  return result;
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

// Whether the card says that the workload is inference.
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
  MetricResult result{.value = 100 * work->flops / (work->seconds * *devices * *peak)};
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

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "iteration_wall_clock_time",
       .meaning = "Time of one step",
       .unit = "s",
       .definition = "Mean duration of the selected step markers, then the mean over ranks; "
                     "without markers the length of the recording / the card's iteration",
       .compute = &IterationWallClockTime,
       .aliases = {{.name = "avg_step_time"}},
       .better = Better::kLower},
      {.name = "total_trace_time",
       .meaning = "Length of the recording",
       .unit = "s",
       .needs = {{NeedKind::kEvents}},
       .definition = "Latest end - earliest begin of device activities over all ranks on the "
                     "common clock; of host events where there are none",
       .compute = &TotalTraceTime,
       .aliases = {{.name = "wall_time_s",
                    .difference = "ccl-bench mixes host and device events"}}},
      {.name = "throughput_tokens_sec",
       .meaning = "Tokens per second",
       .unit = "tokens/s",
       .definition = "Training: batch_size * seq_len / step time. Serving results: output tokens "
                     "/ duration. Engine steps: tokens named by the markers / their durations",
       .compute = &ThroughputTokensSec,
       .aliases = {{.name = "throughput",
                    .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                   {.name = "estimated_throughput_tokens_per_s",
                    .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                   {.name = "throughput_group_6"}},
       .better = Better::kHigher},
      {.name = "mfu",
       .meaning = "Model FLOP utilisation: FLOPs the model needs / what the devices could do",
       .unit = "%",
       .needs = {{.kind = NeedKind::kCard, .card_field = "num_params"},
                 {.kind = NeedKind::kCard, .card_field = "num_layers"},
                 {.kind = NeedKind::kCard, .card_field = "num_heads"},
                 {.kind = NeedKind::kCard, .card_field = "head_dim"}},
       .definition = "Training: tokens * (6 N + 12 L H Q S) / (step time * devices * dense peak); "
                     "inference: forward FLOPs of a batch / its latency. N: active parameters "
                     "without the embedding",
       .compute = &Mfu,
       .better = Better::kHigher},
      {.name = "flops_per_token_used",
       .meaning = "FLOPs that mfu charges for a token",
       .unit = "FLOP",
       .needs = {{.kind = NeedKind::kCard, .card_field = "num_params"},
                 {.kind = NeedKind::kCard, .card_field = "num_layers"},
                 {.kind = NeedKind::kCard, .card_field = "num_heads"},
                 {.kind = NeedKind::kCard, .card_field = "head_dim"},
                 {.kind = NeedKind::kCard, .card_field = "seq_len"}},
       .definition = "Training: 6 N + 12 L H Q S; inference: 2 N + 4 L H Q S",
       .compute = &FlopsPerTokenUsed},
      {.name = "estimated_total_tokens",
       .meaning = "Tokens of the selected steps",
       .unit = "tokens",
       .needs = {{.kind = NeedKind::kCard, .card_field = "batch_size"},
                 {.kind = NeedKind::kCard, .card_field = "seq_len"}},
       .definition = "batch_size * seq_len of the card * selected steps",
       .compute = &EstimatedTotalTokens}};
}

}  // namespace orrery::analyze::throughput
