#pragma once

#include <cstdint>

namespace orrery::workload {

/// What a GPU's memory is needed for that no formula of a model gives (data/workload/memory.yaml).
struct MemoryConstants {
  std::int64_t context_bytes = 0;       // CUDA's context, loaded kernels, workspaces
  std::int64_t communicator_bytes = 0;  // buffers of one communicator
  double fragmentation = 0;             // reserved beyond use, of memory that comes and goes
  double usable = 1;                    // of the size of the memory in data sheets
};

/// Those that are part of the program.
[[nodiscard]] const MemoryConstants& DefaultMemoryConstants();

}  // namespace orrery::workload
