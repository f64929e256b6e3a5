#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/info.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/text/table.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using Ranks = std::vector<trace::Trace>;

// Up to this many ranks each has a column of its own.
constexpr std::size_t kMaxRankColumns = 8;
constexpr std::size_t kMaxFileRows = 16;

void AddDistinct(std::vector<std::string>& values, std::string value) {
  if (!value.empty() && std::ranges::find(values, value) == values.end()) {
    values.push_back(std::move(value));
  }
}

std::string FormatName(const trace::Trace& rank) {
  return rank.info.format_version.empty()
             ? rank.info.format
             : fmt::format("{} ({})", rank.info.format, rank.info.format_version);
}

std::string Headline(const Ranks& ranks) {
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
  text += fmt::format(" · {}", fmt::join(formats, ", "));
  text += gpus.empty() ? " · GPU not named" : fmt::format(" · {}", fmt::join(gpus, ", "));
  return hosts.size() == 1 ? text + " · " + hosts.front() : text;
}

Document::Table RankTable(const Ranks& ranks) {
  Document::Table table{
      .heading = "ranks",
      .columns = {AsNumber("rank"), AsTime("span"), AsCount("steps"), AsText("", "files", 0)},
      .max_shown = kMaxFileRows};
  for (const trace::Trace& rank : ranks) {
    table.rows.push_back({rank.info.rank, trace::RecordedSpan(rank).duration_ns(),
                          rank.steps.size(), fmt::format("{}", fmt::join(rank.info.files, " + "))});
  }
  return table;
}

std::vector<Document::Column> CountColumns(const Ranks& ranks) {
  std::vector<Document::Column> columns{AsText("")};
  if (ranks.size() > kMaxRankColumns) {
    for (const char* header : {"least", "median", "most"}) {
      columns.push_back({"", header, Unit::kCount});
    }
    return columns;
  }
  for (const trace::Trace& rank : ranks) {
    columns.push_back(
        {"", ranks.size() == 1 ? "count" : fmt::format("rank {}", rank.info.rank), Unit::kCount});
  }
  return columns;
}

// The names of rows are keys of the JSON output; some of them are older than the words here.
std::string Readable(std::string_view name) {
  std::string text(name == "copies"     ? "memcpys"
                   : name == "sets"     ? "memsets"
                   : name == "host_ops" ? "CPU ops"
                                        : name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

Document::Table CountTable(const Ranks& ranks) {
  std::vector<std::vector<trace::NamedCount>> counts;
  for (const trace::Trace& rank : ranks) {
    counts.push_back(trace::CountRows(rank));
  }
  Document::Table table{.heading = "counts", .columns = CountColumns(ranks)};
  for (std::size_t kind = 0; kind < counts.front().size(); ++kind) {
    std::vector<std::int64_t> values;
    for (const auto& of_rank : counts) {
      values.push_back(of_rank[kind].count);
    }
    if (std::ranges::all_of(values, [](std::int64_t value) { return value == 0; })) {
      continue;
    }
    if (ranks.size() > kMaxRankColumns) {
      std::ranges::sort(values);
      values = {values.front(), values[values.size() / 2], values.back()};
    }
    std::vector<Value> cells{Readable(counts.front()[kind].name)};
    cells.insert(cells.end(), values.begin(), values.end());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Document::Table GroupTable(const Ranks& ranks) {
  Document::Table table{.heading = "process groups",
                        .columns = {AsText("", "name", 0), AsNumber("size"),
                                    AsText("", "description", 40), AsText("", "ranks", 48)},
                        .max_shown = SIZE_MAX};
  for (const trace::Trace& rank : ranks) {
    const trace::ProcessGroups& groups = rank.process_groups;
    for (RowId row = 0; row < groups.size(); ++row) {
      const std::string_view name = rank.Text(groups.name[row]);
      const std::int32_t size = groups.num_ranks[row];
      std::vector<Value> cells{name.empty() ? "(not named)" : name,
                               size < 0 ? Value("?") : Value(size),
                               rank.Text(groups.description[row]), rank.Text(groups.ranks[row])};
      if (std::ranges::find(table.rows, cells) == table.rows.end()) {
        table.rows.push_back(std::move(cells));
      }
    }
  }
  return table;
}

void AddCoverage(const trace::Trace& rank, Document::Table& table) {
  const memory::LaunchCoverage seen = memory::CoverageOf(rank);
  const bool is_of_times =
      seen.Of(trace::Coverage::kUnseen).num_launches == seen.Total().num_launches;
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const auto coverage = static_cast<trace::Coverage>(i);
    const auto& share = seen.Of(coverage);
    if (!rank.observations.empty() && share.num_launches > 0) {
      table.rows.push_back({rank.info.rank,
                            is_of_times ? "kernels, accesses not recorded"
                                        : fmt::format("kernels {}", memory::CoverageName(coverage)),
                            share.num_launches, draw::FormatDuration({share.time_ns})});
    }
  }
  const trace::CoverageCounts& counts = rank.coverage_counts;
  for (RowId row = 0; row < counts.size(); ++row) {
    table.rows.push_back({rank.info.rank, memory::CoverageKindName(counts.kind[row]),
                          counts.count[row], rank.Text(counts.name[row])});
  }
}

Document::Table CoverageTable(const Ranks& ranks) {
  Document::Table table{.heading = "memory coverage",
                        .columns = {AsNumber("rank"), AsText("", "what", 0), AsCount("count"),
                                    AsText("time or name")},
                        .max_shown = SIZE_MAX};
  for (const trace::Trace& rank : ranks) {
    AddCoverage(rank, table);
  }
  return table;
}

enum class Spread { kNothing, kOneValue, kVaries };

Spread SpreadOf(const Table& table, std::size_t column) {
  Spread spread = Spread::kNothing;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (table.At(row, column) != table.At(0, column)) {
      return Spread::kVaries;
    }
    if (!std::holds_alternative<std::monostate>(table.At(row, column))) {
      spread = Spread::kOneValue;
    }
  }
  return spread;
}

Value ValueOf(const Table::Cell& cell) {
  return std::visit(
      []<typename T>(const T& held) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Value();
        } else {
          return Value(held);
        }
      },
      cell);
}

std::string ExactText(const Value& value) {
  const auto* const number = std::get_if<double>(&value.variant());
  return number == nullptr ? draw::ScalarText(value) : fmt::format("{}", *number);
}

// Columns with one value for all rows are said once; a log has many of them.
void AddMeasurements(const ingest::MeasurementTable& measured, Document& document) {
  const Table& all = measured.rows;
  Document::Table varying{.max_shown = SIZE_MAX};
  varying.rows.resize(all.num_rows());
  std::vector<std::string> constants;
  for (std::size_t column = 0; column < all.num_columns(); ++column) {
    const Spread spread = SpreadOf(all, column);
    if (spread == Spread::kOneValue) {
      constants.push_back(
          fmt::format("{} {}", all.column_name(column), ExactText(ValueOf(all.At(0, column)))));
    } else if (spread == Spread::kVaries) {
      const bool is_text = all.column_type(column) == Table::Type::kText;
      varying.columns.push_back(
          {"", all.column_name(column), is_text ? Unit::kText : Unit::kNumber, 0});
      for (std::size_t row = 0; row < all.num_rows(); ++row) {
        varying.rows[row].push_back(ValueOf(all.At(row, column)));
      }
    }
  }
  Document::Section& section = document.AddSection(
      fmt::format("{}: {}, {} rows", measured.file, measured.format,
                  draw::FormatCount(static_cast<std::int64_t>(all.num_rows()))));
  if (!constants.empty()) {
    section.Say(fmt::format("{}", fmt::join(constants, " · ")));
  }
  if (!varying.columns.empty()) {
    section.Add(std::move(varying));
  }
}

Document::Table ProblemTable(const ingest::Run& run) {
  trace::ProblemLog all;
  all.Merge(run.set.problems);
  for (const trace::Trace& rank : run.set.ranks) {
    all.Merge(rank.problems,
              run.set.ranks.size() == 1 ? "" : fmt::format("rank {}", rank.info.rank));
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    all.Merge(table.problems);
  }
  Document::Table table{
      .heading = "problems",
      .columns = {AsCount("count"), AsText("lost"), AsText("", "what", 0), AsText("", "first", 80)},
      .max_shown = SIZE_MAX};
  for (const trace::Problem& problem : all.all()) {
    table.rows.push_back(
        {problem.count, problem.severity == trace::Severity::kLoss, problem.what, problem.first});
  }
  return table;
}

Document::List SkippedFiles(const ingest::Run& run) {
  Document::List list{.heading = "skipped files"};
  const std::size_t shown = std::min(run.skipped.size(), kMaxFileRows);
  for (std::size_t i = 0; i < shown; ++i) {
    list.items.push_back(fmt::format("{}: {}", run.skipped[i].file, run.skipped[i].why));
  }
  if (shown < run.skipped.size()) {
    list.items.push_back(fmt::format("{} more in --json", run.skipped.size() - shown));
  }
  return list;
}

Document InfoDocument(const ingest::Run& run) {
  const Ranks& ranks = run.set.ranks;
  Document document{.title = ranks.empty() ? "" : Headline(ranks), .kind = "Orrery info"};
  const auto add = [&](Document::Table table) {
    if (!table.rows.empty()) {
      document.AddSection().Add(std::move(table));
    }
  };
  if (!ranks.empty()) {
    add(RankTable(ranks));
    add(CountTable(ranks));
    add(GroupTable(ranks));
    add(CoverageTable(ranks));
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    AddMeasurements(table, document);
  }
  if (run.set.card) {
    document.AddSection().Say("workload card: " + run.set.card->file);
  }
  add(ProblemTable(run));
  document.AddSection().Add(SkippedFiles(run));
  return document;
}

}  // namespace

report::Document MakeDocument(const InfoResult& result) {
  Document document = InfoDocument(*result.run);
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
