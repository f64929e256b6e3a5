#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/fields.h"
#include "orrery/api/goodput.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::api {
namespace {

using simulate::GoodputOptions;
using simulate::GoodputSummary;
using simulate::GoodputVariant;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

Keyed<double> LostTimes(const GoodputSummary& summary) {
  Keyed<double> lost;
  for (std::size_t i = 0; i < summary.lost_s.size(); ++i) {
    lost.emplace_back(simulate::kLostTimeKeys[i], summary.lost_s[i]);
  }
  return lost;
}

Keyed<double> FailuresByPart(const GoodputSummary& summary) {
  Keyed<double> failures;
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    failures.emplace_back(simulate::kFailedParts[i].first, summary.failures[i]);
  }
  return failures;
}

std::vector<GoodputAlternative> Alternatives(const std::vector<GoodputVariant>& variants,
                                             const GoodputAnswer& answer,
                                             const GoodputFigures& figures) {
  std::vector<GoodputAlternative> alternatives;
  for (const GoodputVariant& variant : variants) {
    alternatives.push_back(
        {.checkpoint_interval_s =
             variant.interval_steps > 0 ? std::optional(figures.IntervalOf(variant)) : std::nullopt,
         .spares = variant.spares,
         .ettr_mean = variant.summary.ettr_mean,
         .ettr_p10 = variant.summary.ettr_p10,
         .ettr_p90 = variant.summary.ettr_p90,
         .ettr_expected = variant.expected_ettr,
         .paid_share = variant.PaidShare(answer.setting.request.job.nodes),
         .yield_per_dollar = figures.YieldOf(answer, variant),
         .lost = LostTimes(variant.summary)});
  }
  return alternatives;
}

GoodputCheckpoint CheckpointResult(const GoodputAnswer& answer, const GoodputFigures& figures) {
  const simulate::CheckpointTimes& times = answer.study.options.checkpoint;
  GoodputCheckpoint checkpoint{.bytes = answer.setting.checkpoint.count,
                               .stall_s = Seconds(times.stall_ps),
                               .write_s = Seconds(times.write_ps),
                               .load_s = Seconds(times.load_ps),
                               .best_interval_s = answer.study.best_s};
  if (answer.has_checkpoint_traffic) {
    checkpoint.slowdown_s = Seconds(answer.step.checkpoint_loss_ps);
  }
  if (figures.mtbf_s && checkpoint.stall_s > 0) {
    checkpoint.young_s = simulate::YoungInterval(checkpoint.stall_s, *figures.mtbf_s);
    checkpoint.daly_s = simulate::DalyInterval(checkpoint.stall_s, *figures.mtbf_s);
  }
  return checkpoint;
}

void SetSummary(const GoodputSummary& summary, GoodputResult& result) {
  result.ettr_mean = summary.ettr_mean;
  result.ettr_p10 = summary.ettr_p10;
  result.ettr_p50 = summary.ettr_p50;
  result.ettr_p90 = summary.ettr_p90;
  result.productive_s = summary.productive_s;
  result.lost = LostTimes(summary);
  result.steps = summary.steps;
  result.failures = summary.num_failures();
  result.failures_by_part = FailuresByPart(summary);
  result.checkpoints = summary.checkpoints;
  result.planned_stops = summary.planned_stops;
}

void SetStep(const GoodputStep& step, GoodputResult& result) {
  result.step_time_s = Seconds(step.step_ps);
  result.step_is_simulated = step.is_simulated;
  if (step.interval) {
    result.step_low_s = step.interval->low_s;
    result.step_high_s = step.interval->high_s;
  }
  result.out_of_memory = !step.fits;
  result.job = workload::JobLine(*step.job);
}

void SetFigures(const GoodputFigures& figures, GoodputResult& result) {
  result.window_s = figures.window_s;
  result.tokens = figures.tokens;
  result.samples = figures.samples;
  result.samples_low = figures.samples * figures.factors.low;
  result.samples_high = figures.samples * figures.factors.high;
  result.dollars = figures.dollars;
  result.mtbf_s = figures.mtbf_s;
  result.checkpoint_interval_s = figures.interval_s;
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

GoodputResult MakeResult(std::shared_ptr<const GoodputAnswer> answer) {
  const GoodputFigures figures(*answer);
  const simulate::GoodputStudy& study = answer->study;
  const simulate::GoodputJob& job = answer->setting.request.job;
  GoodputResult result;
  SetSummary(study.chosen.summary, result);
  SetStep(answer->step, result);
  SetFigures(figures, result);
  result.ettr_expected = study.chosen.expected_ettr;
  result.rates = answer->setting.rates;
  result.checkpoint = CheckpointResult(*answer, figures);
  result.gpus = job.gpus;
  result.nodes = job.nodes;
  result.replicas = job.replicas;
  result.spares = study.options.spares;
  result.intervals = Alternatives(study.intervals, *answer, figures);
  result.spares_tried = Alternatives(study.spares, *answer, figures);
  result.runs = static_cast<std::int64_t>(study.months.size());
  result.seed = std::to_string(study.options.seed);
  result.assumed = answer->setting.assumed;
  result.left_out = answer->left_out;
  result.not_modelled = GoodputNotModelled(*answer);
  result.answer = std::move(answer);
  return result;
}

}  // namespace orrery::api
