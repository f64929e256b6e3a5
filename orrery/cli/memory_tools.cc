#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/cli/memory_tool.h"
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

Result<report::MemoryPage> MemoryTool::Run(const MemoryInput& input) const {
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

std::vector<std::string> CoverageLines(const MemoryInput& input) {
  std::vector<std::string> lines;
  for (const MemoryRun& run : input.runs) {
    CoverageAndNeeds coverage;
    for (const trace::Trace* const rank : run.ranks) {
      coverage.Add(*rank);
    }
    lines.push_back(coverage.Line(input.runs.size() > 1 ? run.title : ""));
  }
  return lines;
}

}  // namespace orrery::cli
