#include "orrery/cli/search/pictures.h"

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

#include "orrery/base/error.h"
#include "orrery/cli/output.h"
#include "orrery/cli/search/search.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/simulation_pictures.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/summary.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {
namespace {

using search::PlanTradeoff;
using search::RankedPlan;
using search::Space;

constexpr double kPicoseconds = 1e12;
constexpr double kMillion = 1e6;

double StepSeconds(const RankedPlan& ranked) {
  return static_cast<double>(ranked.played.step_ps) / kPicoseconds;
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
    ids.push_back(ranked.screened.id);
  }
  return ids;
}

// What it is, where its place among the kept plans is known.
using RankOfId = std::map<search::PlanId, std::size_t>;

RankOfId RanksOf(const SearchAnswer& answer) {
  RankOfId ranks;
  for (const RankedPlan& ranked : answer.result.best) {
    ranks.emplace(ranked.screened.id, ranks.size() + 1);
  }
  return ranks;
}

std::string TipOf(const SearchAnswer& answer, const RankedPlan& ranked,
                  const std::optional<std::size_t>& rank) {
  std::vector<std::size_t> all(answer.space->dimensions().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  const double change = StepSeconds(ranked) / StepSeconds(answer.result.best.front()) - 1;
  return fmt::format("{}{:.4g} s ({:+.1f} %), {}\n{}", rank ? fmt::format("plan {}: ", *rank) : "",
                     StepSeconds(ranked), 100 * change,
                     draw::FormatBinaryBytes({ranked.played.memory_bytes}),
                     ValuesText(*answer.space, ranked.screened.id, all));
}

// Series of a scatter chart; later ones are drawn over earlier ones.
enum Place : std::uint8_t { kOther, kTie, kFront, kFrontTie, kFirst };

std::vector<draw::Series> PlaceSeries() {
  return {{.name = "played", .style = "other"},
          {.name = "ties with the first plan", .style = "launch"},
          {.name = "Pareto front", .style = "compute"},
          {.name = "Pareto front, ties with the first plan", .style = "memory"},
          {.name = "first plan", .style = "transfer"}};
}

// By tradeoff of the answer.
std::vector<Place> PlacesOf(const SearchAnswer& answer) {
  const RankedPlan& first = answer.result.best.front();
  const Result<workload::Job> job = answer.space->JobOf(first.screened.id);
  std::set<search::PlanId> front;
  for (const PlanTradeoff& plan : answer.front) {
    front.insert(plan.id);
  }
  std::vector<Place> places;
  for (const PlanTradeoff& plan : answer.tradeoffs) {
    const search::PlayedPlan& played = answer.result.played[plan.played].played;
    const bool ties = job && search::IsTie(first.played, played, *job);
    const bool is_front = front.contains(plan.id);
    places.push_back(plan.id == first.screened.id ? kFirst
                     : is_front                   ? (ties ? kFrontTie : kFront)
                                                  : (ties ? kTie : kOther));
  }
  return places;
}

// Points of which no other one has both less x and less y.
std::vector<draw::Point> StaircaseOf(const std::vector<draw::ScatterPoint>& points) {
  std::vector<draw::Point> sorted;
  for (const draw::ScatterPoint& point : points) {
    sorted.push_back({point.x, point.y});
  }
  std::ranges::sort(sorted, {},
                    [](const draw::Point& point) { return std::pair(point.x, point.y); });
  std::vector<draw::Point> staircase;
  for (const draw::Point& point : sorted) {
    if (staircase.empty() || point.y < staircase.back().y) {
      staircase.push_back(point);
    }
  }
  return staircase;
}

// Logarithmic where most plans would be in a corner else.
draw::Scale::Kind KindOf(const std::vector<draw::ScatterPoint>& points,
                         double draw::ScatterPoint::* coordinate) {
  constexpr double kWide = 6;
  const auto [least, most] = std::ranges::minmax(points, {}, coordinate);
  return least.*coordinate > 0 && most.*coordinate > kWide * least.*coordinate
             ? draw::Scale::Kind::kLog
             : draw::Scale::Kind::kLinear;
}

// `chart` has titles and quantities; `y_of` and `label_of` are asked for each tradeoff.
template <typename YOf, typename LabelOf>
Document::Picture ScatterOf(const SearchAnswer& answer, draw::ScatterChart chart, const YOf& y_of,
                            const LabelOf& label_of) {
  chart.series = PlaceSeries();
  chart.x_title = "step time, s";
  const std::vector<Place> places = PlacesOf(answer);
  const RankOfId ranks = RanksOf(answer);
  for (std::size_t i = 0; i < answer.tradeoffs.size(); ++i) {
    const PlanTradeoff& plan = answer.tradeoffs[i];
    const RankedPlan& ranked = answer.result.played[plan.played];
    const auto rank = ranks.find(plan.id);
    const bool is_kept = rank != ranks.end();
    chart.points.push_back(
        {.x = StepSeconds(ranked),
         .y = y_of(plan),
         .series = places[i],
         .tip = TipOf(answer, ranked, is_kept ? std::optional(rank->second) : std::nullopt),
         .label = label_of(plan)});
  }
  chart.x_kind = KindOf(chart.points, &draw::ScatterPoint::x);
  chart.y_kind = KindOf(chart.points, &draw::ScatterPoint::y);
  chart.staircase = StaircaseOf(chart.points);
  std::vector<draw::Series> legend;
  const std::vector<draw::Series> entries = draw::ScatterLegend(chart);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (std::ranges::count(places, static_cast<Place>(i)) > 0) {
      legend.push_back(entries[i]);
    }
  }
  return {.svg = draw::RenderScatter(chart), .legend = std::move(legend)};
}

bool IsFirst(const SearchAnswer& answer, const PlanTradeoff& plan) {
  return plan.id == answer.result.best.front().screened.id;
}

// What a plan may need, where some plan comes near to it: else it would only take room.
std::vector<draw::ScatterLine> LimitOf(const SearchAnswer& answer) {
  constexpr double kNear = 0.6;
  const auto usable = [&](const PlanTradeoff& plan) {
    return answer.result.played[plan.played].played.usable_bytes;
  };
  const std::int64_t usable_bytes = usable(answer.tradeoffs.front());
  const double limit = static_cast<double>(usable_bytes) * answer.space->memory_share();
  double most = 0;
  for (const PlanTradeoff& plan : answer.tradeoffs) {
    if (usable(plan) != usable_bytes) {
      return {};
    }
    most = std::max(most, static_cast<double>(usable_bytes - plan.memory_left_bytes));
  }
  return most < kNear * limit ? std::vector<draw::ScatterLine>{}
                              : std::vector<draw::ScatterLine>{{.label = "limit", .y = limit}};
}

Document::Picture MemoryPicture(const SearchAnswer& answer) {
  const auto needed = [&](const PlanTradeoff& plan) {
    return static_cast<double>(answer.result.played[plan.played].played.memory_bytes);
  };
  draw::ScatterChart chart{.lines = LimitOf(answer),
                           .y_quantity = draw::Quantity::kBinaryBytes,
                           .x_title = {},
                           .y_title = "memory of the fullest GPU",
                           .description = "Step time and memory of plans that were played"};
  Document::Picture picture =
      ScatterOf(answer, std::move(chart), needed,
                [&](const PlanTradeoff& plan) { return IsFirst(answer, plan) ? "plan 1" : ""; });
  picture.heading = "Step time against memory";
  picture.caption =
      "Every mark is a plan that was played and fits. Left and below is better; the dotted line "
      "joins plans of which no other one is both faster and smaller.";
  return picture;
}

// The fastest plan of each number of GPUs says what that is.
std::map<search::PlanId, std::string> GpuLabels(const SearchAnswer& answer) {
  std::map<std::int64_t, const PlanTradeoff*> fastest_of_gpus;
  for (const PlanTradeoff& plan : answer.tradeoffs) {
    const PlanTradeoff*& fastest = fastest_of_gpus[plan.gpus];
    const bool is_faster = fastest == nullptr || std::pair(plan.step_ps, plan.id) <
                                                     std::pair(fastest->step_ps, fastest->id);
    fastest = is_faster ? &plan : fastest;
  }
  std::map<search::PlanId, std::string> labels;
  for (const auto& [gpus, fastest] : fastest_of_gpus) {
    labels[fastest->id] = fmt::format("{}{} GPUs", IsFirst(answer, *fastest) ? "plan 1, " : "",
                                      draw::FormatCount(gpus));
  }
  return labels;
}

Document::Picture CostPicture(const SearchAnswer& answer) {
  const bool has_dollars = std::ranges::all_of(answer.tradeoffs, [](const PlanTradeoff& plan) {
    return plan.dollars_per_token.has_value();
  });
  const auto cost = [&](const PlanTradeoff& plan) {
    return has_dollars ? kMillion * *plan.dollars_per_token : static_cast<double>(plan.gpus);
  };
  const std::map<search::PlanId, std::string> labels = GpuLabels(answer);
  const auto label_of = [&](const PlanTradeoff& plan) {
    const auto label = labels.find(plan.id);
    return label == labels.end() ? "" : label->second;
  };
  draw::ScatterChart chart{
      .x_title = {},
      .y_title = has_dollars ? fmt::format("dollars per million {}s", ItemOf(answer)) : "GPUs",
      .description = "Step time and cost of plans that were played"};
  Document::Picture picture = ScatterOf(answer, std::move(chart), cost, label_of);
  picture.heading = has_dollars ? "Step time against dollars" : "Step time against GPUs";
  picture.caption = "The same plans. The fastest one of each number of GPUs has its number.";
  return picture;
}

bool HasSeveralGpus(const SearchAnswer& answer) {
  return std::ranges::any_of(answer.tradeoffs, [&](const PlanTradeoff& plan) {
    return plan.gpus != answer.tradeoffs.front().gpus;
  });
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
    there.insert(answer.space->ValuesOf(ranked.screened.id)[dimension]);
  }
  std::vector<std::string> names;
  if (there.contains("")) {
    names.emplace_back("–");
  }
  for (const std::string& value : answer.space->dimensions()[dimension].values) {
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
        {.title = ShortKey(answer.space->dimensions()[i].key), .names = NamesOf(answer, i, plans)});
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
                            .tip = TipOf(answer, plans[i], i + 1),
                            .is_emphasized = i == 0};
    const std::vector<std::string> values = answer.space->ValuesOf(plans[i].screened.id);
    for (std::size_t axis = 0; axis < differing.size(); ++axis) {
      line.values.push_back(PlaceOf(values[differing[axis]], lines.chart.axes[axis].names));
    }
    line.values.push_back(static_cast<double>(plans[i].played.memory_bytes));
    line.values.push_back(StepSeconds(plans[i]));
    lines.chart.lines.push_back(std::move(line));
  }
  for (const auto& [level, seconds] : slowest_of_level) {
    lines.legend.push_back({.name = fmt::format("≤ {:.4g} s", seconds), .style = StyleOf(level)});
  }
  return lines;
}

// What the picture above says already.
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

std::vector<Document::Picture> FrontPictures(const SearchAnswer& answer) {
  std::vector<Document::Picture> pictures;
  if (answer.tradeoffs.size() > 1) {
    pictures.push_back(MemoryPicture(answer));
    if (HasSeveralGpus(answer)) {
      pictures.push_back(CostPicture(answer));
    }
  }
  return pictures;
}

Document::Picture KeptPicture(const SearchAnswer& answer) {
  std::vector<RankedPlan> plans = answer.result.best;
  plans.resize(std::min(plans.size(), kMostLines));
  const ColouredLines lines = LinesOf(answer, plans, DifferingOf(*answer.space, IdsOf(plans)));
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
  const std::vector<std::size_t> differing = DifferingOf(*answer.space, IdsOf(plans));
  std::int64_t end_ps = 0;
  for (const RankedPlan& ranked : plans) {
    end_ps = std::max(end_ps, ranked.played.step_ps);
  }
  std::vector<Document::Picture> pictures;
  for (const RankedPlan& ranked : plans) {
    ORRERY_TRY(const workload::Job job, answer.space->JobOf(ranked.screened.id));
    ORRERY_TRY(const simulate::Simulation simulation, simulate::Simulate(job, costs, options));
    const simulate::SimulatedStep simulated{&simulation.rank_classes, &simulation.timeline, &job};
    Document::Picture picture =
        report::ComparedTimeline(simulated, simulate::Summarize(simulated), end_ps);
    const std::string values = ValuesText(*answer.space, ranked.screened.id, differing);
    picture.heading = fmt::format("Plan {}{}{}, {:.4g} s", pictures.size() + 1,
                                  values.empty() ? "" : ": ", values, StepSeconds(ranked));
    if (!pictures.empty()) {
      LeaveOutRepeated(pictures.front(), picture);
    }
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

}  // namespace orrery::cli
