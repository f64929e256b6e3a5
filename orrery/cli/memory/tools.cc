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

std::vector<report::MemoryCoverage> CoverageAndNeeds::Parts(std::string_view title) const {
  const auto share_of = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const memory::LaunchCoverage& coverage = parts_.coverage();
  const memory::LaunchCoverage::Share total = coverage.Total();
  std::vector<report::MemoryCoverage> parts;
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const memory::LaunchCoverage::Share& share = coverage.by_coverage[i];
    if (share.num_launches > 0) {
      parts.push_back(
          {.run = std::string(title),
           .coverage = std::string(memory::CoverageName(static_cast<trace::Coverage>(i))),
           .launches = share.num_launches,
           .launch_share = share_of(share.num_launches, total.num_launches),
           .launches_with_times = share.num_with_times,
           .time_ns = share.time_ns,
           .time_share = share_of(share.time_ns, total.time_ns)});
    }
  }
  return parts;
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

std::vector<report::MemoryCoverage> CoverageParts(const MemoryInput& input) {
  std::vector<report::MemoryCoverage> parts;
  for (const MemoryRun& run : input.runs) {
    std::ranges::move(CoverageOfRun(run).Parts(run.title), std::back_inserter(parts));
  }
  return parts;
}

}  // namespace orrery::cli
