#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/predict.h"
#include "orrery/api/predict/time_text.h"
#include "orrery/api/predict/trace_answer.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/simulate/replay.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::api {
namespace {

using simulate::RankStep;
using simulate::RecordedJob;
using workload::HostCostSource;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

std::string Share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::int64_t AllLookups(const workload::HostCoverage& coverage) {
  std::int64_t sum = 0;
  for (const std::int64_t lookups : coverage.lookups) {
    sum += lookups;
  }
  return sum;
}

std::string PricingText(const workload::PricingSummary& pricing) {
  std::string text;
  for (std::size_t rung = 0; rung < pricing.operators.size(); ++rung) {
    if (pricing.operators[rung] > 0) {
      text += fmt::format("{} {} by {}", text.empty() ? ":" : ",", pricing.operators[rung],
                          kernel::EstimateSourceName(static_cast<kernel::EstimateSource>(rung)));
    }
  }
  return text + fmt::format("; {} extrapolated", pricing.extrapolated);
}

Document::Table StepTable(const simulate::StepFigures& figures, bool is_lower_bound) {
  Document::Table table{.columns = {AsText("per step"),
                                    Formatted("time", NumberFormat("{:.3f} ms", 1e3)),
                                    AsShare("share")}};
  for (const auto& [name, time_ps] :
       {std::pair(is_lower_bound ? "known part of the step" : "step", figures.step_ps),
        std::pair("GPU active", figures.active_ps),
        std::pair("GPU waits for the CPU", figures.host_bound_ps),
        std::pair("GPU idle otherwise", figures.other_idle_ps)}) {
    table.rows.push_back(
        {name, Seconds(time_ps),
         figures.step_ps == 0 ? Value() : Value(Seconds(time_ps) / Seconds(figures.step_ps))});
  }
  return table;
}

Document::Table WorstTable(const Prediction& prediction) {
  const NumberFormat milliseconds("{:.3f} ms", 1e3);
  Document::Table table{.heading = "operators predicted worst, by the difference over the step",
                        .columns = {AsText("name", "operator", 50),
                                    AsNumber("calls", "calls"),
                                    {"predicted_s", "predicted", milliseconds},
                                    {"measured_s", "measured", milliseconds},
                                    Formatted("difference", NumberFormat("{:+.3f} ms", 1e3))}};
  for (const OperatorError& error : prediction.worst) {
    table.rows.push_back({error.name, error.calls, error.predicted_s, error.measured_s,
                          error.predicted_s - error.measured_s});
  }
  return table;
}

// The speed that a recording tells, unless another was given.
std::string PaceText(const Prediction& prediction) {
  return !prediction.has_own_pace || prediction.pace.operators == 0
             ? ""
             : fmt::format(", {:.2f} times the reference's by {} operators of the recording",
                           prediction.pace.ratio, prediction.pace.operators);
}

std::string HostText(const Prediction& prediction) {
  const workload::HostCoverage& coverage = prediction.coverage;
  const std::int64_t all = AllLookups(coverage);
  const std::int64_t recorded = Lookups(coverage, HostCostSource::kRecorded);
  return fmt::format("CPU: {}{}; {} of its costs by name, {}{} by kind, {} by neither",
                     prediction.host, PaceText(prediction),
                     Share(Lookups(coverage, HostCostSource::kName), all),
                     recorded == 0 ? "" : Share(recorded, all) + " as recorded, ",
                     Share(Lookups(coverage, HostCostSource::kKind), all),
                     Share(Lookups(coverage, HostCostSource::kGlobal) +
                               Lookups(coverage, HostCostSource::kNothing),
                           all));
}

void AddComparison(const Prediction& prediction, Document& document) {
  const double step_s = Seconds(prediction.figures.step_ps);
  document.AddSection().Say(fmt::format(
      "measured step: {:.3f} ms, under its profiler; the predicted one differs by {:+.1f} %",
      prediction.measured_step_s * 1e3, 100 * (step_s / prediction.measured_step_s - 1)));
  if (!prediction.worst.empty()) {
    document.AddSection().Add(WorstTable(prediction));
  }
}

// Above this the first line says it: the answer rests on it.
constexpr double kLargeUnmodelledShare = 0.05;

/// The title, with the share of GPU time that no model knows where that is large.
std::string Title(std::string title, const workload::PricingSummary& pricing) {
  return pricing.UnmodelledShare() > kLargeUnmodelledShare
             ? fmt::format("{}: {:.0f} % of the predicted GPU time is not modelled", title,
                           100 * pricing.UnmodelledShare())
             : title;
}

std::string UnmodelledText(const workload::PricingSummary& pricing) {
  return fmt::format(
      "not modelled: {:.1f} % of the predicted GPU time, by bytes and bandwidth only",
      100 * pricing.UnmodelledShare());
}

Document::Table RankTable(const RecordedJob& job) {
  const NumberFormat milliseconds("{:.3f} ms", 1e3);
  Document::Table table{
      .columns = {AsNumber("rank"), Formatted("begins after", milliseconds),
                  Formatted("step", milliseconds), Formatted("waits for ranks", milliseconds)},
      .max_shown = SIZE_MAX};
  if (AreMeasured(job)) {
    table.columns.push_back(Formatted("measured", milliseconds));
    table.columns.push_back(Formatted("error", NumberFormat("{:+.1f} %", 100)));
  }
  for (const RankStep& step : job.ranks) {
    std::vector<Value> row{step.rank, Seconds(step.begin_ps), Seconds(step.step_ps),
                           Seconds(step.waiting_ps)};
    if (AreMeasured(job)) {
      row.emplace_back(Seconds(step.measured_ps));
      row.emplace_back(ErrorOf(step));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Document MakeDocument(const Prediction& prediction) {
  const simulate::StepFigures& figures = prediction.figures;
  const learn::TimeInterval interval = IntervalOf(prediction);
  Document document{
      .title = Title(fmt::format("{} on {}", prediction.path, prediction.gpu), prediction.pricing),
      .kind = "Orrery prediction"};
  Document::Section& head = document.AddSection();
  head.Say(fmt::format("kernels: {}{}", prediction.kernels,
                       prediction.is_priced ? PricingText(prediction.pricing) : ""))
      .Say(HostText(prediction))
      .Say(
          prediction.is_lower_bound
              ? fmt::format("not a step: at least {}, for what the program waits for is not in the "
                            "file",
                            TimeText(interval.low_s))
              : fmt::format("80 % interval of the step: {} to {}", TimeText(interval.low_s),
                            TimeText(interval.high_s)));
  if (prediction.pricing.unmodelled_s > 0) {
    head.Say(UnmodelledText(prediction.pricing));
  }
  document.AddSection().Add(StepTable(figures, prediction.is_lower_bound));
  if (prediction.measured_step_s > 0) {
    AddComparison(prediction, document);
  }
  document.AddSection().Add(Document::List{"", "Not modelled", prediction.not_modelled, true});
  return document;
}

Document MakeDocument(const RanksPrediction& prediction) {
  const workload::PricingSummary pricing = PricingOf(prediction);
  Document document{
      .title = Title(fmt::format("{}: {} ranks on {}", prediction.path, prediction.job.ranks.size(),
                                 prediction.cluster->name),
                     pricing),
      .kind = "Orrery prediction"};
  Document::Section& head = document.AddSection();
  head.Say("kernels: " + prediction.kernels).Say("CPU: " + HostSourceText(prediction));
  if (pricing.unmodelled_s > 0) {
    head.Say(UnmodelledText(pricing));
  }
  document.AddSection().Add(RankTable(prediction.job));
  document.AddSection().Add(Document::List{"", "Not modelled", NotModelled(prediction), true});
  return document;
}

report::Document MakeDocument(const PredictTraceResult& result) {
  report::Document document = *result.document;
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
