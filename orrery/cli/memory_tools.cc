#include <string>
#include <vector>

#include <fmt/core.h>

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

Status CheckToolNeeds(const MemoryTool& tool, const MemoryInput& input) {
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const rank : run.ranks) {
      const Status met = memory::CheckNeeds(tool.needs(), *rank);
      if (!met) {
        return FailWithin(fmt::format("{}: {} cannot run", run.title, tool.name()), met);
      }
    }
  }
  return {};
}

std::vector<std::string> CoverageLines(const MemoryInput& input) {
  std::vector<std::string> lines;
  for (const MemoryRun& run : input.runs) {
    memory::LaunchCoverage coverage;
    for (const trace::Trace* const rank : run.ranks) {
      coverage += memory::CoverageOf(*rank);
    }
    lines.push_back((input.runs.size() > 1 ? run.title + ": " : "") +
                    memory::CoverageLine(coverage));
  }
  return lines;
}

}  // namespace orrery::cli
