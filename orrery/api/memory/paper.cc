#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/embedded_pasta.h"
#include "orrery/api/memory/input.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/folder.h"
#include "orrery/base/text/table.h"

namespace orrery::api {
namespace {

/// An item of the paper that a tool shows, in the paper's order.
struct PaperItem {
  std::string_view tool;
  std::string_view item;
  std::string_view shows;
  std::string_view published;  // the paper's result, in words
};

constexpr std::array<PaperItem, 6> kItems{{
    {"kernel-frequency", "Figure 7", "Which kernels are launched most",
     "PASTA shows its counts as a chart without numbers: there is nothing to compare with."},
    {"working-set", "Table V", "Footprint and working set",
     "PASTA's values are of an A100 and one iteration, on other kernels (its convolutions do not "
     "use cuDNN): compare their relation, not their size. Footprint is a mean over kernels, "
     "working "
     "set the largest. A recording that is named MODEL-inference or MODEL-training is compared "
     "with "
     "that model."},
    {"overhead", "Figures 9 and 10", "What recording costs",
     "PASTA compares its analysis on the GPU with others on the CPU; Orrery's recorder has no such "
     "variant, so there is no value of ours beside them."},
    {"uvm", "Figures 11 and 12", "What prefetch of managed memory would gain or cost",
     "PASTA measured with a modified driver; ours is simulated. Means over models."},
    {"heat", "Figure 13", "Accesses over addresses and time",
     "PASTA shows BERT inference as a heat map without numbers: there is nothing to compare with."},
    {"timeline", "Figure 14", "Memory over time",
     "PASTA shows GPT-2 on two GPUs as curves without numbers: there is nothing to compare with."},
}};

constexpr std::string_view kSource = "PASTA: arXiv 2602.22103";

// A recording in one of the two forms that tools take.
struct Looked {
  ReadMemory read;
  MemoryInput input;
};

struct Recording {
  Looked with_times;   // if there are any
  Looked as_recorded;  // if that differs: for tools that look at the recording's own clock

  [[nodiscard]] const Looked& For(const MemoryTool& tool) const {
    return tool.joins_times || as_recorded.input.runs.empty() ? with_times : as_recorded;
  }

  [[nodiscard]] const std::string& title() const { return with_times.input.runs.front().title; }
};

Result<std::vector<std::string>> FilesIn(const std::string& folder) {
  ORRERY_TRY(std::vector<std::string> files, PathsIn(folder));
  std::erase_if(files, [](const std::string& file) {
    return IsUnfinishedFile(std::filesystem::path(file).filename().string());
  });
  if (files.empty()) {
    return NotFound("{}: nothing in it", folder);
  }
  return files;
}

// Sets up `looked` in place: its input points into what was read.
Status Look(const MemorySources& sources, bool joins_times, Looked& looked) {
  constexpr MemoryTool::Reads kReads = MemoryTool::Reads::kRun;
  ORRERY_TRY(looked.read, ReadMemoryRuns(sources, kReads, joins_times));
  ORRERY_TRY(looked.input, MemoryInputOf(sources, looked.read, kReads));
  looked.input.runs.front().title =
      std::filesystem::path(sources.run.paths.front()).stem().string();
  return {};
}

// `one` with the file of a recording, and that of its times if there is one.
Result<MemorySources> SourcesOf(const std::string& file, MemorySources one) {
  one.run.paths = {file};
  if (one.times.size() > 1) {
    return InvalidInput("--paper takes one folder of --times");
  }
  if (!one.times.empty()) {
    const std::filesystem::path times =
        std::filesystem::path(one.times.front()) / std::filesystem::path(file).filename();
    ORRERY_TRY(one.times, PathsIn(one.times.front()));
    std::erase_if(one.times, [&](const std::string& path) { return path != times; });
  }
  return one;
}

Status ReadRecording(const MemorySources& sources, Recording& recording) {
  ORRERY_TRY_STATUS(Look(sources, true, recording.with_times));
  // Recordings of one pass, which also loads kernels, are no measure of what recording costs: the
  // overhead is not compared with the time without.
  MemorySources without_times = sources;
  without_times.times.clear();
  return sources.times.empty() ? Status() : Look(without_times, false, recording.as_recorded);
}

const MemoryTool* FindTool(const MemoryTools& tools, std::string_view name) {
  const auto found = std::ranges::find(tools, name, &MemoryTool::name);
  return found == tools.end() ? nullptr : &*found;
}

// The shown rows of a recording's first table, behind its name.
void AppendRows(const std::string& recording, const Document::Table& from, Document::Table& table) {
  if (table.columns.empty()) {
    table.columns = {AsText("recording", "recording")};
    table.columns.insert(table.columns.end(), from.columns.begin(), from.columns.end());
  }
  for (std::size_t i = 0; i < std::min(from.max_shown, from.rows.size()); ++i) {
    std::vector<Value> row{recording};
    row.insert(row.end(), from.rows[i].begin(), from.rows[i].end());
    table.rows.push_back(std::move(row));
  }
  table.max_shown = table.rows.size();
}

void AppendFacts(const std::string& recording, const std::vector<Document::Fact>& facts,
                 Document::Table& table) {
  if (table.columns.empty()) {
    table.columns = {AsText("recording", "recording")};
    for (const Document::Fact& fact : facts) {
      // Fields of memory tools without a unit are counts.
      table.columns.push_back(
          {fact.key, fact.label, fact.format.unit == Unit::kText ? Unit::kCount : fact.format});
    }
  }
  std::vector<Value> row{recording};
  for (const Document::Fact& fact : facts) {
    row.push_back(fact.value);
  }
  row.resize(table.columns.size());
  table.rows.push_back(std::move(row));
}

std::string KeyOf(std::string_view tool, std::string_view what) {
  std::string key = fmt::format("{}_{}", tool, what);
  std::ranges::replace(key, '-', '_');
  return key;
}

Result<MemoryToolResult> PageOf(const MemoryTool& tool, const MemoryInput& input) {
  const MemoryRun& run = input.runs.front();
  if (tool.reads == MemoryTool::Reads::kOneRank && run.ranks.size() > 1) {
    return Unsupported("{}: {} takes one of its {} ranks: --tool {} --rank N", run.title, tool.name,
                       run.ranks.size(), tool.name);
  }
  ORRERY_TRY_STATUS(CheckToolNeeds(tool, input));
  return tool.Run(input);
}

orrery::Table Published(const char* csv) {
  Result<orrery::Table> table = ParseCsv(csv);
  ORRERY_CHECK(table.has_value(), "the published values are part of the program");
  return *std::move(table);
}

std::size_t ColumnOf(const Document::Table& table, std::string_view key) {
  const auto found = std::ranges::find(table.columns, key, &Document::Column::key);
  ORRERY_CHECK(found != table.columns.end(), "the tool has this column");
  return static_cast<std::size_t>(found - table.columns.begin());
}

/// A column of Table V, and that of the tool that is its counterpart.
struct Compared {
  std::string_view published;
  std::string_view ours;
  const char* header;
};

constexpr std::array<Compared, 6> kCompared{{{"kernels", "kernels", "kernels"},
                                             {"footprint_mb", "mean_footprint_bytes", "footprint"},
                                             {"working_set_mb", "working_set_bytes", "working set"},
                                             {"mean_mb", "mean_bytes", "mean"},
                                             {"median_mb", "median_bytes", "median"},
                                             {"p90_mb", "p90_bytes", "p90"}}};

std::optional<std::size_t> RowOfTable5(const orrery::Table& published, const std::string& name) {
  for (std::size_t row = 0; row < published.num_rows(); ++row) {
    if (name == fmt::format("{}-{}", *published.Text(row, "model"), *published.Text(row, "pass"))) {
      return row;
    }
  }
  return std::nullopt;
}

// Its "MB" are powers of 1,024: its smallest tensors have 512 bytes, 0.000488 of them.
Value PublishedCell(const orrery::Table& published, std::size_t row, std::string_view column) {
  constexpr double kMebibyte = 1 << 20;
  const double value = published.Number(row, column).value_or(0);
  return column == "kernels" ? Value(static_cast<std::int64_t>(value)) : Value(value * kMebibyte);
}

// Our values of models that the paper has, its values behind them.
Document::Table WithTable5(const Document::Table& facts) {
  const orrery::Table published = Published(kPastaTable5);
  Document::Table table{.key = "working_set_published",
                        .heading = fmt::format("beside the published values ({})", kSource),
                        .columns = {AsText("recording", "recording")}};
  for (const Compared& one : kCompared) {
    const Unit unit = one.published == "kernels" ? Unit::kCount : Unit::kBytes;
    table.columns.push_back({std::string(one.ours), one.header, unit});
    table.columns.push_back({fmt::format("pasta_{}", one.ours), "PASTA", unit});
  }
  for (const std::vector<Value>& facts_row : facts.rows) {
    const std::string name = std::get<std::string>(facts_row.front().variant());
    const std::optional<std::size_t> found = RowOfTable5(published, name);
    if (!found) {
      continue;
    }
    std::vector<Value> row{name};
    for (const Compared& one : kCompared) {
      row.push_back(facts_row[ColumnOf(facts, one.ours)]);
      row.push_back(PublishedCell(published, *found, one.published));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The mean over recordings of the time relative to no prefetch.
Value MeanRelativeTime(const Document::Table& rows, std::string_view memory,
                       std::string_view policy) {
  double sum = 0;
  std::int64_t count = 0;
  for (const std::vector<Value>& row : rows.rows) {
    if (row[ColumnOf(rows, "memory")] == Value(memory) &&
        row[ColumnOf(rows, "policy")] == Value(policy)) {
      sum += std::get<double>(row[ColumnOf(rows, "relative_time")].variant());
      ++count;
    }
  }
  return count == 0 ? Value() : Value(sum / static_cast<double>(count));
}

Document::Table WithFigures(const PaperItem& item, const Document::Table& rows) {
  const orrery::Table published = Published(kPastaFigures);
  Document::Table table{.key = KeyOf(item.tool, "published"),
                        .heading = fmt::format("beside the published values ({})", kSource),
                        .columns = {AsText("what", "what"), AsText("pasta_a100", "PASTA, A100"),
                                    AsText("pasta_rtx3060", "PASTA, RTX 3060"),
                                    AsRatio("relative_time", "ours, time relative to none")}};
  for (std::size_t row = 0; row < published.num_rows(); ++row) {
    if (published.Text(row, "item") == item.item) {
      const std::string_view memory = published.Text(row, "memory").value_or("");
      table.rows.push_back({*published.Text(row, "what"), *published.Text(row, "a100"),
                            *published.Text(row, "rtx3060"),
                            memory.empty() || rows.rows.empty()
                                ? Value()
                                : MeanRelativeTime(rows, memory, *published.Text(row, "policy"))});
    }
  }
  if (item.tool != "uvm") {  // of the others there is no value of ours
    table.columns.pop_back();
    std::ranges::for_each(table.rows, [](std::vector<Value>& row) { row.pop_back(); });
  }
  return table;
}

// One item of the paper over all recordings.
Document::Section SectionOf(const PaperItem& item, const MemoryTool& tool,
                            const std::vector<Recording>& recordings,
                            std::vector<std::string>& sentences) {
  Document::Section section{.key = "tables",
                            .heading = fmt::format("{} (PASTA, {})", item.shows, item.item)};
  section.Say(std::string(item.published));
  Document::Table facts{.key = KeyOf(item.tool, "numbers"), .heading = "each recording"};
  Document::Table rows{
      .key = KeyOf(item.tool, "rows"), .heading = "in detail", .fold = "In detail"};
  std::vector<Document::Picture> pictures;
  for (const Recording& recording : recordings) {
    const std::string& title = recording.title();
    Result<MemoryToolResult> one = PageOf(tool, recording.For(tool).input);
    if (!one) {
      sentences.push_back(fmt::format("{}: {}.", item.item, one.error().message()));
      continue;
    }
    AppendFacts(title, one->facts, facts);
    const auto shown = std::ranges::find_if(
        one->tables, [](const Document::Table& table) { return table.max_shown > 0; });
    if (shown != one->tables.end()) {
      AppendRows(title, *shown, rows);
    }
    for (Document::Picture& picture : one->pictures) {
      picture.heading = fmt::format("{}: {}", title, picture.heading);
      picture.fold = "Pictures of each recording";
      pictures.push_back(std::move(picture));
    }
  }
  Document::Table published =
      item.tool == "working-set" ? WithTable5(facts) : WithFigures(item, rows);
  for (Document::Table* const table : {&published, &facts}) {
    if (!table->rows.empty()) {
      section.Add(std::move(*table));
    }
  }
  std::ranges::move(pictures, std::back_inserter(section.blocks));
  if (!rows.rows.empty()) {
    section.Add(std::move(rows));
  }
  return section;
}

}  // namespace

Result<MemoryPaper> MakeMemoryPaper(const std::string& folder, const MemorySources& sources,
                                    const MemoryTools& tools) {
  ORRERY_TRY(const std::vector<std::string> files, FilesIn(folder));
  std::vector<Recording> recordings(files.size());
  std::vector<RankTimes> joins;
  MemoryPaper paper;
  MemoryToolResult result;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ORRERY_TRY(const MemorySources one, SourcesOf(files[i], sources));
    ORRERY_TRY_STATUS(ReadRecording(one, recordings[i]));
    const Looked& looked = recordings[i].with_times;
    paper.is_partial = paper.is_partial || looked.read.is_partial();
    result.coverage.push_back(
        fmt::format("{}: {}", recordings[i].title(), CoverageLines(looked.input).front()));
    AddCoverageParts(looked.input, result.coverage_parts);
    std::ranges::copy(looked.read.joins, std::back_inserter(joins));
    if (!sources.times.empty() && looked.read.joins.empty()) {
      result.sentences.push_back(fmt::format("{} has no times: {} holds no file of its name.",
                                             recordings[i].title(), sources.times.front()));
    }
  }
  std::vector<Document::Section> items;
  for (const PaperItem& item : kItems) {
    const MemoryTool* const tool = FindTool(tools, item.tool);
    if (tool != nullptr) {
      items.push_back(SectionOf(item, *tool, recordings, result.sentences));
    }
  }
  if (!sources.times.empty()) {
    AddTimes(joins, result);
  }
  paper.name = std::filesystem::path(folder).lexically_normal().filename().string();
  paper.document = MemoryDocument("paper", paper.name, result);
  paper.document.title = fmt::format("Memory of {} recording{} in {}: what PASTA's paper shows",
                                     files.size(), files.size() == 1 ? "" : "s", paper.name);
  std::vector<Document::Section>& sections = paper.document.sections;
  const auto tables = std::ranges::find(sections, "tables", &Document::Section::key);
  sections.insert(sections.erase(tables), std::make_move_iterator(items.begin()),
                  std::make_move_iterator(items.end()));
  paper.result = std::move(result);
  return paper;
}

}  // namespace orrery::api
