#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"

namespace orrery::report {
namespace {

using analyze::SlowdownShare;
using analyze::StragglerSlowdown;
using analyze::StragglerWorker;

constexpr double kWorthSaying = 0.01;  // of the ideal step
constexpr std::size_t kMaxRows = 8;

std::string TimeText(double ns) {
  return draw::FormatDuration({std::llround(ns)});
}

// The place of each slowdown, the largest first.
std::vector<std::size_t> WorstFirst(const std::vector<std::optional<double>>& slowdowns) {
  std::vector<std::size_t> order(slowdowns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return slowdowns[i].value_or(0); });
  return order;
}

Document::Table SlowdownTable(const std::string& what, const std::vector<std::string>& names,
                              const std::vector<std::optional<double>>& slowdowns) {
  Document::Table table{.columns = {AsText(what), Formatted("slowdown", NumberFormat("{:.4f}"))},
                        .max_shown = kMaxRows};
  for (const std::size_t i : WorstFirst(slowdowns)) {
    table.rows.push_back({names[i], slowdowns[i]});
  }
  return table;
}

std::vector<std::optional<double>> Optional(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

std::string NameOf(const StragglerWorker& worker) {
  return worker.dp_rank < 0 ? fmt::format("rank {}", worker.rank)
                            : fmt::format("rank {} (dp rank {}, stage {})", worker.rank,
                                          worker.dp_rank, worker.stage);
}

std::vector<std::string> NamesOf(const std::vector<StragglerWorker>& workers) {
  std::vector<std::string> names;
  for (const StragglerWorker& worker : workers) {
    names.push_back(NameOf(worker));
  }
  return names;
}

std::vector<std::string> NumbersOf(const std::vector<std::int32_t>& numbers) {
  std::vector<std::string> names;
  for (const std::int32_t number : numbers) {
    names.push_back(fmt::format("{}", number));
  }
  return names;
}

std::string ShareText(const SlowdownShare& share) {
  return share.removed ? fmt::format("{:.1f} %", 100 * *share.removed) : "none: no slowdown";
}

std::string Sentence(const StragglerSlowdown& slowdown) {
  const std::string blame = slowdown.slowdown - 1 < kWorthSaying
                                ? "no operation and no rank stands out"
                                : fmt::format("{} and {} cost most", slowdown.WorstClass(),
                                              NameOf(slowdown.WorstWorker()));
  return fmt::format(
      "Replayed without launch delays the operations of a step take {}, with equal durations on "
      "all ranks {}: {}.",
      TimeText(slowdown.nodelay_ns), TimeText(slowdown.ideal_ns), blame);
}

void AddFacts(const StragglerSlowdown& slowdown, Document::Section& section) {
  section.Show("ideal operations", TimeText(slowdown.ideal_ns),
               "of a step, no launch delays, equal durations");
  section.Show("straggler slowdown (S, blocking_slowdown)",
               fmt::format("{:.4f}", slowdown.slowdown), "without launch delays");
  section.Show("launch slowdown", fmt::format("{:.4f}", slowdown.launch_slowdown),
               "by launch delays alone");
  section.Show(
      "worker share (M_W)", ShareText(slowdown.worst_workers),
      fmt::format("gone with {} ideal",
                  slowdown.worst_workers.workers.size() == 1
                      ? "the worst rank"
                      : fmt::format("the {} worst ranks", slowdown.worst_workers.workers.size())));
  if (slowdown.last_stage) {
    section.Show("last-stage share (M_S)", ShareText(*slowdown.last_stage),
                 "gone with the last stage ideal");
  }
}

void AddTables(const StragglerSlowdown& slowdown, Document::Section& section) {
  section.Add(SlowdownTable("operation", slowdown.classes, Optional(slowdown.by_class)));
  section.Add(SlowdownTable("worker", NamesOf(slowdown.workers), slowdown.by_worker));
  if (slowdown.stages.size() > 1) {
    section.Add(SlowdownTable("stage", NumbersOf(slowdown.stages), Optional(slowdown.by_stage)));
  }
  if (slowdown.dp_ranks.size() > 1) {
    section.Add(
        SlowdownTable("dp rank", NumbersOf(slowdown.dp_ranks), Optional(slowdown.by_dp_rank)));
  }
}

Document::Section& AddCostSection(const RunReport& report, Document& document) {
  const StragglerSlowdown& slowdown = report.straggler_cost->slowdown;
  Document::Section& section = document.AddSection("What stragglers cost");
  section.tab = "collectives";
  section.Say(Sentence(slowdown));
  AddFacts(slowdown, section);
  AddTables(slowdown, section);
  section.Say(
      "Slowdown of a row: the replay in which it keeps its measured durations and all else is "
      "ideal, over the ideal replay. The step time is longer by what delays launches.");
  for (const std::string& assumption : report.straggler_cost->assumptions) {
    section.Say(assumption);
  }
  return section;
}

}  // namespace

void AddStragglerCost(const RunReport& report, Document& document) {
  if (!report.straggler_cost) {
    return;
  }
  Document::Section& section = AddCostSection(report, document);
  if (std::abs(report.straggler_cost->slowdown.slowdown - 1) < kWorthSaying) {
    section.shown = Shown::kInHtml;
  }
}

Document TimelineDocument(const RunReport& report) {
  Document document{.title = report.title, .kind = "Orrery run report"};
  const StragglerSlowdown& slowdown = report.straggler_cost->slowdown;
  document.AddSection().Say(fmt::format(
      "A timeline of operations: {} steps of {} workers ({} data-parallel ranks, {} pipeline "
      "stages).",
      slowdown.steps.size(), slowdown.workers.size(), slowdown.dp_ranks.size(),
      slowdown.stages.size()));
  AddCostSection(report, document);
  return document;
}

}  // namespace orrery::report
