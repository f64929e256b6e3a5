#include "orrery/cli/memory_tool.h"

namespace orrery::cli {

// One function for each tool, in its own file.
std::unique_ptr<MemoryTool> MakeKernelFrequencyTool();
std::unique_ptr<MemoryTool> MakeUvmTool();

MemoryTools AllMemoryTools() {
  MemoryTools tools;
  tools.push_back(MakeKernelFrequencyTool());
  tools.push_back(MakeUvmTool());
  return tools;
}

}  // namespace orrery::cli
