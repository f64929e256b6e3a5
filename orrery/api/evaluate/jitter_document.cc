#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/api/evaluate.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/report/document.h"

namespace orrery::api {
namespace {

std::string SentenceOf(const std::string& left_out, const JitterDistances& distances) {
  return fmt::format(
      "{} left out: KS distance {:.3f} in the mean, {:.3f} in the median, {:.3f} at most; {:.0f} % "
      "below 0.208, the published distance of PRISM (arXiv 2510.15596).",
      left_out, distances.mean, distances.median, distances.largest,
      100 * distances.share_below_0_208);
}

Document::Table TableOf(const EvaluateJitterResult& result) {
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
  for (const JitterGroup& group : result.groups) {
    table.rows.push_back({group.system, group.benchmark, group.gpu, group.gpus, group.window,
                          group.records, group.ks, group.ks_system, group.step_sigma,
                          group.measured_sigma, group.predicted_sigma, group.measured_p95,
                          group.predicted_p95, group.measured_p99, group.predicted_p99});
  }
  return table;
}

Document::Table ScaleTableOf(const EvaluateJitterResult& result) {
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
  for (const JitterScale& scale : result.scales) {
    table.rows.push_back({scale.gpu, scale.gpus, scale.groups, scale.step_sigma, scale.least_sigma,
                          scale.most_sigma, scale.p99, scale.ks});
  }
  return table;
}

}  // namespace

Document MakeDocument(const EvaluateJitterResult& result) {
  Document document{.title = "Evaluated: step jitter on systems that were not fitted",
                    .kind = "Orrery evaluation"};
  document.AddSection()
      .Say(SentenceOf("Submitter", result.submitter_left_out), Document::Text::Style::kVerdict)
      .Say(SentenceOf("System", result.system_left_out))
      .Say(fmt::format("p99 above the median, submitter left out: {:.2f} times the measured one in "
                       "the median of groups, within a factor of two for {:.0f} % of them.",
                       result.p99_ratio, 100 * result.p99_within_factor_2))
      .Add(TableOf(result))
      .Add(ScaleTableOf(result))
      .Say(fmt::format("{} records; not evaluated: {} at the beginning of runs, {} at their end, "
                       "{} of runs or windows with too few.",
                       result.records, result.records_in_warm_up, result.records_at_the_end,
                       result.records_in_small_groups));
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
