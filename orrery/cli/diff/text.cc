#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/diff/headline.h"
#include "orrery/cli/diff/output.h"
#include "orrery/cli/diff/sections.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"

namespace orrery::cli {
namespace {

using analyze::diff::Change;
using analyze::diff::CostChange;
using analyze::diff::MemoryChange;
using analyze::diff::MetricChange;
using analyze::diff::StepParts;
using draw::TextTable;
using Align = TextTable::Align;

constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kMaxNameWidth = 60;

std::string PercentText(double before, double after) {
  if (before == after) {
    return "0.0 %";
  }
  return before == 0 ? "–" : fmt::format("{:+.1f} %", 100 * (after - before) / std::abs(before));
}

std::string RunLine(std::string_view letter, const std::string& path, const StepParts& parts) {
  return fmt::format(
      "{}: {} ({} rank{}, {})\n", letter, path, parts.num_ranks, parts.num_ranks == 1 ? "" : "s",
      parts.num_steps == 0
          ? "no step markers"
          : fmt::format("{} step{}", parts.num_steps, parts.num_steps == 1 ? "" : "s"));
}

TextTable StepTable(const StepParts& before, const StepParts& after) {
  TextTable table({{"time of a step"},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"difference", Align::kRight},
                   {"change", Align::kRight}});
  for (const StepPart& part : kStepParts) {
    const double first = before.*part.member;
    const double second = after.*part.member;
    table.AddRow({std::string(part.title), TimeText(first), TimeText(second),
                  SignedTimeText(second - first), PercentText(first, second)});
  }
  return table;
}

std::string MetricValue(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "n/a";
}

std::string MetricTable(const std::vector<MetricChange>& changes) {
  TextTable table({{"metric"},
                   {"unit"},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"change", Align::kRight},
                   {"verdict"}});
  std::size_t num_rows = 0;
  for (const MetricChange& change : changes) {
    if (change.before || change.after) {
      const bool has_both = change.before && change.after;
      table.AddRow({change.name, change.unit, MetricValue(change.before), MetricValue(change.after),
                    has_both ? PercentText(*change.before, *change.after) : "–",
                    std::string(VerdictName(change.GetVerdict()))});
      ++num_rows;
    }
  }
  return num_rows == 0 ? "" : "\n" + table.Render();
}

std::vector<TextTable::Column> CostColumns(const Section& section) {
  std::vector<TextTable::Column> columns{{std::string(section.title), Align::kLeft, kMaxNameWidth},
                                         {"change"},
                                         {"count A", Align::kRight},
                                         {"count B", Align::kRight},
                                         {"time A", Align::kRight},
                                         {"time B", Align::kRight},
                                         {"difference", Align::kRight}};
  if (section.has_wait) {
    columns.push_back({"waiting", Align::kRight});
  }
  if (section.has_host_time) {
    columns.push_back({"on the host", Align::kRight});
  }
  if (section.has_bytes) {
    columns.push_back({"bytes", Align::kRight});
  }
  return columns;
}

std::string SignedBytesText(double bytes) {
  const std::string text = draw::FormatBytes({std::llround(bytes)});
  return bytes > 0 ? "+" + text : text;
}

std::vector<std::string> CostCells(const CostChange& change, const Section& section) {
  const auto& before = change.before;
  const auto& after = change.after;
  std::vector<std::string> cells{change.name,
                                 std::string(ChangeName(change.change)),
                                 fmt::format("{:.6g}", before.count),
                                 fmt::format("{:.6g}", after.count),
                                 TimeText(before.device_ns),
                                 TimeText(after.device_ns),
                                 SignedTimeText(after.device_ns - before.device_ns)};
  if (section.has_wait) {
    cells.push_back(SignedTimeText(after.wait_ns - before.wait_ns));
  }
  if (section.has_host_time) {
    cells.push_back(SignedTimeText(after.host_ns - before.host_ns));
  }
  if (section.has_bytes) {
    cells.push_back(SignedBytesText(after.bytes - before.bytes));
  }
  return cells;
}

// Rows that changed, the largest differences first.
std::string CostText(const std::vector<CostChange>& changes, const Section& section) {
  if (changes.empty()) {
    return "";
  }
  TextTable table(CostColumns(section));
  std::size_t num_changed = 0;
  for (const CostChange& change : changes) {
    if (change.change != Change::kUnchanged && ++num_changed <= kMaxRows) {
      table.AddRow(CostCells(change, section));
    }
  }
  if (num_changed == 0) {
    return fmt::format("\n{}: no change ({} name{})\n", section.title,
                       draw::FormatCount(static_cast<std::int64_t>(changes.size())),
                       changes.size() == 1 ? "" : "s");
  }
  std::string text = "\n" + table.Render();
  if (num_changed > kMaxRows) {
    text += fmt::format("… and {} more that changed (--json lists all)\n", num_changed - kMaxRows);
  }
  return text;
}

std::string MemoryText(const std::vector<MemoryChange>& changes) {
  if (changes.empty()) {
    return "";
  }
  const auto bytes_text = [](std::optional<std::int64_t> bytes) {
    return bytes ? draw::FormatBytes({*bytes}) : std::string("n/a");
  };
  TextTable table({{"largest use of memory"},
                   {"A", Align::kRight},
                   {"B", Align::kRight},
                   {"change", Align::kRight}});
  for (const MemoryChange& change : changes) {
    const bool has_both = change.before_bytes && change.after_bytes;
    table.AddRow({change.name, bytes_text(change.before_bytes), bytes_text(change.after_bytes),
                  has_both ? PercentText(static_cast<double>(*change.before_bytes),
                                         static_cast<double>(*change.after_bytes))
                           : "–"});
  }
  return "\n" + table.Render();
}

}  // namespace

std::string DiffText(const DiffPage& page) {
  const analyze::diff::RunDiff& diff = page.diff;
  std::string text = RunLine("A", page.path_before, diff.step_before);
  text += RunLine("B", page.path_after, diff.step_after);
  text += "\n" + HeadlineText(diff) + "\n";
  if (diff.step_before.window_ns > 0 || diff.step_after.window_ns > 0) {
    text += "\n" + StepTable(diff.step_before, diff.step_after).Render();
  }
  text += MetricTable(diff.metrics);
  for (const Section& section : kSections) {
    text += CostText(diff.*section.member, section);
  }
  return text + MemoryText(diff.memory);
}

std::string WorstText(const DiffPage& page) {
  const MetricChange& worst = page.worse.front();
  const double percent = worst.WorsePercent();
  std::string text = std::isfinite(percent)
                         ? fmt::format("{} got {:.1f} % worse", worst.name, percent)
                         : fmt::format("{} got worse, from nothing", worst.name);
  text += fmt::format(" ({:.6g} → {:.6g}{}{}), more than the {:g} % that --fail-over allows",
                      *worst.before, *worst.after, worst.unit.empty() ? "" : " ", worst.unit,
                      *page.limit_percent);
  if (page.worse.size() > 1) {
    text += fmt::format("; so did {} more", page.worse.size() - 1);
  }
  return text;
}

}  // namespace orrery::cli
