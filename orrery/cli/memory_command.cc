#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/nearest_word.h"
#include "orrery/cli/command.h"
#include "orrery/cli/memory_output.h"
#include "orrery/cli/memory_tool.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

using Reads = MemoryTool::Reads;

struct MemoryArguments {
  RunArguments run;
  MemoryTools tools = AllMemoryTools();
  std::string tool;
  std::string paper;  // a folder of recordings; empty: none
  std::string table;
  std::string html_file;
  std::string svg_file;
  std::optional<std::int32_t> rank;
  std::size_t top = MemoryInput{}.top;
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

// "runs/today/" and "runs/today" are both "today".
std::string TitleOf(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::filesystem::path name =
      whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return name.string();
}

Result<std::vector<ingest::Run>> ReadRuns(const MemoryArguments& arguments, Reads reads) {
  std::vector<ingest::Run> runs;
  if (reads != Reads::kRuns) {
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments.run));
    runs.push_back(std::move(run));
    return runs;
  }
  for (const std::string& path : arguments.run.paths) {
    RunArguments one = arguments.run;
    one.paths = {path};
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(one));
    runs.push_back(std::move(run));
  }
  return runs;
}

// A tool for one rank takes the only one there is; of several, --rank says which.
Result<std::vector<const trace::Trace*>> ChosenRanks(const trace::TraceSet& set,
                                                     std::optional<std::int32_t> rank,
                                                     Reads reads) {
  std::vector<const trace::Trace*> chosen;
  for (const std::uint32_t place : trace::PlacesInRankOrder(set)) {
    if (!rank || trace::RankOf(set, place) == *rank) {
      chosen.push_back(&set.ranks[place]);
    }
  }
  if (chosen.empty()) {
    return Fail(Error::Kind::kNotFound, rank ? fmt::format("--rank {}: no such rank", *rank)
                                             : std::string("there is no trace in it"));
  }
  if (reads == Reads::kOneRank && chosen.size() > 1) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("there are {} ranks; --rank N says which one", chosen.size()));
  }
  return chosen;
}

// "h100/run.json" and "mi300/run.json" would both be "run.json".
void TellApart(std::span<const std::string> paths, std::vector<MemoryRun>& runs) {
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool is_alone = std::ranges::count(runs, runs[i].title, &MemoryRun::title) == 1;
    const std::string folder = std::filesystem::path(paths[i]).parent_path().filename().string();
    titles.push_back(is_alone || folder.empty() ? runs[i].title : folder + "/" + runs[i].title);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].title = std::move(titles[i]);
  }
}

Result<MemoryInput> InputOf(const MemoryArguments& arguments, std::span<const ingest::Run> runs,
                            Reads reads) {
  MemoryInput input{.top = arguments.top, .threads = arguments.run.threads};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string& path = arguments.run.paths[i];
    auto ranks = ChosenRanks(runs[i].set, arguments.rank, reads);
    if (!ranks) {
      return FailWithin(path, ranks);
    }
    // All paths are one run unless each is one.
    const std::size_t others = arguments.run.paths.size() - runs.size();
    input.runs.push_back(
        {.title = TitleOf(path) + (others == 0 ? "" : fmt::format(" and {} more", others)),
         .ranks = *std::move(ranks)});
  }
  TellApart(arguments.run.paths, input.runs);
  return input;
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
             MakeMemoryPaper(arguments.paper, arguments.run, arguments.tools, arguments.top));
  ORRERY_TRY_STATUS(Deliver(arguments, paper.page));
  return paper.is_partial ? kExitPartial : kExitOk;
}

Result<int> Memory(const MemoryArguments& arguments) {
  if (arguments.run.paths.empty() == arguments.paper.empty()) {
    return Fail(Error::Kind::kInvalidInput, "either PATH or --paper is required");
  }
  if (!arguments.paper.empty()) {
    return Paper(arguments);
  }
  const MemoryTool* tool = nullptr;
  if (!arguments.tool.empty()) {
    ORRERY_TRY(tool, FindTool(arguments));
  }
  const Reads reads = tool == nullptr ? Reads::kOneRank : tool->reads();
  ORRERY_TRY(const std::vector<ingest::Run> runs, ReadRuns(arguments, reads));
  ORRERY_TRY(const MemoryInput input, InputOf(arguments, runs, reads));
  ORRERY_TRY(const report::MemoryPage page, PageOf(arguments, tool, input));
  ORRERY_TRY_STATUS(Deliver(arguments, page));
  return std::ranges::any_of(runs, &ingest::Run::is_partial) ? kExitPartial : kExitOk;
}

int RunMemory(const MemoryArguments& arguments) {
  const Result<int> status = Memory(arguments);
  return status ? *status : PrintError(status.error());
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
         "  orrery memory run.orrs --tool working-set --html page.html";
}

// Options of a tool stand under its name in --help.
void AddToolOptions(CLI::App& verb, MemoryTools& tools) {
  for (const auto& tool : tools) {
    const std::size_t before = verb.get_options().size();
    tool->AddOptions(verb);
    const std::vector<CLI::Option*> options = verb.get_options();
    for (std::size_t i = before; i < options.size(); ++i) {
      options[i]->group(fmt::format("--tool {}", tool->name()));
    }
  }
}

}  // namespace

void AddMemoryCommand(CLI::App& app, int& status) {
  auto arguments = std::make_shared<MemoryArguments>();
  CLI::App* const verb =
      app.add_subcommand("memory", "What a recording says of memory: --tool NAME");
  verb->footer(Footer(arguments->tools));
  verb->add_option("PATH", arguments->run.paths, "files and folders, as orrery info reads them");
  verb->add_option("--paper", arguments->paper,
                   "all tools on each recording in a folder: the tables and figures of PASTA");
  verb->add_option("--tool", arguments->tool, "one of the tools below");
  verb->add_option("--rank", arguments->rank, "only this rank");
  verb->add_option("--top", arguments->top, "how many rows of a long list")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  verb->add_flag("--csv", arguments->as_csv, "print the first table with all its rows")
      ->excludes("--json");
  verb->add_option("--table", arguments->table, "--csv: another table, by its name in --json");
  verb->add_option("--html", arguments->html_file, "write a page with pictures to this file");
  verb->add_option("--svg", arguments->svg_file, "write the pictures to this file");
  AddRunOptions(*verb, arguments->run);
  AddToolOptions(*verb, arguments->tools);
  verb->callback([arguments, &status] { status = RunMemory(*arguments); });
}

}  // namespace orrery::cli
