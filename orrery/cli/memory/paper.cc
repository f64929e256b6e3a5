#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/cli/memory/input.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {
namespace {

/// What of the paper a tool shows, in its order.
struct PaperItem {
  std::string_view tool;
  std::string_view item;
};

constexpr std::array<PaperItem, 6> kItems{{{"kernel-frequency", "Figure 7"},
                                           {"working-set", "Table V"},
                                           {"overhead", "Figures 9 and 10"},
                                           {"uvm", "Figures 11 and 12"},
                                           {"heat", "Figure 13"},
                                           {"timeline", "Figure 14"}}};

// A recording in one of the two forms that tools take.
struct Looked {
  ReadMemory read;
  MemoryInput input;
};

struct Recording {
  Looked with_times;   // where there are any
  Looked as_recorded;  // where that differs: for tools that look at the recording's own clock

  [[nodiscard]] const Looked& For(const MemoryTool& tool) const {
    return tool.joins_times || as_recorded.input.runs.empty() ? with_times : as_recorded;
  }

  [[nodiscard]] const std::string& title() const { return with_times.input.runs.front().title; }
};

Result<std::vector<std::string>> FilesIn(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (!IsUnfinishedFile(entry.path().filename().string())) {
      files.push_back(entry.path().string());
    }
  }
  if (failed || files.empty()) {
    return NotFound("{}: {}", folder, failed ? "no such folder" : "nothing in it");
  }
  std::ranges::sort(files);
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
    one.times =
        std::filesystem::exists(times) ? std::vector{times.string()} : std::vector<std::string>();
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
      table.columns.push_back({fact.key, fact.label, fact.format});
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

Result<MemoryResult> PageOf(const MemoryTool& tool, const MemoryInput& input) {
  const MemoryRun& run = input.runs.front();
  if (tool.reads == MemoryTool::Reads::kOneRank && run.ranks.size() > 1) {
    return Unsupported("{}: {} takes one of its {} ranks: --tool {} --rank N", run.title, tool.name,
                       run.ranks.size(), tool.name);
  }
  ORRERY_TRY_STATUS(CheckToolNeeds(tool, input));
  return tool.Run(input);
}

// One item of the paper over all recordings.
void AddItem(const PaperItem& item, const MemoryTool& tool,
             const std::vector<Recording>& recordings, MemoryResult& page) {
  Document::Table facts{.key = KeyOf(item.tool, "numbers"),
                        .heading = fmt::format("{}: {}", item.item, tool.line)};
  Document::Table rows{.key = KeyOf(item.tool, "rows"),
                       .heading = fmt::format("{}, in detail", item.item)};
  for (const Recording& recording : recordings) {
    const std::string& title = recording.title();
    Result<MemoryResult> one = PageOf(tool, recording.For(tool).input);
    if (!one) {
      page.sentences.push_back(fmt::format("{}: {}.", item.item, one.error().message()));
      continue;
    }
    AppendFacts(title, one->facts, facts);
    if (!one->tables.empty()) {
      AppendRows(title, one->tables.front(), rows);
    }
    for (Document::Picture& picture : one->pictures) {
      picture.heading = fmt::format("{}, {}: {}", item.item, title, picture.heading);
      page.pictures.push_back(std::move(picture));
    }
  }
  for (Document::Table* const table : {&facts, &rows}) {
    if (!table->rows.empty()) {
      page.tables.push_back(std::move(*table));
    }
  }
}

}  // namespace

Result<MemoryPaper> MakeMemoryPaper(const std::string& folder, const MemorySources& sources,
                                    const MemoryTools& tools) {
  ORRERY_TRY(const std::vector<std::string> files, FilesIn(folder));
  std::vector<Recording> recordings(files.size());
  std::vector<RankTimes> joins;
  MemoryPaper paper;
  MemoryResult result;
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
  for (const PaperItem& item : kItems) {
    const MemoryTool* const tool = FindTool(tools, item.tool);
    if (tool != nullptr) {
      AddItem(item, *tool, recordings, result);
    }
  }
  if (!sources.times.empty()) {
    AddTimes(joins, result);
  }
  paper.document =
      MemoryDocument("paper", std::filesystem::path(folder).lexically_normal().filename().string(),
                     std::move(result));
  return paper;
}

}  // namespace orrery::cli
