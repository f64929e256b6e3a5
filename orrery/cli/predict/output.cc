#include "orrery/cli/predict/output.h"

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

namespace orrery::cli {
namespace {

using report::Document;
using report::NumberFormat;
using report::Unit;
using workload::HostCostSource;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

std::string Share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::int64_t Lookups(const workload::HostCoverage& coverage, HostCostSource source) {
  return coverage.lookups[static_cast<std::size_t>(source)];
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
  return text + fmt::format("; {} outside of what was measured", pricing.extrapolated);
}

Document::Table StepTable(const simulate::StepFigures& figures) {
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = {{"", "of a step"},
                                    {"", "time", NumberFormat("{:.3f} ms", 1e3)},
                                    {"", "share", Unit::kShare}}};
  for (const auto& [name, time_ps] :
       {std::pair("step", figures.step_ps), std::pair("GPU active", figures.active_ps),
        std::pair("GPU waits for the host", figures.host_bound_ps),
        std::pair("GPU idle otherwise", figures.other_idle_ps)}) {
    table.rows.push_back(
        {name, Seconds(time_ps),
         figures.step_ps == 0 ? Value() : Value(Seconds(time_ps) / Seconds(figures.step_ps))});
  }
  return table;
}

Document::Table WorstTable(const Prediction& prediction) {
  const NumberFormat milliseconds("{:.3f} ms", 1e3);
  Document::Table table{.key = "worst_operators",
                        .heading = "operators predicted worst, by the difference over the step",
                        .columns = {{"name", "operator", Unit::kText, 50},
                                    {"calls", "calls", Unit::kNumber},
                                    {"predicted_s", "predicted", milliseconds},
                                    {"measured_s", "measured", milliseconds},
                                    {"", "difference", NumberFormat("{:+.3f} ms", 1e3)}}};
  for (const OperatorError& error : prediction.worst) {
    table.rows.push_back({error.name, error.calls, error.predicted_s, error.measured_s,
                          error.predicted_s - error.measured_s});
  }
  return table;
}

Value HostData(const Prediction& prediction) {
  const workload::HostCoverage& coverage = prediction.coverage;
  return Value::Object()
      .Set("source", prediction.host)
      .Set("operators", coverage.operators)
      .Set("launches", coverage.launches)
      .Set("waits", coverage.waits)
      .Set("costs_by_name", Lookups(coverage, HostCostSource::kName))
      .Set("costs_by_kind", Lookups(coverage, HostCostSource::kKind))
      .Set("costs_global", Lookups(coverage, HostCostSource::kGlobal))
      .Set("costs_unknown", Lookups(coverage, HostCostSource::kNothing));
}

Value PricingData(const workload::PricingSummary& pricing) {
  constexpr std::array<const char*, workload::kNumEstimateSources> kKeys{
      "operators_of_this_gpu", "operators_of_siblings", "operators_of_all_gpus",
      "operators_by_roofline"};
  Value data = Value::Object();
  data.Set("calls", pricing.calls).Set("unknown_calls", pricing.unknown_calls);
  for (std::size_t source = 0; source < kKeys.size(); ++source) {
    data.Set(kKeys[source], pricing.operators[source]);
  }
  return data.Set("operators_extrapolated", pricing.extrapolated);
}

std::string HostText(const Prediction& prediction) {
  const workload::HostCoverage& coverage = prediction.coverage;
  const std::int64_t all = AllLookups(coverage);
  return fmt::format("host: {}; {} of its costs by name, {} by kind, {} by neither",
                     prediction.host, Share(Lookups(coverage, HostCostSource::kName), all),
                     Share(Lookups(coverage, HostCostSource::kKind), all),
                     Share(Lookups(coverage, HostCostSource::kGlobal) +
                               Lookups(coverage, HostCostSource::kNothing),
                           all));
}

void AddComparison(const Prediction& prediction, Document& document) {
  const double step_s = Seconds(prediction.figures.step_ps);
  document.AddSection()
      .Set("measured_step_s", prediction.measured_step_s)
      .Say(fmt::format(
          "measured step: {:.3f} ms, under its profiler; the predicted one differs by {:+.1f} %",
          prediction.measured_step_s * 1e3, 100 * (step_s / prediction.measured_step_s - 1)));
  if (prediction.worst.empty()) {
    document.sections.back().Set("worst_operators", Value::List());
  } else {
    document.AddSection().Add(WorstTable(prediction));
  }
}

}  // namespace

Document PredictionDocument(const Prediction& prediction) {
  const simulate::StepFigures& figures = prediction.figures;
  Document document{.title = fmt::format("{} on {}", prediction.path, prediction.gpu),
                    .kind = "Orrery prediction"};
  Document::Section& head = document.AddSection();
  head.Set("trace", prediction.path)
      .Set("gpu", prediction.gpu)
      .Set("step_time_s", Seconds(figures.step_ps))
      .Set("active_time_s", Seconds(figures.active_ps))
      .Set("host_bound", figures.HostBoundShare())
      .Set("idle_for_host_s", Seconds(figures.host_bound_ps))
      .Set("idle_other_s", Seconds(figures.other_idle_ps))
      .Set("kernels", figures.kernels)
      .Set("kernel_times", prediction.kernels);
  head.Say(fmt::format("kernels: {}{}", prediction.kernels,
                       prediction.is_priced ? PricingText(prediction.pricing) : ""));
  if (prediction.is_priced) {
    head.Set("models", PricingData(prediction.pricing));
  }
  head.Set("host", HostData(prediction)).Say(HostText(prediction));
  document.AddSection().Add(StepTable(figures));
  if (prediction.measured_step_s > 0) {
    AddComparison(prediction, document);
  }
  document.AddSection().Add(
      Document::List{"not_modelled", "Not modelled", prediction.not_modelled});
  return document;
}

}  // namespace orrery::cli
