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

#include "orrery/api/fields/documents.h"
#include "orrery/api/search/answer.h"
#include "orrery/api/search/pictures.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {
namespace {

using search::PlanTradeoff;
using search::RankedPlan;

constexpr double kPicoseconds = 1e12;
constexpr double kMillion = 1e6;

// The place of kept plans among them.
using RankOfId = std::map<search::PlanId, std::size_t>;

RankOfId RanksOf(const SearchAnswer& answer) {
  RankOfId ranks;
  for (const RankedPlan& ranked : answer.result.best) {
    ranks.emplace(ranked.bounded.id, ranks.size() + 1);
  }
  return ranks;
}

// Series of a scatter chart; later ones are drawn over earlier ones.
enum Place : std::uint8_t { kOther, kTie, kFront, kFrontTie, kFirst };

std::vector<draw::Series> PlaceSeries() {
  return {{.name = "simulated", .style = "other"},
          {.name = "ties with the first plan", .style = "launch"},
          {.name = "Pareto front", .style = "compute"},
          {.name = "Pareto front, ties with the first plan", .style = "memory"},
          {.name = "first plan", .style = "transfer"}};
}

// By tradeoff of the answer.
std::vector<Place> PlacesOf(const SearchAnswer& answer) {
  const RankedPlan& first = answer.result.best.front();
  const Result<workload::Job> job = answer.space.JobOf(first.bounded.id);
  std::set<search::PlanId> front;
  for (const PlanTradeoff& plan : answer.front) {
    front.insert(plan.id);
  }
  std::vector<Place> places;
  for (const PlanTradeoff& plan : answer.tradeoffs) {
    const search::SimulatedPlan& simulated = answer.result.simulated[plan.simulated].simulated;
    const bool ties = job && search::IsTie(first.simulated, simulated, *job);
    const bool is_front = front.contains(plan.id);
    places.push_back(plan.id == first.bounded.id ? kFirst
                     : is_front                  ? (ties ? kFrontTie : kFront)
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
                         double draw::ScatterPoint::*coordinate) {
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
    const RankedPlan& ranked = answer.result.simulated[plan.simulated];
    const auto rank = ranks.find(plan.id);
    const bool is_kept = rank != ranks.end();
    chart.points.push_back(
        {.x = static_cast<double>(plan.step_ps) / kPicoseconds,
         .y = y_of(plan),
         .series = places[i],
         .tip = PlanTip(answer, ranked, is_kept ? std::optional(rank->second) : std::nullopt),
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
  return plan.id == answer.result.best.front().bounded.id;
}

// The memory limit, if some plan comes near to it: else it would only take room.
std::vector<draw::ScatterLine> LimitOf(const SearchAnswer& answer) {
  constexpr double kNear = 0.6;
  const auto usable = [&](const PlanTradeoff& plan) {
    return answer.result.simulated[plan.simulated].simulated.usable_bytes;
  };
  const std::int64_t usable_bytes = usable(answer.tradeoffs.front());
  const double limit = static_cast<double>(usable_bytes) * answer.space.memory_share();
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
    return static_cast<double>(answer.result.simulated[plan.simulated].simulated.memory_bytes);
  };
  draw::ScatterChart chart{.lines = LimitOf(answer),
                           .y_quantity = draw::Quantity::kBinaryBytes,
                           .x_title = {},
                           .y_title = "memory of the fullest GPU",
                           .description = "Step time and memory of simulated plans"};
  Document::Picture picture =
      ScatterOf(answer, std::move(chart), needed,
                [&](const PlanTradeoff& plan) { return IsFirst(answer, plan) ? "plan 1" : ""; });
  picture.heading = "Step time against memory";
  picture.caption =
      "Every mark is a simulated plan that fits. Left and below is better; the dotted line "
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
      .description = "Step time and cost of simulated plans"};
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

}  // namespace orrery::api
