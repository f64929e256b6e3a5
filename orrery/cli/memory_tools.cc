#include "orrery/cli/memory_tool.h"

namespace orrery::cli {

// One function for each tool, in its own file.
std::unique_ptr<MemoryTool> MakeKernelFrequencyTool();
std::unique_ptr<MemoryTool> MakeTimelineTool();
std::unique_ptr<MemoryTool> MakePatternsTool();
std::unique_ptr<MemoryTool> MakeOverheadTool();
std::unique_ptr<MemoryTool> MakeMemoryDiffTool();

MemoryTools AllMemoryTools() {
  MemoryTools tools;
  tools.push_back(MakeKernelFrequencyTool());
  tools.push_back(MakeTimelineTool());
  tools.push_back(MakePatternsTool());
  tools.push_back(MakeOverheadTool());
  tools.push_back(MakeMemoryDiffTool());
  return tools;
}

}  // namespace orrery::cli
