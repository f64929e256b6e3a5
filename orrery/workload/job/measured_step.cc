#include "orrery/workload/job/measured_step.h"

#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "orrery/workload/model/flops.h"

namespace orrery::workload {
namespace {

constexpr double kTera = 1e12;
constexpr double kPercent = 100;

std::optional<double> PositiveNumber(const RunRow& row, std::string_view column) {
  const auto number = row.Number(column);
  return number && *number > 0 ? number : std::nullopt;
}

/// Operations of a step by a convention, and its name.
struct CountedFlops {
  double flops = 0;
  std::string_view convention;
};

CountedFlops HardwareFlops(std::string_view kind, const Transformer& model, const Job& job,
                           const TokenBatch& batch) {
  if (Mentions(kind, "2*N")) {
    return {SixNFlops(model, batch) * 4 / 3, "8 N a token"};
  }
  switch (job.plan.recompute) {
    case Recompute::kFull:
      return {RecomputedFlops(model, batch), "hardware FLOPs with full recomputation"};
    case Recompute::kSelective:
      return {SelectiveFlops(model, batch), "hardware FLOPs with selective recomputation"};
    case Recompute::kNothing:
      break;
  }
  return {ModelFlops(model, batch), "hardware FLOPs, not causal"};
}

// Whether the first mention of causality is not a denial: "model, causal (432 non-causal)".
bool SaysCausal(std::string_view kind) {
  const std::size_t at = kind.find("causal");
  return at != std::string_view::npos && !kind.substr(0, at).ends_with("non-") &&
         !kind.substr(0, at).ends_with("no ") && !kind.substr(0, at).ends_with("not ");
}

// What section 3 of the conventions says of a kind; a kind that says nothing of causality is
// NVIDIA's in NVIDIA's tables of recipes, and equation 7 of Korthikanti et al. elsewhere.
CountedFlops FlopsOf(std::string_view kind, const Transformer& model, const Job& job) {
  const TokenBatch batch = {job.training.sequence, job.training.global_batch};
  if (Mentions(kind, "hardware")) {
    return HardwareFlops(kind, model, job, batch);
  }
  if (Mentions(kind, "6*N*s")) {
    return {LlmFoundryFlops(model, batch), "6 N a token and scores, not causal"};
  }
  if (SaysCausal(kind) || (kind == "model" && job.framework.name == "nemo")) {
    return {MegatronFlops(model, batch), "model FLOPs, causal"};
  }
  return {ModelFlops(model, batch), "model FLOPs, not causal"};
}

std::optional<MeasuredStep> FromThroughput(const RunRow& row, const Job& job) {
  const auto samples = static_cast<double>(job.training.global_batch);
  const double tokens = samples * static_cast<double>(job.training.sequence);
  if (const auto rate = PositiveNumber(row, "tokens_per_s")) {
    return MeasuredStep{tokens / *rate, "tokens a second"};
  }
  if (const auto rate = PositiveNumber(row, "tokens_per_s_per_gpu")) {
    return MeasuredStep{tokens / (*rate * job.gpus), "tokens a second of a GPU"};
  }
  if (const auto rate = PositiveNumber(row, "samples_per_s")) {
    return MeasuredStep{samples / *rate, "samples a second"};
  }
  return std::nullopt;
}

// TFLOP/s of a GPU as published, or the published share of its peak.
std::optional<double> FlopRateOf(const RunRow& row, const Job& job) {
  if (const auto rate = PositiveNumber(row, "tflops_per_gpu")) {
    return *rate * kTera;
  }
  const auto share = PositiveNumber(row, "mfu_pct");
  const auto peak = job.gpu.PeakFlops(job.gpu.PeakFlops("bf16") ? "bf16" : "fp16");
  return share && peak ? std::optional(*share / kPercent * *peak) : std::nullopt;
}

}  // namespace

bool HasMeasurement(const RunRow& row) {
  for (const std::string_view column : {"step_time_s", "tokens_per_s", "tokens_per_s_per_gpu",
                                        "samples_per_s", "tflops_per_gpu", "mfu_pct"}) {
    if (PositiveNumber(row, column)) {
      return true;
    }
  }
  return false;
}

Result<MeasuredStep> MeasuredStepOf(const RunRow& row, const Job& job) {
  if (const auto seconds = PositiveNumber(row, "step_time_s")) {
    return MeasuredStep{*seconds};
  }
  if (const auto step = FromThroughput(row, job)) {
    return *step;
  }
  const auto rate = FlopRateOf(row, job);
  const Transformer* const model = job.model.transformer();
  if (!rate || model == nullptr || job.training.adapter_rank > 0) {
    return Fail(Error::Kind::kUnsupported,
                "the row has no step time, and nothing that one follows from");
  }
  const CountedFlops counted = FlopsOf(row.Text("tflops_kind"), *model, job);
  return MeasuredStep{
      counted.flops / (*rate * job.gpus),
      fmt::format("{} over {}", counted.convention,
                  PositiveNumber(row, "tflops_per_gpu") ? "TFLOP/s of a GPU" : "utilisation")};
}

}  // namespace orrery::workload
