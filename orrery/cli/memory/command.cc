#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/nearest_word.h"
#include "orrery/cli/command.h"
#include "orrery/cli/memory/in_pieces.h"
#include "orrery/cli/memory/input.h"
#include "orrery/cli/memory/output.h"
#include "orrery/cli/memory/paper.h"
#include "orrery/cli/memory/times.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

using Reads = MemoryTool::Reads;

struct MemoryArguments {
  MemorySources sources;
  PieceArguments pieces;
  MemoryTools tools = AllMemoryTools();
  std::string tool;
  std::string paper;  // a folder of recordings; empty: none
  std::string table;
  std::string html_file;
  std::string svg_file;
  bool as_json = false;
  bool as_csv = false;
};

std::vector<std::string_view> ToolNames(const MemoryTools& tools) {
  std::vector<std::string_view> names;
  for (const auto& tool : tools) {
    names.push_back(tool->name());
  }
  return names;
}

Result<const MemoryTool*> FindTool(const MemoryArguments& arguments) {
  for (const auto& tool : arguments.tools) {
    if (tool->name() == arguments.tool) {
      return tool.get();
    }
  }
  const std::vector<std::string_view> names = ToolNames(arguments.tools);
  return Fail(Error::Kind::kNotFound,
              fmt::format("no such memory tool: {} (did you mean {}? orrery memory --help lists "
                          "them)",
                          arguments.tool, NearestWord(arguments.tool, names)));
}

std::string TitleOf(const MemoryInput& input) {
  std::string title;
  for (const MemoryRun& run : input.runs) {
    title += (title.empty() ? "" : ", ") + run.title;
  }
  return title;
}

Result<report::MemoryPage> PageOf(const MemoryArguments& arguments, const MemoryTool* tool,
                                  const MemoryInput& input) {
  report::MemoryPage page;
  if (tool == nullptr) {
    page = MemorySummary(input.trace(), arguments.tools);
  } else {
    ORRERY_TRY_STATUS(CheckToolNeeds(*tool, input));
    ORRERY_TRY(page, tool->Run(input));
  }
  page.tool = tool == nullptr ? "summary" : tool->name();
  page.title = TitleOf(input);
  page.coverage = CoverageLines(input);
  page.coverage_parts = CoverageParts(input);
  return page;
}

Status WriteText(std::string_view text, const std::string& file) {
  ORRERY_TRY(const auto sink, CreateFile(file));
  ORRERY_TRY_STATUS(sink->Write(text));
  return sink->Close();
}

Status WriteFiles(const MemoryArguments& arguments, const report::MemoryPage& page) {
  if (!arguments.html_file.empty()) {
    ORRERY_TRY_STATUS(WriteText(report::RenderMemoryHtml(page), arguments.html_file));
  }
  if (!arguments.svg_file.empty()) {
    ORRERY_TRY(const std::string svg, MemorySvg(page));
    ORRERY_TRY_STATUS(WriteText(svg, arguments.svg_file));
  }
  return {};
}

Result<std::string> OutputOf(const MemoryArguments& arguments, const report::MemoryPage& page) {
  if (arguments.as_csv) {
    return MemoryCsv(page, arguments.table);
  }
  return arguments.as_json ? MemoryJson(page) : report::RenderMemoryText(page);
}

Status Deliver(const MemoryArguments& arguments, const report::MemoryPage& page) {
  ORRERY_TRY(const std::string output, OutputOf(arguments, page));
  ORRERY_TRY_STATUS(WriteFiles(arguments, page));
  Print(output);
  return {};
}

Result<int> Paper(const MemoryArguments& arguments) {
  ORRERY_TRY(const MemoryPaper paper,
             MakeMemoryPaper(arguments.paper, arguments.sources, arguments.tools));
  ORRERY_TRY_STATUS(Deliver(arguments, paper.page));
  return paper.is_partial ? kExitPartial : kExitOk;
}

Result<int> MemoryInPieces(const MemoryArguments& arguments, const MemoryTool& tool) {
  ORRERY_TRY(PieceResult result,
             RunInPieces(tool, arguments.sources.run, arguments.pieces, arguments.sources.top));
  result.page.tool = tool.name();
  result.page.title = MemoryTitle(arguments.sources.run.paths.front());
  ORRERY_TRY_STATUS(Deliver(arguments, result.page));
  return result.is_partial ? kExitPartial : kExitOk;
}

Result<int> Memory(const MemoryArguments& arguments) {
  if (arguments.sources.run.paths.empty() == arguments.paper.empty()) {
    return Fail(Error::Kind::kInvalidInput, "either PATH or --paper is required");
  }
  if (!arguments.paper.empty()) {
    return Paper(arguments);
  }
  const MemoryTool* tool = nullptr;
  if (!arguments.tool.empty()) {
    ORRERY_TRY(tool, FindTool(arguments));
  }
  // Launches are aligned with those of another run as a whole.
  const bool is_whole = arguments.sources.rank || !arguments.sources.times.empty();
  if (tool != nullptr && !is_whole && TakesPieces(*tool, arguments.sources.run, arguments.pieces)) {
    return MemoryInPieces(arguments, *tool);
  }
  const Reads reads = tool == nullptr ? Reads::kOneRank : tool->reads();
  const bool joins_times = tool == nullptr || tool->joins_times();
  ORRERY_TRY(const ReadMemory read, ReadMemoryRuns(arguments.sources, reads, joins_times));
  ORRERY_TRY(const MemoryInput input, MemoryInputOf(arguments.sources, read, reads));
  ORRERY_TRY(report::MemoryPage page, PageOf(arguments, tool, input));
  if (!read.joins.empty()) {
    AddTimes(read.joins, page);
  }
  ORRERY_TRY_STATUS(Deliver(arguments, page));
  return read.is_partial() ? kExitPartial : kExitOk;
}

std::string Footer(const MemoryTools& tools) {
  std::string text = "Tools:\n";
  for (const auto& tool : tools) {
    text += fmt::format("  {:<18} {}\n", tool->name(), tool->line());
  }
  return text +
         "\nWithout --tool: what was recorded, and which tools can run on it. Each result says how "
         "well\nthe launches were seen; what is only known by argument is never added to counts.\n"
         "\nExit status: 0 whole, 2 unusable, 3 partial (orrery info says what is lost).\n\n"
         "Examples:\n"
         "  orrery memory run.orrs\n"
         "  orrery memory run.orrs --tool kernel-frequency --top 10\n"
         "  orrery memory run.orrs --tool working-set --html page.html\n"
         "  orrery memory accesses.orrs --times coarse.orrs --tool kernel-frequency";
}

// Options of a tool stand under its name in --help.
void AddToolOptions(Verb& verb, MemoryTools& tools) {
  for (const auto& tool : tools) {
    verb.AddGroup(fmt::format("--tool {}", tool->name()),
                  [&](Verb& group) { tool->AddOptions(group); });
  }
}

}  // namespace

void AddMemoryCommand(Verb& app) {
  auto arguments = std::make_shared<MemoryArguments>();
  Verb verb = app.AddVerb("memory", "What a recording says of memory: --tool NAME");
  verb.Footer(Footer(arguments->tools));
  verb.AddOption("PATH", arguments->sources.run.paths,
                   "files and folders, as orrery info reads them");
  verb.AddOption("--paper", arguments->paper,
                   "all tools on each recording in a folder: the tables and figures of PASTA");
  verb.AddOption("--tool", arguments->tool, "one of the tools below");
  verb.AddOption(
          "--times", arguments->sources.times,
          "another run of the same program, recorded with times (orrery capture without "
          "--accesses, Kineto, nsys): its launches give theirs to PATH; for several "
          "recordings one for all or one for each; for --paper a folder with the same names")
      .OneValueEach();
  verb.AddOption("--rank", arguments->sources.rank, "only this rank");
  verb.AddOption("--top", arguments->sources.top, "how many rows of a long list")
      .ShowDefault()
      .Positive();
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.AddFlag("--csv", arguments->as_csv, "print the first table with all its rows")
      .Excludes("--json");
  verb.AddOption("--table", arguments->table, "--csv: another table, by its name in --json");
  verb.AddOption("--html", arguments->html_file, "write a page with pictures to this file");
  verb.AddOption("--svg", arguments->svg_file, "write the pictures to this file");
  AddPieceOptions(verb, arguments->pieces);
  verb.FindOption("--piece").Excludes("--times");
  AddRunOptions(verb, arguments->sources.run);
  AddToolOptions(verb, arguments->tools);
  verb.OnRun([arguments] { return Memory(*arguments); });
}

}  // namespace orrery::cli
