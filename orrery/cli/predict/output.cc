#include "orrery/cli/predict/output.h"

#include <array>
#include <cstddef>

#include <fmt/core.h>

#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"

namespace orrery::cli {
namespace {

using draw::JsonWriter;
using draw::TextTable;
using workload::HostCostSource;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

std::string Milliseconds(double seconds) {
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string Share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::int64_t Lookups(const workload::HostCoverage& coverage, HostCostSource rung) {
  return coverage.lookups[static_cast<std::size_t>(rung)];
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

std::string StepTable(const Prediction& prediction) {
  const simulate::StepFigures& figures = prediction.figures;
  TextTable table(
      {{"of a step"}, {"time", TextTable::Align::kRight}, {"share", TextTable::Align::kRight}});
  const auto add = [&](const char* name, std::int64_t time_ps) {
    table.AddRow({name, Milliseconds(Seconds(time_ps)), Share(time_ps, figures.step_ps)});
  };
  add("step", figures.step_ps);
  add("GPU active", figures.active_ps);
  add("GPU waits for the host", figures.host_bound_ps);
  add("GPU idle otherwise", figures.other_idle_ps);
  return table.Render();
}

std::string WorstTable(const Prediction& prediction) {
  TextTable table({{"operator", TextTable::Align::kLeft, 50},
                   {"calls", TextTable::Align::kRight},
                   {"predicted", TextTable::Align::kRight},
                   {"measured", TextTable::Align::kRight},
                   {"difference", TextTable::Align::kRight}});
  for (const OperatorError& error : prediction.worst) {
    table.AddRow({error.name, fmt::format("{}", error.calls), Milliseconds(error.predicted_s),
                  Milliseconds(error.measured_s),
                  fmt::format("{:+.3f} ms", (error.predicted_s - error.measured_s) * 1e3)});
  }
  return table.Render();
}

void WriteHost(const Prediction& prediction, JsonWriter& json) {
  const workload::HostCoverage& coverage = prediction.coverage;
  json.Key("host").BeginObject();
  json.Key("source").String(prediction.host);
  json.Key("operators").Integer(coverage.operators);
  json.Key("launches").Integer(coverage.launches);
  json.Key("waits").Integer(coverage.waits);
  json.Key("costs_by_name").Integer(Lookups(coverage, HostCostSource::kName));
  json.Key("costs_by_kind").Integer(Lookups(coverage, HostCostSource::kKind));
  json.Key("costs_global").Integer(Lookups(coverage, HostCostSource::kGlobal));
  json.Key("costs_unknown").Integer(Lookups(coverage, HostCostSource::kNothing));
  json.EndObject();
}

void WritePricing(const workload::PricingSummary& pricing, JsonWriter& json) {
  constexpr std::array<const char*, workload::kNumEstimateSources> kKeys{
      "operators_of_this_gpu", "operators_of_siblings", "operators_of_all_gpus",
      "operators_by_roofline"};
  json.Key("models").BeginObject();
  json.Key("calls").Integer(pricing.calls);
  json.Key("unknown_calls").Integer(pricing.unknown_calls);
  for (std::size_t rung = 0; rung < kKeys.size(); ++rung) {
    json.Key(kKeys[rung]).Integer(pricing.operators[rung]);
  }
  json.Key("operators_extrapolated").Integer(pricing.extrapolated);
  json.EndObject();
}

void WriteWorst(const Prediction& prediction, JsonWriter& json) {
  json.Key("worst_operators").BeginArray();
  for (const OperatorError& error : prediction.worst) {
    json.BeginObject();
    json.Key("name").String(error.name);
    json.Key("calls").Integer(error.calls);
    json.Key("predicted_s").Number(error.predicted_s);
    json.Key("measured_s").Number(error.measured_s);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

std::string PredictionText(const Prediction& prediction) {
  std::string text = fmt::format("{} on {}\n", prediction.path, prediction.gpu);
  text += fmt::format("kernels: {}", prediction.kernels);
  if (prediction.is_priced) {
    text += PricingText(prediction.pricing);
  }
  text += "\n";
  const std::int64_t all = AllLookups(prediction.coverage);
  text += fmt::format("host: {}; {} of its costs by name, {} by kind, {} by neither\n\n",
                      prediction.host, Share(Lookups(prediction.coverage, HostCostSource::kName), all),
                      Share(Lookups(prediction.coverage, HostCostSource::kKind), all),
                      Share(Lookups(prediction.coverage, HostCostSource::kGlobal) +
                                Lookups(prediction.coverage, HostCostSource::kNothing),
                            all));
  text += StepTable(prediction);
  if (prediction.measured_step_s > 0) {
    const double step_s = Seconds(prediction.figures.step_ps);
    text += fmt::format(
        "\nmeasured step: {}, under its profiler; the predicted one differs by {:+.1f} %\n",
        Milliseconds(prediction.measured_step_s), 100 * (step_s / prediction.measured_step_s - 1));
  }
  if (!prediction.worst.empty()) {
    text += "\noperators predicted worst, by the difference over the step\n";
    text += WorstTable(prediction);
  }
  for (const std::string& sentence : prediction.not_modelled) {
    text += fmt::format("\nnot modelled: {}\n", sentence);
  }
  return text;
}

std::string PredictionJson(const Prediction& prediction) {
  const simulate::StepFigures& figures = prediction.figures;
  JsonWriter json;
  json.BeginObject();
  json.Key("trace").String(prediction.path);
  json.Key("gpu").String(prediction.gpu);
  json.Key("step_time_s").Number(Seconds(figures.step_ps));
  json.Key("active_time_s").Number(Seconds(figures.active_ps));
  json.Key("host_bound").Number(figures.HostBoundShare());
  json.Key("idle_for_host_s").Number(Seconds(figures.host_bound_ps));
  json.Key("idle_other_s").Number(Seconds(figures.other_idle_ps));
  json.Key("kernels").Integer(figures.kernels);
  json.Key("kernel_times").String(prediction.kernels);
  if (prediction.is_priced) {
    WritePricing(prediction.pricing, json);
  }
  WriteHost(prediction, json);
  if (prediction.measured_step_s > 0) {
    json.Key("measured_step_s").Number(prediction.measured_step_s);
    WriteWorst(prediction, json);
  }
  json.Key("not_modelled").BeginArray();
  for (const std::string& sentence : prediction.not_modelled) {
    json.String(sentence);
  }
  json.EndArray();
  json.EndObject();
  return json.Finish();
}

}  // namespace orrery::cli
