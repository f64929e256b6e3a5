#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/statistics.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/jitter_fit.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

using calibrate::JudgedSteps;
using calibrate::RecordedStepTable;

/// Published accuracy of PRISM's predicted training times (arXiv 2510.15596v1), to compare with.
constexpr double kPublishedDistance = 0.208;

struct EvaluateJitterArguments {
  std::string path;
  OutputOptions output;
};

/// Distances of all groups.
struct Distances {
  double mean = 0;
  double median = 0;
  double largest = 0;
  double share_below_mark = 0;
};

Distances DistancesOf(const std::vector<JudgedSteps>& judged, double JudgedSteps::* distance) {
  std::vector<double> distances;
  for (const JudgedSteps& group : judged) {
    distances.push_back(group.*distance);
  }
  const auto below =
      std::ranges::count_if(distances, [](double value) { return value < kPublishedDistance; });
  return {.mean = Mean(distances),
          .median = Median(distances),
          .largest = std::ranges::max(distances),
          .share_below_mark = static_cast<double>(below) / static_cast<double>(distances.size())};
}

Value DataOf(const Distances& distances) {
  return Value::Object()
      .Set("mean", distances.mean)
      .Set("median", distances.median)
      .Set("largest", distances.largest)
      .Set("share_below_0_208", distances.share_below_mark);
}

std::string SentenceOf(const std::string& left_out, const Distances& distances) {
  return fmt::format(
      "{} left out: KS distance {:.3f} in the mean, {:.3f} in the median, {:.3f} at most; {:.0f} % "
      "below 0.208, the published distance of PRISM (arXiv 2510.15596).",
      left_out, distances.mean, distances.median, distances.largest,
      100 * distances.share_below_mark);
}

Document::Table TableOf(const std::vector<JudgedSteps>& judged) {
  const NumberFormat distance("{:.3f}");
  const NumberFormat percent("{:.2f}", 100);
  constexpr report::Shown kInHtml = report::Shown::kInHtml;
  Document::Table table{
      .key = "groups",
      .columns = {AsText("system", "system", 32),
                  AsText("benchmark", "benchmark"),
                  {"gpu", "GPU", Unit::kText, 60, kInHtml},
                  AsCount("gpus", "GPUs"),
                  AsCount("window", "window"),
                  {"records", "records", Unit::kCount, 60, kInHtml},
                  {"ks", "KS", distance},
                  {"ks_system", "KS, system", distance, 60, kInHtml},
                  {"step_sigma", "σ of a step, %", percent, 60, kInHtml},
                  {"measured_sigma", "σ %", percent},
                  {"predicted_sigma", "pred.", percent},
                  {"measured_p95", "p95 %", percent, 60, kInHtml},
                  {"predicted_p95", "pred.", percent, 60, kInHtml},
                  {"measured_p99", "p99 %", percent},
                  {"predicted_p99", "pred.", percent}},
      .caption =
          "A record is the mean of a window of steps, relative to the median of its run. KS: "
          "between measured and predicted records, fitted without the submitter. σ is the "
          "distance of the 16th percentile from the median, p99 lies above it; pred.: predicted "
          "without the submitter.",
      .max_shown = SIZE_MAX};
  for (const JudgedSteps& group : judged) {
    const calibrate::RecordedSteps& recorded = group.recorded;
    table.rows.push_back({recorded.system, recorded.benchmark, recorded.gpu, recorded.gpus,
                          recorded.window_steps, recorded.num_records(), group.distance,
                          group.system_distance, group.step_sigma, group.measured_sigma,
                          group.predicted_sigma, group.measured_p95 - 1, group.predicted_p95 - 1,
                          group.measured_p99 - 1, group.predicted_p99 - 1});
  }
  return table;
}

/// Groups of one GPU and order of scale.
struct ScaleFigures {
  std::vector<double> step_sigmas = {};
  std::vector<double> records_p99 = {};
  std::vector<double> distances = {};
};

constexpr std::array<std::pair<int, const char*>, 3> kScales = {
    {{8, "to 8"}, {99, "9 to 99"}, {std::numeric_limits<int>::max(), "100 and more"}}};

std::size_t ScaleOf(int gpus) {
  std::size_t scale = 0;
  while (gpus > kScales[scale].first) {
    ++scale;
  }
  return scale;
}

Document::Table ScaleTableOf(const std::vector<JudgedSteps>& judged) {
  const NumberFormat percent("{:.2f}", 100);
  Document::Table table{
      .key = "scales",
      .columns = {AsText("gpu", "GPU"),
                  AsText("gpus", "GPUs"),
                  AsCount("groups", "groups"),
                  {"step_sigma", "σ of a step, %", percent},
                  {"least_sigma", "least", percent},
                  {"most_sigma", "most", percent},
                  {"p99", "p99 of records, %", percent},
                  {"ks", "KS", NumberFormat("{:.3f}")}},
      .caption =
          "Medians over groups. σ of one step: that of records, undone by the law of windows that "
          "was fitted without the submitter."};
  std::map<std::pair<std::string, std::size_t>, ScaleFigures> scales;
  for (const JudgedSteps& group : judged) {
    ScaleFigures& figures = scales[{group.recorded.gpu, ScaleOf(group.recorded.gpus)}];
    figures.step_sigmas.push_back(group.step_sigma);
    figures.records_p99.push_back(group.measured_p99 - 1);
    figures.distances.push_back(group.distance);
  }
  for (const auto& [key, figures] : scales) {
    table.rows.push_back({key.first, kScales[key.second].second, figures.step_sigmas.size(),
                          Median(figures.step_sigmas), std::ranges::min(figures.step_sigmas),
                          std::ranges::max(figures.step_sigmas), Median(figures.records_p99),
                          Median(figures.distances)});
  }
  return table;
}

/// The distance of the predicted p99 from the median, relative to the measured one.
struct TailFigures {
  double median_ratio = 0;
  double within_factor_2 = 0;  // share of groups
};

TailFigures TailOf(const std::vector<JudgedSteps>& judged) {
  std::vector<double> ratios;
  std::size_t within = 0;
  for (const JudgedSteps& group : judged) {
    const double ratio = (group.predicted_p99 - 1) / (group.measured_p99 - 1);
    ratios.push_back(ratio);
    within += ratio >= 0.5 && ratio <= 2 ? 1 : 0;
  }
  return {.median_ratio = Median(ratios),
          .within_factor_2 = static_cast<double>(within) / static_cast<double>(ratios.size())};
}

Document DocumentOf(const RecordedStepTable& table, const std::vector<JudgedSteps>& judged) {
  const Distances of_submitters = DistancesOf(judged, &JudgedSteps::distance);
  const Distances of_systems = DistancesOf(judged, &JudgedSteps::system_distance);
  const TailFigures tail = TailOf(judged);
  Document document{.title = "Evaluated: step jitter on systems that were not fitted",
                    .kind = "Orrery evaluation"};
  document.AddSection()
      .Set("submitter_left_out", DataOf(of_submitters))
      .Set("system_left_out", DataOf(of_systems))
      .Set("p99_ratio", tail.median_ratio)
      .Set("p99_within_factor_2", tail.within_factor_2)
      .Set("records", table.records)
      .Set("records_in_warm_up", table.in_warm_up)
      .Set("records_at_the_end", table.at_the_end)
      .Set("records_in_small_groups", table.in_small_groups)
      .Say(SentenceOf("Submitter", of_submitters), Document::Text::Style::kVerdict)
      .Say(SentenceOf("System", of_systems))
      .Say(fmt::format("p99 above the median, submitter left out: {:.2f} times the measured one in "
                       "the median of groups, within a factor of two for {:.0f} % of them.",
                       tail.median_ratio, 100 * tail.within_factor_2))
      .Add(TableOf(judged))
      .Add(ScaleTableOf(judged))
      .Say(fmt::format("{} records; not evaluated: {} at the beginning of runs, {} at their end, "
                       "{} of runs or windows with too few.",
                       table.records, table.in_warm_up, table.at_the_end, table.in_small_groups));
  return document;
}

Result<int> EvaluateJitter(const EvaluateJitterArguments& arguments) {
  ORRERY_TRY(const RecordedStepTable table, calibrate::ReadRecordedSteps(arguments.path));
  const Result<std::vector<JudgedSteps>> judged = calibrate::JudgeJitter(table.groups);
  if (!judged) {
    return FailWithin(arguments.path, judged);
  }
  return Deliver(DocumentOf(table, *judged), arguments.output);
}

}  // namespace

void AddEvaluateJitterCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateJitterArguments>();
  Verb verb = evaluate.AddVerb(
      "jitter", "How steps vary: predicted against logged ones of systems that were not fitted");
  verb.AddOption("STEPS", arguments->path, "table of logged steps; docs/formats/recorded-steps.md")
      .Required();
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateJitter(*arguments); });
}

}  // namespace orrery::cli
