#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search/answer.h"
#include "orrery/api/search/pictures.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"
#include "orrery/search/pareto_front.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"

namespace orrery::api {
namespace {

using search::PlanTradeoff;

constexpr double kPicoseconds = 1e12;
constexpr double kMillion = 1e6;
constexpr std::size_t kMostRows = 12;

/// The metrics that tell plans apart.
struct Figures {
  bool has_gpus = false;
  bool has_dollars = false;
  bool has_joules = false;
};

Figures FiguresOf(const SearchAnswer& answer) {
  std::set<std::int64_t> gpus;
  Figures figures{.has_dollars = true, .has_joules = true};
  for (const PlanTradeoff& plan : answer.tradeoffs) {
    gpus.insert(plan.gpus);
    figures.has_dollars = figures.has_dollars && plan.dollars_per_token;
    figures.has_joules = figures.has_joules && plan.joules_per_token;
  }
  figures.has_gpus = gpus.size() > 1;
  return figures;
}

std::vector<search::PlanId> IdsOf(const std::vector<PlanTradeoff>& plans) {
  std::vector<search::PlanId> ids;
  for (const PlanTradeoff& plan : plans) {
    ids.push_back(plan.id);
  }
  return ids;
}

// Its place among the kept plans.
Value RankOf(const SearchAnswer& answer, const PlanTradeoff& plan) {
  const auto& best = answer.result.best;
  const auto found = std::ranges::find(
      best, plan.id, [](const search::RankedPlan& ranked) { return ranked.bounded.id; });
  return found == best.end() ? Value() : Value(found - best.begin() + 1);
}

// Plans that may be better than the front in some metric.
std::string NotComparedText(const SearchAnswer& answer) {
  std::string text;
  if (answer.result.pruned_by_bound > 0) {
    text = fmt::format(
        " Plans that were left out because of their bound are {} than all that are kept{}, and may "
        "need less memory.",
        answer.objective == search::Objective::kStep ? "slower" : "worse",
        answer.space.bases().size() > 1 ? " and than the best of their cluster and number of GPUs"
                                        : "");
  }
  return text +
         (answer.result.decided_share < 1 ? " Plans that are not decided are not compared." : "");
}

std::string CaptionOf(const SearchAnswer& answer, const Figures& figures) {
  return fmt::format(
      "Of the {} simulated plans that fit, no other one is at least as good as one of these "
      "in step time, memory left{}{}{}, and better in some.{}",
      draw::FormatCount(static_cast<std::int64_t>(answer.tradeoffs.size())),
      figures.has_gpus ? ", GPUs" : "", figures.has_dollars ? ", dollars" : "",
      figures.has_joules ? ", joules" : "", NotComparedText(answer));
}

Document::Table FrontTable(const SearchAnswer& answer) {
  const Figures figures = FiguresOf(answer);
  const std::vector<std::size_t> differing = DifferingOf(answer.space, IdsOf(answer.front));
  Document::Table table;
  table.heading = "Pareto front";
  table.caption = CaptionOf(answer, figures);
  table.max_shown = kMostRows;
  table.columns = {AsCount("#"), Formatted("step s", NumberFormat("{:.4g}")),
                   AsBytes("memory left")};
  const auto add_column = [&](bool is_there, Document::Column column) {
    if (is_there) {
      table.columns.push_back(std::move(column));
    }
  };
  add_column(figures.has_gpus, AsCount("GPUs"));
  add_column(figures.has_dollars, Formatted(fmt::format("$ per million {}s", ItemOf(answer)),
                                            NumberFormat("{:.4g}", kMillion)));
  add_column(figures.has_joules,
             Formatted(fmt::format("J per {}", ItemOf(answer)), NumberFormat("{:.4g}")));
  for (const std::size_t i : differing) {
    const std::string& key = answer.space.dimensions()[i].key;
    add_column(key != "gpus", AsText("", ShortKey(key), 24));
  }
  for (const PlanTradeoff& plan : answer.front) {
    std::vector<Value> row{RankOf(answer, plan), static_cast<double>(plan.step_ps) / kPicoseconds,
                           plan.memory_left_bytes};
    if (figures.has_gpus) {
      row.emplace_back(plan.gpus);
    }
    if (figures.has_dollars) {
      row.emplace_back(plan.dollars_per_token);
    }
    if (figures.has_joules) {
      row.emplace_back(plan.joules_per_token);
    }
    const std::vector<std::string> values = answer.space.ValuesOf(plan.id);
    for (const std::size_t i : differing) {
      if (answer.space.dimensions()[i].key != "gpus") {
        row.emplace_back(values[i].empty() ? "–" : values[i]);
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

const char* ItemOf(const SearchAnswer& answer) {
  return answer.space.bases().front().job.model.transformer() != nullptr ? "token" : "sample";
}

void AddFront(const SearchAnswer& answer, Document& document) {
  Document::Section& section = document.AddSection();
  section.Add(FrontTable(answer));
  if (answer.is_drawn) {
    std::ranges::move(FrontPictures(answer), std::back_inserter(section.blocks));
  }
}

}  // namespace orrery::api
