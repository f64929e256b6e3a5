#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/needs.h"

namespace orrery::cli {

// One function for each tool, in its own file.
std::unique_ptr<MemoryTool> MakeKernelFrequencyTool();
std::unique_ptr<MemoryTool> MakeWorkingSetTool();
std::unique_ptr<MemoryTool> MakeHeatTool();
std::unique_ptr<MemoryTool> MakeTimelineTool();
std::unique_ptr<MemoryTool> MakePatternsTool();
std::unique_ptr<MemoryTool> MakeOverheadTool();
std::unique_ptr<MemoryTool> MakeMemoryDiffTool();
std::unique_ptr<MemoryTool> MakeUvmTool();

MemoryTools AllMemoryTools() {
  MemoryTools tools;
  tools.push_back(MakeKernelFrequencyTool());
  tools.push_back(MakeWorkingSetTool());
  tools.push_back(MakeHeatTool());
  tools.push_back(MakeTimelineTool());
  tools.push_back(MakePatternsTool());
  tools.push_back(MakeOverheadTool());
  tools.push_back(MakeMemoryDiffTool());
  tools.push_back(MakeUvmTool());
  return tools;
}

Result<MemoryResult> MemoryTool::Run(const MemoryInput& input) const {
  const std::unique_ptr<MemoryAnalysis> analysis = Begin(input);
  ORRERY_CHECK(analysis != nullptr, "a tool takes pieces or runs on the whole");
  for (const trace::Trace* const rank : input.runs.front().ranks) {
    ORRERY_TRY_STATUS(analysis->Add(*rank));
  }
  return analysis->Finish();
}

Status CoverageAndNeeds::Check(const MemoryTool& tool, std::string_view title) const {
  const Status met = parts_.Check(tool.needs());
  if (!met) {
    return FailWithin(fmt::format("{}: {} cannot run", title, tool.name()), met);
  }
  return {};
}

std::string CoverageAndNeeds::Line(std::string_view title) const {
  return fmt::format("{}{}{}", title, title.empty() ? "" : ": ",
                     memory::CoverageLine(parts_.coverage()));
}

void CoverageAndNeeds::AddParts(std::string_view title, Value& parts) const {
  const auto share_of = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const memory::LaunchCoverage& coverage = parts_.coverage();
  const memory::LaunchCoverage::Share total = coverage.Total();
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const memory::LaunchCoverage::Share& share = coverage.by_coverage[i];
    if (share.num_launches > 0) {
      parts.Add(Value::Object()
                    .Set("run", title)
                    .Set("coverage", memory::CoverageName(static_cast<trace::Coverage>(i)))
                    .Set("launches", share.num_launches)
                    .Set("launch_share", share_of(share.num_launches, total.num_launches))
                    .Set("launches_with_times", share.num_with_times)
                    .Set("time_ns", share.time_ns)
                    .Set("time_share", share_of(share.time_ns, total.time_ns)));
    }
  }
}

Status CheckToolNeeds(const MemoryTool& tool, const MemoryInput& input) {
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const rank : run.ranks) {
      CoverageAndNeeds needs;
      needs.Add(*rank);
      ORRERY_TRY_STATUS(needs.Check(tool, run.title));
    }
  }
  return {};
}

namespace {

CoverageAndNeeds CoverageOfRun(const MemoryRun& run) {
  CoverageAndNeeds coverage;
  for (const trace::Trace* const rank : run.ranks) {
    coverage.Add(*rank);
  }
  return coverage;
}

}  // namespace

std::vector<std::string> CoverageLines(const MemoryInput& input) {
  std::vector<std::string> lines;
  for (const MemoryRun& run : input.runs) {
    lines.push_back(CoverageOfRun(run).Line(input.runs.size() > 1 ? run.title : ""));
  }
  return lines;
}

void AddCoverageParts(const MemoryInput& input, Value& parts) {
  for (const MemoryRun& run : input.runs) {
    CoverageOfRun(run).AddParts(run.title, parts);
  }
}

report::Document MemoryDocument(std::string_view tool, const std::string& title,
                                MemoryResult result) {
  using report::Document;
  Document document{.title = fmt::format("{}: {}", title, tool), .kind = "Orrery memory"};
  Document::Section& head = document.AddSection();
  head.Set("tool", tool).Set("title", title);
  head.Add(Document::List{.key = "coverage", .heading = "", .items = std::move(result.coverage)});
  head.Set("coverage_parts", std::move(result.coverage_parts));
  if (!result.times.empty()) {
    head.Add(Document::List{.key = "times", .heading = "", .items = std::move(result.times)});
  }
  Document::Section& facts = document.AddSection("", "facts");
  for (Document::Fact& fact : result.facts) {
    // Facts of memory tools without a unit are counts.
    fact.format = fact.format.unit == report::Unit::kText ? report::Unit::kCount : fact.format;
    facts.Add(std::move(fact));
  }
  Document::Section& pictures = document.AddSection();
  std::ranges::move(result.pictures, std::back_inserter(pictures.blocks));
  Document::Section& tables = document.AddSection("", "tables");
  std::ranges::move(result.tables, std::back_inserter(tables.blocks));
  document.AddSection().Add(Document::List{
      .key = "notes", .heading = "How to read it", .items = std::move(result.sentences)});
  return document;
}

}  // namespace orrery::cli
