#include "orrery/api/search/pictures.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search/answer.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/simulation_pictures.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {
namespace {

using search::RankedPlan;
using search::Space;

constexpr double kPicoseconds = 1e12;

double StepSeconds(const RankedPlan& ranked) {
  return static_cast<double>(ranked.simulated.step_ps) / kPicoseconds;
}

// "tp 8, pp 4": of the given dimensions.
std::string ValuesText(const Space& space, search::PlanId id,
                       const std::vector<std::size_t>& dimensions) {
  const std::vector<std::string> values = space.ValuesOf(id);
  std::vector<std::string> texts;
  for (const std::size_t i : dimensions) {
    if (!values[i].empty()) {
      texts.push_back(fmt::format("{} {}", ShortKey(space.dimensions()[i].key), values[i]));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<search::PlanId> IdsOf(const std::vector<RankedPlan>& plans) {
  std::vector<search::PlanId> ids;
  for (const RankedPlan& ranked : plans) {
    ids.push_back(ranked.bounded.id);
  }
  return ids;
}

constexpr std::size_t kMostLines = 60;
constexpr std::size_t kLevels = 6;  // of colour, the fastest with most contrast

std::size_t LevelOf(const RankedPlan& ranked, double fastest_s, double slowest_s) {
  const double share =
      slowest_s > fastest_s ? (StepSeconds(ranked) - fastest_s) / (slowest_s - fastest_s) : 0;
  return std::min(kLevels - 1, static_cast<std::size_t>(share * kLevels));
}

std::string StyleOf(std::size_t level) {
  return fmt::format("heat-{}", 7 - level);
}

// The names that plans have in a dimension, in the order of its values; idle ones first.
std::vector<std::string> NamesOf(const SearchAnswer& answer, std::size_t dimension,
                                 const std::vector<RankedPlan>& plans) {
  std::set<std::string> there;
  for (const RankedPlan& ranked : plans) {
    there.insert(answer.space.ValuesOf(ranked.bounded.id)[dimension]);
  }
  std::vector<std::string> names;
  if (there.contains("")) {
    names.emplace_back("–");
  }
  for (const std::string& value : answer.space.dimensions()[dimension].values) {
    if (there.contains(value)) {
      names.push_back(value);
    }
  }
  return names;
}

double PlaceOf(const std::string& value, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, value.empty() ? "–" : value);
  return static_cast<double>(found - names.begin());
}

struct ColouredLines {
  draw::ParallelChart chart;
  std::vector<draw::Series> legend;
};

ColouredLines LinesOf(const SearchAnswer& answer, const std::vector<RankedPlan>& plans,
                      const std::vector<std::size_t>& differing) {
  ColouredLines lines{.chart = {.description = "Values, memory and step time of the kept plans"},
                      .legend = {{.name = "plan 1", .style = "transfer"}}};
  for (const std::size_t i : differing) {
    lines.chart.axes.push_back(
        {.title = ShortKey(answer.space.dimensions()[i].key), .names = NamesOf(answer, i, plans)});
  }
  lines.chart.axes.push_back({.title = "memory", .quantity = draw::Quantity::kBinaryBytes});
  lines.chart.axes.push_back({.title = "step time, s"});
  const auto [fastest, slowest] = std::ranges::minmax_element(plans, {}, StepSeconds);
  std::map<std::size_t, double> slowest_of_level;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::size_t level = LevelOf(plans[i], StepSeconds(*fastest), StepSeconds(*slowest));
    if (i > 0) {
      slowest_of_level[level] = std::max(slowest_of_level[level], StepSeconds(plans[i]));
    }
    draw::ParallelLine line{.style = i == 0 ? "transfer" : StyleOf(level),
                            .tip = PlanTip(answer, plans[i], i + 1),
                            .is_emphasized = i == 0};
    const std::vector<std::string> values = answer.space.ValuesOf(plans[i].bounded.id);
    for (std::size_t axis = 0; axis < differing.size(); ++axis) {
      line.values.push_back(PlaceOf(values[differing[axis]], lines.chart.axes[axis].names));
    }
    line.values.push_back(static_cast<double>(plans[i].simulated.memory_bytes));
    line.values.push_back(StepSeconds(plans[i]));
    lines.chart.lines.push_back(std::move(line));
  }
  for (const auto& [level, seconds] : slowest_of_level) {
    lines.legend.push_back({.name = fmt::format("≤ {:.4g} s", seconds), .style = StyleOf(level)});
  }
  return lines;
}

// Removes the legend and captions that the picture above has already.
void LeaveOutRepeated(const Document::Picture& above, Document::Picture& picture) {
  const bool has_legend = std::ranges::all_of(picture.legend, [&](const draw::Series& series) {
    return std::ranges::count(above.legend, series.name, &draw::Series::name) > 0;
  });
  if (has_legend) {
    picture.legend.clear();
  }
  if (picture.caption == above.caption) {
    picture.caption.clear();
  }
}

}  // namespace

std::string PlanTip(const SearchAnswer& answer, const RankedPlan& ranked,
                    const std::optional<std::size_t>& rank) {
  std::vector<std::size_t> all(answer.space.dimensions().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  const double change = StepSeconds(ranked) / StepSeconds(answer.result.best.front()) - 1;
  return fmt::format("{}{:.4g} s ({:+.1f} %), {}\n{}", rank ? fmt::format("plan {}: ", *rank) : "",
                     StepSeconds(ranked), 100 * change,
                     draw::FormatBinaryBytes({ranked.simulated.memory_bytes}),
                     ValuesText(answer.space, ranked.bounded.id, all));
}

Document::Picture KeptPicture(const SearchAnswer& answer) {
  std::vector<RankedPlan> plans = answer.result.best;
  plans.resize(std::min(plans.size(), kMostLines));
  const ColouredLines lines = LinesOf(answer, plans, DifferingOf(answer.space, IdsOf(plans)));
  return {.svg = draw::RenderParallel(lines.chart),
          .caption = fmt::format(
              "A line for each of the {}{} kept plans, through its values where they differ.",
              plans.size() < answer.result.best.size() ? "first " : "", plans.size()),
          .legend = lines.legend};
}

Result<std::vector<Document::Picture>> TimelinePictures(
    const SearchAnswer& answer, const kernel::CostModel& costs,
    const simulate::SimulationOptions& options) {
  std::vector<RankedPlan> plans = answer.result.best;
  plans.resize(std::min<std::size_t>(plans.size(), 2));
  const std::vector<std::size_t> differing = DifferingOf(answer.space, IdsOf(plans));
  std::int64_t end_ps = 0;
  for (const RankedPlan& ranked : plans) {
    end_ps = std::max(end_ps, ranked.simulated.step_ps);
  }
  std::vector<Document::Picture> pictures;
  for (const RankedPlan& ranked : plans) {
    ORRERY_TRY(const workload::Job job, answer.space.JobOf(ranked.bounded.id));
    ORRERY_TRY(const simulate::Simulation simulation, simulate::Simulate(job, costs, options));
    const simulate::SimulatedStep simulated{&simulation.rank_classes, &simulation.timeline, &job};
    Document::Picture picture =
        report::ComparedTimeline(simulated, simulate::Summarize(simulated), end_ps);
    const std::string values = ValuesText(answer.space, ranked.bounded.id, differing);
    picture.heading = fmt::format("Plan {}{}{}, {:.4g} s", pictures.size() + 1,
                                  values.empty() ? "" : ": ", values, StepSeconds(ranked));
    if (!pictures.empty()) {
      LeaveOutRepeated(pictures.front(), picture);
    }
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

}  // namespace orrery::api
