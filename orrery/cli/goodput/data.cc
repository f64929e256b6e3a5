#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/value.h"
#include "orrery/cli/goodput/goodput.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::cli {
namespace {

using simulate::GoodputOptions;
using simulate::GoodputSummary;
using simulate::GoodputVariant;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

Value VariantData(const GoodputVariant& variant, const GoodputAnswer& answer,
                  const GoodputFigures& figures) {
  Value lost = Value::Object();
  for (std::size_t i = 0; i < variant.summary.lost_s.size(); ++i) {
    lost.Set(simulate::kLostTimeKeys[i], variant.summary.lost_s[i]);
  }
  return Value::Object()
      .Set("checkpoint_interval_s",
           variant.interval_steps > 0 ? Value(figures.IntervalOf(variant)) : Value())
      .Set("spares", variant.spares)
      .Set("ettr_mean", variant.summary.ettr_mean)
      .Set("ettr_p10", variant.summary.ettr_p10)
      .Set("ettr_p90", variant.summary.ettr_p90)
      .Set("ettr_expected", variant.expected_ettr)
      .Set("paid_share", variant.PaidShare(answer.setting.request.job.nodes))
      .Set("yield_per_dollar", figures.YieldOf(answer, variant))
      .Set("lost", std::move(lost));
}

Value CheckpointData(const GoodputAnswer& answer, const GoodputFigures& figures) {
  const simulate::CheckpointTimes& times = answer.study.options.checkpoint;
  const double stall_s = Seconds(times.stall_ps);
  const bool is_known = figures.mtbf_s && stall_s > 0;
  Value data = Value::Object();
  data.Set("bytes", answer.setting.checkpoint.count);
  if (answer.has_checkpoint_traffic) {
    data.Set("slowdown_s", Seconds(answer.step.checkpoint_loss_ps));
  }
  return data.Set("stall_s", stall_s)
      .Set("write_s", Seconds(times.write_ps))
      .Set("load_s", Seconds(times.load_ps))
      .Set("best_interval_s", answer.study.best_s)
      .Set("young_s", is_known ? Value(simulate::YoungInterval(stall_s, *figures.mtbf_s)) : Value())
      .Set("daly_s", is_known ? Value(simulate::DalyInterval(stall_s, *figures.mtbf_s)) : Value());
}

}  // namespace

GoodputFigures::GoodputFigures(const GoodputAnswer& answer)
    : window_s(Seconds(answer.study.options.window_ps)), step_s(Seconds(answer.step.step_ps)) {
  const workload::Job& job = *answer.step.job;
  yield_of_step = static_cast<double>(job.training.global_batch);
  samples = answer.study.chosen.summary.steps * yield_of_step;
  if (job.model.transformer() != nullptr && job.training.sequence > 0) {
    yield_of_step *= static_cast<double>(job.training.sequence);
    tokens = answer.study.chosen.summary.steps * yield_of_step;
  }
  std::optional<learn::TimeInterval> relative = answer.step.interval;
  if (relative) {
    relative->low_s /= step_s;
    relative->high_s /= step_s;
  }
  factors = simulate::FactorsOf(answer.study.chosen.summary, relative);
  if (answer.dollars_per_hour) {
    dollars = *answer.dollars_per_hour * window_s / 3'600;
  }
  if (answer.study.options.interval_steps > 0) {
    interval_s = IntervalOf(answer.study.chosen);
  }
  if (answer.study.model.failures_per_s > 0) {
    mtbf_s = 1 / answer.study.model.failures_per_s;
  }
}

std::optional<double> GoodputFigures::YieldOf(const GoodputAnswer& answer,
                                              const GoodputVariant& variant) const {
  if (!dollars) {
    return std::nullopt;
  }
  const auto more_spares = static_cast<double>(variant.spares - answer.study.chosen.spares);
  const double cost = *dollars + more_spares * answer.dollars_of_spare * window_s / 3'600;
  return cost > 0 ? std::optional(variant.summary.steps * yield_of_step / cost) : std::nullopt;
}

double GoodputFigures::IntervalOf(const simulate::GoodputVariant& variant) const {
  return static_cast<double>(variant.interval_steps) * step_s;
}

std::vector<std::string> GoodputNotModelled(const GoodputAnswer& answer) {
  const GoodputOptions& options = answer.study.options;
  std::vector<std::string> sentences = {
      "Failures are independent of each other and as frequent at any time; a log (--failures "
      "LOG.csv) has those that come together.",
      "Detection, restart and repair always take as long; spare nodes do not fail.",
      "Loss spikes, evaluations and restarts by people are not part of the month.",
      "The job runs when the window begins and goes on after it."};
  if (options.checkpoint.write_ps > 0) {
    sentences.emplace_back(
        answer.has_checkpoint_traffic
            ? "Steps are longer while a checkpoint is written; what they lose together counts as "
              "if training stood still for it."
            : "Writing a checkpoint beside training does not slow it down "
              "(--checkpoint-traffic).");
  }
  if (options.is_elastic) {
    sentences.emplace_back(
        "With fewer replicas micro-batches are redistributed: the batch stays and a step takes "
        "replicas / running times as long.");
  }
  if (answer.step.job->gpu.host_link.bytes_per_second <= 0) {
    sentences.emplace_back("The link of this GPU to its host is not known: it is no limit.");
  }
  if (options.slow.per_s == 0) {
    sentences.emplace_back("No node is slow; --slow-nodes 200d:1.3:1h has some.");
  }
  return sentences;
}

Value GoodputData(const GoodputAnswer& answer, const GoodputFigures& figures) {
  const simulate::GoodputStudy& study = answer.study;
  const GoodputSummary& summary = study.chosen.summary;
  const simulate::GoodputJob& job = answer.setting.request.job;
  const auto variant_data = [&](const GoodputVariant& variant) {
    return VariantData(variant, answer, figures);
  };
  Value lost = Value::Object();
  for (std::size_t i = 0; i < summary.lost_s.size(); ++i) {
    lost.Set(simulate::kLostTimeKeys[i], summary.lost_s[i]);
  }
  Value failures = Value::Object();
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    failures.Set(simulate::kFailedParts[i].first, summary.failures[i]);
  }
  Value data = Value::Object();
  data.Set("ettr_mean", summary.ettr_mean)
      .Set("ettr_p10", summary.ettr_p10)
      .Set("ettr_p50", summary.ettr_p50)
      .Set("ettr_p90", summary.ettr_p90)
      .Set("ettr_expected", study.chosen.expected_ettr)
      .Set("window_s", figures.window_s)
      .Set("productive_s", summary.productive_s)
      .Set("lost", std::move(lost))
      .Set("steps", summary.steps)
      .Set("step_time_s", figures.step_s)
      .Set("step_is_simulated", answer.step.is_simulated)
      .Set("step_low_s", answer.step.interval ? Value(answer.step.interval->low_s) : Value())
      .Set("step_high_s", answer.step.interval ? Value(answer.step.interval->high_s) : Value())
      .Set("tokens", figures.tokens)
      .Set("samples", figures.samples)
      .Set("samples_low", figures.samples * figures.factors.low)
      .Set("samples_high", figures.samples * figures.factors.high)
      .Set("dollars", figures.dollars)
      .Set("failures", summary.num_failures())
      .Set("failures_by_part", std::move(failures))
      .Set("rates", answer.setting.rates)
      .Set("mtbf_s", figures.mtbf_s)
      .Set("checkpoint_interval_s", figures.interval_s)
      .Set("checkpoint", CheckpointData(answer, figures))
      .Set("checkpoints", summary.checkpoints)
      .Set("planned_stops", summary.planned_stops)
      .Set("gpus", job.gpus)
      .Set("nodes", job.nodes)
      .Set("replicas", job.replicas)
      .Set("spares", study.options.spares)
      .Set("intervals", Value::ListOf(study.intervals, variant_data))
      .Set("spares_tried", Value::ListOf(study.spares, variant_data))
      .Set("runs", static_cast<std::int64_t>(study.months.size()))
      .Set("seed", std::to_string(study.options.seed))
      .Set("out_of_memory", !answer.step.fits)
      .Set("assumed", Value::ListOf(answer.setting.assumed))
      .Set("left_out", Value::ListOf(answer.left_out))
      .Set("not_modelled", Value::ListOf(GoodputNotModelled(answer)))
      .Set("job", workload::JobLine(*answer.step.job));
  return data;
}

}  // namespace orrery::cli
