#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/info/output.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/summary.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using draw::FormatCount;
using draw::FormatDuration;
using draw::TextTable;
using Align = TextTable::Align;

// Up to this many ranks each has a column of its own.
constexpr std::size_t kMaxRankColumns = 8;
constexpr std::size_t kMaxFileRows = 16;

std::string Section(std::string_view title, const TextTable& table) {
  return fmt::format("\n{}\n{}", title, draw::Indented(table.Render(), 2));
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += joined.empty() ? "" : separator;
    joined += part;
  }
  return joined;
}

void AddDistinct(std::vector<std::string>& values, std::string value) {
  if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(std::move(value));
  }
}

std::string FormatName(const trace::Trace& rank) {
  return rank.info.format_version.empty()
             ? rank.info.format
             : fmt::format("{} ({})", rank.info.format, rank.info.format_version);
}

std::string Headline(const std::vector<trace::Trace>& ranks) {
  std::vector<std::string> formats;
  std::vector<std::string> gpus;
  std::vector<std::string> hosts;
  for (const trace::Trace& rank : ranks) {
    AddDistinct(formats, FormatName(rank));
    AddDistinct(gpus, trace::DeviceName(rank));
    AddDistinct(hosts, rank.info.host_name);
  }
  std::string text = fmt::format("{} rank{}", ranks.size(), ranks.size() == 1 ? "" : "s");
  if (ranks.front().info.world_size > static_cast<std::int32_t>(ranks.size())) {
    text += fmt::format(" of {}", ranks.front().info.world_size);
  }
  text += " · " + Join(formats, ", ");
  text += gpus.empty() ? " · GPU not named" : " · " + Join(gpus, ", ");
  if (hosts.size() == 1) {
    text += " · " + hosts.front();
  }
  return text + "\n";
}

TextTable RankTable(const std::vector<trace::Trace>& ranks) {
  TextTable table({{.header = "rank", .align = Align::kRight},
                   {.header = "span", .align = Align::kRight},
                   {.header = "steps", .align = Align::kRight},
                   {.header = "files"}});
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxFileRows); ++i) {
    const trace::Trace& rank = ranks[i];
    table.AddRow(
        {std::to_string(rank.info.rank), FormatDuration({trace::RecordedSpan(rank).duration_ns()}),
         FormatCount(static_cast<std::int64_t>(rank.steps.size())), Join(rank.info.files, " + ")});
  }
  if (ranks.size() > kMaxFileRows) {
    table.AddRow(
        {"…", "", "", fmt::format("{} more (--json lists all)", ranks.size() - kMaxFileRows)});
  }
  return table;
}

std::vector<TextTable::Column> CountColumns(const std::vector<trace::Trace>& ranks) {
  std::vector<TextTable::Column> columns{{.header = ""}};
  if (ranks.size() > kMaxRankColumns) {
    for (const char* header : {"least", "median", "most"}) {
      columns.push_back({.header = header, .align = Align::kRight});
    }
    return columns;
  }
  for (const trace::Trace& rank : ranks) {
    columns.push_back(
        {.header = ranks.size() == 1 ? "count" : fmt::format("rank {}", rank.info.rank),
         .align = Align::kRight});
  }
  return columns;
}

std::string Readable(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

TextTable CountTable(const std::vector<trace::Trace>& ranks) {
  std::vector<std::vector<trace::NamedCount>> counts;
  for (const trace::Trace& rank : ranks) {
    counts.push_back(trace::CountRows(rank));
  }
  TextTable table(CountColumns(ranks));
  for (std::size_t kind = 0; kind < counts.front().size(); ++kind) {
    std::vector<std::int64_t> values;
    for (const auto& of_rank : counts) {
      values.push_back(of_rank[kind].count);
    }
    if (std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; })) {
      continue;
    }
    if (ranks.size() > kMaxRankColumns) {
      std::sort(values.begin(), values.end());
      values = {values.front(), values[values.size() / 2], values.back()};
    }
    std::vector<std::string> cells{Readable(counts.front()[kind].name)};
    for (const std::int64_t value : values) {
      cells.push_back(FormatCount(value));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

TextTable GroupTable(const std::vector<trace::Trace>& ranks) {
  TextTable table({{.header = "name"},
                   {.header = "size", .align = Align::kRight},
                   {.header = "description", .max_width = 40},
                   {.header = "ranks", .max_width = 48}});
  std::vector<std::vector<std::string>> seen;
  for (const trace::Trace& rank : ranks) {
    const trace::ProcessGroups& groups = rank.process_groups;
    for (RowId row = 0; row < groups.size(); ++row) {
      const std::string_view name = rank.Text(groups.name[row]);
      const std::vector<std::string> cells{
          name.empty() ? "(not named)" : std::string(name),
          groups.num_ranks[row] < 0 ? "?" : std::to_string(groups.num_ranks[row]),
          std::string(rank.Text(groups.description[row])),
          std::string(rank.Text(groups.ranks[row]))};
      if (std::find(seen.begin(), seen.end(), cells) == seen.end()) {
        seen.push_back(cells);
        table.AddRow(cells);
      }
    }
  }
  return table;
}

// Problems of all ranks, equal ones together.
TextTable ProblemTable(const ingest::Run& run, bool& any) {
  trace::ProblemLog all;
  all.Merge(run.set.problems);
  for (const trace::Trace& rank : run.set.ranks) {
    all.Merge(rank.problems,
              run.set.ranks.size() == 1 ? "" : fmt::format("rank {}", rank.info.rank));
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    all.Merge(table.problems);
  }
  TextTable table({{.header = "count", .align = Align::kRight},
                   {.header = "lost"},
                   {.header = "what"},
                   {.header = "first", .max_width = 80}});
  for (const trace::Problem& problem : all.all()) {
    table.AddRow({FormatCount(problem.count),
                  problem.severity == trace::Severity::kLoss ? "yes" : "no", problem.what,
                  problem.first});
  }
  any = !all.all().empty();
  return table;
}

std::string SkippedText(const ingest::Run& run) {
  std::string text = "\nskipped files\n";
  const std::size_t shown = std::min(run.skipped.size(), kMaxFileRows);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("  {}: {}\n", run.skipped[i].file, run.skipped[i].why);
  }
  if (shown < run.skipped.size()) {
    text += fmt::format("  … and {} more (--json lists all)\n", run.skipped.size() - shown);
  }
  return text;
}

}  // namespace

std::string InfoText(const ingest::Run& run) {
  std::string text;
  const std::vector<trace::Trace>& ranks = run.set.ranks;
  if (!ranks.empty()) {
    text += Headline(ranks);
    text += Section("ranks", RankTable(ranks));
    text += Section("counts", CountTable(ranks));
    if (std::any_of(ranks.begin(), ranks.end(),
                    [](const trace::Trace& rank) { return !rank.process_groups.empty(); })) {
      text += Section("process groups", GroupTable(ranks));
    }
    text += CoverageText(ranks);
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    text += (text.empty() ? "" : "\n") + MeasurementText(table);
  }
  if (run.set.card) {
    text += fmt::format("{}workload card: {}\n", text.empty() ? "" : "\n", run.set.card->file);
  }
  bool has_problems = false;
  const TextTable problems = ProblemTable(run, has_problems);
  if (has_problems) {
    text += Section("problems", problems);
  }
  if (!run.skipped.empty()) {
    text += SkippedText(run);
  }
  return text;
}

}  // namespace orrery::cli
