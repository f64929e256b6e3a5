#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::api {
namespace {

using simulate::JitterModel;
using simulate::StepDistribution;
using simulate::StepJitter;

constexpr double kPicoseconds = 1e12;
/// Four of five systems are less than so many deviations from the median one.
constexpr double kFourOfFive = 1.2816;
/// Enough to tell what steps of other systems are, however few are asked for.
constexpr std::int64_t kStepsOfOtherSystem = 10'000;

std::string StepText(double seconds) {
  return fmt::format("{:.5g} s", seconds);
}

double P95OfOtherSystem(const DrawnSteps& drawn, double deviations) {
  JitterModel model = simulate::ShippedJitter();
  model.step_sigma *= std::exp(deviations * model.sigma_deviation);
  const StepJitter jitter(model, drawn.gpus, drawn.median_s);
  return simulate::DrawSteps(jitter, kStepsOfOtherSystem, drawn.seed).QuantileS(0.95);
}

// The longest steps would make the others one column.
Document::Picture HistogramOf(const DrawnSteps& drawn) {
  constexpr std::size_t kColumns = 40;
  constexpr double kShownShare = 0.995;
  const double begin = drawn.distribution.best_s();
  const double end = drawn.distribution.QuantileS(kShownShare);
  const double width = (end - begin) / static_cast<double>(kColumns);
  std::vector<double> counts(kColumns, 0);
  for (const double step_s : drawn.distribution.sorted_s) {
    if (step_s <= end && width > 0) {
      counts[std::min(kColumns - 1, static_cast<std::size_t>((step_s - begin) / width))] += 1;
    }
  }
  const auto percent_at = [&](std::size_t column) {
    return 100 * ((begin + width * static_cast<double>(column)) / drawn.median_s - 1);
  };
  draw::ChartLine line{.series = {.name = "steps", .style = "compute"}};
  for (std::size_t i = 0; i < kColumns && width > 0; ++i) {
    line.segments.push_back({.begin = percent_at(i), .end = percent_at(i + 1), .value = counts[i]});
  }
  draw::LineChart chart{.lines = {std::move(line)}};
  chart.x_title = "% above the median step";
  chart.y_title = "steps";
  chart.description = "Histogram of the drawn steps";
  return {.svg = draw::RenderLineChart(chart),
          .caption = fmt::format("Drawn steps by their time; the longest {:.1f} % are not shown.",
                                 100 * (1 - kShownShare))};
}

std::string SourceText(const DrawnSteps& drawn) {
  const JitterModel& model = simulate::ShippedJitter();
  std::string text = fmt::format(
      "The simulated step is taken as the median healthy step. Jitter fitted to logged steps of {} "
      "systems of {} submitters ({} to {} GPUs: {}; `orrery evaluate jitter`)",
      model.systems, model.submitters, model.least_gpus, model.most_gpus,
      fmt::join(model.gpus, ", "));
  text += drawn.beyond_fit.empty()
              ? "."
              : fmt::format("; it extrapolates in {}.", fmt::join(drawn.beyond_fit, " and "));
  return text + " Not drawn: warm-up, evaluation, checkpoints and failures.";
}

}  // namespace

std::optional<DrawnSteps> DrawStepsOf(const SimulateRequest& request, const std::string& gpu,
                                      const simulate::StepSummary& summary) {
  if (request.steps == 0 || summary.step_ps <= 0) {
    return std::nullopt;
  }
  DrawnSteps drawn;
  drawn.count = request.steps;
  drawn.seed = request.seed;
  drawn.gpus = static_cast<int>(summary.ranks);
  drawn.median_s = static_cast<double>(summary.step_ps) / kPicoseconds;
  drawn.beyond_fit = simulate::BeyondFit(simulate::ShippedJitter(), gpu, drawn.gpus);
  const StepJitter jitter(simulate::ShippedJitter(), drawn.gpus, drawn.median_s);
  drawn.stalls_per_step = jitter.stalls_per_step();
  drawn.distribution = simulate::DrawSteps(jitter, drawn.count, drawn.seed);
  drawn.quiet_p95_s = P95OfOtherSystem(drawn, -kFourOfFive);
  drawn.noisy_p95_s = P95OfOtherSystem(drawn, kFourOfFive);
  return drawn;
}

void AddSteps(const DrawnSteps& drawn, bool has_pictures, Document& document) {
  const StepDistribution& steps = drawn.distribution;
  Document::Section& section = document.AddSection(
      fmt::format("Steps that vary: {} step{}, seed {}", draw::FormatCount(drawn.count),
                  drawn.count == 1 ? "" : "s", drawn.seed));
  section.Show("p50", StepText(steps.QuantileS(0.5)));
  section.Show("p95", StepText(steps.QuantileS(0.95)),
               fmt::format("{:.5g} to {:.5g} s on four of five systems", drawn.quiet_p95_s,
                           drawn.noisy_p95_s));
  section.Show("p99", StepText(steps.QuantileS(0.99)));
  section.Show("mean", StepText(steps.mean_s),
               fmt::format("{:.2f} % above the best step, {}",
                           100 * (steps.mean_s / steps.best_s() - 1), StepText(steps.best_s())));
  section.Show("worst", StepText(steps.worst_s()),
               fmt::format("{:.2g} stalls a step expected", drawn.stalls_per_step));
  if (has_pictures) {
    section.Add(HistogramOf(drawn));
  }
  section.Say(SourceText(drawn));
}

void SetSteps(const DrawnSteps& drawn, SimulateResult& result) {
  const StepDistribution& steps = drawn.distribution;
  const JitterModel& model = simulate::ShippedJitter();
  result.p50_s = steps.QuantileS(0.5);
  result.p95_s = steps.QuantileS(0.95);
  result.p99_s = steps.QuantileS(0.99);
  result.steps = StepVariation{.count = drawn.count,
                               .seed = static_cast<std::int64_t>(drawn.seed),
                               .mean_s = steps.mean_s,
                               .best_s = steps.best_s(),
                               .worst_s = steps.worst_s(),
                               .mean_over_best = steps.mean_s / steps.best_s(),
                               .p95_low_s = drawn.quiet_p95_s,
                               .p95_high_s = drawn.noisy_p95_s,
                               .stalls_per_step = drawn.stalls_per_step,
                               .fitted_systems = model.systems,
                               .fitted_submitters = model.submitters,
                               .extrapolates_in = drawn.beyond_fit};
}

}  // namespace orrery::api
