#include "orrery/report/text_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/report/findings.h"
#include "orrery/report/path_summary.h"

namespace orrery::report {
namespace {

using draw::FormatCount;
using draw::FormatDuration;
using draw::Indented;
using draw::TextTable;
using Align = TextTable::Align;

constexpr std::size_t kPageWidth = 100;
constexpr std::size_t kMaxRanks = 16;  // more are shown as least, median and most
constexpr std::size_t kMaxStragglers = 5;
constexpr std::size_t kMaxHops = 8;
constexpr std::size_t kMaxNameWidth = 60;
constexpr std::size_t kMaxCauseWidth = 90;
constexpr std::size_t kBarWidth = 10;

constexpr std::array<std::string_view, kNumParts> kPartNames{"compute", "transfer", "waiting",
                                                             "memory", "idle"};

// Breaks text at blanks so that no line is wider than the page.
std::string Wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() &&
        indent + draw::DisplayWidth(line) + 1 + draw::DisplayWidth(word) > kPageWidth) {
      result.append(indent, ' ').append(line).append("\n");
      line.clear();
    }
    line.append(line.empty() ? "" : " ").append(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result.append(indent, ' ').append(line).append("\n");
}

std::string Bar(double share) {
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBarWidth + 0.5);
  std::string bar;
  for (std::size_t i = 0; i < kBarWidth; ++i) {
    bar += i < filled ? "█" : "░";
  }
  return bar;
}

std::string Heading(const RunReport& report) {
  std::string text = report.title + "\n";
  std::string line;
  for (const Fact& fact : report.facts) {
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", fact.label, fact.value);
  }
  return text + Wrapped(line, 0);
}

std::string FindingsText(const RunReport& report) {
  if (report.findings.empty()) {
    return "\nNothing stands out.\n";
  }
  std::string text = "\n";
  for (const Finding& finding : report.findings) {
    const std::string share = finding.share ? fmt::format("{:>3.0f} %", 100 * *finding.share) : "";
    const std::string first = Wrapped(finding.text, 18);
    text += fmt::format("{:>5} {}  {}", share, Bar(finding.share.value_or(0)), first.substr(18));
    if (!finding.more.empty()) {
      text += Wrapped(finding.more, 18);
    }
  }
  return text;
}

std::vector<std::string> PartCells(std::string label, const RankTime& rank) {
  const std::int64_t total_ns = TotalNs(rank);
  std::vector<std::string> cells{std::move(label)};
  for (const std::int64_t part_ns : rank.part_ns) {
    cells.push_back(total_ns == 0 ? "–"
                                  : fmt::format("{:.1f} %", 100 * static_cast<double>(part_ns) /
                                                                static_cast<double>(total_ns)));
  }
  cells.push_back(FormatDuration({total_ns}));
  return cells;
}

// All ranks where they fit, else those with least, median and most compute.
std::string BreakdownText(const RunReport& report) {
  if (report.rank_times.empty()) {
    return "";
  }
  std::vector<TextTable::Column> columns{{""}};
  for (const std::string_view part : kPartNames) {
    columns.push_back({std::string(part), Align::kRight});
  }
  columns.push_back({"time", Align::kRight});
  TextTable table(std::move(columns));
  std::vector<const RankTime*> ranks;
  for (const RankTime& rank : report.rank_times) {
    ranks.push_back(&rank);
  }
  if (ranks.size() > kMaxRanks) {
    std::ranges::stable_sort(ranks, {}, [](const RankTime* rank) { return rank->part_ns[0]; });
    for (const auto& [which, place] :
         {std::pair{"least compute", std::size_t{0}}, std::pair{"median", ranks.size() / 2},
          std::pair{"most compute", ranks.size() - 1}}) {
      table.AddRow(PartCells(fmt::format("{} ({})", ranks[place]->label, which), *ranks[place]));
    }
  } else {
    for (const RankTime* const rank : ranks) {
      table.AddRow(PartCells(rank->label, *rank));
    }
  }
  return fmt::format("\nwhere the time goes ({})\n{}", report.steps, Indented(table.Render(), 2));
}

std::string SavedText(const std::optional<std::int64_t>& saved_ns) {
  return saved_ns ? FormatDuration({*saved_ns}) : "–";
}

std::string StragglersText(const RunReport& report) {
  if (report.stragglers.empty()) {
    return "";
  }
  TextTable table({{"rank"},
                   {"times last", Align::kRight},
                   {"others waited", Align::kRight},
                   {"saved alone", Align::kRight},
                   {"with those above", Align::kRight},
                   {"why", Align::kLeft, kMaxCauseWidth}});
  for (std::size_t i = 0; i < std::min(kMaxStragglers, report.stragglers.size()); ++i) {
    const Straggler& rank = report.stragglers[i];
    table.AddRow({rank.rank, FormatCount(rank.times_last), FormatDuration({rank.blame_ns}),
                  SavedText(rank.saved_alone_ns), SavedText(rank.saved_together_ns), rank.cause});
  }
  return "\nranks that others wait for, and what a replay of the step saves when they are not "
         "late\n" +
         Indented(table.Render(), 2);
}

std::string PathText(const RunReport& report) {
  if (!report.critical_path || report.critical_path->length_ns <= 0) {
    return "";
  }
  const CriticalPath& path = *report.critical_path;
  const auto share = [&](std::int64_t ns) {
    return fmt::format("{:.1f} %",
                       100 * static_cast<double>(ns) / static_cast<double>(path.length_ns));
  };
  std::string classes;
  for (const ClassTime& time : TimeByClass(path)) {
    classes += fmt::format("{}{} {}", classes.empty() ? "" : " · ", ClassName(time.path_class),
                           share(time.time_ns));
  }
  TextTable table({{"", Align::kLeft, kMaxNameWidth},
                   {"class"},
                   {"hops", Align::kRight},
                   {"time", Align::kRight},
                   {"of the path", Align::kRight}});
  for (const HopSum& sum : LargestSums(path, kMaxHops)) {
    table.AddRow({sum.longest->name.empty() ? "–" : sum.longest->name,
                  ClassName(sum.longest->path_class), FormatCount(sum.count),
                  FormatDuration({sum.time_ns}), share(sum.time_ns)});
  }
  return fmt::format(
      "\ncritical path, from the step's first event on a host to its last on a device: {}, {} "
      "change{} of rank\n{}{}",
      FormatDuration({path.length_ns}), FormatCount(path.num_rank_changes),
      path.num_rank_changes == 1 ? "" : "s", Wrapped(classes, 2), Indented(table.Render(), 2));
}

std::string MetricsText(const RunReport& report) {
  TextTable table({{"metric"}, {"value", Align::kRight}, {"unit"}, {"meaning"}});
  std::size_t missing = 0;
  for (const MetricRow& metric : report.metrics) {
    if (metric.value) {
      table.AddRow(
          {metric.name, fmt::format("{:.6g}", *metric.value), metric.unit, metric.meaning});
    } else {
      ++missing;
    }
  }
  std::string text = "\nmetrics\n" + Indented(table.Render(), 2);
  if (missing > 0) {
    text += fmt::format("  {} more do not apply here (--list PATH says why)\n", missing);
  }
  return text;
}

std::string NotesText(const RunReport& report) {
  std::string text;
  for (const std::string& note : report.notes) {
    text += Wrapped("· " + note, 2);
  }
  return text.empty() ? "" : "\nnotes\n" + text;
}

}  // namespace

std::string RenderText(const RunReport& report) {
  return Heading(report) + FindingsText(report) + BreakdownText(report) + StragglersText(report) +
         PathText(report) + MetricsText(report) + NotesText(report);
}

}  // namespace orrery::report
